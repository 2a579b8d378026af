"""What a network is to an algorithm, and the perceptron: written out over one flat parameter vector.

`Network` is the protocol, `Recurrent` that of one with a memory; both have their parameters and gradients in a
`Parameters`. `MLP` is the fast path behind it, `modules.py` lets any `torch.nn.Module` in, `gru.py` remembers.

Why by hand: every parameter and every gradient is a view into one flat tensor, so clipping, the finite check and Adam
are one call each; and `numpy.tanh` in place is thirteen times as fast as torch's (20 against 258 us on 2,048 x 64).
A whole update takes about half as long as torch's own forward and backward alone, and the tests hold it against them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ecs_rl.agents.config import Activation

Shapes = dict[str, tuple[int, ...]]


class Parameters:
    """Named tensors and their gradients, each a view into one flat vector."""

    def __init__(self, shapes: Shapes, flat: Tensor | None = None) -> None:
        """Take the shape of each; with `flat` the numbers are those of another one, and the gradients are not."""
        sizes = [math.prod(shape) for shape in shapes.values()]
        self.shapes, self.flat = shapes, torch.zeros(sum(sizes)) if flat is None else flat
        self.flat_grad = torch.zeros(sum(sizes))
        self.buffers: dict[str, Tensor] = {}
        """What networks hold by name besides and never change: saved with a policy, and not learned."""
        self.value, self.grad = (
            {name: part.view(shapes[name]) for name, part in zip(shapes, torch.split(flat, sizes), strict=True)}
            for flat in (self.flat, self.flat_grad)
        )

    def part(self, prefix: str) -> Parameters:
        """Return the parameters whose names begin so, neighbours: the same numbers, with gradients of their own."""
        shapes = {name: shape for name, shape in self.shapes.items() if name.startswith(prefix)}
        first, size = self.value[next(iter(shapes))].storage_offset(), sum(map(math.prod, shapes.values()))
        return Parameters(shapes, self.flat[first : first + size])

    def clip_gradient(self, largest: float) -> float:
        """Scale the gradient down to the norm `largest`; return the norm it had."""
        norm = float(torch.linalg.vector_norm(self.flat_grad))
        self.limit_gradient(norm, largest)
        return norm

    def limit_gradient(self, norm: float, largest: float) -> None:
        """Scale a gradient of this norm down to the norm `largest`."""
        if norm > largest:
            self.flat_grad.mul_(largest / norm)


class Adam:
    """torch's fused Adam over one flat vector, without its optimiser: the moments must be saved exactly anyway."""

    def __init__(self, parameters: Parameters, eps: float) -> None:
        self.grad, step = parameters.flat_grad, torch.zeros(())
        first, second = torch.zeros_like(parameters.flat), torch.zeros_like(parameters.flat)
        self.moments = {"step": step, "exp_avg": first, "exp_avg_sq": second}
        # What the functional form comes to, at half of its time.
        self._move: Callable[..., None] = partial(
            torch._fused_adam_, [parameters.flat], [self.grad], [first], [second], [], [step], amsgrad=False
        )
        self._settings = {"beta1": 0.9, "beta2": 0.999, "eps": eps, "weight_decay": 0.0, "maximize": False}

    def forget(self) -> None:
        """Begin anew with the moments."""
        for moment in self.moments.values():
            moment.zero_()

    def step(self, lr: float) -> None:
        """Move the parameters once along their gradient."""
        self.moments["step"].add_(1.0)
        self._move(lr=lr, **self._settings)


class Network(Protocol):
    """A function of a batch whose parameters lie in a `Parameters`; `forward` remembers what `backward` needs."""

    def initialise(self, generator: torch.Generator, head_gain: float | Tensor) -> None:
        """Draw the parameters from this generator alone; the gain of the last layer is one, or one for each output."""

    def __call__(self, x: Tensor) -> Tensor:
        """Return (rows, outputs) for (rows, inputs) and remember nothing; a row's result needs no other row.

        Autograd can follow it back to an `x` that requires gradients.
        """

    def forward(self, x: Tensor) -> Tensor:
        """Return the same, and remember what `backward` needs."""

    def backward(self, grad: Tensor) -> None:
        """Write the loss's gradient by every parameter, given the one by the outputs of the last `forward`."""


class Recurrent(Protocol):
    """A network that remembers `state` numbers for each row from tick to tick: zeros where an episode begins."""

    state: int

    def initialise(self, generator: torch.Generator, head_gain: float | Tensor) -> None:
        """Draw the parameters from this generator alone; the gain of the last layer is one, or one for each output."""

    def step(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return (rows, outputs), and what is remembered from here on, for (rows, inputs) and (rows, state).

        Autograd can follow it back to an `x` that requires gradients.
        """

    def forward(self, x: Tensor, state: Tensor, begins: Tensor) -> Tensor:
        """Return (ticks, rows, outputs) of sequences, (ticks, rows, inputs), and remember what `backward` needs.

        They set out from (rows, state), and from zeros wherever the (ticks, rows) truths `begins` say so.
        """

    def backward(self, grad: Tensor) -> None:
        """Write the gradient by every parameter, through all ticks, given (ticks, rows, outputs) of the outputs'."""


class MLP:
    """A perceptron whose weights live in a `Parameters`; `forward` remembers what `backward` needs."""

    def __init__(self, parameters: Parameters, name: str, layers: int, activation: Activation) -> None:
        weights = [f"{name}/{i}.weight" for i in range(layers)]
        biases = [f"{name}/{i}.bias" for i in range(layers)]
        self._weight = [parameters.value[w] for w in weights]
        self._transposed = [w.t() for w in self._weight]
        self._bias = [parameters.value[b] for b in biases]
        self._weight_grad = [parameters.grad[w] for w in weights]
        self._bias_grad = [parameters.grad[b] for b in biases]
        self._first_drawn = list(zip(self._weight, self._bias, strict=True))
        """Weights and biases in the order in which their first values are drawn."""
        self._tanh = activation == "tanh"
        self._inputs: list[Tensor] = []

    @staticmethod
    def shapes(name: str, sizes: tuple[int, ...]) -> Shapes:
        """Return the shape of each parameter of a perceptron with these widths, input and output included."""
        shapes: Shapes = {}
        for i, (inputs, outputs) in enumerate(pairwise(sizes)):
            shapes[f"{name}/{i}.weight"] = (outputs, inputs)
            shapes[f"{name}/{i}.bias"] = (outputs,)
        return shapes

    def initialise(self, generator: torch.Generator, head_gain: float | Tensor) -> None:
        """Draw orthogonal weights: gain sqrt(2) in the hidden layers, `head_gain` in the last; zero biases."""
        for weight, bias in self._first_drawn:
            orthogonal(weight, head_gain if weight is self._weight[-1] else 2**0.5, generator)
            bias.zero_()

    def initialise_evenly(self, generator: torch.Generator) -> None:
        """Draw weights and biases evenly, within one over the root of their layer's inputs: torch's own way."""
        for weight, bias in self._first_drawn:
            for parameter in (weight, bias):
                parameter.uniform_(-1.0, 1.0, generator=generator).div_(math.sqrt(weight.shape[1]))

    def __call__(self, x: Tensor) -> Tensor:
        """Return the output for a batch and remember nothing."""
        return torch.addmm(self._bias[-1], self._hidden(x)[-1], self._last())

    def forward(self, x: Tensor) -> Tensor:
        """Return the output for a batch and remember every layer's input for `backward`."""
        self._inputs = self._hidden(x)
        return torch.addmm(self._bias[-1], self._inputs[-1], self._last())

    def _hidden(self, x: Tensor) -> list[Tensor]:
        """Return every layer's input."""
        inputs = [x]
        for bias, weight in zip(self._bias[:-1], self._transposed[:-1], strict=True):
            inputs.append(activate(torch.addmm(bias, inputs[-1], weight), self._tanh))
        return inputs

    def _last(self) -> Tensor:
        """Return the last layer's (inputs, outputs) weights."""
        return self._transposed[-1]

    def backward(self, grad: Tensor) -> None:
        """Write the gradient of every parameter, given the loss's gradient by the output of the last `forward`."""
        weight_gradient(grad, self._inputs[-1], self._weight_grad[-1])
        torch.sum(grad, 0, out=self._bias_grad[-1])
        if len(self._weight) > 1:
            self._through_hidden(torch.mm(grad, self._weight[-1]))

    def _through_hidden(self, grad: Tensor) -> None:
        """Write the gradient of the hidden layers, given that by the input of the last layer."""
        for i in range(len(self._weight) - 2, -1, -1):
            through_activation(grad, self._inputs[i + 1], self._tanh)
            weight_gradient(grad, self._inputs[i], self._weight_grad[i])
            torch.sum(grad, 0, out=self._bias_grad[i])
            if i > 0:
                grad = torch.mm(grad, self._weight[i])


def activate(x: Tensor, tanh: bool) -> Tensor:
    """Return tanh or ReLU of these numbers, in their place unless autograd follows the hyperbolic tangent."""
    if not tanh:
        return x.relu_()
    if x.requires_grad:
        return x.tanh()
    numbers = x.numpy()
    np.tanh(numbers, out=numbers)
    return x


def through_activation(grad: Tensor, activated: Tensor, tanh: bool) -> None:
    """Turn the gradient by what `activate` returned into the one by what it took, in its place."""
    if tanh:
        torch.ops.aten.tanh_backward.grad_input(grad, activated, grad_input=grad)
    else:
        torch.ops.aten.threshold_backward.grad_input(grad, activated, 0, grad_input=grad)


def orthogonal(weight: Tensor, gain: float | Tensor, generator: torch.Generator) -> None:
    """Draw an orthogonal weight, scaled by one gain, or by one for each output."""
    if isinstance(gain, Tensor):
        torch.nn.init.orthogonal_(weight, 1.0, generator=generator).mul_(gain.unsqueeze(1))
    else:
        torch.nn.init.orthogonal_(weight, gain, generator=generator)


def weight_gradient(grad: Tensor, x: Tensor, out: Tensor) -> None:
    """Write the gradient by a weight: (rows, outputs) of the outputs' times (rows, inputs)."""
    # A product with few columns is five times as slow in MKL as its transpose: 97 against 18 us on 2,048 x 4.
    if x.shape[1] < grad.shape[1]:
        out.copy_(torch.mm(x.t(), grad).t())
    else:
        torch.mm(grad.t(), x, out=out)

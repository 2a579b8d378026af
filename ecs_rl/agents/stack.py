"""Several perceptrons of one shape side by side, for minibatches so small that every call counts.

A layer of all of them is one batched product, and a `Pass` owns every array and every view that going forward and
backward over a batch of one size takes: nothing is allocated in between, which at 100 rows is half of the time.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ecs_rl.agents.config import Activation
from ecs_rl.agents.networks import MLP, Parameters, Shapes, activate, through_activation


class Stack:
    """`count` perceptrons whose weights, (count, outputs, inputs) for each layer, live in a `Parameters`."""

    def __init__(self, parameters: Parameters, name: str, layers: int, activation: Activation, count: int = 1) -> None:
        def of_all(tensors: dict[str, Tensor], kind: str, ndim: int) -> list[Tensor]:
            layers_of_all = [tensors[f"{name}/{i}.{kind}"] for i in range(layers)]
            return [each.view(count, *(1,) * (2 - ndim), *each.shape[-ndim:]) for each in layers_of_all]

        self.weight, self.weight_grad = (of_all(of, "weight", 2) for of in (parameters.value, parameters.grad))
        self.bias, self.bias_grad = (of_all(of, "bias", 1) for of in (parameters.value, parameters.grad))
        self.count, self.tanh = count, activation == "tanh"

    @staticmethod
    def shapes(name: str, sizes: tuple[int, ...], count: int = 1) -> Shapes:
        """Return the shape of each parameter, input and output widths included; a lone perceptron's as an `MLP`'s."""
        alone = MLP.shapes(name, sizes)
        return alone if count == 1 else {each: (count, *shape) for each, shape in alone.items()}

    def initialise(self, generator: torch.Generator, head_gain: float) -> None:
        """Draw orthogonal weights: gain sqrt(2) in the hidden layers, `head_gain` in the last; zero biases."""
        for i, (weight, bias) in enumerate(zip(self.weight, self.bias, strict=True)):
            for one in weight:
                gain = head_gain if i == len(self.weight) - 1 else math.sqrt(2.0)
                torch.nn.init.orthogonal_(one, gain, generator=generator)
            bias.zero_()

    def __call__(self, x: Tensor) -> Tensor:
        """Return (count, rows, outputs) for (rows, inputs) of any number, and remember nothing.

        Autograd can follow it back to an `x` that requires gradients.
        """
        if not x.requires_grad:
            return Pass(self, x).forward()
        x = x.expand(self.count, *x.shape)
        for i, (weight, bias) in enumerate(zip(self.weight, self.bias, strict=True)):
            x = torch.baddbmm(bias, x, weight.transpose(1, 2))
            if i < len(self.weight) - 1:
                x = activate(x, self.tanh)
        return x


class Pass:
    """Goes forward over the rows of `x`, an array that its owner fills, and backward over the first `back` of them.

    The parameters' gradients are those of the first `learns` rows; of the rows from there to `back` only the gradient
    by the last `inputs` inputs is wanted.
    """

    def __init__(self, stack: Stack, x: Tensor, *, back: int = 0, learns: int = 0, inputs: int = 0) -> None:
        count, widths = stack.count, [weight.shape[1] for weight in stack.weight]
        self._tanh, rows = stack.tanh, len(x)
        self._values = [x.expand(count, rows, x.shape[1]), *(torch.empty(count, rows, width) for width in widths)]
        self._layers = list(zip(stack.bias, [w.transpose(1, 2) for w in stack.weight], strict=True))
        self.output = self._values[-1]
        if not back:
            return
        self._weight, self._weight_grad, self._bias_grad = stack.weight, stack.weight_grad, stack.bias_grad
        self._grads = [torch.empty(count, back, width) for width in widths]
        self.grad = self._grads[-1]
        """(count, back, outputs) The loss's gradient by the output, which the owner writes before `backward`."""
        self._activated = [value[:, :back] for value in self._values[1:-1]]
        self._flipped = [grad[:, :learns].transpose(1, 2) for grad in self._grads]
        self._learnt = [grad[:, :learns] for grad in self._grads]
        self._seen = [value[:, :learns] for value in self._values[:-1]]
        self._seen_flipped = [value.transpose(1, 2) for value in self._seen]
        self._narrow = [seen.shape[2] < grad.shape[2] for seen, grad in zip(self._seen, self._learnt, strict=True)]
        self._weight_grad_flipped = [grad.transpose(1, 2) for grad in stack.weight_grad]
        self._spare = [torch.empty(grad.shape) for grad in self._weight_grad_flipped]
        # Of one output, the product with its weights is no sum: element by element it takes a third of the time.
        self._through = [torch.mul if width == 1 else torch.bmm for width in widths]
        self._ones = torch.ones(count, 1, learns)
        self._driven = self._grads[0][:, learns:].transpose(1, 2)
        self._driving = stack.weight[0][:, :, x.shape[1] - inputs :].transpose(1, 2)
        self._by_input = torch.empty(count, inputs, back - learns)
        self._by_input_flipped = self._by_input.transpose(1, 2) if inputs else None

    def forward(self) -> Tensor:
        """Return (count, rows, outputs), which the next call overwrites."""
        values = self._values
        for i, (bias, weight) in enumerate(self._layers):
            torch.baddbmm(bias, values[i], weight, out=values[i + 1])
            if i < len(self._layers) - 1:
                activate(values[i + 1], self._tanh)
        return self.output

    def backward(self) -> Tensor | None:
        """Write the parameters' gradients; return (count, back - learns, inputs) those by the inputs, if wanted."""
        for i in range(len(self._weight) - 1, -1, -1):
            # A product with few columns is several times as slow in MKL as its transpose.
            if self._narrow[i]:
                torch.bmm(self._seen_flipped[i], self._learnt[i], out=self._spare[i])
                self._weight_grad_flipped[i].copy_(self._spare[i])
            else:
                torch.bmm(self._flipped[i], self._seen[i], out=self._weight_grad[i])
            torch.bmm(self._ones, self._learnt[i], out=self._bias_grad[i])
            if i > 0:
                self._through[i](self._grads[i], self._weight[i], out=self._grads[i - 1])
                through_activation(self._grads[i - 1], self._activated[i - 1], self._tanh)
        if self._by_input_flipped is not None:
            torch.bmm(self._driving, self._driven, out=self._by_input)
        return self._by_input_flipped

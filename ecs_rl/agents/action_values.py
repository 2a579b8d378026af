"""What a Q-network's output means: the value of every option of every choice, and how it is fitted to returns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecs_rl.agents.networks import MLP
from ecs_rl.spaces import ActionSpace, Floats, spans

Choices = NDArray[np.int64]


class ActionValues:
    """The values of one or several choices; each has its own best option whatever the others are set to.

    Plain, the values are the output itself. Dueling, its first number is the state's value and the others are
    advantages (Wang et al. 2016): the value of an option is that of the state, plus its own advantage over the mean
    of its choice (one branch for each choice, Tavakoli et al. 2018).
    """

    def __init__(self, space: ActionSpace, *, dueling: bool) -> None:
        self._spans = [outputs for _, _, outputs in spans(space)]
        self._first = np.array([span.start for span in self._spans])
        self.options = len(space.names)
        self.outputs = self.options + dueling
        self._mix = self._mixing() if dueling else None
        self._unmix = None if self._mix is None else self._mix.t()

    def _mixing(self) -> Tensor:
        """Return the (outputs, options) matrix that makes values of a state's value and advantages."""
        mix = torch.ones(self.outputs, self.options)
        mix[1:] = torch.eye(self.options)
        for span in self._spans:
            mix[1:][span, span] -= 1.0 / (span.stop - span.start)
        return mix

    def of(self, output: Tensor) -> Floats:
        """Return (rows, options) values of a network's (rows, outputs)."""
        return self.mixed(output).numpy()

    def mixed(self, output: Tensor) -> Tensor:
        """Return the same as a tensor that autograd can follow."""
        return output if self._mix is None else torch.mm(output, self._mix)

    def backward(self, grad: Tensor) -> Tensor:
        """Return the loss's gradient by the output, given that by the values."""
        return grad if self._unmix is None else torch.mm(grad, self._unmix)

    def best(self, values: Floats) -> Choices:
        """Return (rows, choices) the best option of each choice, as its number within the choice."""
        if len(self._spans) == 1:
            best: Choices = values.argmax(axis=1)[:, None]
            return best
        return np.stack([values[:, span].argmax(axis=1) for span in self._spans], axis=1)

    def random(self, rows: int, generator: torch.Generator) -> Choices:
        """Return (rows, choices) options at random."""
        drawn = [torch.randint(s.stop - s.start, (rows,), generator=generator) for s in self._spans]
        return torch.stack(drawn, 1).numpy()

    def columns(self, choices: Choices) -> Choices:
        """Return (rows, choices) which of the values are those of these options."""
        columns: Choices = choices + self._first
        return columns

    def are_options(self, choices: Tensor) -> bool:
        """Tell whether all of (..., choices) numbers are options of their choice."""
        counts = torch.tensor([span.stop - span.start for span in self._spans])
        return bool(((choices >= 0) & (choices < counts) & (choices == choices.floor())).all())


class Loss(NamedTuple):
    """How far values are off."""

    mean: float
    q: Floats
    """(rows, choices) The values."""
    error: Floats
    """(rows, choices) What they are too large by."""


class MeanFit:
    """Fits values, which are mean returns, to their targets; it remembers what the steps of one gradient need."""

    grad: Floats
    """(rows, options) The loss's gradient by the values, written by `loss`; its owner may add to it."""

    def __init__(self, values: ActionValues) -> None:
        self._values = values
        self.grad, self._row = np.zeros((0, values.options), np.float32), np.zeros((0, 1), np.int64)

    def look(self, network: MLP, x: Tensor) -> Floats:
        """Return (rows, options) what a target network says, which `goal` takes up."""
        self._next = self._values.of(network(x))
        return self._next

    def goal(self, best: Choices, reward: Floats, discount: Floats) -> Floats:
        """Return (rows,) what values should be, given (rows, choices) which options are the best ones next."""
        return q_target(self._next[self._row, best], reward, discount)

    def forward(self, network: MLP, x: Tensor) -> Floats:
        """Return (rows, options) values, and remember what `backward` needs."""
        if len(x) != len(self._row):
            self.grad, self._row = np.zeros((len(x), self._values.options), np.float32), np.arange(len(x))[:, None]
        self._q = self._values.of(network.forward(x))
        return self._q

    def loss(self, taken: Choices, goal: Floats, weight: Floats | None, threshold: float) -> Loss:
        """Return the loss of these (rows, choices) options, and write its gradient by the values."""
        q = self._q[self._row, taken]
        error = q - goal[:, None]
        self.grad.fill(0.0)
        loss, self.grad[self._row, taken] = huber(error, weight, threshold)
        return Loss(loss, q, error)

    def backward(self, network: MLP) -> None:
        """Write the gradient by the parameters."""
        network.backward(self._values.backward(torch.from_numpy(self.grad)))


def q_target(value: Floats, reward: Floats, discount: Floats) -> Floats:
    """Return (rows,) what Q should be: the rewards, and what came next at its discount, which is 0 after termination.

    `value` is (rows, choices), for each choice the target network's value of the option that the online network likes
    best there; all choices share the mean.
    """
    return reward + discount * (value[:, 0] if value.shape[1] == 1 else value.mean(axis=1))


def huber(error: Floats, weight: Floats | None = None, threshold: float = 1.0) -> tuple[float, Floats]:
    """Return the mean Huber loss of (rows, choices) errors and its gradient; `weight` is (rows,) what each counts for.

    It is quadratic up to the threshold, and straight beyond.
    """
    inner = np.minimum(np.maximum(error, np.float32(-threshold)), np.float32(threshold))
    grad: Floats = np.divide(inner, error.size, dtype=np.float32)
    if weight is not None:
        grad *= weight[:, None]
    return float(np.add.reduce(grad * (error - 0.5 * inner), axis=None)), grad

"""What a Q-network's output means: the value of every option of every choice, with its gradient written out."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

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
        return grad if self._mix is None else torch.mm(grad, self._mix.t())

    def best(self, values: Floats) -> Choices:
        """Return (rows, choices) the best option of each choice, as its number within the choice."""
        best = [values[:, span].argmax(axis=1) for span in self._spans]
        return best[0][:, None] if len(best) == 1 else np.stack(best, axis=1)

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

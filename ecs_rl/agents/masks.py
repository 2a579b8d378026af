"""Keeps a policy from options that are not allowed, as numbers of its observation say.

Such a number is 1, or 0 where its option must not be chosen. It is an observation like any other, so that it goes
wherever observations go: into rollouts, memories, demonstrations, pilots. Scaling leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ecs_rl.agents.policy_heads import FORBIDDEN
from ecs_rl.spaces import PolicySpec


class Mask:
    """Lowers the scores or values of options that are not allowed; does nothing for a policy that may do all."""

    def __init__(self, spec: PolicySpec, place: Callable[[int], int] = int) -> None:
        """`place` says where an output of the action space is among those of the network."""
        self._columns = torch.tensor([column for column, _ in spec.allowed], dtype=torch.int64)
        self._outputs = torch.tensor([place(output) for _, output in spec.allowed], dtype=torch.int64)
        self.is_on = bool(spec.allowed)

    def __call__(self, output: Tensor, x: Tensor) -> Tensor:
        """Return (rows, outputs), those of forbidden options lowered by FORBIDDEN; `x` is (rows, inputs)."""
        if not self.is_on:
            return output
        allowed = x.index_select(1, self._columns)
        return output.index_add(1, self._outputs, (1.0 - allowed) * FORBIDDEN)

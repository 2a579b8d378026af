"""The `action_mask` of a Gymnasium environment: which options may be chosen now.

An environment of one or several choices (Discrete, MultiDiscrete) gives it in `info`, at `reset` and at each `step`, or
under that name in a Dict of observations. For several choices it is a tuple with a mask for each, or all of them in one
row. A policy sees the mask as numbers of its observation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32
from ecs_rl.spaces import ActionSpace, Discrete

NAME = "action_mask"
"""Under which Gymnasium and PettingZoo have it."""


@dataclass(frozen=True)
class ActionMask:
    """Where the mask of an environment is."""

    first: int
    """The place of its first number in an observation."""
    counts: tuple[int, ...]
    """The options of each choice."""
    in_info: bool
    """Whether the environment gives it in `info`, not in its observations."""

    @property
    def size(self) -> int:
        """How many options there are in all."""
        return sum(self.counts)

    @property
    def numbers(self) -> slice:
        """Which numbers of an observation are the mask."""
        return slice(self.first, self.first + self.size)


def options_of(actions: ActionSpace) -> tuple[int, ...]:
    """Return the options of each choice, nothing for actions that are no choices."""
    parts = [part for part in actions.parts if isinstance(part, Discrete)]
    return tuple(len(part.names) for part in parts) if len(parts) == len(actions.parts) else ()


def options_in(info: Mapping[str, Any], counts: tuple[int, ...], *, is_over: bool = False) -> F32:
    """Return (options,) 1 or 0 for each option of all choices; ValueError for a mask of another shape, or none.

    Where an episode `is_over`, all is allowed if there is no mask.
    """
    if NAME not in info:
        if is_over:
            return np.ones(sum(counts), np.float32)
        raise ValueError(f"info has no '{NAME}', which it had at the first reset()")
    parts = [_in_a_row(part) for part in _parts(info[NAME])]
    sizes = tuple(len(part) for part in parts)
    mask = np.concatenate(parts) if parts else np.zeros(0)
    wrong = sum(sizes) != sum(counts) or (len(sizes) == len(counts) and sizes != counts)
    if wrong or mask.dtype.kind not in "biuf":
        has, wanted = (" + ".join(map(str, each)) or "0" for each in (sizes, counts))
        raise ValueError(f"info['{NAME}'] has {has} numbers, not {wanted}: one for each option, 1 if it is allowed")
    allowed: F32 = (mask != 0).astype(np.float32)
    return allowed


def _parts(mask: Any) -> Sequence[Any]:
    return mask if isinstance(mask, (tuple, list)) else (mask,)


def _in_a_row(part: Any) -> NDArray[Any]:
    return np.concatenate([np.ravel(each) for each in _parts(part)]) if _parts(part) else np.zeros(0)

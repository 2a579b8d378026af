"""What passes between an arena and the policies: one entity per policy, one row per agent and arena.

Rows are agent-major: all arenas of the policy's first agent, then all arenas of its second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32, Bool

ChooseAction = Callable[[F32], NDArray[Any]]


@dataclass(slots=True)
class Policy:
    """Who decides for these rows. Set when the world is built."""

    name: str
    choose: ChooseAction
    """Takes (rows, numbers), returns one action per row."""


@dataclass(slots=True)
class Observation:
    """What the agents see before they decide. Written by respawn, read in the next tick."""

    value: F32
    """(rows, numbers)"""


@dataclass(slots=True)
class NextObservation:
    """What came of the decision, taken before a new episode starts. Written by sense."""

    value: F32
    """(rows, numbers)"""


@dataclass(slots=True)
class Action:
    """What the agents do. Written by decide."""

    value: NDArray[np.int64] | F32
    """(rows,) whole numbers for a choice, (rows, levers) otherwise."""


@dataclass(slots=True)
class Reward:
    """What the decision earned. Written by judge."""

    value: F32
    """(rows,) The sum of all named terms."""


@dataclass(slots=True)
class RowEnds:
    """The endings of the arenas, one per row. Written by judge."""

    terminated: Bool
    truncated: Bool
    valid: Bool
    all_valid: bool = True

"""What passes between an arena and the policies: one entity per policy, one row per agent and arena.

Rows are agent-major: all arenas of the policy's first agent, then all arenas of its second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32, F64, Bool
from ecs_rl.ecs.component import Axis, column, component


@dataclass(slots=True)
class Policy:
    """Who decides for these rows: learn changes what it does. Set when the world is built."""

    name: str


@component
class Observation:
    """What the agents see before they decide. Written by respawn, read in the next tick."""

    value: F32 = column(axis=Axis.ROWS, dtype=np.float32)
    """(rows, numbers)"""


@component
class NextObservation:
    """What came of the decision, taken before a new episode starts. Written by sense."""

    value: F32 = column(axis=Axis.ROWS, lasts=False, dtype=np.float32)
    """(rows, numbers)"""


@component
class PolicyState:
    """What a recurrent policy remembers; no numbers for the others. Written by decide, and by respawn: zero."""

    value: F32 = column(axis=Axis.ROWS, dtype=np.float32)
    """(rows, numbers)"""


@dataclass(slots=True)
class Action:
    """What the agents do. Written by decide."""

    value: NDArray[np.int64] | F32
    """(rows,) whole numbers for a choice, (rows, levers) otherwise."""
    extras: Mapping[str, Any] = field(default_factory=dict)
    """What the policy adds for its learner, by name, (rows, ...) each: the log-probability, the value."""


@component
class Amount:
    """How strongly the effects of a policy's agents work. Written by actuate and respawn."""

    value: F64 = column(0.0, axis=Axis.LAST, dtype=np.float64)
    """(effects, arenas) All effects of the first agent, then those of the second."""


@component
class Reward:
    """What the decision earned. Written by judge."""

    value: F32 = column(axis=Axis.ROWS, lasts=False, dtype=np.float32)
    """(rows,) The sum of all named terms."""


@component
class Done:
    """The endings of the arenas, one per row. Written by judge."""

    terminated: Bool = column(axis=Axis.ROWS, lasts=False, dtype=np.bool_)
    truncated: Bool = column(axis=Axis.ROWS, lasts=False, dtype=np.bool_)
    valid: Bool = column(axis=Axis.ROWS, lasts=False, dtype=np.bool_)
    """False where the arena exploded: nothing may be learned from that row."""

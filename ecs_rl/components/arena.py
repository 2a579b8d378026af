"""What an arena knows of its own course: the clock, how an episode ends, what it earned."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64, I64, Bool


@dataclass(slots=True)
class Clock:
    """How far each arena is. Written by judge (ticks) and respawn."""

    tick: I64
    """(arenas,) Decisions taken in this episode."""
    episode: I64
    """(arenas,) Episodes begun before this one."""


@dataclass(slots=True)
class Chance:
    """What each episode drew. Written by respawn."""

    key: NDArray[np.uint64]
    """(arenas,) Names the arena's row of episodes: made of its seed and its number; fixed."""
    uniform: F64
    """(arenas, draws) This episode's draws in [0, 1)."""


@dataclass(slots=True)
class Memory:
    """What rules remember from tick to tick, one column each. Written by judge and respawn."""

    value: F64
    """(memories, arenas) What is remembered."""
    now: F64
    """(memories, arenas) What each rule gave in this tick; truths as 0 and 1."""


@dataclass(slots=True)
class Explosion:
    """Arenas whose physics went astray in this tick. Written by guard."""

    now: Bool
    """(arenas,)"""
    any: bool = False
    count: int = 0
    """Explosions since the world was built."""


@dataclass(slots=True)
class Ending:
    """Which episodes end with this tick; never two of the three at once. Written by judge."""

    terminated: Bool
    """(arenas,) By a rule of the scene: nothing more is to be earned."""
    truncated: Bool
    """(arenas,) By the time limit: there would have been more."""
    ended: Bool
    """(arenas,) Either of them, or an explosion."""
    rows: I64
    """Which arenas ended, in order."""


@dataclass(slots=True)
class Finished:
    """Episodes that ended well-formed (not by an explosion) in this tick, one row each."""

    arena: I64
    total: F64
    """Sum of rewards, over all agents of the arena."""
    length: I64
    terminated: Bool
    terms: F64
    """(terms, episodes) Sum of each named reward term."""
    reasons: Bool
    """(rules, episodes) Which rules ended it."""


@dataclass(slots=True)
class Episodes:
    """What the running episodes earned, and those that just ended. Written by judge and respawn."""

    terms: F64
    """(terms, arenas) Sum of each named reward term since the episode began."""
    term_names: tuple[str, ...]
    reason_names: tuple[str, ...]
    finished: Finished | None = field(default=None)
    """None when no episode ended in this tick."""

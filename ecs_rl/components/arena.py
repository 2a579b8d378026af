"""What an arena knows of its own course: the clock, how an episode ends, what it earned."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64, I64, Bool
from ecs_rl.ecs.component import Axis, column, component


@component
class Clock:
    """How far each arena is. Written by judge (ticks) and respawn."""

    tick: I64 = column(0, dtype=np.int64)
    """(arenas,) Decisions taken in this episode."""
    episode: I64 = column(dtype=np.int64)
    """(arenas,) Episodes begun before this one."""


@component
class Chance:
    """What each episode drew. Written by respawn."""

    key: NDArray[np.uint64] = column(dtype=np.uint64)
    """(arenas,) Names the arena's row of episodes: made of its seed and its number; fixed."""
    uniform: F64 = column(dtype=np.float64)
    """(arenas, draws) This episode's draws in [0, 1)."""


@component
class Explosion:
    """Arenas whose physics went astray in this tick. Written by guard."""

    now: Bool = column(dtype=np.bool_)
    """(arenas,)"""
    any: Bool = column(axis=Axis.WORLD, dtype=np.bool_)
    """() Whether there is one in this tick."""
    count: I64 = column(axis=Axis.WORLD, dtype=np.int64)
    """() Explosions since the world was built."""


@component
class EpisodeEnd:
    """Which episodes end with this tick; never two of the three at once. Written by judge."""

    terminated: Bool = column(lasts=False, dtype=np.bool_)
    """(arenas,) By a rule of the scene: nothing more is to be earned."""
    truncated: Bool = column(lasts=False, dtype=np.bool_)
    """(arenas,) By the time limit: there would have been more."""
    ended: Bool = column(lasts=False, dtype=np.bool_)
    """(arenas,) Either of them, or an explosion."""


@component
class Terms:
    """What each named term earned. Written by judge and respawn."""

    now: F64 = column(axis=Axis.LAST, lasts=False, dtype=np.float64)
    """(terms, arenas) In this tick."""
    total: F64 = column(0.0, axis=Axis.LAST, dtype=np.float64)
    """(terms, arenas) Since the episode began."""


@dataclass
class Finished:
    """What ended in this tick. Written by judge."""

    rows: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    """(ended,) All arenas that ended, exploded ones too, in rising order."""
    arena: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    """(episodes,) Those that ended well-formed (not by an explosion); all that follows is of these."""
    total: F64 = field(default_factory=lambda: np.zeros(0))
    """(episodes,) The return: the sum of rewards, the mean over the arena's agents."""
    length: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    terminated: Bool = field(default_factory=lambda: np.zeros(0, bool))
    terms: F64 = field(default_factory=lambda: np.zeros((0, 0)))
    """(terms, episodes) Sum of each named reward term."""
    reasons: Bool = field(default_factory=lambda: np.zeros((0, 0), bool))
    """(rules, episodes) Which rules ended it."""

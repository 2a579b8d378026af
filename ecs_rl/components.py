"""Components: data only, columns over all arenas; each says who writes it.

Bodies are in metres, seconds, kilograms and radians, y up. What the policies see and do has one row per agent and
arena: all arenas of a policy's first agent, then all arenas of its second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32, F64, I64, Bool
from ecs_rl.ecs.component import Axis, column, component
from ecs_rl.ecs.context import Columns

if TYPE_CHECKING:
    pass

# --- a role's body: views into blocks that the physics owns, so that one call moves all of them in or out -------------
# Where a role is many of a kind, a row has one entry for each member: (arenas, count), (arenas, count, 2).


@component
class Pose:
    """Where a body is. Written by simulate, guard, systems and respawn."""

    position: F64 = column(unit="m")
    """(arenas, [count], 2) Centre of gravity from the arena's own origin, metres."""
    angle: F64 = column(unit="rad")
    """(arenas, [count]) Radians, counter-clockwise, never wrapped."""


@component
class Motion:
    """How a body moves. Written by simulate, guard, systems and respawn."""

    velocity: F64 = column(unit="m/s")
    """(arenas, [count], 2) Metres per second, to the right and up."""
    spin: F64 = column(unit="rad/s")
    """(arenas, [count]) Radians per second, counter-clockwise."""


@component
class Here:
    """What is there, of roles that come and go. Written by guard, systems, judge and respawn."""

    now: Bool = column(True)
    """(arenas, [count]) What is not here touches nothing, and is neither moved, sensed nor drawn."""


@component
class Force:
    """What pushes a body during the coming tick, gravity left out. Written by actuate."""

    force: F64 = column(unit="N", lasts=False)
    """(arenas, [count], 2) Newtons through the centre of gravity, in the arena's axes."""
    torque: F64 = column(unit="N m", lasts=False)
    """(arenas, [count]) Newton metres, counter-clockwise."""


@component
class MotorSpeed:
    """How fast each motor of the scene is to turn. One for the whole world. Written by actuate."""

    rate: F64 = column(axis=Axis.LAST, lasts=False)
    """(motors, arenas) Radians per second of a motor's role against its base."""


@component
class Touch:
    """Who touches whom, in any physics step of the tick. One for the world. Written by simulate, guard and respawn."""

    pairs: Bool = column(False)
    """(arenas, roles + 1, roles + 1) By role, symmetric; the last row and column stand for the ground."""
    members: Bool = column(False, axis=Axis.LAST, is_new=True)
    """(slots, arenas) By member, a block of slots for each `Touching` of the scene."""
    before: Bool = column(False, axis=Axis.LAST, lasts=False)
    """(slots, arenas) The same in the tick before."""
    impulse: F64 = column(0.0, axis=Axis.LAST, unit="N s", lasts=False)
    """(slots, arenas) How hard, newton seconds: the sum over the tick; kept only where a scene asks for it."""


@component
class Ground:
    """The segments that never move during an episode. One for the whole world. Written by respawn."""

    segments: F64 = column()
    """(arenas, segments, 2, 2) Both ends of each, metres."""
    stamp: NDArray[np.uint64] = column(lasts=False)
    """(arenas,) A hash of them: what is worked out of them may be kept until it changes."""


# --- the course of an arena -------------------------------------------------------------------------------------------


@component
class Clock:
    """How far each arena is. Written by judge (ticks) and respawn."""

    tick: I64 = column(0)
    """(arenas,) Decisions taken in this episode."""
    episode: I64 = column()
    """(arenas,) Episodes begun before this one."""


@component
class Chance:
    """What each episode drew. Written by respawn."""

    key: NDArray[np.uint64] = column()
    """(arenas,) Names the arena's row of episodes: made of its seed and its number; fixed."""
    uniform: F64 = column()
    """(arenas, draws) This episode's draws in [0, 1)."""


@component
class Explosion:
    """Arenas whose physics went astray in this tick. Written by guard."""

    now: Bool = column()
    """(arenas,)"""
    any: Bool = column(axis=Axis.WORLD)
    """() Whether there is one in this tick."""
    count: I64 = column(axis=Axis.WORLD)
    """() Explosions since the world was built."""


@component
class EpisodeEnd:
    """Which episodes end with this tick; never two of the three at once. Written by judge."""

    terminated: Bool = column(lasts=False)
    """(arenas,) By a rule of the scene: nothing more is to be earned."""
    truncated: Bool = column(lasts=False)
    """(arenas,) By the time limit: there would have been more."""
    ended: Bool = column(lasts=False)
    """(arenas,) Either of them, or an explosion."""


@component
class EndRules:
    """What the rules that end episodes say. Written by judge."""

    fired: Bool = column(axis=Axis.LAST, lasts=False)
    """(rules, arenas) Which of them hold in this tick."""


@component
class RewardWeights:
    """How many times learners earn each reward term; what is counted stays as it is. Set between two ticks."""

    value: F64 = column(axis=Axis.WORLD, is_new=True)
    """(terms,) In the order of `World.terms`."""


@dataclass(slots=True)
class Rated:
    """The agents whose mean return is the arena's. Set before the first tick; without a fixed opponent all agents."""

    agents: tuple[str, ...]


@component
class Terms:
    """What each named term earned. Written by judge and respawn."""

    now: F64 = column(axis=Axis.LAST, lasts=False)
    """(terms, arenas) In this tick."""
    total: F64 = column(0.0, axis=Axis.LAST)
    """(terms, arenas) Since the episode began."""


@dataclass
class Finished:
    """What ended in this tick. Written by judge."""

    rows: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    """(ended,) All arenas that ended, exploded ones too, in rising order."""
    arena: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    """(episodes,) Those that ended well-formed (not by an explosion); all that follows is of these."""
    total: F64 = field(default_factory=lambda: np.zeros(0))
    """(episodes,) The return: the sum of rewards, the mean over the arena's agents (see `Results`)."""
    length: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    terminated: Bool = field(default_factory=lambda: np.zeros(0, bool))
    terms: F64 = field(default_factory=lambda: np.zeros((0, 0)))
    """(terms, episodes) Sum of each named reward term; of a kind, the mean over its members."""
    returns: dict[str, F64] = field(default_factory=dict)
    """(episodes,) Each agent's own return where there are several; a kind's members by their numbers too."""
    reasons: Bool = field(default_factory=lambda: np.zeros((0, 0), bool))
    """(rules, episodes) Which rules ended it."""
    scores: F64 = field(default_factory=lambda: np.zeros((0, 0)))
    """(scores, episodes) What each of the scene's scores came to."""


# --- what passes between arenas and policies: one entity per policy ---------------------------------------------------


@dataclass(slots=True)
class Policy:
    """Who decides for these rows: learn changes what it does. Set when the world is built."""

    name: str


@component
class Observation:
    """What the agents see before they decide. Written by respawn, read in the next tick."""

    value: F32 = column(axis=Axis.ROWS)
    """(rows, numbers)"""


@component
class NextObservation:
    """What came of the decision, taken before a new episode starts. Written by sense."""

    value: F32 = column(axis=Axis.ROWS, lasts=False)
    """(rows, numbers)"""


@component
class PolicyState:
    """What a recurrent policy remembers; no numbers for the others. Written by decide, and by respawn: zero."""

    value: F32 = column(axis=Axis.ROWS)
    """(rows, numbers)"""
    before: F32 = column(axis=Axis.ROWS, lasts=False)
    """(rows, numbers) The same as the present tick's decision was made, for those who ask what led to it."""


@component
class Action:
    """What the agents do; zeros where an episode begins. Written by decide and respawn."""

    value: NDArray[Any] = column(0, axis=Axis.ROWS, dtype=np.float32, is_new=True)
    """(rows,) whole numbers (int64) for a lone choice, (rows, columns) otherwise."""


@dataclass(slots=True)
class Extras:
    """What a policy adds to its decision for its learner. Written by decide."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """By name, (rows, ...) each: the log-probability, the value."""


@component
class Acting:
    """Who was there to act in this tick, of a policy's agents. Written by actuate."""

    value: Bool = column(axis=Axis.ROWS, lasts=False)
    """(rows,) False for a member of a kind that is out: it earns nothing, and nothing is learned from its row."""


@component
class Amount:
    """How strongly the effects of a policy's agents work. Written by actuate and respawn."""

    value: F64 = column(0.0, axis=Axis.LAST)
    """(effects, arenas) From -1 to 1: all effects of the first agent, then those of the second."""


@component
class Reward:
    """What the decision earned. Written by judge."""

    value: F32 = column(axis=Axis.ROWS, lasts=False)
    """(rows,) The sum of all named terms."""


@component
class Done:
    """The endings of the arenas, one per row. Written by judge."""

    terminated: Bool = column(axis=Axis.ROWS, lasts=False)
    truncated: Bool = column(axis=Axis.ROWS, lasts=False)
    valid: Bool = column(axis=Axis.ROWS, lasts=False)
    """False where the arena exploded or the agent was out: nothing may be learned from that row."""


# --- a training -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ActionLog:
    """All actions since the last snapshot. Written by decide, and by snapshot, which begins anew."""

    actions: list[tuple[NDArray[Any], ...]] = field(default_factory=list)
    """One entry per tick: the actions of every policy."""
    is_on: bool = False
    """False while nothing is to be saved: then nothing is logged."""


@dataclass(slots=True)
class Snapshots:
    """The last two snapshots of the world. Written by snapshot.

    The physics remembers more than its columns show (impulses in joints and contacts), so it cannot be saved as it is.
    At a snapshot it is made anew from the columns, in the running world too; from there the same actions lead to the
    same place, to the last bit.
    """

    columns: Columns = field(default_factory=dict)
    """Every lasting column at the last snapshot."""
    earlier: Columns = field(default_factory=dict)
    """The same at the one before, from which a resume can see whether the same actions lead to the same place."""
    earlier_actions: list[tuple[NDArray[Any], ...]] = field(default_factory=list)
    """The actions between the two."""


# --- a person ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class UserInput:
    """What a person does to the bodies of one arena. Set by the window between two ticks, carried out by interact."""

    arena: int = 0
    role: int | None = None
    """The number of the role that is held; None holds nothing."""
    member: int = 0
    """Which member of it, where it is many of a kind."""
    at: tuple[float, float] = (0.0, 0.0)
    """Where it is held, in the body's own axes, metres."""
    to: tuple[float, float] = (0.0, 0.0)
    """Where the hand is, in the arena's axes, metres."""
    kicked: int | None = None
    """The number of the role that gets a kick in the coming tick; interact clears it."""
    kicked_member: int = 0
    """Which member of it, where it is many of a kind."""
    kick: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """What the kick adds to the body's velocity and spin: metres per second twice, radians per second."""
    air: tuple[float, float] = (0.0, 0.0)
    """What wind, and a gravity other than the scene's, add to the acceleration of whatever moves freely, m/s²."""
    steers: dict[tuple[str, int], NDArray[Any]] = field(default_factory=dict)
    """By a policy's name and a row of its batch, the action of a person in place of the policy's; decide carries it
    out."""

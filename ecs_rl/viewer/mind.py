"""The mind's log: what the watched agent saw, did, expected and earned, and what really came of it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain, dropwhile, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.base import Kind, output_of
from ecs_rl.arrays import F32, F64
from ecs_rl.components import (
    Action,
    Clock,
    EpisodeEnd,
    Explosion,
    NextObservation,
    Observation,
    PolicyState,
    Reward,
    Terms,
)
from ecs_rl.spaces import Continuous, spans
from ecs_rl.viewer.options import options_of
from ecs_rl.viewer.seen_pictures import pictures_of
from ecs_rl.viewer.things import Chosen
from ecs_rl.viewer.view import MindView, Option, Seen, Term
from ecs_rl.viewer.view_floating import RibbonView

if TYPE_CHECKING:
    from ecs_rl.agents.base import Agent
    from ecs_rl.spaces import ActionSpace
    from ecs_rl.world import AgentSlot, PolicyBatch, World

MOST_TOLD = 200
"""Numbers that are seen and told of one by one: no panel has room for more, and a picture has thousands."""
WINDOW = 300
"""Ticks that the plot goes back, over the ends of episodes."""
PAST = 30.0
"""Seconds of the past that can be told of, where those are more ticks."""
KNOWN = 0.05
"""Once what is still to come counts less than this, a return is as good as known."""


class Fate(Enum):
    """How an episode went on after a tick."""

    RUNNING = "running"
    TERMINATED = "terminated"
    TRUNCATED = "truncated"
    CUT = "cut"
    """By hand, by an explosion, or because somebody looked elsewhere: what would have come is never known."""


@dataclass(slots=True)
class Moment:
    """One tick of the watched agent."""

    seen: F32
    """(numbers,) What it decided on."""
    did: NDArray[Any]
    reward: float
    fate: Fate
    after: F32 | None = None
    """(numbers,) The last sight of an episode that time cut."""
    value: float = math.nan
    value_after: float = math.nan
    state: F32 | None = None
    """(state,) What it remembered as it decided."""
    state_after: F32 | None = None
    """(state,) What it remembered after that."""
    terms: tuple[float, ...] = ()
    """What the tick earned by each term, in the order of the plan."""
    totals: tuple[float, ...] = ()
    """The same since the episode began."""
    whose: int = -1
    """The number of the agent that is watched."""
    asked: bool = False
    """Whether the agent was asked what it thought of this."""
    thought: tuple[Kind, F32, F32 | None] | None = None
    """What it thought of doing, and how widely it would have spread that, if it lets anybody look."""


class MindLog:
    """Notes each tick of one of an arena's agents (`saw`) and tells them as the mind's view, once per frame.

    It is the first one's, of a kind the first member's, until somebody turns to the next. The agent is asked what it
    thinks in one batch per frame.
    """

    def __init__(self, world: World, agents: Mapping[str, Agent]) -> None:
        self._world, self._agents, self._number = world, agents, 0
        self._slots = [
            (batch, slot, member)
            for batch in world.batches
            for slot in batch.slots
            for member in range(slot.spec.members)
        ]
        self._clock, self._ending, self._explosion = world.one(Clock), world.one(EpisodeEnd), world.one(Explosion)
        self._terms = world.one(Terms)
        self._past: int | None = None
        """The arena whose past is to be seen, None: the present is."""
        self._open()

    def turn(self) -> None:
        """Turn to the next agent, if there is one; what the one before thought is forgotten."""
        if len(self._slots) > 1:
            self._number = (self._number + 1) % len(self._slots)
            self._open()

    @property
    def watched(self) -> tuple[PolicyBatch, AgentSlot]:
        """The agent whose mind is shown, in the batch of its policy."""
        return self._slots[self._number][:2]

    @property
    def name(self) -> str:
        """Its name, of a kind with its number, where there are several agents; else ''."""
        if len(self._slots) == 1:
            return ""
        return self.plan.name if self.plan.of is None else f"{self.plan.name} {self.member}"

    @property
    def body(self) -> Chosen | None:
        """The body of that agent: the member of its kind, or what its first effect works on."""
        return _body_of(self._slot, self.member)

    def turn_to(self, body: Chosen | None) -> bool:
        """Turn to the agent that has this body; tell whether there is one, and it is another."""
        at = [i for i, (_, slot, member) in enumerate(self._slots) if body and _body_of(slot, member) == body]
        if not at or at[0] == self._number:
            return False
        self._number = at[0]
        self._open()
        return True

    def _open(self) -> None:
        """Begin to note what the present agent does."""
        world, (batch, self._slot, self.member) = self._world, self._slots[self._number]
        self.plan, self._space = self._slot.spec, batch.spec.actions
        self._seen, self._after = world.of(batch.entity, Observation), world.of(batch.entity, NextObservation)
        self._remembers = world.of(batch.entity, PolicyState)
        self._did, self._reward = world.of(batch.entity, Action), world.of(batch.entity, Reward)
        self._moments: deque[Moment] = deque(maxlen=max(WINDOW, math.ceil(PAST / world.scene.dt)))
        self._arrival: Moment | None = None
        """What is seen where nothing was done yet."""
        self._back: Moment | None = None
        """The moment of the past that is to be seen; None: the newest."""
        self._left: Moment | None = None
        """The newest moment when another arena or policy came onto the stage."""
        self._next = (-1, -1, -1)
        names = self._names = self.plan.observation_names
        self._low, self._high = -np.ones(len(names)), np.ones(len(names))
        self._view: MindView | None = None
        self.use(self._agents)
        self.look_back(None, self._past)

    def use(self, agents: Mapping[str, Agent]) -> None:
        """Ask other agents from now on, about the newest moment too; what was noted and expected before stays."""
        if agents is not self._agents:
            self.leave()
        self._agents, self._agent = agents, agents.get(self.plan.policy)
        here = self.newest if self._arrival is None or self._back is not None else self._arrival
        if here is not None:
            here.asked = False
        self._view = None

    def forget(self) -> None:
        """The arena or its episode was changed by hand: nobody will know what the running episode would have earned."""
        if self._moments and self._moments[-1].fate is Fate.RUNNING:
            self._moments[-1].fate = Fate.CUT
            self._view = None

    def leave(self) -> None:
        """Another arena or policy comes onto the stage: what was before it is not told together with it."""
        self._left = self.newest

    def arrived(self, arena: int) -> None:
        """The arena stands where nothing was noted yet: tell of what is seen there, until a tick is noted."""
        self.forget()
        self._arrival, self._view = self._standing(arena), None

    def _standing(self, arena: int) -> Moment:
        """Return a moment of what the agent sees in an arena as it is, before it does anything."""
        row, did = self._row(arena), np.full(self._space.columns, math.nan)
        for part, columns, _ in spans(self._space):
            if not isinstance(part, Continuous):
                did[columns] = -1  # none of them is chosen yet
        total = self._slot.by_term(self._terms.total)[:, self.member, arena]
        moment = Moment(self._seen.value[row].copy(), did, 0.0, Fate.RUNNING)
        moment.state = self._remembers.value[row].copy()
        moment.terms, moment.totals = (0.0,) * len(total), tuple(total.tolist())
        return moment

    def look_back(self, moment: Moment | None, arena: int | None = None) -> None:
        """Tell of a moment of an arena's past, or of how it stands if that is none of this agent's.

        Without an arena: of the newest moment.
        """
        self._past, self._view = arena, None
        mine = moment is not None and moment.whose == self._number
        self._back = None if arena is None else moment if mine else self._standing(arena)

    def drop(self, moments: Sequence[Moment | None], arena: int) -> None:
        """Forget the newest moments, all of these: the arena goes on from the one before in another way."""
        gone = {id(moment) for moment in moments}
        while self._moments and id(self._moments[-1]) in gone:
            self._moments.pop()
        self._next = (arena, int(self._clock.episode[arena]), int(self._clock.tick[arena]) + 1)
        self._view = None

    @property
    def space(self) -> ActionSpace:
        """What it can do."""
        return self._space

    @property
    def agent(self) -> Agent | None:
        """Who is asked what it thinks."""
        return self._agent

    @property
    def shown(self) -> Moment | None:
        """The moment that is told of."""
        return self._back or self._arrival or self.newest

    @property
    def newest(self) -> Moment | None:
        """The newest moment, if there is one."""
        return self._moments[-1] if self._moments else None

    def _row(self, arena: int) -> int:
        """Return the agent's row in the batch of its policy."""
        return int(self._slot.rows.start) + self.member * self._world.arenas + arena

    # --- once per tick ----------------------------------------------------------------------------------------------

    def saw(self, arena: int) -> None:
        """Note the tick that has just been judged, before the arena starts again; only copies are made."""
        row, tick = self._row(arena), int(self._clock.tick[arena])
        here = (arena, int(self._clock.episode[arena]), tick)
        if here != self._next:
            self.forget()
        self._next = (*here[:2], tick + 1)
        fate = self._fate(arena)
        after = self._after.value[row].copy() if fate is Fate.TRUNCATED else None
        now, total = (
            self._slot.by_term(terms)[:, self.member, arena].copy() for terms in (self._terms.now, self._terms.total)
        )
        did, reward = np.array(self._did.value[row]), float(self._reward.value[row])
        noted = Moment(self._seen.value[row].copy(), did, reward, fate, after)
        noted.whose = self._number
        noted.state, noted.state_after = self._remembers.before[row].copy(), self._remembers.value[row].copy()
        noted.terms, noted.totals = tuple(now.tolist()), tuple(total.tolist())
        self._moments.append(noted)
        self._arrival = self._view = None

    def _fate(self, arena: int) -> Fate:
        if not self._ending.ended[arena]:
            return Fate.RUNNING
        if self._explosion.now[arena]:
            return Fate.CUT
        return Fate.TERMINATED if self._ending.terminated[arena] else Fate.TRUNCATED

    # --- once per frame ---------------------------------------------------------------------------------------------

    def view(self) -> MindView:
        """Return the mind as it is now; the same object while nothing has happened."""
        if self._view is None:
            shown = self._shown()
            self._ask(shown)
            self._view = self._told(shown)
        return self._view

    def ribbon(self) -> RibbonView:
        """Return what each of the last ticks has earned."""
        shown = self._shown()
        return RibbonView(tuple(moment.terms for moment in shown), _begins(shown))

    def _shown(self) -> list[Moment]:
        """Return the moments that the plot goes back, up to the one that is to be seen.

        It goes over the ends of episodes, and no further back than where somebody put something else on the stage.
        """
        newest = reversed(self._moments)
        if self._back is not None:
            older = dropwhile(lambda moment: moment is not self._back, newest)
            newest = chain((self._back,), islice(older, 1, None))
        elif self._arrival is not None:
            newest = chain((self._arrival,), newest)
        found: list[Moment] = []
        for moment in islice(newest, WINDOW):
            if found and (moment.fate is Fate.CUT or moment is self._left):
                break
            found.append(moment)
        return found[::-1]

    def _ask(self, shown: Sequence[Moment]) -> None:
        """Let the agent think about all moments that are new to it, and about the ends that time cut, in one call."""
        fresh = [moment for moment in shown if not moment.asked]
        if not fresh:
            return
        seen = np.stack([moment.seen for moment in fresh])
        self._low = np.minimum(self._low, seen.min(axis=0))
        self._high = np.maximum(self._high, seen.max(axis=0))
        cut = [moment for moment in fresh if moment.after is not None]
        asked = np.concatenate((seen, *(moment.after[None] for moment in cut if moment.after is not None)))
        states = [moment.state for moment in fresh] + [moment.state_after for moment in cut]
        told = None if self._agent is None else output_of(self._agent, asked, self._stacked(states))
        values = [math.nan] * len(asked) if told is None else told.value.tolist()
        for row, moment in enumerate(fresh):
            moment.asked, moment.value, moment.thought = True, values[row], None
            if told is not None:
                spread = told.spread if told.spread is None or told.spread.ndim == 1 else told.spread[row]
                moment.thought = told.kind, told.does[row], spread
        for moment, value in zip(cut, values[len(fresh) :], strict=True):
            moment.value_after = value

    def _stacked(self, states: list[F32 | None]) -> F32:
        """Return (rows, state); zeros where another agent was at work, which remembered other numbers."""
        nothing = np.zeros(self._remembers.value.shape[1], np.float32)
        return np.stack([nothing if told is None or told.shape != nothing.shape else told for told in states])

    def _told(self, shown: Sequence[Moment]) -> MindView:
        terms, told = list(self.plan.earns), slice(0, MOST_TOLD)
        names = self._names[told]
        unknown = [math.nan] * len(terms)
        last = shown[-1] if shown else None
        seen = [math.nan] * len(names) if last is None else last.seen[told].tolist()
        now, total = (unknown, unknown) if last is None else (last.terms, last.totals)
        return MindView(
            sees=tuple(map(Seen, names, seen, self._low[told].tolist(), self._high[told].tolist())),
            sees_more=len(self._names) - len(names),
            pictures=() if last is None else pictures_of(self.plan, last.seen),
            kind="probabilities" if last is None or last.thought is None else last.thought[0],
            does=self._options(last),
            expected=np.array([moment.value for moment in shown]),
            came=came(shown, float(getattr(self._agent, "discount", 1.0))),
            begins=_begins(shown),
            earned=tuple(Term(name, n + 0.0, t + 0.0) for name, n, t in zip(terms, now, total, strict=True)),  # no -0.0
            who=self.name,
        )

    def _options(self, last: Moment | None) -> tuple[Option, ...]:
        if last is None or last.thought is None:
            return ()
        _, does, spread = last.thought
        return options_of(self._space, np.atleast_1d(last.did), does, spread)


def _body_of(slot: AgentSlot, member: int) -> Chosen | None:
    spec = slot.spec
    role = spec.of or next((effect.role for effect in spec.does.effects), None)
    return None if role is None else Chosen(role.name, member if role.count is not None else 0)


def _begins(shown: Sequence[Moment]) -> tuple[int, ...]:
    return tuple(i + 1 for i, m in enumerate(shown) if m.fate is not Fate.RUNNING)


def came(moments: Sequence[Moment], discount: float) -> F64:
    """Return (ticks,) the discounted return that followed each moment; NaN while too much of it is unknown.

    An episode that time cut would have gone on: what the agent expected of its last sight stands for that.
    """
    found = np.full(len(moments), math.nan)
    value, left, sure = 0.0, 1.0, False
    for i in range(len(moments) - 1, -1, -1):
        moment = moments[i]
        if moment.fate is not Fate.RUNNING or i == len(moments) - 1:
            value, left, sure = _beyond(moment)
        value = moment.reward + discount * value
        left *= discount
        if sure or left < KNOWN:
            found[i] = value
    return found


def _beyond(last: Moment) -> tuple[float, float, bool]:
    """Return what comes after the last moment of an episode, how much is unknown, and whether that is all of it."""
    if last.fate is Fate.TRUNCATED and math.isfinite(last.value_after):
        return last.value_after, 1.0, True
    return 0.0, 1.0, last.fate is Fate.TERMINATED

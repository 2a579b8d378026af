"""The mind of the watched agent: what it saw, did, expected and earned, and what really came of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.base import Kind, output_of
from ecs_rl.arrays import F32, F64
from ecs_rl.components import Action, Observation, PolicyState, Reward, Terms
from ecs_rl.scene.agents import AgentSpec
from ecs_rl.scene.rays import Rays
from ecs_rl.scene.sensors import Sensor
from ecs_rl.spaces import TRIGGER, Continuous, Part, Picture, spans
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.tick_log import Fate, Keyframe
from ecs_rl.viewer.view import MindView, Option, Seen, SeenPicture, Term

if TYPE_CHECKING:
    from ecs_rl.agents.base import Agent
    from ecs_rl.spaces import ActionSpace
    from ecs_rl.viewer.panel import App
    from ecs_rl.viewer.tick_log import Rewind
    from ecs_rl.world import AgentSlot, PolicyBatch, World

MOST_TOLD = 200
"""Numbers that are seen and told of one by one: no panel has room for more, and a picture has thousands."""
WINDOW = 300
"""Ticks that the plot goes back, over the ends of episodes."""
KNOWN = 0.05
"""Once what is still to come counts less than this, a return is as good as known."""
V = TypeVar("V")
READ_EVERY = 0.09
"""Seconds for which a reading stays while a training goes flat out."""
LEAST = 6
"""Fewer rays have a row each."""
MOST_CELLS = 4096
"""More cells than that are no small picture."""


@dataclass(frozen=True)
class RibbonView:
    """What each of the last ticks has earned, by term."""

    earned: tuple[tuple[float, ...], ...]
    """The newest tick last; each has a number for every term."""
    begins: tuple[int, ...] = ()
    """The ticks of these at which another episode began."""


@dataclass(slots=True)
class Thought:
    """One agent's part of a keyframe, and what it thought of that."""

    seen: F32
    """(numbers,) What it decided on."""
    did: NDArray[Any]
    """The action; where nothing was done yet NaN for a lever and -1 for a choice."""
    reward: float
    fate: Fate
    after: F32
    """(numbers,) What it saw then."""
    state: F32
    """(state,) What it remembered as it decided."""
    state_after: F32
    """(state,) What it remembered then."""
    terms: tuple[float, ...]
    """What the tick earned by each term, in the order of the plan."""
    totals: tuple[float, ...]
    """The same since the episode began."""
    is_asked: bool = False
    """Whether the agent was asked; what follows is its answer, if it lets anybody look."""
    value: float = math.nan
    value_after: float = math.nan
    output: tuple[Kind, F32, F32 | None] | None = None
    """What it thought of doing, and how widely it would have spread that."""


class Mind:
    """Reads one of the watched arena's agents from the log of the stage, and asks it once per frame what it thinks.

    It is the first agent, of a kind the first member, until somebody turns to the next.
    """

    def __init__(self, world: World, agents: Mapping[str, Agent], rewind: Rewind) -> None:
        self._world, self._agents, self._rewind, self._log = world, agents, rewind, rewind.log
        self._slots = [
            (batch, slot, member)
            for batch in world.batches
            for slot in batch.slots
            for member in range(slot.spec.members)
        ]
        self._turn_to(0)

    def turn(self) -> None:
        """Turn to the next agent, if there is one."""
        if len(self._slots) > 1:
            self._turn_to((self._number + 1) % len(self._slots))

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
    def body(self) -> BodyId | None:
        """The body of that agent: the member of its kind, or what its first effect works on."""
        return _body_of(self._slot, self.member)

    def turn_to(self, body: BodyId | None) -> bool:
        """Turn to the agent that has this body; tell whether there is one, and it is another."""
        at = [i for i, (_, slot, member) in enumerate(self._slots) if body and _body_of(slot, member) == body]
        if not at or at[0] == self._number:
            return False
        self._turn_to(at[0])
        return True

    def _turn_to(self, number: int) -> None:
        self._number, (self._batch, self._slot, self.member) = number, self._slots[number]
        self.plan, self._space = self._slot.spec, self._batch.spec.actions
        self.place = int(self._slot.rows.start) // self._world.arenas + self.member
        """Of the agent among those of its policy, which is its row in a world of one arena."""
        log, kinds = self._log, (Observation, Action, PolicyState, Reward)
        of_policy = [log.number_of(kind, self._batch.name) for kind in kinds]
        self._columns = (*of_policy, log.number_of(Terms, field="now"), log.number_of(Terms, field="total"))
        names = self._names = self.plan.observation_names
        scale = {name: sensor.scale for sensor in self.plan.sees if isinstance(sensor, Sensor) for name in sensor.names}
        self._scales = [scale.get(name) for name in names]
        self._low, self._high = -np.ones(len(names)), np.ones(len(names))
        self._view: tuple[Keyframe, MindView] | None = None
        for keyframe in self._log.past:
            keyframe.thought = None

    def use(self, agents: Mapping[str, Agent]) -> None:
        """Ask other agents from now on, about the newest keyframe too; what was expected before stays."""
        self._agents, self._view = agents, None
        self._thought(self._log.past[-1]).is_asked = False

    @property
    def space(self) -> ActionSpace:
        """What it can do."""
        return self._space

    @property
    def agent(self) -> Agent | None:
        """Who is asked what it thinks."""
        return self._agents.get(self.plan.policy)

    @property
    def current(self) -> Thought:
        """What it thought of the keyframe that is to be seen."""
        return self._thought(self._rewind.current)

    # --- the log ----------------------------------------------------------------------------------------------------

    def _thought(self, keyframe: Keyframe) -> Thought:
        if keyframe.thought is None:
            keyframe.thought = self._read(keyframe)
        return keyframe.thought

    def _read(self, keyframe: Keyframe) -> Thought:
        """Return what the agent saw and did; where an episode begins what it sees, before it does anything."""
        place, (seen, did, state, reward, terms, totals) = self.place, self._columns
        before, after = keyframe.before, keyframe.columns
        return Thought(
            seen=before[seen][place],
            did=self._nothing() if keyframe.begins else after[did][place],
            reward=0.0 if keyframe.begins else float(after[reward][place]),
            fate=keyframe.fate,
            after=after[seen][place],
            state=before[state][place],
            state_after=after[state][place],
            terms=(0.0,) * len(self.plan.earns) if keyframe.begins else self._by_term(after[terms]),
            totals=self._by_term(after[totals]),
        )

    def _by_term(self, earned: F64) -> tuple[float, ...]:
        return tuple(self._slot.by_term(earned)[:, self.member, 0].tolist())

    def _nothing(self) -> NDArray[Any]:
        """Return an action in which nothing is done."""
        action = np.full(self._space.columns, math.nan)
        for part, columns, _ in spans(self._space):
            if not isinstance(part, Continuous):
                action[columns] = -1  # none of them is chosen
        return action

    def _plot(self) -> list[Thought]:
        """Return the ticks that the plot goes back, up to the keyframe that is to be seen.

        It goes over the ends of episodes, and no further back than where something else came onto the stage.
        """
        past, current = self._log.past, self._rewind.current
        thoughts = [self._thought(current)]
        for keyframe in islice(reversed(past), len(past) - self._rewind.here, None):
            if keyframe.line != current.line or len(thoughts) == WINDOW:
                break
            if not keyframe.begins:
                thoughts.append(self._thought(keyframe))
        return thoughts[::-1]

    # --- once per frame ---------------------------------------------------------------------------------------------

    def view(self) -> MindView:
        """Return the mind as it is now; the same object while nothing has happened."""
        current = self._rewind.current
        if self._view is None or self._view[0] is not current:
            thoughts = self._plot()
            self._ask(thoughts)
            self._view = current, self._describe(thoughts)
        return self._view[1]

    def ribbon(self) -> RibbonView:
        """Return what each of the last ticks has earned."""
        thoughts = self._plot()
        return RibbonView(tuple(thought.terms for thought in thoughts), _begins(thoughts))

    def _ask(self, thoughts: Sequence[Thought]) -> None:
        """Let the agent think about all that is new to it, and about the ends that time cut, in one call."""
        fresh = [thought for thought in thoughts if not thought.is_asked]
        if not fresh:
            return
        cut = [thought for thought in fresh if thought.fate is Fate.TRUNCATED]
        asked = np.stack([thought.seen for thought in fresh] + [thought.after for thought in cut])
        self._low = np.minimum(self._low, asked[: len(fresh)].min(axis=0))
        self._high = np.maximum(self._high, asked[: len(fresh)].max(axis=0))
        states = [thought.state for thought in fresh] + [thought.state_after for thought in cut]
        output = None if self.agent is None else output_of(self.agent, asked, self._stacked(states))
        values = [math.nan] * len(asked) if output is None else output.value.tolist()
        for row, thought in enumerate(fresh):
            thought.is_asked, thought.value, thought.output = True, values[row], None
            if output is not None:
                spread = output.spread if output.spread is None or output.spread.ndim == 1 else output.spread[row]
                thought.output = output.kind, output.does[row], spread
        for thought, value in zip(cut, values[len(fresh) :], strict=True):
            thought.value_after = value

    def _stacked(self, states: list[F32]) -> F32:
        """Return (rows, state); zeros where another agent was at work, which remembered other numbers."""
        nothing = np.zeros(self._world.of(self._batch.entity, PolicyState).value.shape[1], np.float32)
        return np.stack([state if state.shape == nothing.shape else nothing for state in states])

    def _describe(self, thoughts: Sequence[Thought]) -> MindView:
        last, listed = thoughts[-1], slice(0, MOST_TOLD)
        names = self._names[listed]
        earned = zip(self.plan.earns, last.terms, last.totals, strict=True)
        return MindView(
            sees=tuple(
                map(
                    Seen,
                    *(names, last.seen[listed].tolist(), self._low[listed].tolist(), self._high[listed].tolist()),
                    self._scales[listed],
                )
            ),
            sees_more=len(self._names) - len(names),
            pictures=pictures_of(self.plan, last.seen),
            kind="probabilities" if last.output is None else last.output[0],
            does=self._options(last),
            expected=np.array([thought.value for thought in thoughts]),
            came=came(thoughts, float(getattr(self.agent, "discount", 1.0))),
            begins=_begins(thoughts),
            earned=tuple(Term(name, now + 0.0, total + 0.0) for name, now, total in earned),  # no -0.0
            who=self.name,
        )

    def _options(self, last: Thought) -> tuple[Option, ...]:
        if last.output is None:
            return ()
        _, does, spread = last.output
        return options_of(self._space, np.atleast_1d(last.did), does, spread)


def _body_of(slot: AgentSlot, member: int) -> BodyId | None:
    spec = slot.spec
    role = spec.of or next((effect.role for effect in spec.does.effects), None)
    return None if role is None else BodyId(role.name, member if role.count is not None else 0)


def _begins(thoughts: Sequence[Thought]) -> tuple[int, ...]:
    return tuple(i + 1 for i, thought in enumerate(thoughts) if thought.fate is not Fate.RUNNING)


def came(thoughts: Sequence[Thought], discount: float) -> F64:
    """Return (ticks,) the discounted return that followed each tick; NaN while too much of it is unknown.

    An episode that time cut would have gone on: what the agent expected of its last sight stands for that.
    """
    returns = np.full(len(thoughts), math.nan)
    value, left, sure = 0.0, 1.0, False
    for i in range(len(thoughts) - 1, -1, -1):
        thought = thoughts[i]
        if thought.fate is not Fate.RUNNING or i == len(thoughts) - 1:
            value, left, sure = _beyond(thought)
        value = thought.reward + discount * value
        left *= discount
        if sure or left < KNOWN:
            returns[i] = value
    return returns


def _beyond(last: Thought) -> tuple[float, float, bool]:
    """Return what comes after the last tick of an episode, how much is unknown, and whether that is all of it."""
    if last.fate is Fate.TRUNCATED and math.isfinite(last.value_after):
        return last.value_after, 1.0, True
    return 0.0, 1.0, last.fate is Fate.TERMINATED


class SeldomRead(Generic[V]):
    """The newest reading of the mind on the stage; whoever owns it adds the seconds of each frame to its `age`."""

    def __init__(self, read: Callable[[Mind], V]) -> None:
        self._read = read
        self._reading: tuple[tuple[Mind, int], V] | None = None
        """Of which mind, after how many jumps of the stage."""
        self.age = 0.0
        """Seconds since it was read."""

    def of(self, app: App) -> V:
        """Return the mind as it is in the picture; of a stage that moves beside a busy training, as it was just now."""
        show, mind, work = app.show, app.show.mind, app.run.background
        moves = work is not None and work.is_flat_out and not show.paused and show.rewind.at is None
        which = mind, show.log.jumps
        if self._reading is None or not moves or self.age >= READ_EVERY or self._reading[0] != which:
            self.age, self._reading = 0.0, (which, self._read(mind))
        return self._reading[1]

    def forget(self) -> None:
        """Read anew next time: another agent is looked at."""
        self._reading = None


def options_of(space: ActionSpace, did: NDArray[Any], does: F32, spread: F32 | None) -> tuple[Option, ...]:
    """Return (columns,) of what was done and (actions,) of an agent's output as they are shown, part by part."""
    wide = np.full(len(does), math.nan) if spread is None else spread
    return tuple(
        option
        for part, columns, outputs in spans(space)
        for option in _options_of(part, did[columns], does[outputs].tolist(), wide[outputs].tolist())
    )


def _options_of(part: Part, did: NDArray[Any], values: list[float], spread: list[float]) -> list[Option]:
    """Return a lever, or each option of a choice, as shown; of a trigger among other controls only that it is on."""
    if isinstance(part, Continuous):
        taken = np.clip(did, -1.0, 1.0).tolist()  # as the world clips it
        levers = zip(part.names, values, taken, spread, strict=True)
        return [Option(name, mean, taken=set_to, spread=wide) for name, mean, set_to, wide in levers]
    chosen = int(did[0])
    if part.name and part.names == TRIGGER:
        return [Option(part.name, values[1], chosen=chosen == 1)]
    named = enumerate(zip(part.names, values, strict=True))
    return [Option(f"{part.name} {name}".strip(), value, chosen=i == chosen) for i, (name, value) in named]


def pictures_of(spec: AgentSpec, seen: F32) -> tuple[SeenPicture, ...]:
    """Return the pictures in (numbers,) that one agent sees."""
    pictures, first = list[SeenPicture](), 0
    for sensor in spec.sees:
        shape = _shape(sensor)
        if shape is not None:
            values = seen[first : first + int(np.prod(shape))].astype(np.float64).reshape(shape)
            pictures.append(SeenPicture(_name(sensor.names), first, values))
        first += len(sensor.names)
    return tuple(pictures)


def _shape(sensor: object) -> tuple[int, int, int] | None:
    """Return (layers, up, across) of a sensor that is shown as a picture, None of any other."""
    layout = getattr(sensor, "layout", None)
    if isinstance(layout, Picture):
        return (layout.layers, layout.up, layout.across) if layout.size <= MOST_CELLS else None
    if isinstance(sensor, Rays) and len(sensor.angles) >= LEAST:
        return len(sensor.names) // len(sensor.angles), 1, len(sensor.angles)
    return None


def _name(names: tuple[str, ...]) -> str:
    """Return what the names of all numbers begin with."""
    first, last = min(names), max(names)
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:same].rstrip(" 0123456789,")

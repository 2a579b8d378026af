"""What every agent is: a plain object that acts on a batch, takes transitions and learns in slices. No ECS here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.forms import Layout
from ecs_rl.errors import quoted

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]


class ActMode(Enum):
    """How an agent picks its action."""

    EXPLORE = "explore"
    """To learn: samples, and adds what the learner wants back."""
    SAMPLE = "sample"
    """As while exploring, from random numbers of its own, so that whoever watches changes nothing."""
    GREEDY = "greedy"
    """The best action as far as the agent knows: no randomness."""


TRIGGER = ("off", "on")
"""The names of the two choices of a trigger."""


class Wrong(NamedTuple):
    """Why something is no action."""

    what: str
    why: str = ""
    """The rest of the sentence, where it is wrong in one row."""
    row: int = -1


@dataclass(frozen=True)
class Discrete:
    """One of `len(names)` choices; an action is a whole number."""

    names: tuple[str, ...]
    name: str = ""
    """What is chosen, where this is a part of a composed space: its options are then named `name option`."""

    columns = 1
    """Numbers of an action."""
    levers = 0
    """How many of the outputs are levers, each of which has a spread."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """What the space is composed of."""
        return (self,)

    @property
    def about(self) -> dict[str, str]:
        """What can be set, and to what."""
        return {self.name or "choice": ", ".join(self.names)}

    def none(self, rows: int) -> NDArray[np.int64]:
        """Return (rows,) zeros, the form of an action."""
        return np.zeros(rows, np.int64)

    def random(self, random: np.random.Generator, rows: int) -> NDArray[np.int64]:
        """Return (rows,) choices, all of them equally probable."""
        return random.integers(0, len(self.names), rows)

    def clipped(self, action: NDArray[Any]) -> NDArray[Any]:
        """Return a copy: a choice has nothing to clip."""
        return np.array(action)

    def wrong(self, action: NDArray[Any], rows: int) -> Wrong | None:
        """Return why this is no action of so many rows, None where it is one."""
        if action.shape != (rows,) or action.dtype.kind not in "iu":
            return Wrong(f"must choose ({rows},) whole numbers, not {action.shape} of {action.dtype}")
        if action.astype(np.uint64, copy=False).max() >= len(self.names):  # a negative number becomes a huge one
            return Wrong(f"chose {action.min()}..{action.max()} of {len(self.names)} options")
        return None


@dataclass(frozen=True)
class Continuous:
    """A number between -1 and 1 for each name.

    An agent may decide on more: scenes, pilots and `TrainingSession.act` clip it, and the agent learns from its own.
    """

    names: tuple[str, ...]

    @property
    def columns(self) -> int:
        """Numbers of an action."""
        return len(self.names)

    levers = columns
    """How many of the outputs are levers: all."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """What the space is composed of."""
        return (self,)

    @property
    def about(self) -> dict[str, str]:
        """What can be set, and to what."""
        return dict.fromkeys(self.names, "-1 to 1")

    def none(self, rows: int) -> Floats:
        """Return (rows, columns) zeros, the form of an action."""
        return np.zeros((rows, self.columns), np.float32)

    def random(self, random: np.random.Generator, rows: int) -> Floats:
        """Return (rows, columns) numbers, evenly spread between -1 and 1."""
        return random.uniform(-1.0, 1.0, (rows, self.columns)).astype(np.float32)

    def clipped(self, action: NDArray[Any]) -> NDArray[Any]:
        """Return a copy between -1 and 1."""
        return np.asarray(np.clip(action, -1.0, 1.0))

    def wrong(self, action: NDArray[Any], rows: int) -> Wrong | None:
        """Return why this is no action of so many rows, None where it is one."""
        if action.shape != (rows, self.columns) or action.dtype.kind != "f":
            return Wrong(f"must set ({rows}, {self.columns}) levers, not {action.shape} of {action.dtype}")
        return _not_finite(action, [f"the lever '{name}'" for name in self.names])


@dataclass(frozen=True)
class Composed:
    """Several choices and levers at once; an action has a number for each, a choice's being that of its option."""

    parts: tuple[Part, ...]
    """Choices with a name each, and levers, in order."""

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each output: `steer left`, `gas`."""
        return tuple(
            f"{part.name} {name}" if isinstance(part, Discrete) else name for part in self.parts for name in part.names
        )

    @property
    def columns(self) -> int:
        """Numbers of an action."""
        return sum(part.columns for part in self.parts)

    @property
    def levers(self) -> int:
        """How many of the outputs are levers, each of which has a spread."""
        return sum(part.levers for part in self.parts)

    @property
    def about(self) -> dict[str, str]:
        """What can be set, and to what."""
        return {name: what for part in self.parts for name, what in part.about.items()}

    def none(self, rows: int) -> Floats:
        """Return (rows, columns) zeros, the form of an action."""
        return np.zeros((rows, self.columns), np.float32)

    def random(self, random: np.random.Generator, rows: int) -> Floats:
        """Return (rows, columns) numbers, each part's at random."""
        each = [part.random(random, rows).reshape(rows, -1) for part in self.parts]
        return np.concatenate(each, axis=1).astype(np.float32)

    def clipped(self, action: NDArray[Any]) -> NDArray[Any]:
        """Return a copy with every lever between -1 and 1; choices stay as they are."""
        copy = np.array(action)
        for part, columns, _ in spans(self):
            copy[:, columns] = part.clipped(copy[:, columns])
        return copy

    def wrong(self, action: NDArray[Any], rows: int) -> Wrong | None:
        """Return why this is no action of so many rows, None where it is one."""
        if action.shape != (rows, self.columns) or action.dtype.kind != "f":
            form, names = f"not {action.shape} of {action.dtype}", ", ".join(self.about)
            return Wrong(f"must set ({rows}, {self.columns}) numbers ({names}), {form}")
        found = _not_finite(action, [f"'{name}'" for name in self.about])
        for part, columns, _ in () if found else spans(self):
            if isinstance(part, Discrete):
                chosen = action[:, columns.start]
                bad = (chosen < 0) | (chosen >= len(part.names)) | (chosen != np.floor(chosen))
                if bad.any():
                    row = int(bad.argmax())
                    there = f"one of 0 to {len(part.names) - 1} ({', '.join(part.names)})"
                    return Wrong(f"set '{part.name}'", f"to {chosen[row]:g}, not {there},", row)
        return found


def _not_finite(action: NDArray[Any], names: Sequence[str]) -> Wrong | None:
    if np.isfinite(action).all():
        return None
    row, number = np.argwhere(~np.isfinite(action))[0].tolist()
    return Wrong(f"set {names[number]}", f"to {action[row, number]:g}, not a finite number,", row)


Part = Discrete | Continuous
ActionSpace = Discrete | Continuous | Composed


def spans(space: ActionSpace) -> Iterator[tuple[Part, slice, slice]]:
    """Yield each part of a space with its columns of an action and its outputs of a network."""
    column, output = 0, 0
    for part in space.parts:
        columns, outputs = slice(column, column + part.columns), slice(output, output + len(part.names))
        yield part, columns, outputs
        column, output = columns.stop, outputs.stop


@dataclass(frozen=True)
class PolicySpec:
    """What a policy sees and does, in all the rows of a batch."""

    observations: tuple[str, ...]
    """The name of each number in an observation, in order."""
    actions: ActionSpace
    name: str = "policy"
    state: int = 0
    """Numbers that a recurrent policy remembers for each row; zero where an episode begins."""
    layout: Layout = ()
    """Which of the observations form a picture or tell of a set, in order; all others are plain numbers."""

    def __post_init__(self) -> None:
        """Raise ValueError for names that are no texts, choices without options, and a layout that does not fit."""
        parts = self.actions.parts
        for name in (self.name, *self.observations, *(n for p in parts for n in (getattr(p, "name", ""), *p.names))):
            if not isinstance(name, str):
                raise ValueError(f"a name must be a text, not {quoted(name, 60)}")
        if not all(part.names for part in parts):
            raise ValueError(f"the policy {quoted(self.name, 60)} has an action without a name")
        end = 0
        for number in (self.state, *(number for form in self.layout for number in astuple(form))):
            if not isinstance(number, int) or isinstance(number, bool) or number < 0:
                raise ValueError(f"a policy's sizes are whole numbers from 0 on, not {quoted(number, 60)}")
        for form in self.layout:
            if form.first < end or form.size < 1 or form.first + form.size > len(self.observations):
                raise ValueError(f"{quoted(form, 120)} does not fit into {len(self.observations)} observations")
            end = form.first + form.size


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy decides for a batch: a function of its parameters, the observations and its state."""

    action: NDArray[Any]
    """(rows,) whole numbers for a lone choice, (rows, columns) otherwise."""
    state: Floats | None = None
    """(rows, numbers) What a recurrent policy remembers from here on; None for the others."""
    extras: Mapping[str, Any] = field(default_factory=dict)
    """What its learner wants back with the transition, (rows, ...) each, by name: log-probability, value, ..."""


@dataclass(slots=True)
class Experience:
    """One tick's transitions, one row for each agent that decided; `terminated` and `truncated` are never both true."""

    observation: Floats
    """(rows, numbers) What the agent saw when it decided."""
    action: NDArray[Any]
    """(rows,) whole numbers for a lone choice, (rows, columns) otherwise."""
    reward: Floats
    """(rows,)"""
    next_observation: Floats
    """(rows, numbers) What came of it, taken before a new episode starts."""
    terminated: Bools
    """(rows,) The episode ended by a rule of the scene: nothing more is to be earned."""
    truncated: Bools
    """(rows,) The episode was cut by its time limit: what would have come is what the agent expects."""
    valid: Bools | None = None
    """(rows,) False where the transition must not be learned from (an arena that exploded); None: all are good."""
    extras: Mapping[str, Any] = field(default_factory=dict)
    """What the decision carried for the learner."""


Kind = Literal["probabilities", "values", "levers", "mixture"]
"""What the numbers of a PolicyOutput are; in a mixture probabilities and levers, part by part."""


@dataclass(frozen=True, slots=True)
class PolicyOutput:
    """What an agent thinks of each row of a batch."""

    kind: Kind
    does: Floats
    """(rows, actions), in the order of the spec: each choice's probability or its value, or each lever's mean."""
    spread: Floats | None
    """(actions,), or (rows, actions) where rows differ: the standard deviation of each lever, NaN for a choice beside
    levers; None where there is no lever."""
    value: NDArray[np.float64]
    """(rows,) The discounted return expected from here on, in the reward's own units; NaN where it is not known."""


State = dict[str, "torch.Tensor"]


class Agent(Protocol):
    """The interface that the session, the world and the run writer use."""

    name: str
    spec: PolicySpec

    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Return the decision for every row; nothing but the random streams changes in the agent."""

    def observe(self, experience: Experience) -> None:
        """Take complete transitions, the extras of their decision included; copies what it keeps."""

    def learn(self, progress: float) -> Iterator[None]:
        """Update if enough has been gathered, yielding between minibatches; `progress` is the schedule's share done."""

    def metrics(self) -> Mapping[str, float]:
        """Return the newest numbers of learning by name (`loss/policy`, `entropy`, ...), empty before the first."""

    def is_finite(self) -> bool:
        """Tell whether every parameter is a finite number."""

    def policy_state(self) -> State:
        """Return all that acting needs: parameters and normaliser, under stable names; copies."""

    def load_policy_state(self, state: State) -> None:
        """Take over a policy saved by `policy_state`; refuses other names or shapes with CheckpointError."""

    def state(self) -> State:
        """Return all that continuing exactly needs (optimiser, buffers, random state, counters too); copies."""

    def load_state(self, state: State) -> None:
        """Continue exactly where `state` was taken."""

    def parameters_sha256(self) -> str:
        """Return the SHA-256 of the policy's parameters in a fixed order."""


@runtime_checkable
class Introspectable(Protocol):
    """An agent that lets others look into its mind; not every agent does."""

    @property
    def discount(self) -> float:
        """What a reward one tick later counts for."""

    def introspect(self, observation: Floats, state: Floats | None = None) -> PolicyOutput:
        """Return what the agent thinks of each row, any number of them; nothing in the agent changes.

        One that remembers is told (rows, state) of what it remembered as it saw that.
        """


@runtime_checkable
class Restartable(Protocol):
    """An agent that can go on learning from an earlier policy of its own; not every agent can."""

    def restart(self, policy: State) -> None:
        """Take over a policy saved by `policy_state`, with a new optimiser; what it remembers besides stays."""


@dataclass(frozen=True, eq=False)
class Demonstration:
    """One episode as somebody played it, of one agent."""

    seed: int
    observation: Floats
    """(ticks, numbers) What was seen before each decision."""
    action: NDArray[Any]
    """(ticks,) whole numbers for a lone choice, (ticks, columns) otherwise."""
    reward: Floats
    """(ticks,)"""
    shown: Bools
    """(ticks,) Which of the decisions are to be imitated: a policy may have made the others."""
    terminated: bool
    """Ended by a rule of the scene, not by time or by whoever played."""
    result: float
    """What stands for the episode: its score, or its return."""

    def __len__(self) -> int:
        return len(self.action)


@runtime_checkable
class Imitating(Protocol):
    """An agent that can begin by imitating somebody; not every agent can."""

    def imitate(self, shown: Sequence[Demonstration]) -> float:
        """Learn to do as was shown, before the first step; return the share of the actions that are done alike."""


def output_of(agent: Agent, observation: Floats, state: Floats | None = None) -> PolicyOutput | None:
    """Return what an agent thinks of each row, None if it lets nobody look; `state` is for one that remembers."""
    if not isinstance(agent, Introspectable):
        return None
    remembers = state is not None and state.shape[1]
    return agent.introspect(observation, state) if remembers else agent.introspect(observation)

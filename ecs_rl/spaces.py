"""What a policy sees and does: the parts of an observation, the spaces of actions, and one tick's transitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecs_rl.errors import quoted

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

# --- observations -----------------------------------------------------------------------------------------------------

LARGE, SMALL = 32, 12
"""Cells along the longer side of a picture: more are many, and as few are enough."""


@dataclass(frozen=True)
class Picture:
    """Numbers of an observation that form a picture: layer by layer, each row by row.

    The rows of a Grid go from the lowest up, those of an environment's pictures from the top down.
    """

    first: int
    """Where in the observation it begins."""
    layers: int
    up: int
    across: int

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return self.layers * self.up * self.across

    @property
    def strides(self) -> tuple[int, ...]:
        """How far each convolution over it steps: of a large picture each of them halves it until it is small."""
        longer, strides = max(self.up, self.across), list[int]()
        while self._is_large and longer > SMALL:
            longer = -(-longer // 2)
            strides.append(2)
        return tuple(strides) or (1, 2)

    @property
    def channels(self) -> tuple[int, ...]:
        """How many features each convolution makes."""
        return (16, *[32 if self._is_large else 16] * (len(self.strides) - 1))

    @property
    def features(self) -> int:
        """How many numbers the last convolution makes."""
        up, across = self.up, self.across
        for stride in self.strides:
            up, across = -(-up // stride), -(-across // stride)
        return self.channels[-1] * up * across

    @property
    def _is_large(self) -> bool:
        return max(self.up, self.across) > LARGE


@dataclass(frozen=True)
class Members:
    """Numbers of an observation that tell of a set, member by member; the first of each is 1, or 0 for none there."""

    first: int
    """Where in the observation it begins."""
    most: int
    """Members that are told of at most."""
    numbers: int
    """Numbers of each, the first included."""

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return self.most * self.numbers


Layout = tuple[Picture | Members, ...]


# --- actions ----------------------------------------------------------------------------------------------------------


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
        actions = [part.random(random, rows).reshape(rows, -1) for part in self.parts]
        return np.concatenate(actions, axis=1).astype(np.float32)

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
        mistake = _not_finite(action, [f"'{name}'" for name in self.about])
        for part, columns, _ in () if mistake else spans(self):
            if isinstance(part, Discrete):
                chosen = action[:, columns.start]
                bad = (chosen < 0) | (chosen >= len(part.names)) | (chosen != np.floor(chosen))
                if bad.any():
                    row = int(bad.argmax())
                    there = f"one of 0 to {len(part.names) - 1} ({', '.join(part.names)})"
                    return Wrong(f"set '{part.name}'", f"to {chosen[row]:g}, not {there},", row)
        return mistake


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
    head: str = ""
    """How its network's outputs become actions: a name of `agents/policy_heads.py`, "" if only its learner knows."""
    allowed: tuple[tuple[int, int], ...] = ()
    """Numbers of an observation that are 1, or 0 where an option must not be chosen, each with the option's output."""
    critic_sees: tuple[str, ...] = ()
    """The name of each number behind an observation that only a critic sees while it learns."""

    @property
    def numbers(self) -> tuple[str, ...]:
        """The name of each number in a row, those of the critic included."""
        return (*self.observations, *self.critic_sees)

    def __post_init__(self) -> None:
        """Raise ValueError for names that are no texts, choices without options, and a layout that does not fit."""
        parts = self.actions.parts
        for name in (
            self.name,
            self.head,
            *self.numbers,
            *(n for p in parts for n in (getattr(p, "name", ""), *p.names)),
        ):
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
        options = {
            i for part, _, at in spans(self.actions) if isinstance(part, Discrete) for i in range(at.start, at.stop)
        }
        for column, output in self.allowed:
            if not 0 <= column < len(self.observations) or output not in options:
                raise ValueError(f"the number {column} of an observation cannot allow the output {output}")


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

"""What `--sweep` varies: `NAME=LOW..HIGH`, `NAME=LOW..HIGH:log` or `NAME=A,B,C`, and settings drawn from that."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, get_origin

from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.errors import CommandError, nearest
from ecs_rl.values import fitted, hints_of, kind_of

Setting = dict[str, Any]
"""What one trial trains with, by the names of the settings."""
OF_EVERY_AGENT = ("agent", "network", "arenas", "schedule_steps", "restore_best", "pool_latest", "pool_every")
"""What may be varied besides the settings of the algorithm: all of it leaves the measure as it is."""
LOGARITHMIC = ":log"
DIGITS = 4
"""Significant digits of a number that is drawn: nobody wants to type more of them."""
MOST_COMBINATIONS = 100_000


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included."""

    name: str
    text: str
    """As it was written."""
    low: float
    high: float
    log: bool
    """Whether each power of ten is as likely as the next."""
    whole: bool
    """Whether they are whole numbers."""

    def at(self, share: float) -> float:
        """Return the number below which this share, from 0 to 1, of all draws lies."""
        half = 0.5 if self.whole else 0.0  # of the step to the next: the two ends are as likely as what is between
        low, high = self.low - half, self.high + half
        return self.nearest(low * (high / low) ** share if self.log else low + (high - low) * share)

    def nearest(self, value: float) -> float:
        """Return the closest number of the range that can be written in a few digits."""
        if self.whole:
            return min(max(round(value), int(self.low)), int(self.high))
        return min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)

    def own(self, value: Any) -> float | None:
        """Return a value that a file holds as one of this range, None where it is none."""
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            return None
        return (value if self.whole else float(value)) if self.low <= value <= self.high else None

    def place(self, value: float) -> float:
        """Return where a number lies between the two ends, from 0 to 1, on its own scale."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    @property
    def marks(self) -> list[tuple[float, str]]:
        """The ends and the middle by their places."""
        middle = self.at(0.5)
        places = {self.low: 0.0, middle: self.place(middle), self.high: 1.0}
        return [(place, f"{value:g}") for value, place in places.items()]


@dataclass(frozen=True)
class OneOf:
    """One of several values."""

    name: str
    text: str
    values: tuple[Any, ...]

    def at(self, share: float) -> Any:
        """Return the value below which this share, from 0 to 1, of all draws lies."""
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]

    def own(self, value: Any) -> Any:
        """Return a value that a file holds, where lists stand for tuples, as one of these; None where it is none."""
        plain = tuple(value) if isinstance(value, list) else value
        return next((own for own in self.values if type(own) is type(plain) and own == plain), None)

    def place(self, value: Any) -> float:
        """Return where a value stands among the others, from 0 to 1."""
        return self.values.index(self.own(value)) / (len(self.values) - 1)

    @property
    def marks(self) -> list[tuple[float, str]]:
        """All values by their places."""
        return [(self.place(value), value_in_words(value)) for value in self.values]


Axis = Range | OneOf


def parse_ranges(texts: Sequence[str], settings: TrainSettings) -> tuple[Axis, ...]:
    """Return what `--sweep` names; each mistake is a CommandError."""
    axes: list[Axis] = []
    names = _names(texts, settings)
    for text in texts:
        name, equals, range_ = text.partition("=")
        if not equals:
            remedy = "write NAME=LOW..HIGH or NAME=A,B,C, as in ppo.lr=1e-4..1e-2:log, and SCENE before --sweep"
            raise CommandError(f"--sweep '{text}': {remedy}")
        hint = names.get(name.replace("-", "_"))
        if hint is None:
            raise CommandError(f"--sweep {text}: {_why_not(name, names, settings)}")
        axis = _axis(name.replace("-", "_"), text, range_, hint)
        if any(axis.name == other.name for other in axes):
            raise CommandError(f"--sweep names {axis.name} twice: leave one out")
        axes.append(axis)
    for axis in axes:
        _check_agents(axis, settings)
    return tuple(axes)


def _names(texts: Sequence[str], settings: TrainSettings) -> dict[str, Any]:
    """Return the types of what can be varied here, by name."""
    agents = next((text.partition("=")[2].split(",") for text in texts if text.startswith("agent=")), [settings.agent])
    hints = hints_of(type(settings))
    return {name: hint for name, hint in hints.items() if name in OF_EVERY_AGENT or name.partition(".")[0] in agents}


def _why_not(name: str, names: Mapping[str, Any], settings: TrainSettings) -> str:
    """Say why there is nothing of this name to vary."""
    known, plain = hints_of(type(settings)), name.replace("-", "_")
    table = plain.partition(".")[0]
    if plain in known and "." in plain:
        return f"{settings.agent} is what learns: add --agent {table}, or vary {settings.agent}'s settings"
    if plain in known:
        return f"trials with another '{plain}' could not be compared: give it once, as --{name}"
    if f"{settings.agent}.{plain}" in names:
        return f"unknown setting '{name}': did you mean '{settings.agent}.{plain}'?"
    return f"unknown setting '{name}': {nearest(name, names)}"


def _axis(name: str, text: str, range_: str, hint: Any) -> Axis:
    """Return what one text of the command says."""
    flag = f"--sweep {text}"
    if kind_of(hint) in (int, float) and ".." in range_:
        return _range(name, text, range_, hint)
    if range_.endswith(LOGARITHMIC):
        raise CommandError(f"{flag}: {LOGARITHMIC} is for a range of numbers: write {name}=LOW..HIGH{LOGARITHMIC}")
    if not range_:
        raise CommandError(f"{flag}: it names no value: write {name}=LOW..HIGH or {name}=A,B,C")
    values = tuple(dict.fromkeys(_value(flag, value, hint) for value in range_.split(",")))
    if len(values) < 2:
        remedy = f"it names one value: give it as --{name.replace('_', '-')}"
        raise CommandError(f"{flag}: {remedy}, or write {name}=LOW..HIGH or {name}=A,B,C")
    return OneOf(name, text, values)


def _range(name: str, text: str, range_: str, hint: Any) -> Range:
    flag = f"--sweep {text}"
    ends, colon, scale = range_.partition(":")
    if colon and colon + scale != LOGARITHMIC:
        raise CommandError(f"{flag}: there is no scale '{scale}': write {LOGARITHMIC}, or nothing for an even one")
    low, high = (_value(flag, end, hint) for end in ends.split("..", maxsplit=1))
    if low >= high:
        raise CommandError(f"{flag}: the range is empty: write the smaller number first")
    if colon and low <= 0:
        raise CommandError(f"{flag}: {LOGARITHMIC} needs numbers above 0: begin above it, or leave {LOGARITHMIC} out")
    return Range(name, text, low, high, bool(colon), kind_of(hint) is int)


def _value(flag: str, text: str, hint: Any) -> Any:
    """Return a value of the setting; lists of numbers are written 64x64."""
    kind, given = kind_of(hint), text.strip()
    if kind is bool and given in ("true", "false"):
        return given == "true"
    return fitted(flag, given.split("x") if get_origin(kind) is tuple else given, hint)


def _check_agents(axis: Axis, settings: TrainSettings) -> None:
    if axis.name == "agent" and isinstance(axis, OneOf):
        for value in axis.values:
            if value not in settings.algorithms:
                raise CommandError(
                    f"--sweep {axis.text}: unknown agent '{value}': {nearest(value, settings.algorithms)}"
                )


# --- drawing from them ------------------------------------------------------------------------------------------------


def combinations(axes: Sequence[Axis]) -> int:
    """Return how many settings there are, 0 where a range has any number of them."""
    return math.prod(len(axis.values) if isinstance(axis, OneOf) else 0 for axis in axes)


def grid(axes: Sequence[Axis]) -> list[Setting]:
    """Return every combination of lists of values, the last one's values changing first."""
    lists = [axis.values for axis in axes if isinstance(axis, OneOf)]
    return [dict(zip((axis.name for axis in axes), values, strict=True)) for values in product(*lists)]


def drawn(axes: Sequence[Axis], count: int, seed: int, *, repeats: bool = False) -> list[Setting]:
    """Return so many settings; those of a larger count begin with those of a smaller one.

    The same seed gives the same settings. Of lists alone no two are the same, unless it `repeats`.
    """
    rng = random.Random(seed)
    if 0 < combinations(axes) <= MOST_COMBINATIONS and not repeats:
        every = grid(axes)
        rng.shuffle(every)
        return every[:count]
    return [{axis.name: axis.at(rng.random()) for axis in axes} for _ in range(count)]


def in_words(setting: Mapping[str, Any]) -> str:
    """Return a setting in one line, as `--sweep` names it."""
    return " ".join(f"{name}={value_in_words(value)}" for name, value in setting.items())


def value_in_words(value: Any) -> str:
    """Return a value as `--sweep` writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "x".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)

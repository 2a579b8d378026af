"""Rules: what an agent earns and when an episode ends. A rule is a function without arguments that gives (arenas,)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64, Bool
from ecs_rl.components import Memory
from ecs_rl.errors import SceneError
from ecs_rl.scene.checks import RuleError, finite, given, ruling
from ecs_rl.scene.quotes import form
from ecs_rl.scene.sensors import Column, Rule


@dataclass(frozen=True, eq=False)
class Compared:
    """A rule that is true where the number of another lies past a limit; others may read both, as the window does."""

    rule: Rule
    limit: float

    def __post_init__(self) -> None:
        ruling("what is compared with a limit", self.rule), finite("a limit", self.limit)

    def __call__(self) -> Column:
        """Return where the number lies past the limit."""
        value = self.rule()
        try:
            return self.past(value)
        except (TypeError, ValueError):
            told = f"what is compared with {self.limit:g} must be one number per arena, not {form(value)}"
            raise RuleError(told, self) from None

    def past(self, value: Column) -> Column:
        """Return where a value lies past the limit."""
        raise TypeError(f"{type(self).__name__} does not say what lies past its limit")


class Beyond(Compared):
    """True where a number is further from zero than the limit."""

    def past(self, value: Column) -> Column:
        """Return where a value lies past the limit."""
        return np.abs(value) > self.limit


class Below(Compared):
    """True where a number is below the limit."""

    def past(self, value: Column) -> Column:
        """Return where a value lies past the limit."""
        return np.asarray(value) < self.limit


class Above(Compared):
    """True where a number is above the limit."""

    def past(self, value: Column) -> Column:
        """Return where a value lies past the limit."""
        return np.asarray(value) > self.limit


def beyond(rule: Rule, limit: float) -> Beyond:
    """Return a rule that is true where a number is further from zero than the limit."""
    return Beyond(rule, limit)


def below(rule: Rule, limit: float) -> Below:
    """Return a rule that is true where a number is below the limit."""
    return Below(rule, limit)


def above(rule: Rule, limit: float) -> Above:
    """Return a rule that is true where a number is above the limit."""
    return Above(rule, limit)


class Remembering:
    """A rule with a memory of one number per arena, which starts anew with each episode."""

    def __init__(self, rule: Rule) -> None:
        self.rule = ruling(f"what {type(self).__name__} looks at", rule)
        self._memory: Memory | None = None
        self._slot = 0

    def bind(self, memory: Memory, slot: int) -> None:
        """Give the rule its column."""
        self._memory, self._slot = memory, slot

    @property
    def column(self) -> F64:
        """(arenas,) What is remembered."""
        return np.asarray(self._bound().value[self._slot])

    @property
    def now(self) -> F64:
        """(arenas,) What the rule gave in this tick."""
        return np.asarray(self._bound().now[self._slot])

    def _bound(self) -> Memory:
        if self._memory is None:
            raise SceneError("a rule that remembers must be passed to earns, ends or arena.use itself")
        return self._memory

    def _worked_out(self) -> NDArray[Any]:
        value = given(self.rule)
        if value.shape not in ((), self.column.shape):
            raise RuleError(f"{type(self).__name__} needs one number per arena, not {value.shape}", self)
        return value

    def look(self) -> None:
        """Work the rule out, once a tick, before anything is judged."""
        raise TypeError(f"{type(self).__name__} does not say what it remembers")

    def begin(self, rows: np.ndarray) -> None:
        """Start anew in these arenas."""
        raise TypeError(f"{type(self).__name__} does not say how it begins")

    def __call__(self) -> Column:
        """Return this tick's value."""
        return self.now


class Progress(Remembering):
    """Earns by how much a number has grown since the last tick: shaping that cannot be farmed by going in circles."""

    def look(self) -> None:
        """Compare with the last tick."""
        value = self._worked_out().astype(np.float64)
        self.now[...] = value - self.column
        self.column[...] = value

    def begin(self, rows: np.ndarray) -> None:
        """Remember where the episode begins."""
        value = self._worked_out().astype(np.float64)
        self.column[rows] = np.broadcast_to(value, self.column.shape)[rows]


class Lasting(Remembering):
    """Is true where a rule has been true for so many ticks in a row."""

    def __init__(self, rule: Rule, ticks: int) -> None:
        super().__init__(rule)
        if finite("the ticks of Lasting", ticks) < 1:
            raise SceneError(f"Lasting needs at least one tick, not {ticks}")
        self.ticks = ticks

    def look(self) -> None:
        """Count on where the rule holds, from zero where it does not."""
        holds = self._worked_out()
        if holds.dtype != bool:
            raise RuleError(f"Lasting needs a rule that gives true or false, not {holds.dtype}", self)
        self.column[...] = np.where(holds, self.column + 1, 0)
        self.now[...] = self.column >= self.ticks

    def __call__(self) -> Bool:
        """Return this tick's truth."""
        return np.asarray(self.now, dtype=bool)

    def begin(self, rows: np.ndarray) -> None:
        """Forget what was counted."""
        self.column[rows] = 0

"""Rules: what an agent earns and when an episode ends. A rule is a function without arguments that gives (arenas,)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64, I64, Bool
from ecs_rl.ecs.component import column, component, new_handle, views_of
from ecs_rl.errors import RuleError, SceneError
from ecs_rl.scene.checks import finite, given, ruling
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


@component
class Grown:
    """What Progress knows of a number. Written by the system `remember`."""

    last: F64 = column(dtype=np.float64)
    """(arenas,) The number as the last tick left it; where the episode begins, what it is there."""
    by: F64 = column(0.0, dtype=np.float64)
    """(arenas,) By how much it grew in this tick."""


@component
class Held:
    """What Lasting knows of a condition. Written by the system `remember`."""

    ticks: I64 = column(0, dtype=np.int64)
    """(arenas,) For how many ticks it has been true without a break."""
    long: Bool = column(False, dtype=np.bool_)
    """(arenas,) Whether that is long enough."""


class Remembering:
    """A rule with columns of its own, which the system `remember` renews once a tick, before anything is judged."""

    kind: type
    """The component behind it."""

    def __init__(self, rule: Rule) -> None:
        self.rule = ruling(f"what {type(self).__name__} looks at", rule)
        self.handle: Any = new_handle(self.kind)
        self.known = False
        """Whether the arena knows of it; otherwise nothing is ever remembered."""

    @property
    def starts(self) -> dict[str, Any]:
        """How its columns start, where their declaration does not say it, by `Component/field`."""
        return {}

    def worked_out(self, kinds: str, wanted: str) -> NDArray[Any]:
        """Return what the rule gives in every arena, or refuse what is not one number or truth for each."""
        value = given(self.rule)
        arenas = next(iter(views_of(self.handle).values())).shape
        if value.shape not in ((), arenas):
            raise RuleError(f"{type(self).__name__} needs one number per arena, not {value.shape}", self)
        if value.dtype.kind not in kinds:
            raise RuleError(f"{type(self).__name__} needs a rule that gives {wanted}, not {value.dtype}", self)
        return value

    def remember(self) -> None:
        """Work the rule out and renew the columns."""
        raise TypeError(f"{type(self).__name__} does not say what it remembers")

    def __call__(self) -> Column:
        """Return this tick's value."""
        if not self.known:
            raise SceneError("a rule that remembers must be passed to earns, ends or arena.use itself")
        return self.now()

    def now(self) -> Column:
        """Return the column that the rule gives."""
        raise TypeError(f"{type(self).__name__} does not say what it gives")


class Progress(Remembering):
    """Earns by how much a number has grown since the last tick: shaping that cannot be farmed by going in circles."""

    kind = Grown

    @property
    def starts(self) -> dict[str, Any]:
        """Begin with what the number is where the episode begins."""
        return {"Grown/last": self._number}

    def _number(self) -> F64:
        return self.worked_out("iufb", "numbers").astype(np.float64)

    def remember(self) -> None:
        """Compare with the last tick."""
        value, last = self._number(), self.handle.last
        np.subtract(value, last, out=self.handle.by)
        last[...] = value

    def now(self) -> F64:
        """Return by how much the number grew in this tick."""
        return self.handle.by  # type: ignore[no-any-return]


class Lasting(Remembering):
    """Is true where a rule has been true for so many ticks in a row."""

    kind = Held

    def __init__(self, rule: Rule, ticks: int) -> None:
        super().__init__(rule)
        if finite("the ticks of Lasting", ticks) < 1:
            raise SceneError(f"Lasting needs at least one tick, not {ticks}")
        self.ticks = ticks

    def remember(self) -> None:
        """Count on where the rule holds, from zero where it does not."""
        ticks = self.handle.ticks
        ticks += 1
        ticks *= self.worked_out("b", "true or false")
        np.greater_equal(ticks, self.ticks, out=self.handle.long)

    def now(self) -> Bool:
        """Return whether the rule has held for long enough."""
        return self.handle.long  # type: ignore[no-any-return]

"""Rules: what an agent earns and when an episode ends. A rule is a function without arguments that gives (arenas,)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64, I64, Bool
from ecs_rl.ecs.component import column, columns_of, component, new_handle
from ecs_rl.ecs.context import Context
from ecs_rl.ecs.system import System, declare
from ecs_rl.errors import RuleError, SceneError
from ecs_rl.scene.checks import aligned, as_array, finite, form, ruling
from ecs_rl.scene.sensors import Column, Rule

PAST: dict[str, Callable[[Any, float], Any]] = {
    "beyond": lambda value, limit: np.abs(value) > limit,
    "below": np.less,
    "above": np.greater,
}
"""Where a value lies past a limit, by how it is compared."""


@dataclass(frozen=True, eq=False)
class Compared:
    """A rule that is true where the number of another lies past a limit; others may read it, as the window does."""

    name: str
    """One of PAST."""
    rule: Rule
    limit: float

    def __post_init__(self) -> None:
        ruling("what is compared with a limit", self.rule), finite("a limit", self.limit)

    def __call__(self) -> Column:
        """Return where the number lies past the limit."""
        value = self.rule()
        try:
            return PAST[self.name](value, self.limit)
        except (TypeError, ValueError):
            message = f"what is compared with {self.limit:g} must be one number per arena, not {form(value)}"
            raise RuleError(message, self) from None


def beyond(rule: Rule, limit: float) -> Compared:
    """Return a rule that is true where a number is further from zero than the limit: `beyond(X(cart), 2.4)`."""
    return Compared("beyond", rule, limit)


def below(rule: Rule, limit: float) -> Compared:
    """Return a rule that is true where a number is below the limit: `below(lambda: tank.fuel, 0.0)`."""
    return Compared("below", rule, limit)


def above(rule: Rule, limit: float) -> Compared:
    """Return a rule that is true where a number is above the limit: `above(distance, 8.0)`."""
    return Compared("above", rule, limit)


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


@component
class Restarted:
    """Where roles were started anew since rules remembered. Written by systems that write Pose, and by `remember`."""

    now: Bool = column(False, dtype=np.bool_, is_new=True)
    """(arenas,)"""


class Remembering:
    """A rule with columns of its own, which the system `remember` renews once a tick, before anything is judged."""

    kind: type
    """The component behind it."""
    gives: str
    """The column of that which is the rule's value."""

    calls = 0
    """How often any of them was asked: what is made of their values is not to be kept."""

    def __init__(self, rule: Rule) -> None:
        self.rule = ruling(f"what {type(self).__name__} looks at", rule)
        self.handle: Any = new_handle(self.kind)
        self.known = False
        """Whether the arena knows of it; otherwise nothing is ever remembered."""
        self.count: int | None = getattr(rule, "count", None) if isinstance(rule, Remembering) else None
        """For how many of a kind it remembers; None for one number per arena. An agent of a kind sets it."""
        self.acting: Bool | None = None
        """(arenas, count) Who of the agents of a kind is not out: nothing is remembered of the others."""
        self.starts: dict[str, Any] = {}
        """How its columns start, where their declaration does not say it, by `Component/field`."""

    def __call__(self) -> Column:
        """Return this tick's value."""
        if not self.known:
            raise SceneError("a rule that remembers must be passed to earns, ends or arena.use itself")
        Remembering.calls += 1
        return getattr(self.handle, self.gives)

    def worked_out(self, kinds: str, wanted: str, like: NDArray[Any]) -> NDArray[Any]:
        """Return what the rule gives, shaped as the column or less, or refuse what is not one number for each row."""
        value: NDArray[Any] = self.rule()
        if not isinstance(value, np.ndarray) or value.shape != like.shape:
            value = as_array(value, self.rule)
            if value.shape not in ((), like.shape[:1], (*like.shape[:1], 1) if self.count else ()):
                raise RuleError(f"{type(self).__name__} needs one number per arena, not {value.shape}", self)
            value = np.asarray(aligned(value, self.count))
        if value.dtype.kind not in kinds:
            raise RuleError(f"{type(self).__name__} needs a rule that gives {wanted}, not {value.dtype}", self)
        return value

    def remember(self) -> None:
        """Work the rule out and renew the columns."""
        raise NotImplementedError

    def begin(self, where: Bool) -> None:
        """Start the columns of these arenas as an episode does."""
        for declared in columns_of(self.kind):
            start = self.starts.get(f"{self.kind.__name__}/{declared.name}", declared.start)
            array: NDArray[Any] = getattr(self.handle, declared.name)
            array[where] = np.broadcast_to(start() if callable(start) else start, array.shape)[where]


class Progress(Remembering):
    """Earns by how much a number has grown since the last tick: shaping that cannot be farmed by going in circles.

    The rule gives (arenas,), and so does this. It stands in `earns` or `ends`, or is made known by `arena.use`.
    """

    kind, gives = Grown, "by"

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.starts = {"Grown/last": self._number}

    def _number(self) -> NDArray[Any]:
        return self.worked_out("iufb", "numbers", self.handle.last)

    def remember(self) -> None:
        """Compare with the last tick."""
        value, last = self._number(), self.handle.last
        np.subtract(value, last, out=self.handle.by, dtype=np.float64)
        last[...] = value


class Lasting(Remembering):
    """Is true where a rule has been true for so many ticks in a row.

    It stands in `earns` or `ends`, or is made known by `arena.use`.
    """

    kind, gives = Held, "long"

    def __init__(self, rule: Rule, ticks: int) -> None:
        super().__init__(rule)
        if finite("the ticks of Lasting", ticks) < 1:
            raise SceneError(f"Lasting needs at least one tick, not {ticks}")
        self.ticks = ticks

    def remember(self) -> None:
        """Count on where the rule holds, from zero where it does not."""
        ticks = self.handle.ticks
        ticks += 1
        ticks *= self.worked_out("b", "true or false", ticks)
        np.greater_equal(ticks, self.ticks, out=self.handle.long)


def remember(memories: Sequence[Remembering], restarted: Restarted) -> System:
    """Return the system that renews what rules remember; it changes nothing else that a rule can see."""

    def run() -> None:
        """Renew what Progress and Lasting know."""
        for memory in memories:
            memory.remember()
            if memory.acting is not None and not memory.acting.all():
                memory.begin(~memory.acting)
        if restarted.now.any():  # a kick-off is no progress
            for memory in memories:
                memory.begin(restarted.now)
            restarted.now.fill(False)

    kinds = dict.fromkeys([*(memory.kind for memory in memories), Restarted])
    return declare(run, after="sense", writes=kinds, name="remember", checked=False, asks=True)


class SharedRule:
    """A rule that is worked out once for all who ask, and again when a column may have changed (see Runner)."""

    def __init__(self, rule: Rule, context: Callable[[], Context | None]) -> None:
        self.rule, self.context = ruling("what arena.shared looks at", rule), context
        self._version = -1
        self._value: Column = None

    def __call__(self) -> Column:
        """Return the rule's value, read-only."""
        context = self.context()
        if context is None or not context.asking:  # whoever is at work may be in the middle of changing something
            return self._worked_out()
        if self._version != context.version:
            calls_before = Remembering.calls
            self._value = self._worked_out()
            self._version = context.version if Remembering.calls == calls_before else -1
        return self._value

    def _worked_out(self) -> Column:
        value = self.rule()
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        return value

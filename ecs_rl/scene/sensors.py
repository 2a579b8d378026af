"""What an agent sees: each sensor gives one or more named numbers per arena.

A sensor is also a rule: calling it gives its column, so `beyond(Angle(pole), 0.2)` ends an episode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64, Bool
from ecs_rl.components import Ground, Touch
from ecs_rl.errors import RuleError, SceneError
from ecs_rl.scene.checks import aligned, caller, finite, form, named, quote, ruling
from ecs_rl.scene.roles import Role, is_role
from ecs_rl.spaces import Members, Picture

Roles = Role | Sequence[Role]
"""One or several, of which any may be a kind, and one the ground."""
S = TypeVar("S", bound=np.generic)
Column = Any
"""(arenas,) numbers or truths, or one for all: whatever numpy takes for that."""
Rule = Callable[[], Column]


class Sensor:
    """One named number, scaled; the base of all sensors, and of one of your own.

    That one calls `super().__init__(name, rule)`; or it sets `self.names`, one for each number that it sees, and fills
    them in `write(out)`. A sensor is a rule, too: called, it gives what it reads.
    """

    column: tuple[Role, str] | None = None
    """The role and the name of its column, where that is all that is read."""
    layout: Picture | Members | None = None
    """What its numbers form, in the order of its names, where they are a picture or tell of a set."""
    scale: float = 1.0
    """What is read is multiplied by this."""

    def __init__(self, name: str, read: Rule, scale: float = 1.0) -> None:
        self.names: tuple[str, ...] = (named("a sensor", name),)
        self.scale = finite(f"the scale of '{name}'", scale)
        self.read = ruling(f"what '{name}' reads", read)
        self.written = caller()
        """The file and the line of the scene that made it."""

    def __call__(self) -> Column:
        """Return the unscaled number, (arenas,), or (arenas, numbers) for a sensor of several."""
        if not hasattr(self, "read"):
            kind = type(self).__name__
            raise RuleError(f"{kind} is no rule: call super().__init__(name, rule) in {kind}.__init__ for that", self)
        return self.read()

    def bind(self, touch: Touch, ground: Ground) -> None:
        """Give the sensor what belongs to the whole world; most need none of it."""

    def write(self, out: NDArray[np.float32]) -> None:
        """Fill (arenas, [count], numbers) with the scaled numbers."""
        value, column = self.read(), out[..., 0]
        try:
            if value is None:  # numpy would make NaN of it
                raise TypeError
            if column.ndim == 2:  # for all agents of a kind
                value = aligned(value, len(column[0]))
            if self.scale == 1.0:
                column[...] = value
            else:
                np.multiply(value, self.scale, out=column, casting="unsafe")
        except (TypeError, ValueError):
            message = f"the sensor '{self.names[0]}' must give one number per arena, not {form(value)}"
            raise RuleError(message, self) from None


def sound(sensor: Sensor) -> None:
    """Refuse a sensor of the scene's own that lacks what every sensor needs."""
    kind, names = type(sensor).__name__, getattr(sensor, "names", None)
    cure = f"in {kind}.__init__ call super().__init__(name, rule), or set self.names and give {kind} a write(self, out)"
    if not names:
        raise SceneError(f"{kind} has no names for what it sees: {cure}")
    if isinstance(names, str) or not all(isinstance(name, str) and name.strip() for name in names):
        raise SceneError(f"the names of {kind} must be a tuple of texts, as in ('height',), not {quote(names)}")
    for name in names:
        named(f"each number of {kind}", name)
    if sensor.layout is not None and sensor.layout.size != len(names):
        raise SceneError(f"{kind} has {len(names)} names, but its layout {sensor.layout.size} numbers")
    if getattr(sensor.write, "__func__", None) is not Sensor.write:
        return
    if not hasattr(sensor, "read"):
        raise SceneError(f"{kind} does not say what it sees: {cure}")
    if len(names) > 1:
        raise SceneError(f"{kind} has {len(names)} names, but one number: give it a write(self, out) that fills all")


def _column(name: str, about: str) -> Callable[..., Sensor]:
    """Return what makes the sensor of a role's column; its own name is the column's."""

    def sensor(role: Role, scale: float = 1.0) -> Sensor:
        if is_role("a sensor looks at", role).body is None:
            raise SceneError("the ground never moves: there is nothing to sense")
        made = Sensor(f"{role.name} {name}", lambda: getattr(role, name), scale)
        made.column = role, name
        return made

    sensor.__name__ = sensor.__qualname__ = name.capitalize()
    sensor.__doc__ = about
    return sensor


X = _column("x", "See how far right the role is, metres.")
Y = _column("y", "See how far up the role is, metres.")
Vx = _column("vx", "See how fast the role moves to the right, metres per second.")
Vy = _column("vy", "See how fast the role moves up, metres per second.")
Angle = _column("angle", "See the role's angle, radians, counter-clockwise, never wrapped.")
Spin = _column("spin", "See how fast the role turns, radians per second, counter-clockwise.")


def Feel(name: str, rule: Rule, scale: float = 1.0) -> Sensor:
    """See a number of your own making, times `scale`: a rule that gives (arenas,), of a kind (arenas, count)."""
    return Sensor(name, rule, scale)


class Several(Sensor):
    """The base of sensors with several numbers; `read` gives (arenas, numbers), of a kind (arenas, count, numbers)."""

    def __init__(self, names: tuple[str, ...], read: Rule, scale: float = 1.0) -> None:
        super().__init__(names[0], read, scale)
        self.names = names

    def among(self, roles: Sequence[Role], ground: Role) -> None:
        """Take note of all there is, when the arena is complete; most need none of it."""

    def write(self, out: NDArray[np.float32]) -> None:
        """Fill (arenas, [count], numbers) with the scaled numbers."""
        value = self.read()
        try:
            if value.ndim < 2 or value.shape[-1] != len(self.names):
                raise TypeError
            if value.ndim < out.ndim:  # for all agents of a kind
                value = value[:, None]
            np.multiply(value, self.scale, out=out, casting="unsafe")
        except (TypeError, ValueError, AttributeError):
            many = f"{len(self.names)} numbers per arena, ({len(out)}, {len(self.names)})"
            raise RuleError(f"the sensor '{self.names[0]}' must give {many}, not {form(value)}", self) from None


def Feels(names: Sequence[str], rule: Rule, scale: float = 1.0) -> Sensor:
    """See several numbers of your own making: a rule that gives (arenas, numbers), one for each name."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise SceneError(f"Feels takes names for its numbers, as in Feels(('east', 'north'), rule), not {quote(names)}")
    return Several(tuple(named("each number of Feels", name) for name in names), rule, scale)


def told_apart(role: Role, given: Roles | Mapping[str, Roles], what: str) -> Mapping[str, tuple[Role, ...]]:
    """Return the roles that are looked at by name, '' where nothing is told apart; refuse what is none."""
    apart = {}
    for name, listed in (given if isinstance(given, Mapping) else {"": given}).items():
        place = f"{what} as {quote(named(what, name))}" if isinstance(given, Mapping) else what
        roles = tuple(listed) if isinstance(listed, (tuple, list)) else (listed,)
        if not roles:
            raise SceneError(f"{place} must be at least one role, or arena.ground")
        for one in roles:
            if is_role(f"{place} is", one) is role and role.count is None:
                raise SceneError(f"{place} cannot be '{role.name}', which looks")
        apart[name] = roles
    if not apart:
        raise SceneError(f"{what} needs at least one name, as in {{'wall': arena.ground}}")
    return apart


def known(sensor: Sensor, roles: Sequence[Role], there: Sequence[Role]) -> None:
    """Refuse a sensor of roles that are not all there."""
    stranger = next((role for role in roles if role not in there), None)
    if stranger is not None:
        raise SceneError(f"'{sensor.names[0]}' looks at '{stranger.name}', a role of another arena")


def members_of(role: Role, value: NDArray[S]) -> NDArray[S]:
    """Return a role's column with an axis of members, (arenas, members, ...): a single role is its own only one."""
    return value[:, None] if role.count is None else value


def here_of(role: Role) -> Bool | None:
    """Return (arenas, members) of who is here, None where all always are."""
    return members_of(role, role.here) if role.comes_and_goes else None


def own_axes(heading: F64, off: F64) -> F64:
    """Return (..., 2) of ways in the arena's axes as ways along those that the headings, (..., 2), give."""
    cos, sin, x, y = heading[..., 0], heading[..., 1], off[..., 0], off[..., 1]
    return np.stack((cos * x + sin * y, cos * y - sin * x), axis=-1)


def Heading(role: Role) -> Sensor:
    """See the role's angle as its sine and cosine, which do not jump after a full turn."""
    is_role("Heading looks at", role)
    names = (f"{role.name} sin", f"{role.name} cos")
    return Several(names, lambda: role.heading[..., ::-1])


def Toward(role: Role, other: Role, scale: float = 1.0) -> Sensor:
    """See the way from the role to another, metres ahead and aside along its own axes; 0 while that is not here."""
    return _between(role, other, scale, kind="Toward", name="{0} to {1}", column="position")


def Closing(role: Role, other: Role, scale: float = 1.0) -> Sensor:
    """See how fast another role moves against this one, m/s ahead and aside along its own axes; 0 while not here."""
    return _between(role, other, scale, kind="Closing", name="{1} against {0}", column="velocity")


def _between(role: Role, other: Role, scale: float, *, kind: str, name: str, column: str) -> Sensor:
    """Return the sensor of how far a column of another role is from the role's, in the role's own axes."""
    is_role(f"{kind} looks from", role), is_role(f"{kind} looks at", other)
    prefix = name.format(role.name, other.name)

    if other.count is not None:
        raise SceneError(f"{kind} looks at one role, and '{other.name}' is {other.count} of a kind: take Nearest")

    def read() -> F64:
        own, theirs = getattr(role, column), getattr(other, column)
        way = own_axes(role.heading, (theirs if role.count is None else theirs[:, None]) - own)
        if other.comes_and_goes:
            way *= aligned(other.here, role.count)[..., None]
        return way

    return Several((f"{prefix} ahead", f"{prefix} aside"), read, scale)

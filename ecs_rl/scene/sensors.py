"""What an agent sees: each sensor gives one or more named numbers per arena.

A sensor is also a rule: calling it gives its column, so `beyond(Angle(pole), 0.2)` ends an episode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64
from ecs_rl.components import Ground, Touch
from ecs_rl.errors import RuleError, SceneError
from ecs_rl.scene.checks import finite, form, named, positive, ruling, shown
from ecs_rl.scene.roles import Role, is_role

Column = Any
"""(arenas,) numbers or truths, or one for all: whatever numpy takes for that."""
Rule = Callable[[], Column]


class Sensor:
    """One named number, scaled; the base of all sensors."""

    def __init__(self, name: str, read: Rule, scale: float = 1.0) -> None:
        self.names: tuple[str, ...] = (named("a sensor", name),)
        self.scale = finite(f"the scale of '{name}'", scale)
        self.read = ruling(f"what '{name}' reads", read)

    def __call__(self) -> Column:
        """Return the unscaled number, (arenas,), or (arenas, numbers) for a sensor of several."""
        if not hasattr(self, "read"):
            kind = type(self).__name__
            raise RuleError(f"{kind} is no rule: call super().__init__(name, rule) in {kind}.__init__ for that", self)
        return self.read()

    def bind(self, touch: Touch, ground: Ground) -> None:
        """Give the sensor what belongs to the whole world; most need none of it."""

    def write(self, out: NDArray[np.float32]) -> None:
        """Fill (arenas, numbers) with the scaled numbers."""
        value = self.read()
        column = out[..., 0]
        try:
            if value is None:  # numpy would make NaN of it
                raise TypeError
            if column.ndim == 2 and np.ndim(value) == 1:  # for all agents of a kind
                value = np.asarray(value)[:, None]
            if self.scale == 1.0:
                column[...] = value
            else:
                np.multiply(value, self.scale, out=column, casting="unsafe")
        except (TypeError, ValueError):
            told = f"the sensor '{self.names[0]}' must give one number per arena, not {form(value)}"
            raise RuleError(told, self) from None


def sound(sensor: Sensor) -> None:
    """Refuse a sensor of the scene's own that lacks what every sensor needs."""
    kind, names = type(sensor).__name__, getattr(sensor, "names", None)
    cure = f"in {kind}.__init__ call super().__init__(name, rule), or set self.names and give {kind} a write(self, out)"
    if not names:
        raise SceneError(f"{kind} has no names for what it sees: {cure}")
    if isinstance(names, str) or not all(isinstance(name, str) and name.strip() for name in names):
        raise SceneError(f"the names of {kind} must be a tuple of texts, as in ('height',), not {shown(names)}")
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
        return Sensor(f"{role.name} {name}", lambda: getattr(role, name), scale)

    sensor.__name__ = sensor.__qualname__ = name.capitalize()
    sensor.__doc__ = about
    return sensor


X = _column("x", "See how far right the role is, metres.")
Y = _column("y", "See how far up the role is, metres.")
Vx = _column("vx", "See how fast the role moves to the right, metres per second.")
Vy = _column("vy", "See how fast the role moves up, metres per second.")
Angle = _column("angle", "See the role's angle, radians, never wrapped.")
Spin = _column("spin", "See how fast the role turns, radians per second.")


def Feel(name: str, rule: Rule, scale: float = 1.0) -> Sensor:
    """See a number of your own making: a rule that gives (arenas,)."""
    return Sensor(name, rule, scale)


class _Several(Sensor):
    """The base of sensors with several numbers; `read` gives (arenas, numbers)."""

    def __init__(self, names: tuple[str, ...], read: Rule, scale: float = 1.0) -> None:
        super().__init__(names[0], read, scale)
        self.names = names

    def write(self, out: NDArray[np.float32]) -> None:
        """Fill (arenas, numbers) with the scaled numbers."""
        np.multiply(self.read(), self.scale, out=out, casting="unsafe")


def Heading(role: Role) -> Sensor:
    """See the role's angle as its sine and cosine, which do not jump after a full turn."""
    is_role("Heading looks at", role)
    names = (f"{role.name} sin", f"{role.name} cos")
    return _Several(names, lambda: role.heading[:, ::-1])


def Toward(role: Role, other: Role, scale: float = 1.0) -> Sensor:
    """See the way from the role to another, along the role's own axes, metres."""
    return _between(role, other, scale, kind="Toward", name="{0} to {1}", column="position")


def Closing(role: Role, other: Role, scale: float = 1.0) -> Sensor:
    """See how fast another role moves against this one, along this one's own axes, metres per second."""
    return _between(role, other, scale, kind="Closing", name="{1} against {0}", column="velocity")


def _between(role: Role, other: Role, scale: float, *, kind: str, name: str, column: str) -> Sensor:
    """Return the sensor of how far a column of another role is from the role's, in the role's own axes."""
    is_role(f"{kind} looks from", role), is_role(f"{kind} looks at", other)
    told = name.format(role.name, other.name)

    def read() -> F64:
        cos, sin = role.heading.T
        x, y = (getattr(other, column) - getattr(role, column)).T
        return np.stack((cos * x + sin * y, cos * y - sin * x), axis=1)

    return _Several((f"{told} ahead", f"{told} aside"), read, scale)


class Rays(_Several):
    """See how near things are along rays that turn with the role: 1 touching, 0 nothing within reach."""

    def __init__(self, role: Role, angles: tuple[float, ...], reach: float) -> None:
        is_role("Rays look from", role)
        if np.ndim(angles) != 1:
            raise SceneError(f"the angles of rays must be a tuple, as in (0.0, 1.57), not {shown(angles)}")
        if not len(angles):
            raise SceneError("rays need at least one angle")
        self.role, self.reach = role, positive("a ray's reach", reach)
        self.angles = np.array([finite("a ray's angle", angle) for angle in angles])
        super().__init__(self.named_from(0), self._nearness)
        self.others: tuple[Role, ...] = ()
        self._ground: Ground | None = None

    def bind(self, touch: Touch, ground: Ground) -> None:
        """Take the world's ground."""
        self._ground = ground

    def named_from(self, first: int) -> tuple[str, ...]:
        """Return the names of the rays by their numbers, from `first` on."""
        return tuple(f"{self.role.name} ray {i}" for i in range(first, first + len(self.angles)))

    def _nearness(self) -> F64:
        from ecs_rl.physics.rays import nearness

        if self._ground is None:
            raise SceneError(f"'{self.names[0]}' is not known to the arena: pass it to sees")
        return nearness(self.role, self.others, self.angles, self.reach, self._ground.segments)

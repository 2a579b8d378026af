"""Handles that a scene holds: they name a role or a number, and once a world runs they give its columns.

What a handle gives is read-only, but for the columns that a system declares as written, while it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.components import Force, Motion, Pose
from ecs_rl.ecs.component import column, component, new_handle
from ecs_rl.errors import SceneError, nearest
from ecs_rl.scene.checks import Point, shown
from ecs_rl.scene.look import Colour, Look, rgb
from ecs_rl.scene.parts import Body, Shape, Start

C = TypeVar("C")
NOWHERE = Start()


def not_yet(name: str) -> SceneError:
    """Return the refusal of columns that are read while a scene is being built."""
    return SceneError(f"'{name}' has no numbers before the world runs: read them inside a rule, as in `lambda: ...`")


def is_role(what: str, role: object) -> Role:
    """Return the role, or refuse what is none."""
    if not isinstance(role, Role):
        raise SceneError(f"{what} a role, which arena.spawn(...) returns, not {shown(role)}")
    return role


class _Short:
    """A short name for one of a role's columns, or for `part` of it, as its component gives it."""

    def __init__(self, kind: type, field: str, part: int | None = None) -> None:
        self.kind, self.field = kind, field
        self.index: Any = ... if part is None else (slice(None), part)

    def __get__(self, role: Role, kind: type | None = None) -> F64:
        try:
            found: F64 = getattr(role.handles[self.kind], self.field)
        except SceneError:
            raise not_yet(role.name) from None
        return found if self.index is ... else found[self.index]

    def __set__(self, role: Role, value: Any) -> None:
        self.__get__(role)[...] = value


@dataclass(eq=False, repr=False)
class Role:
    """One thing in the arena, and its columns in all arenas: `cart.x` is (arenas,), `cart[Gun].heat` too."""

    name: str
    number: int
    """The row in Touch; the ground comes after the last role."""
    body: Body | None = None
    """The ground has none."""
    shapes: tuple[Shape, ...] = ()
    start: Start = NOWHERE
    moment: float = 0.0
    look: Look | None = None
    """Without one, the window decides."""
    parts: tuple[object, ...] = ()
    """The scene's own components, with their start values."""

    position = _Short(Pose, "position")
    """(arenas, 2) metres."""
    x = _Short(Pose, "position", 0)
    """(arenas,) metres, to the right."""
    y = _Short(Pose, "position", 1)
    """(arenas,) metres, up."""
    angle = _Short(Pose, "angle")
    """(arenas,) radians, counter-clockwise, never wrapped."""
    velocity = _Short(Motion, "velocity")
    """(arenas, 2) metres per second."""
    vx = _Short(Motion, "velocity", 0)
    """(arenas,) metres per second, to the right."""
    vy = _Short(Motion, "velocity", 1)
    """(arenas,) metres per second, up."""
    spin = _Short(Motion, "spin")
    """(arenas,) radians per second, counter-clockwise."""

    def __post_init__(self) -> None:
        kinds = (Pose, Motion, Force, *map(type, self.parts))
        self.handles: dict[type, Any] = {kind: new_handle(kind) for kind in kinds}
        """The role's components as a scene may hold them, by their class."""
        self._stamp, self._heading = b"", np.zeros((2, 0))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'{self.__dict__.get('name')}' has no attribute '{name}'", name=name, obj=self)

    def __getitem__(self, kind: type[C]) -> C:
        """Return the role's component of this class."""
        if kind not in self.handles:
            names = [each.__name__ for each in self.handles]
            asked = getattr(kind, "__name__", repr(kind))
            raise SceneError(f"'{self.name}' has no component {asked}: give it one in spawn ({nearest(asked, names)})")
        found: C = self.handles[kind]
        return found

    @property
    def colour(self) -> Colour | None:
        """The colour that the scene gives it."""
        return rgb(self.look.colour) if self.look and self.look.colour else None

    @property
    def pose(self) -> Pose:
        """The role's Pose component."""
        return self[Pose]

    @property
    def motion(self) -> Motion:
        """The role's Motion component."""
        return self[Motion]

    @property
    def force(self) -> Force:
        """The role's Force component."""
        return self[Force]

    @property
    def heading(self) -> F64:
        """(arenas, 2) Cosine and sine of the angle; kept until the angle changes, as many rules ask for it."""
        stamp = self.angle.tobytes()
        if stamp != self._stamp:
            self._stamp = stamp
            self._heading = np.stack((np.cos(self.angle), np.sin(self.angle)))
            self._heading.flags.writeable = False
        return self._heading.T

    def point(self, at: Point) -> F64:
        """Return where a point of the body's own axes is in each arena, (arenas, 2)."""
        cos, sin = self.heading.T
        turned = np.stack((cos * at[0] - sin * at[1], sin * at[0] + cos * at[1]), axis=1)
        return np.asarray(self.position + turned)


class Number:
    """A number of the arena: `wind.value` is (arenas,), with a start that may be drawn anew for each episode."""

    def __init__(self, name: str, start: Any) -> None:
        self.name, self.start = name, start
        self.kind: type = component(type(name, (), {"__annotations__": {"value": float}, "value": column(start)}))
        """The component behind it: what systems name as read or written."""
        self.handle: Any = new_handle(self.kind)

    @property
    def value(self) -> F64:
        """(arenas,)"""
        return self.handle.value  # type: ignore[no-any-return]

    @value.setter
    def value(self, value: Any) -> None:
        self.handle.value = value


class Draw(Number):
    """A number that each episode draws anew: `wind.value` is (arenas,)."""

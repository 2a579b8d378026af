"""What a role is made of: its body, its shapes, and where it starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ecs_rl.errors import SceneError, nearest
from ecs_rl.scene.chance import Spread
from ecs_rl.scene.checks import Point, finite, not_negative, point, positive, quote, ruling

MOVES = ("freely", "scripted", "never")
Chosen = float | Spread | tuple[float, ...] | Callable[[], Any]
"""A fixed number, one for each member, one drawn for each episode and member, or a rule."""


@dataclass(frozen=True)
class Body:
    """What a role weighs, how its surface feels and how it moves; the moment of inertia follows from its shapes."""

    mass: float = 1.0
    """Kilograms."""
    spins: bool = True
    """False keeps the body upright whatever pushes it."""
    friction: float = 0.6
    """0 slips like ice, 1 grips; between two that touch the product of both counts."""
    elasticity: float = 0.0
    """0 does not bounce, 1 bounces back as fast as it came; between two that touch the product of both counts."""
    solid: bool = True
    """False: it touches without pushing, and nothing stops it; hundreds cost next to nothing."""
    moves: str = "freely"
    """`scripted`: by its own speed alone, which systems set; it pushes, and is not pushed. `never`: it stays."""
    drag: float | Point = 0.0
    """How fast it loses its speed, per second: alone, exp(-drag) of it is left after a second; or two such numbers,
    along and across the body's own axes."""
    grip: float = math.inf
    """Newtons with which drag across the body holds it at most; beyond, it slides, as a tyre does."""
    spin_drag: float = 0.0
    """How fast it loses its spin, per second."""

    def __post_init__(self) -> None:
        positive("a body's mass", self.mass)
        for what in ("spins", "solid"):
            if getattr(self, what) not in (True, False):
                raise SceneError(f"a body's {what} must be True or False, not {quote(getattr(self, what))}")
        if self.moves not in MOVES:
            raise SceneError(f"a body cannot move {quote(self.moves)}: {nearest(str(self.moves), MOVES)}")
        for drag in self.drag if isinstance(self.drag, tuple) and len(self.drag) == 2 else (self.drag,):
            not_negative("a body's drag, one number or (along, across),", drag)
        not_negative("a body's spin_drag", self.spin_drag)
        if self.grip != math.inf:
            positive("a body's grip", self.grip)
            if not isinstance(self.drag, tuple):
                raise SceneError("grip limits drag across the body: say drag=(along, across) with it")
        not_negative("a body's friction", self.friction), not_negative("a body's elasticity", self.elasticity)


@dataclass(frozen=True)
class Disc:
    """A circle."""

    radius: float
    """Metres."""
    at: Point = (0.0, 0.0)
    """Its middle, in the body's own axes, metres."""

    def __post_init__(self) -> None:
        positive("a disc's radius", self.radius)
        point("a disc's centre", self.at)

    def moment(self, mass: float) -> float:
        """Return the moment of inertia about the body's origin."""
        return mass * (self.radius**2 / 2 + self.at[0] ** 2 + self.at[1] ** 2)


@dataclass(frozen=True)
class Polygon:
    """A convex outline; a role of several of them may have any outline."""

    points: tuple[Point, ...]
    """At least three corners in the body's own axes, metres; the body's origin should be the centre of gravity."""

    def __post_init__(self) -> None:
        if not isinstance(self.points, (tuple, list)):
            raise SceneError(f"a polygon is made of points, as in ((0, 0), (1, 0), (0, 1)), not {quote(self.points)}")
        object.__setattr__(self, "points", tuple(self.points))
        if len(self.points) < 3:
            raise SceneError(f"a polygon needs at least three points, not {len(self.points)}")
        for at in self.points:
            point("a polygon's point", at)
        if abs(self.area()) < 1e-9:
            raise SceneError("a polygon's points must not lie on one line")
        if not self._convex():
            raise SceneError("a polygon must be convex: make a concave outline of several polygons")

    def _convex(self) -> bool:
        """Tell whether every corner turns the same way, once round."""
        sides = [(b[0] - a[0], b[1] - a[1]) for a, b in _around(self.points)]
        turns = [math.atan2(u[0] * v[1] - u[1] * v[0], u[0] * v[0] + u[1] * v[1]) for u, v in _around(sides)]
        return abs(abs(sum(turns)) - 2 * math.pi) < 1e-6 and (min(turns) > -1e-9 or max(turns) < 1e-9)

    def area(self) -> float:
        """Return the area, positive where the points run counter-clockwise."""
        return sum(a[0] * b[1] - b[0] * a[1] for a, b in _around(self.points)) / 2

    def moment(self, mass: float) -> float:
        """Return the moment of inertia about the body's origin."""
        above = below = 0.0
        for a, b in _around(self.points):
            cross = a[0] * b[1] - b[0] * a[1]
            above += cross * (a[0] ** 2 + a[1] ** 2 + a[0] * b[0] + a[1] * b[1] + b[0] ** 2 + b[1] ** 2)
            below += cross
        return mass * above / (6 * below)


def _around(points: Sequence[Point]) -> Iterator[tuple[Point, Point]]:
    """Yield each point with the one after it, the last with the first."""
    return zip(points, [*points[1:], points[0]], strict=True)


def Box(width: float, height: float) -> Polygon:
    """Return a box around the body's centre, metres from side to side and from bottom to top."""
    x, y = positive("a box's width", width) / 2, positive("a box's height", height) / 2
    return Polygon(((-x, -y), (x, -y), (x, y), (-x, y)))


def Rod(length: float, thickness: float = 0.1) -> Polygon:
    """Return an upright rod around the body's centre, metres long and thick; a `Start(angle=...)` lays it down."""
    return Box(thickness, length)


Shape = Disc | Polygon


@dataclass(frozen=True)
class Start:
    """Where an episode begins; for a role that hangs on another by a Pivot, all of it is relative to that one.

    Each is a number, one for each member of a kind, a spread that each member draws from, or a rule.
    """

    x: Chosen = 0.0
    """Metres to the right of the arena's origin."""
    y: Chosen = 0.0
    """Metres above the arena's origin."""
    angle: Chosen = 0.0
    """Radians, counter-clockwise."""
    vx: Chosen = 0.0
    """Metres per second, to the right."""
    vy: Chosen = 0.0
    """Metres per second, up."""
    spin: Chosen = 0.0
    """Radians per second, counter-clockwise."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim == 1):
                object.__setattr__(self, name, tuple(value))
        for name, value in vars(self).items():
            if callable(value) and not isinstance(value, Spread):
                ruling(f"a start's {name}", value)
            elif not isinstance(value, Spread):
                for number in value if isinstance(value, tuple) else (value,):
                    finite(f"a start's {name}", number)


def no_part(part: object) -> str:
    """Return what somebody should have written who gives a role something that it is not made of; '' where unclear."""
    if isinstance(part, str):
        return ": a colour or a picture is a Look, as in Look('green')"
    if isinstance(part, tuple):
        return ": a place is a Start, as in Start(x=1.0, y=2.0)"
    if isinstance(part, type):
        return f": make one, as in {part.__name__}(...)"
    return "" if type(part).__module__ == "builtins" else ": is `@component` missing in the line above its class?"


def moment_of(body: Body, shapes: tuple[Shape, ...]) -> float:
    """Return the moment of inertia, the mass shared out over the shapes by area."""
    if not body.spins:
        return math.inf
    areas = [math.pi * s.radius**2 if isinstance(s, Disc) else abs(s.area()) for s in shapes]
    return sum(s.moment(body.mass * area / sum(areas)) for s, area in zip(shapes, areas, strict=True))

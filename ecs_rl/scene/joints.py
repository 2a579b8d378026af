"""What holds roles together. Points are in each body's own axes; the ground's are the arena's."""

from __future__ import annotations

from dataclasses import dataclass

from ecs_rl.errors import SceneError
from ecs_rl.scene.checks import Point, finite, not_negative, point
from ecs_rl.scene.roles import Role, is_role


@dataclass(frozen=True)
class Groove:
    """Lets `b` slide along a straight groove in `a`, without friction."""

    a: Role
    b: Role
    start: Point
    end: Point
    at: Point = (0.0, 0.0)

    def __post_init__(self) -> None:
        _two_roles(self)
        for value in (self.start, self.end, self.at):
            point("a groove's point", value)
        if self.start == self.end:
            raise SceneError("a groove needs two different ends")


@dataclass(frozen=True)
class Pivot:
    """Pins the point `hinge` of `b` to the point `at` of `a`; `b` starts there."""

    a: Role
    b: Role
    at: Point = (0.0, 0.0)
    hinge: Point = (0.0, 0.0)

    def __post_init__(self) -> None:
        _two_roles(self)
        point("a pivot's `at`", self.at)
        point("a pivot's `hinge`", self.hinge)


@dataclass(frozen=True)
class TurnLimit:
    """Keeps the angle of `b` against `a` between two angles, in radians."""

    a: Role
    b: Role
    low: float
    high: float

    def __post_init__(self) -> None:
        _two_roles(self)
        if finite("a turn limit", self.low) > finite("a turn limit", self.high):
            raise SceneError(f"a turn limit goes from low to high, not from {self.low} to {self.high}")


@dataclass(frozen=True)
class TurnSpring:
    """Pulls the angle of `b` against `a` back to `rest`: newton metres per radian, and per radian per second."""

    a: Role
    b: Role
    rest: float
    stiffness: float
    damping: float

    def __post_init__(self) -> None:
        _two_roles(self)
        finite("a spring's rest angle", self.rest)
        not_negative("a spring's stiffness", self.stiffness)
        not_negative("a spring's damping", self.damping)


@dataclass(frozen=True)
class Spring:
    """Pulls two points to a distance: newtons per metre, and per metre per second."""

    a: Role
    b: Role
    rest: float
    stiffness: float
    damping: float
    at: Point = (0.0, 0.0)
    hinge: Point = (0.0, 0.0)

    def __post_init__(self) -> None:
        _two_roles(self)
        point("a spring's `at`", self.at)
        point("a spring's `hinge`", self.hinge)
        not_negative("a spring's rest length", self.rest)
        not_negative("a spring's stiffness", self.stiffness)
        not_negative("a spring's damping", self.damping)


def _two_roles(joint: Joint) -> None:
    kind = type(joint).__name__
    is_role(f"a {kind} joins", joint.a), is_role(f"a {kind} joins", joint.b)


Joint = Groove | Pivot | TurnLimit | TurnSpring | Spring

"""What holds roles together. Points are in each body's own axes; the ground's are the arena's."""

from __future__ import annotations

from dataclasses import dataclass

from ecs_rl.errors import SceneError
from ecs_rl.scene.checks import Point, finite, not_negative, point
from ecs_rl.scene.roles import Role, is_role


@dataclass(frozen=True)
class Joint:
    """The base of all joints: what it holds together."""

    a: Role
    b: Role

    def __post_init__(self) -> None:
        for role in (self.a, self.b):
            is_role(f"a {type(self).__name__} joins", role)


@dataclass(frozen=True)
class Groove(Joint):
    """Lets `b` slide along a straight groove in `a`, without friction."""

    start: Point
    end: Point
    at: Point = (0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for value in (self.start, self.end, self.at):
            point("a groove's point", value)
        if self.start == self.end:
            raise SceneError("a groove needs two different ends")


@dataclass(frozen=True)
class Pivot(Joint):
    """Pins the point `hinge` of `b` to the point `at` of `a`; `b` starts there."""

    at: Point = (0.0, 0.0)
    hinge: Point = (0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        point("a pivot's `at`", self.at), point("a pivot's `hinge`", self.hinge)


@dataclass(frozen=True)
class TurnLimit(Joint):
    """Keeps the angle of `b` against `a` between two angles, in radians."""

    low: float
    high: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if finite("a turn limit", self.low) > finite("a turn limit", self.high):
            raise SceneError(f"a turn limit goes from low to high, not from {self.low} to {self.high}")


@dataclass(frozen=True)
class TurnSpring(Joint):
    """Pulls the angle of `b` against `a` back to `rest`: newton metres per radian, and per radian per second."""

    rest: float
    stiffness: float
    damping: float

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("a spring's rest angle", self.rest)
        not_negative("a spring's stiffness", self.stiffness), not_negative("a spring's damping", self.damping)


@dataclass(frozen=True)
class Spring(Joint):
    """Pulls two points to a distance: newtons per metre, and per metre per second."""

    rest: float
    stiffness: float
    damping: float
    at: Point = (0.0, 0.0)
    hinge: Point = (0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        point("a spring's `at`", self.at), point("a spring's `hinge`", self.hinge)
        not_negative("a spring's rest length", self.rest)
        not_negative("a spring's stiffness", self.stiffness), not_negative("a spring's damping", self.damping)

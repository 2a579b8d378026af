"""What holds roles together. Points are in each body's own axes; the ground's are the arena's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ecs_rl.errors import SceneError
from ecs_rl.scene.checks import Point, finite, not_negative, point
from ecs_rl.scene.roles import Role, is_role


@dataclass(frozen=True)
class Joint:
    """The base of all joints: what it holds together."""

    a: Role
    """The role that holds, or `arena.ground`."""
    b: Role
    """The role that is held; of kinds each member is held by its own."""

    def __post_init__(self) -> None:
        kind = type(self).__name__
        for role in (self.a, self.b):
            if not is_role(f"a {kind} joins", role).solid and role.body is not None:
                raise SceneError(f"a {kind} cannot hold '{role.name}', which is not solid: only the physics has joints")
            if role.here_at_start is not None and (role.count is None or not np.all(role.here_at_start)):
                raise SceneError(f"'{role.name}' comes and goes, and so cannot be held by a {kind}")
        if self.a.count not in (None, self.b.count):
            counts = f"'{self.a.name}' has {self.a.count} members, '{self.b.name}' {self.b.count or 'is one'}"
            raise SceneError(f"a {kind} joins each member to its own, or all to one thing: {counts}")

    @property
    def pairs(self) -> list[tuple[int | None, int]]:
        """The rows of bodies that are joined; None stands for the ground."""
        held = range(self.b.rows.start, self.b.rows.stop)
        if self.a.body is None:
            return [(None, b) for b in held]
        first, step = self.a.rows.start, self.a.count is not None
        return [(first + i * step, b) for i, b in enumerate(held)]


@dataclass(frozen=True)
class Groove(Joint):
    """Lets `b` slide along a straight groove in `a`, without friction."""

    start: Point
    """One end of the groove, in `a`'s own axes, metres."""
    end: Point
    """The other end."""
    at: Point = (0.0, 0.0)
    """The point that slides, in `b`'s own axes, metres."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for value in (self.start, self.end, self.at):
            point("a groove's point", value)
        if self.start == self.end:
            raise SceneError("a groove needs two different ends")


@dataclass(frozen=True)
class Pivot(Joint):
    """Pins a point of `b` to a point of `a`; `b` starts there, and its Start is relative to `a`."""

    at: Point = (0.0, 0.0)
    """The point of `a`, in its own axes, metres."""
    hinge: Point = (0.0, 0.0)
    """The point of `b`, in its own axes, metres."""

    def __post_init__(self) -> None:
        super().__post_init__()
        point("a pivot's `at`", self.at), point("a pivot's `hinge`", self.hinge)


@dataclass(frozen=True)
class TurnLimit(Joint):
    """Keeps the angle of `b` against `a` between two angles."""

    low: float
    """Radians."""
    high: float
    """Radians."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if finite("a turn limit", self.low) > finite("a turn limit", self.high):
            raise SceneError(f"a turn limit goes from low to high, not from {self.low} to {self.high}")


@dataclass(frozen=True)
class TurnSpring(Joint):
    """Pulls the angle of `b` against `a` back to `rest`."""

    rest: float
    """Radians."""
    stiffness: float
    """Newton metres per radian."""
    damping: float
    """Newton metres per radian per second."""

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("a spring's rest angle", self.rest)
        not_negative("a spring's stiffness", self.stiffness), not_negative("a spring's damping", self.damping)


@dataclass(frozen=True)
class Spring(Joint):
    """Pulls a point of `b` to a distance from a point of `a`, or pushes it away to that."""

    rest: float
    """Metres between the points at which it is at rest."""
    stiffness: float
    """Newtons per metre."""
    damping: float
    """Newtons per metre per second."""
    at: Point = (0.0, 0.0)
    """The point of `a`, in its own axes, metres."""
    hinge: Point = (0.0, 0.0)
    """The point of `b`, in its own axes, metres."""

    def __post_init__(self) -> None:
        super().__post_init__()
        point("a spring's `at`", self.at), point("a spring's `hinge`", self.hinge)
        not_negative("a spring's rest length", self.rest)
        not_negative("a spring's stiffness", self.stiffness), not_negative("a spring's damping", self.damping)

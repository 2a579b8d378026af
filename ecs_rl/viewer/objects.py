"""What is drawn of an arena: objects by their look and their place, the bodies of roles and marks alike."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ecs_rl.arrays import F64, Bool
from ecs_rl.scene.checks import Point
from ecs_rl.scene.parts import Disc
from ecs_rl.viewer.palette import SKY, Colour

NO_POINTS: F64 = np.zeros((0, 2))


@dataclass(frozen=True)
class SpriteView:
    """A picture that stands for a body's shapes."""

    path: str
    width: float
    """Metres; its height follows."""
    at: Point = (0.0, 0.0)
    """Where its middle is, in the body's own axes."""


@dataclass(frozen=True, eq=False)
class LookView:
    """What all objects of one kind share: the bodies of a role, or a mark."""

    name: str
    outlines: tuple[F64, ...] = ()
    """Each (corners, 2), in the object's own axes."""
    discs: tuple[Disc, ...] = ()
    lines: tuple[F64, ...] = ()
    """Open lines, each (points, 2)."""
    colour: Colour = SKY
    leads: bool = True
    """One that moves freely, not hung on a body or a rail: only such a one gets an arrow for its velocity."""
    turns: bool = True
    """Its angle is to be seen, on a disc too."""
    sprite: SpriteView | None = None
    glow: float = 0.0
    """How far soft light reaches around it, metres."""
    layer: int = 0
    mark: bool = False
    many: bool = False

    @cached_property
    def size(self) -> float:
        """How far its shapes reach from their origin, metres."""
        reach = [math.hypot(*at) for outline in (*self.outlines, *self.lines) for at in outline.tolist()]
        reach += [math.hypot(*disc.at) + disc.radius for disc in self.discs]
        return max(filter(math.isfinite, reach), default=0.0)

    @property
    def order(self) -> tuple[int, bool]:
        """By what objects are sorted before they are drawn: marks lie below the roles of their layer."""
        return self.layer, not self.mark


@dataclass(frozen=True, eq=False)
class Objects:
    """All objects of one look and where they are; in the grid every array has an axis of arenas before all others."""

    look: LookView
    position: F64
    """(members, 2)"""
    angle: F64
    """(members,)"""
    here: Bool
    """(members,) What is not here is not drawn."""
    velocity: F64 = field(default_factory=lambda: NO_POINTS)
    """(members, 2)"""
    trails: tuple[F64, ...] = ()
    """(points, 2) for each member: where it was, oldest first; a point that is not finite parts two pieces."""

    def same(self, other: Objects) -> bool:
        """Return whether the same objects are at the same places."""
        one, two = ((t.position, t.angle, t.here) for t in (self, other))
        return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))

    def seen(self) -> list[tuple[int, Point, float]]:
        """Return number, position and angle of each member that is here, if these are finite; of one arena only."""
        rows = np.column_stack((self.position, self.angle))
        visible = np.flatnonzero(self.here & np.isfinite(rows).all(axis=1)).tolist()
        return [(i, (x, y), turn) for i, (x, y, turn) in zip(visible, rows[visible].tolist(), strict=True)]


class BodyId(NamedTuple):
    """One body of an arena: its role, and its number among the members of that."""

    role: str
    member: int = 0

    def label(self, *, many: bool) -> str:
        """Return its name, with its number where there are many."""
        return f"{self.role} {self.member}" if many else self.role

"""Overlaps by arithmetic on columns, for bodies that are not solid and so not in pymunk.

Places are arrays (..., arenas) of x, y and the angle's cosine and sine. A convex outline overlaps another unless one of
their edges has all of the other on its outer side (the separating axis theorem).
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ecs_rl.arrays import F64, Bool
from ecs_rl.scene.parts import Disc, Shape

Pair = tuple[Any, Any]
"""x and y, numbers or arrays."""


class SidePlace:
    """Where the members of one side are; a new axis on the other side's place lets each meet each."""

    def __init__(self, x: F64, y: F64, angle: F64) -> None:
        self.x, self.y, self.angle = x, y, angle

    @cached_property
    def cos(self) -> F64:
        """Cosine of the angle; a disc in the middle of its body never asks."""
        return np.cos(self.angle)

    @cached_property
    def sin(self) -> F64:
        """Sine of the angle."""
        return np.sin(self.angle)

    def point(self, at: tuple[float, float]) -> tuple[F64, F64]:
        """Return where a point of the body's own axes is."""
        if at == (0.0, 0.0):
            return self.x, self.y
        return self.x + self.cos * at[0] - self.sin * at[1], self.y + self.sin * at[0] + self.cos * at[1]

    def local(self, x: F64, y: F64) -> tuple[F64, F64]:
        """Return where a point of the arena is in the body's own axes."""
        dx, dy = x - self.x, y - self.y
        return self.cos * dx + self.sin * dy, self.cos * dy - self.sin * dx


def overlap(one: Shape, here: SidePlace, other: Shape, there: SidePlace) -> Bool:
    """Return where two shapes overlap."""
    if isinstance(one, Disc) and isinstance(other, Disc):
        (ax, ay), (bx, by) = here.point(one.at), there.point(other.at)
        dx, dy = ax - bx, ay - by
        return np.asarray(dx * dx + dy * dy < (one.radius + other.radius) ** 2)
    if isinstance(one, Disc):
        return overlap(other, there, one, here)
    corners = outline(one.points)
    if isinstance(other, Disc):
        return _distance_squared(corners, *here.local(*there.point(other.at))) < other.radius**2
    theirs = outline(other.points)
    return ~(
        _apart(corners, [here.local(*there.point(at)) for at in theirs])
        | _apart(theirs, [there.local(*here.point(at)) for at in corners])
    )


def near_segments(shape: Shape, place: SidePlace, segments: F64, reach: float) -> Bool:
    """Return where a shape is within `reach` of one of the (arenas, segments, 2, 2) of its arena, metres."""
    ends = np.moveaxis(segments, 0, -1)  # (segments, end, axis, arenas)
    beside = SidePlace(*(each[..., None, :] for each in (place.x, place.y, place.angle)))
    if isinstance(shape, Disc):
        x, y = beside.point(shape.at)
        distance = _segment_distance_squared((x, y), (ends[:, 0, 0], ends[:, 0, 1]), (ends[:, 1, 0], ends[:, 1, 1]))
        return np.asarray((distance < (shape.radius + reach) ** 2).any(axis=-2))
    corners = outline(shape.points)
    (ax, ay), (bx, by) = (beside.local(ends[:, end, 0], ends[:, end, 1]) for end in (0, 1))
    crosses = ~(_apart(corners, [(ax, ay), (bx, by)]) | _beside(corners, ax, ay, bx, by))
    for corner in corners:
        crosses |= _segment_distance_squared(corner, (ax, ay), (bx, by)) < reach**2
    for x, y in ((ax, ay), (bx, by)):
        crosses |= _distance_squared(corners, x, y) < reach**2
    return np.asarray(crosses.any(axis=-2))


def outline(points: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    """Return the corners counter-clockwise."""
    turn = sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise([*points, points[0]]))
    return list(points) if turn > 0 else list(reversed(points))


def _edges(corners: list[tuple[float, float]]) -> list[tuple[float, float, float]]:
    """Return each edge's outward normal, of length 1, and how far out it lies."""
    edges = []
    for (ax, ay), (bx, by) in pairwise([*corners, corners[0]]):
        length = float(np.hypot(bx - ax, by - ay))
        nx, ny = (by - ay) / length, (ax - bx) / length
        edges.append((nx, ny, nx * ax + ny * ay))
    return edges


def _apart(corners: list[tuple[float, float]], points: list[tuple[F64, F64]]) -> Bool:
    """Tell where one edge of an outline has all of these points, in its own axes, on its outer side."""
    apart = np.zeros(np.shape(points[0][0]), bool)
    for nx, ny, out in _edges(corners):
        outside = [nx * x + ny * y >= out for x, y in points]
        apart |= np.logical_and.reduce(outside)
    return apart


def _beside(corners: list[tuple[float, float]], ax: F64, ay: F64, bx: F64, by: F64) -> Bool:
    """Tell where all corners lie on one side of the line through two points."""
    side = [(bx - ax) * (y - ay) - (by - ay) * (x - ax) for x, y in corners]
    return np.asarray((np.minimum.reduce(side) > 0) | (np.maximum.reduce(side) < 0))


def _distance_squared(corners: list[tuple[float, float]], x: F64, y: F64) -> F64:
    """Return how far points are from a convex outline, squared; 0 within."""
    inside = np.logical_and.reduce([nx * x + ny * y <= out for nx, ny, out in _edges(corners)])
    distances = [_segment_distance_squared((x, y), a, b) for a, b in pairwise([*corners, corners[0]])]
    return np.where(inside, 0.0, np.minimum.reduce(distances))


def _segment_distance_squared(point: Pair, start: Pair, end: Pair) -> F64:
    """Return how far points are from segments, squared."""
    (x, y), (ax, ay) = point, start
    ex, ey = end[0] - ax, end[1] - ay
    along = ((x - ax) * ex + (y - ay) * ey) / np.maximum(ex * ex + ey * ey, 1e-300)
    along = np.clip(along, 0.0, 1.0)
    dx, dy = x - ax - along * ex, y - ay - along * ey
    return np.asarray(dx * dx + dy * dy)

"""The geometry of a scene's bodies, as far as pictures need it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.scene.joints import Groove
from ecs_rl.scene.look import Look, rgb, sprite_file
from ecs_rl.scene.parts import Disc, Polygon, Shape
from ecs_rl.scene.roles import Role
from ecs_rl.viewer.objects import LookView, SpriteView
from ecs_rl.viewer.palette import DIM, Colour, role_colour
from ecs_rl.viewer.view import Point

if TYPE_CHECKING:
    from ecs_rl.scene.arena import Arena

NEAR = 0.08
"""Metres from the ground within which a corner counts as touching it."""


def role_looks(arena: Arena, hanging: frozenset[str]) -> tuple[LookView, ...]:
    """Return what the bodies of each role look like. Limbs of one shape have one colour."""
    first: dict[object, int] = {}
    looks = []
    railed = {joint.b.name for joint in arena.joints if isinstance(joint, Groove)}
    for role in arena.roles:
        kind = (role.body, role.shapes) if role.name in hanging else role.name
        number = first.setdefault(kind, len(first))
        look = _look(role.name, role.shapes, role.look, role_colour(number), arena)
        many = role.count is not None
        leads = role.name not in hanging | railed and not many
        turns = role.body is not None and role.body.spins and role.yields
        looks.append(replace(look, leads=leads, turns=turns, many=many))
    return tuple(looks)


def mark_looks(arena: Arena) -> tuple[LookView, ...]:
    """Return what each mark looks like."""
    looks = []
    for mark in arena.marks:
        shapes = (mark.shape,) if isinstance(mark.shape, (Disc, Polygon)) else ()
        look = _look(mark.name, shapes, mark.look, DIM, arena)
        lines = () if isinstance(mark.shape, (Disc, Polygon)) else (np.array(mark.shape),)
        looks.append(replace(look, lines=lines, leads=False, turns=False, mark=True))
    return tuple(looks)


def _look(name: str, shapes: Sequence[Shape], look: Look | None, colour: Colour, arena: Arena) -> LookView:
    file = None if look is None else sprite_file(look, arena.file)
    return LookView(
        name,
        tuple(np.array(shape.points) for shape in shapes if isinstance(shape, Polygon)),
        tuple(shape for shape in shapes if isinstance(shape, Disc)),
        colour=rgb(look.colour) if look and look.colour else colour,
        sprite=SpriteView(str(file), look.width or _width(shapes), look.at) if look and file else None,
        glow=look.glow if look else 0.0,
        layer=look.layer if look else 0,
    )


def _width(shapes: Sequence[Shape]) -> float:
    spans: list[float] = []
    for shape in shapes:
        if isinstance(shape, Disc):
            spans += [shape.at[0] - shape.radius, shape.at[0] + shape.radius]
        else:
            spans += [x for x, _ in shape.points]
    return max(spans, default=0.0) - min(spans, default=0.0) or 1.0


def size_of(role: Role) -> float:
    """Return how far a body reaches from its origin, metres."""
    reach = [0.0]
    for shape in role.shapes:
        if isinstance(shape, Polygon):
            reach += [math.hypot(*point) for point in shape.points]
        else:
            reach.append(math.hypot(*shape.at) + shape.radius)
    return max(reach)


def place(position: Point, angle: float, at: Point) -> Point:
    """Return where a point of a body's own axes is."""
    cos, sin = math.cos(angle), math.sin(angle)
    return position[0] + cos * at[0] - sin * at[1], position[1] + sin * at[0] + cos * at[1]


def exit_of(role: Role, at: Point, way: Point) -> Point:
    """Return where a line through `at` leaves the body last in the direction `way`; all in the body's own axes."""
    length = math.hypot(*way)
    if not length > 0:
        return at
    ux, uy = way[0] / length, way[1] / length
    hits = [-math.inf]
    for shape in role.shapes:
        if isinstance(shape, Disc):
            hits.append(_leave_disc(shape, at, (ux, uy)))
        else:
            hits += _crossings(shape, at, (ux, uy))
    far = max(hits)
    return at if math.isinf(far) else (at[0] + ux * far, at[1] + uy * far)


def _leave_disc(disc: Disc, at: Point, way: Point) -> float:
    x, y = at[0] - disc.at[0], at[1] - disc.at[1]
    along = x * way[0] + y * way[1]
    under = along * along - (x * x + y * y - disc.radius**2)
    return -along + math.sqrt(under) if under >= 0 else -math.inf


def _crossings(shape: Polygon, at: Point, way: Point) -> list[float]:
    ways = []
    for (ax, ay), (bx, by) in zip(shape.points, shape.points[1:] + shape.points[:1], strict=True):
        ex, ey = bx - ax, by - ay
        cross = way[0] * ey - way[1] * ex
        if abs(cross) < 1e-12:
            continue
        along = ((ax - at[0]) * ey - (ay - at[1]) * ex) / cross
        share = ((ax - at[0]) * way[1] - (ay - at[1]) * way[0]) / cross
        if -1e-9 <= share <= 1 + 1e-9:
            ways.append(along)
    return ways


def near_ground(role: Role, position: Point, angle: float, segments: F64, *, at_least_one: bool) -> list[Point]:
    """Return the corners of a body that touch the ground (segments, 2, 2), or the nearest if it is known to."""
    points = []
    for shape in role.shapes:
        if isinstance(shape, Polygon):
            points += [place(position, angle, at) for at in shape.points]
        else:
            x, y = place(position, angle, shape.at)
            points.append((x, y - shape.radius))
    if not len(segments) or not points or not np.isfinite(points).all():
        return []
    away = distances(np.array(points), segments)
    touching = [points[i] for i in np.flatnonzero(away < NEAR).tolist()]
    return touching or [points[int(away.argmin())]][:at_least_one]


def distances(points: F64, segments: F64) -> F64:
    """Return (points,): how far each is from the nearest segment."""
    start, along = segments[:, 0], segments[:, 1] - segments[:, 0]
    squared = np.maximum((along**2).sum(axis=1), 1e-12)
    share = np.clip(((points[:, None] - start) * along).sum(axis=2) / squared, 0.0, 1.0)
    gap = points[:, None] - (start + share[..., None] * along)
    return np.asarray(np.hypot(gap[..., 0], gap[..., 1]).min(axis=1))

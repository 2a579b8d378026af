"""Looks, shapes and places of the bodies of an arena: what a role looks like, and where its bodies are."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.arrays import F64, I64, Bool
from ecs_rl.components import Here, Motion, Pose
from ecs_rl.console import tell
from ecs_rl.errors import SceneError
from ecs_rl.scene.joints import Groove, Pivot
from ecs_rl.scene.loader import blaming_scene
from ecs_rl.scene.look import Look, rgb, sprite_file
from ecs_rl.scene.parts import Disc, Polygon, Shape
from ecs_rl.scene.roles import Role
from ecs_rl.viewer.objects import LookView, Objects, SpriteView
from ecs_rl.viewer.palette import DIM, Colour, role_colour
from ecs_rl.viewer.view import Point

if TYPE_CHECKING:
    from ecs_rl.scene.arena import Arena
    from ecs_rl.scene.marks import Mark
    from ecs_rl.world import World

NEAR = 0.08
"""Metres from the ground within which a corner counts as touching it."""
FASTER = 1.25
"""How much further than its velocity says a body may come in a tick without having been placed there."""
SLACK = 0.25
"""And how much further than that, as a share of its size."""
STRAYS = 50
"""Of so many arenas the farthest one is left out: it would make all the others small."""


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


@dataclass
class Placement:
    """Where all objects are."""

    position: F64
    """(objects, 2) metres"""
    angle: F64
    """(objects,) radians"""
    velocity: F64
    """(objects, 2) Of a mark zero."""
    here: Bool
    """(objects,)"""
    size: F64
    """(objects,) How far each reaches from its origin, metres."""
    moved: F64 = field(init=False)
    """(objects, 2) Since the placement before."""
    flows: Bool = field(init=False)
    """(objects,) It moved here from where it was before, and was not placed."""

    def __post_init__(self) -> None:
        self.moved, self.flows = np.zeros_like(self.position), self.here

    @cached_property
    def poses(self) -> list[tuple[Point, float]]:
        """Position and angle of each object of one arena."""
        places, turns = self.position.tolist(), self.angle.tolist()
        return [((x, y), angle) for (x, y), angle in zip(places, turns, strict=True)]

    def came_from(self, before: Placement, seconds: float) -> None:
        """Tell what has moved from what was placed: its velocity, or its last step, explains how far it came."""
        self.moved = self.position - before.position
        far, last, slack = _length(self.moved), before.moved, SLACK * self.size
        speed = np.maximum(_length(self.velocity), _length(before.velocity))
        steady = _length(self.moved - last) <= 0.5 * _length(last) + slack
        self.flows = self.here & before.here & ((far <= FASTER * seconds * speed + slack) | steady)

    def blended(self, before: Placement, share: float) -> Placement:
        """Return the placement `share` of the way since the one before; what was placed is where it was placed."""
        position = np.where(
            self.flows[:, None], before.position + (self.position - before.position) * share, self.position
        )
        angle = np.where(self.flows, before.angle + (self.angle - before.angle) * share, self.angle)
        return Placement(position, angle, self.velocity, self.here, self.size)

    def points(self, objects: I64, at: F64) -> F64:
        """Return (objects, 2) where points of their own axes are."""
        cos, sin, (x, y) = np.cos(self.angle[objects]), np.sin(self.angle[objects]), at.T
        return np.asarray(self.position[objects] + np.stack((cos * x - sin * y, sin * x + cos * y), axis=-1))


def _length(vectors: F64) -> F64:
    return np.asarray(np.hypot(vectors[..., 0], vectors[..., 1]))


class Places:
    """Reads where all objects of a world's arenas are."""

    def __init__(self, world: World) -> None:
        self.world, arena = world, world.arena
        self.bodies, self.here = world.block(Pose, Motion), world.block(Here)
        self.parents = {j.b.name: j for j in arena.joints if isinstance(j, Pivot) and j.a.body is not None}
        self.roles, self.marks = arena.roles, arena.marks
        self.looks = (*role_looks(arena, frozenset(self.parents)), *mark_looks(arena))
        counts = [role.members for role in self.roles] + [1] * len(self.marks)
        self.slices = tuple(slice(*ends) for ends in pairwise(accumulate(counts, initial=0)))
        """Which of the objects each look has."""
        self.rows = np.concatenate([np.arange(role.rows.start, role.rows.stop) for role in self.roles])
        """Of each body in the blocks of all bodies, which stand in another order."""
        self.order = sorted(range(len(self.looks)), key=lambda i: self.looks[i].order)
        """In which the looks are drawn."""
        self.size = np.repeat([look.size for look in self.looks], counts)
        moving = [i for i, mark in enumerate(self.marks, len(self.roles)) if not mark.stands]
        self.outline = Outline(self.looks, self.slices, [*range(len(self.roles)), *moving])
        self.problems: list[str] = []
        """What was wrong with marks that are not drawn, each told once; a window shows it too, and clears it."""
        self._silent: set[str] = set()
        self._still = {i: self._placed(mark) for i, mark in enumerate(self.marks) if mark.stands}

    def at(self, arena: int | slice) -> Placement:
        """Return where all objects of an arena are, or of several."""
        state, here = self.bodies[:, self.rows, arena], self.here[self.rows, arena]
        position, angle, velocity = np.moveaxis(state[:2], 0, -1), state[2], np.moveaxis(state[3:5], 0, -1)
        if self.marks:
            placed = (self._still.get(i) or self._placed(mark) for i, mark in enumerate(self.marks))
            marks = [tuple(part[arena] for part in parts) for parts in placed]
            at, turn, is_here = (np.stack(parts) for parts in zip(*marks, strict=True))
            position, velocity = np.concatenate((position, at)), np.concatenate((velocity, np.zeros(at.shape)))
            angle, here = np.concatenate((angle, turn)), np.concatenate((here, is_here))
        if isinstance(arena, slice):  # the arenas come first
            position, angle, velocity, here = (part.swapaxes(0, 1) for part in (position, angle, velocity, here))
        return Placement(position, angle, velocity, here, self.size)

    def _placed(self, mark: Mark) -> tuple[F64, F64, Bool]:
        """Return where a mark is, nowhere if its rules fail now: no training ends for that."""
        n = self.world.arenas
        try:
            with blaming_scene(self.world.scene.file), np.errstate(all="ignore"):
                return mark.placed(n)
        except SceneError as error:
            if mark.name not in self._silent:
                self._silent.add(mark.name)
                self.problems.append(f"{error} (the mark '{mark.name}' is not drawn)")
                tell(self.problems[-1], sys.stderr)
        return np.zeros((n, 2)), np.zeros(n), np.zeros(n, bool)

    def objects(self, placement: Placement) -> dict[int, Objects]:
        """Return the objects of each look, by the look's number, in the order in which they are drawn."""
        return {
            i: Objects(
                self.looks[i],
                placement.position[..., self.slices[i], :],
                placement.angle[..., self.slices[i]],
                placement.here[..., self.slices[i]],
                placement.velocity[..., self.slices[i], :],
            )
            for i in self.order
        }


class Outline:
    """All corners and rims of an arena's bodies, so that their reach is worked out at once."""

    def __init__(self, looks: Sequence[LookView], slices: Sequence[slice], chosen: Sequence[int]) -> None:
        points: list[tuple[int, float, float, float]] = []
        for look, objects in ((looks[i], slices[i]) for i in chosen):
            at = [(x, y, 0.0) for outline in (*look.outlines, *look.lines) for x, y in outline.tolist()]
            at += [(*disc.at, disc.radius) for disc in look.discs]
            points += [(index, *corner) for index in range(objects.start, objects.stop) for corner in at]
        index, self._x, self._y, self._radius = np.array(points).T
        self._index = index.astype(int)

    def reach(self, placement: Placement) -> F64:
        """Return (4,) how far what is here reaches left, down, right and up; of many arenas without the strays."""
        index = self._index
        cos, sin = np.cos(placement.angle)[..., index], np.sin(placement.angle)[..., index]
        x = placement.position[..., index, 0] + cos * self._x - sin * self._y
        y = placement.position[..., index, 1] + sin * self._x + cos * self._y
        there = placement.here[..., index]
        sides = np.stack([np.where(there, side + self._radius, -np.inf).max(axis=-1) for side in (-x, -y, x, y)])
        sides = sides.reshape(4, -1)
        farthest = sides.shape[1] - 1 - sides.shape[1] // STRAYS
        return np.asarray(np.partition(sides, farthest, axis=1)[:, farthest])

"""Where all objects of an arena are: the bodies of its roles, then its marks, as arrays.

The arrays of one arena are (objects, ...), those of several have an axis of arenas before that.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.arrays import F64, I64, Bool
from ecs_rl.components import Here, Motion, Pose
from ecs_rl.console import tell
from ecs_rl.errors import SceneError
from ecs_rl.scene.checks import Point
from ecs_rl.scene.joints import Pivot
from ecs_rl.scene.loader import blaming_scene
from ecs_rl.viewer.objects import LookView, Objects
from ecs_rl.viewer.shapes import mark_looks, role_looks

if TYPE_CHECKING:
    from ecs_rl.scene.marks import Mark
    from ecs_rl.world import World

FASTER = 1.25
"""How much further than its velocity says a body may come in a tick without having been placed there."""
SLACK = 0.25
"""And how much further than that, as a share of its size."""
STRAYS = 50
"""Of so many arenas the farthest one is left out: it would make all the others small."""


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

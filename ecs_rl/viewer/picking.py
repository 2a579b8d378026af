"""Which body is under the mouse."""

from __future__ import annotations

import math

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.viewer.objects import BodyId, LookView, Objects
from ecs_rl.viewer.shapes import distances, place
from ecs_rl.viewer.view import Point, StageView


def pick(stage: StageView, at: Point, reach: float) -> BodyId | None:
    """Return the body under a point: the smallest that it is inside of, else the nearest within reach, metres."""
    near = []
    for look, number, away in (each for objects in stage.objects for each in _aways(objects, at)):
        if away <= reach:
            near.append((away, _area(look), BodyId(look.name, number)))
    return min(near)[2] if near else None


def _aways(objects: Objects, at: Point) -> list[tuple[LookView, int, float]]:
    """Return how far a point is from each body of a look, 0 inside."""
    look, aways = objects.look, []
    for number, place_of, angle in objects.seen() if not look.mark else ():
        x, y = place((0.0, 0.0), -angle, (at[0] - place_of[0], at[1] - place_of[1]))
        away = [max(0.0, math.hypot(x - disc.at[0], y - disc.at[1]) - disc.radius) for disc in look.discs]
        away += [_away_from(outline, (x, y)) for outline in look.outlines]
        aways.append((look, number, min((distance for distance in away if math.isfinite(distance)), default=math.inf)))
    return aways


def _away_from(outline: F64, at: Point) -> float:
    following = np.roll(outline, -1, axis=0)
    (x0, y0), (x1, y1) = outline.T, following.T
    crosses = (y0 > at[1]) != (y1 > at[1])
    with np.errstate(all="ignore"):  # a level side crosses nothing
        beyond = at[0] < x0 + (at[1] - y0) / (y1 - y0) * (x1 - x0)
    if (crosses & beyond).sum() % 2:
        return 0.0
    return float(distances(np.array((at,)), np.stack((outline, following), axis=1))[0])


def _area(look: LookView) -> float:
    areas = [math.pi * disc.radius**2 for disc in look.discs]
    for outline in look.outlines:
        (x0, y0), (x1, y1) = outline.T, np.roll(outline, -1, axis=0).T
        areas.append(abs(float((x0 * y1 - x1 * y0).sum())) / 2)
    return sum(areas)

"""The inspector: which body is under the mouse, and what its components hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.components import Clock, Touch
from ecs_rl.viewer.number_formats import fixed, short
from ecs_rl.viewer.shapes import distances, place
from ecs_rl.viewer.view import InspectorView, Point, RoleView, StageView

if TYPE_CHECKING:
    from ecs_rl.scene.roles import Role
    from ecs_rl.world import World

Row = tuple[str, str, str]


def pick(stage: StageView, at: Point, reach: float) -> str | None:
    """Return the role under a point: the smallest that it is inside of, else the nearest within reach, metres."""
    seen = [role for role in stage.roles if all(map(math.isfinite, (*role.position, role.angle)))]
    found = [(away, _area(role), role.name) for role in seen if (away := _away(role, at)) <= reach]
    return min(found)[2] if found else None


def _away(role: RoleView, at: Point) -> float:
    """Return how far a point is from a body, 0 inside."""
    x, y = place((0.0, 0.0), -role.angle, (at[0] - role.position[0], at[1] - role.position[1]))
    away = [max(0.0, math.hypot(x - disc.at[0], y - disc.at[1]) - disc.radius) for disc in role.discs]
    away += [_away_from(outline, (x, y)) for outline in role.outlines]
    return min((distance for distance in away if math.isfinite(distance)), default=math.inf)


def _away_from(outline: F64, at: Point) -> float:
    following = np.roll(outline, -1, axis=0)
    (x0, y0), (x1, y1) = outline.T, following.T
    crosses = (y0 > at[1]) != (y1 > at[1])
    with np.errstate(all="ignore"):  # a level side crosses nothing
        beyond = at[0] < x0 + (at[1] - y0) / (y1 - y0) * (x1 - x0)
    if (crosses & beyond).sum() % 2:
        return 0.0
    return float(distances(np.array((at,)), np.stack((outline, following), axis=1))[0])


def _area(role: RoleView) -> float:
    areas = [math.pi * disc.radius**2 for disc in role.discs]
    for outline in role.outlines:
        (x0, y0), (x1, y1) = outline.T, np.roll(outline, -1, axis=0).T
        areas.append(abs(float((x0 * y1 - x1 * y0).sum())) / 2)
    return sum(areas)


def inspect(world: World, arena: int, role: str) -> InspectorView:
    """Return every component of a role in one arena, what it touches, the arena's clock and the scene's own numbers."""
    found = next(each for each in world.arena.roles if each.name == role)
    own = {type(part) for part in world.arena.parts}
    rows = [
        *_columns(world, role, arena),
        *_body(found),
        *_touching(world, found, arena),
        *_columns(world, "@arena", arena, {Clock, *own}),
        *(("number " + n.name, fixed(float(n.value[arena])), "") for n in world.arena.numbers),
    ]
    return InspectorView(role, tuple(rows))


def _columns(world: World, entity: str, arena: int, only: set[type] | None = None) -> list[Row]:
    """Return what the columns of an entity's components hold in one arena."""
    rows = []
    for stored in world.stored:
        if stored.entity == entity and (only is None or stored.kind in only):
            told = "  ".join(_told(value) for value in np.ravel(stored.array[arena]).tolist())
            rows.append((f"{stored.kind.__name__} {stored.column.name}", told, stored.column.unit))
    return rows


def _told(value: float | bool) -> str:
    if isinstance(value, float):
        return fixed(value)
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _body(role: Role) -> list[Row]:
    if role.body is None:
        return []
    spins = math.isfinite(role.moment)
    moment = short(role.moment) if spins else "never spins"
    return [("mass", short(role.body.mass), "kg"), ("inertia", moment, "kg m²" if spins else "")]


def _touching(world: World, role: Role, arena: int) -> list[Row]:
    """Return what the body touches, where the scene asks for that at all: otherwise nobody looks."""
    if not world.arena.wants_contacts:
        return []
    names = [*(each.name for each in world.arena.roles), "ground"]
    touched = np.flatnonzero(world.one(Touch).pairs[arena, role.number]).tolist()
    return [("Touch", ", ".join(names[i] for i in touched) or "nothing", "")]

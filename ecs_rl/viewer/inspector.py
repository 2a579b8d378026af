"""The inspector: which body is under the mouse, and what its components hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64
from ecs_rl.components import Clock, Touch
from ecs_rl.viewer.number_formats import fixed, short
from ecs_rl.viewer.shapes import distances, place
from ecs_rl.viewer.things import Chosen, LookView, Things
from ecs_rl.viewer.view import Point, StageView
from ecs_rl.viewer.view_floating import InspectorView

if TYPE_CHECKING:
    from ecs_rl.scene.roles import Role
    from ecs_rl.world import World

Row = tuple[str, str, str]


def pick(stage: StageView, at: Point, reach: float) -> Chosen | None:
    """Return the body under a point: the smallest that it is inside of, else the nearest within reach, metres."""
    found = []
    for look, number, away in (each for things in stage.things for each in _aways(things, at)):
        if away <= reach:
            found.append((away, _area(look), Chosen(look.name, number)))
    return min(found)[2] if found else None


def _aways(things: Things, at: Point) -> list[tuple[LookView, int, float]]:
    """Return how far a point is from each body of a look, 0 inside."""
    look, found = things.look, []
    for number, place_of, angle in things.seen() if not look.mark else ():
        x, y = place((0.0, 0.0), -angle, (at[0] - place_of[0], at[1] - place_of[1]))
        away = [max(0.0, math.hypot(x - disc.at[0], y - disc.at[1]) - disc.radius) for disc in look.discs]
        away += [_away_from(outline, (x, y)) for outline in look.outlines]
        found.append((look, number, min((distance for distance in away if math.isfinite(distance)), default=math.inf)))
    return found


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


def inspect(world: World, arena: int, chosen: Chosen) -> InspectorView:
    """Return every component of a body in one arena, what it touches, the arena's clock and the scene's own numbers."""
    role = next(each for each in world.arena.roles if each.name == chosen.role)
    own = {type(part) for part in world.arena.parts}
    many = role.count is not None
    rows = [
        *_columns(world, chosen.role, (arena, chosen.member) if many else (arena,)),
        *_body(role),
        *_touching(world, role, arena),
        *_columns(world, "@arena", (arena,), {Clock, *own}),
        *(("number " + number.name, _numbers(number.value[arena]), "") for number in world.arena.numbers),
    ]
    return InspectorView(chosen.told(many=many), tuple(rows))


def _columns(world: World, entity: str, row: tuple[int, ...], only: set[type] | None = None) -> list[Row]:
    """Return what the columns of an entity's components hold in one row."""
    rows = []
    for stored in world.stored:
        if stored.entity == entity and (only is None or stored.kind in only):
            name = f"{stored.kind.__name__} {stored.column.name}"
            rows.append((name, _numbers(stored.array[row]), stored.column.unit))
    return rows


def _numbers(values: NDArray[Any]) -> str:
    """Return one number, or those of all members of a kind."""
    return "  ".join(_told(value) for value in np.ravel(values).tolist())


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

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
    """Return the components of a role in one arena, and the arena's own clock and draws."""
    found = next(each for each in world.arena.roles if each.name == role)
    return InspectorView(role, (*_moving(found, arena), *_touching(world, found, arena), *_arena(world, arena)))


def _moving(role: Role, arena: int) -> list[Row]:
    angle, speed = float(role.angle[arena]), math.hypot(*role.velocity[arena].tolist())
    turned = f"{math.degrees(angle):z.0f}°" if math.isfinite(angle) else ""
    force = role.force
    rows = [
        ("Pose position", _pair(role.position[arena]), "m"),
        ("Pose angle", f"{turned}  {fixed(angle)}".strip(), "rad"),
        ("Motion velocity", _pair(role.velocity[arena]), "m/s"),
        ("Motion speed", fixed(speed), "m/s"),
        ("Motion spin", fixed(float(role.spin[arena])), "rad/s"),
        ("Force force", _pair(force.force[arena]), "N"),
        ("Force torque", fixed(float(force.torque[arena])), "N m"),
    ]
    if role.body is not None:
        moment = (short(role.moment), "kg m²") if math.isfinite(role.moment) else ("never spins", "")
        rows += [("mass", short(role.body.mass), "kg"), ("inertia", *moment)]
    return rows


def _touching(world: World, role: Role, arena: int) -> list[Row]:
    """Return what the body touches, where the scene asks for that at all: otherwise nobody looks."""
    if not world.arena.wants_contacts:
        return []
    names = [*(each.name for each in world.arena.roles), "ground"]
    touched = np.flatnonzero(world.one(Touch).pairs[arena, role.number]).tolist()
    return [("Touch", ", ".join(names[i] for i in touched) or "nothing", "")]


def _arena(world: World, arena: int) -> list[Row]:
    clock = world.one(Clock)
    tick = int(clock.tick[arena])
    return [
        ("Clock episode", str(int(clock.episode[arena])), ""),
        ("Clock tick", f"{tick} of {world.scene.max_ticks}", ""),
        ("Clock time", f"{tick * world.scene.dt:.2f}", "s"),
        *((f"Chance {draw.name}", fixed(float(draw.value[arena])), "") for draw in world.arena.draws),
    ]


def _pair(values: F64) -> str:
    return "  ".join(fixed(value) for value in values.tolist())

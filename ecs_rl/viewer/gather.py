"""From a world to the stage's part of the view model: it reads columns, and changes nothing."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.components import Clock, Ground, Observation, Terms, Touch
from ecs_rl.scene.effects import Effect, Motor, Push, Thrust, Twist
from ecs_rl.scene.joints import Groove, Pivot, Spring
from ecs_rl.scene.rays import Rays
from ecs_rl.scene.rules import Compared
from ecs_rl.scene.sensors import Sensor
from ecs_rl.viewer.framing import Outline, framing_of
from ecs_rl.viewer.shapes import exit_of, near_ground, place, role_looks, size_of
from ecs_rl.viewer.sprites import load_sprite
from ecs_rl.viewer.view import (
    NO_POINTS,
    ContactView,
    ForceView,
    GroundView,
    Point,
    RayView,
    RoleView,
    StageView,
)

if TYPE_CHECKING:
    from ecs_rl.scene.arena import Arena
    from ecs_rl.scene.roles import Role
    from ecs_rl.world import World

EASE = 0.4
"""The share of the way that a shown force goes in a tick: fifty changes a second would flicker."""
FAINTEST = 0.04
"""Strength below which a force that fades is not shown any more."""
TRAIL = 100
"""Ticks that a trail is long."""
Poses = list[tuple[float, float, float]]


class Reader:
    """Reads arenas of one world; `follow` one of them after each tick, then ask for its `stage` in each frame."""

    def __init__(self, world: World) -> None:
        self.world, self.arena = world, world.arena
        self.clock, self.ground, self.touch = world.one(Clock), world.one(Ground), world.one(Touch)
        self.terms = world.one(Terms)
        self.slots = [(slot, world.of(batch.entity, Observation)) for batch in world.batches for slot in batch.slots]
        self.parents = {j.b.name: j for j in self.arena.joints if isinstance(j, Pivot) and j.a.body is not None}
        self.looks = role_looks(self.arena, frozenset(self.parents))
        for look in self.looks:
            if look.sprite is not None:
                load_sprite(look.sprite.path)  # one that is no picture is refused before anything is shown
        weight = sum(role.body.mass for role in self.arena.roles if role.body) * math.hypot(*world.scene.gravity)
        self.weight = weight or 1.0
        self.rails = _rails(self.arena)
        self.framing = framing_of(world, limits_of(self.arena), self.rails)
        self.outline = Outline(self.looks)
        self._trails: tuple[deque[Point], ...] = tuple(deque(maxlen=TRAIL) for _ in self.arena.roles)
        self._trailing = [self._point_that_trails(look) for look in self.looks]
        self._followed = (-1, -1)
        self._before: Poses = []
        self._now: Poses = []
        self.effects = [(slot, i, effect) for slot, _ in self.slots for i, effect in enumerate(slot.spec.does.effects)]
        self._eased = [0.0] * len(self.effects)
        self._still, self._still_bytes = GroundView(), b""

    def follow(self, arena: int, *, held: bool = False, anew: bool = False) -> None:
        """Note where the bodies of an arena are: trails grow by it, and pictures between two ticks begin here.

        While a body is `held` by a hand the picture does not widen. Another episode begins `anew`.
        """
        episode = (arena, int(self.clock.episode[arena]))
        self._before, self._now = self._now, self._poses(arena)
        if anew or episode != self._followed:
            self._followed, self._before = episode, self._now
            for trail in self._trails:
                trail.clear()
            self._eased = [0.0] * len(self.effects)
            self.framing.begin()
        if held:
            self.framing.hold()
        else:
            here = np.array(self._now)[:, None]
            self.framing.see(self.outline.reach(here[..., :2], here[..., 2]), self.world.scene.dt)
        strength = zip(self._eased, self._amounts(arena), strict=True)
        self._eased = [e + EASE * (a - e) if math.isfinite(a) else a for e, a in strength]
        for at, trail, (x, y, angle) in zip(self._trailing, self._trails, self._now, strict=True):
            if at is not None:
                trail.append(place((x, y), angle, at))

    def stage(self, arena: int, *, blend: float = 1.0, caption: str = "", selected: str | None = None) -> StageView:
        """Return an arena as it is, or between the last two ticks of the followed one: `blend` is the share since."""
        poses, amounts, bounds = self._poses(arena), self._amounts(arena), self.framing.bounds()
        if self._followed[0] == arena and len(self._before) == len(self._now) and blend < 1.0:
            bounds = self.framing.bounds(blend)
            amounts = [a if abs(a) >= FAINTEST else 0.0 for a in self._eased]
            pairs = zip(self._before, self._now, strict=True)
            poses = [tuple(a + (b - a) * blend for a, b in zip(p, q, strict=True)) for p, q in pairs]  # type: ignore[misc]
        joints = self.arena.joints
        return StageView(
            roles=tuple(self._role(arena, number, pose) for number, pose in enumerate(poses)),
            ground=self._ground(arena),
            springs=tuple((_at(j.a, j.at, poses), _at(j.b, j.hinge, poses)) for j in joints if isinstance(j, Spring)),
            hinges=tuple(_at(j.a, j.at, poses) for j in joints if isinstance(j, Pivot)),
            forces=tuple(self._forces(amounts, poses)),
            contacts=tuple(self._contacts(arena, poses)),
            rays=tuple(self._rays(arena, poses)),
            selected=selected,
            bounds=bounds,
            shape=self.framing.shape,
            tick=int(self.clock.tick[arena]),
            caption=caption,
        )

    # --- bodies -----------------------------------------------------------------------------------------------------

    def _poses(self, arena: int) -> Poses:
        return [(float(r.x[arena]), float(r.y[arena]), float(r.angle[arena])) for r in self.arena.roles]

    def _role(self, arena: int, number: int, pose: tuple[float, float, float]) -> RoleView:
        role, trail = self.arena.roles[number], self._trails[number]
        x, y, angle = pose
        shown = self._followed[0] == arena and len(trail) > 1
        return replace(
            self.looks[number],
            position=(x, y),
            angle=angle,
            velocity=(float(role.vx[arena]), float(role.vy[arena])),
            spin=float(role.spin[arena]),
            trail=np.array(trail) if shown else NO_POINTS,
        )

    def _point_that_trails(self, look: RoleView) -> Point | None:
        """Return the point of a body that leaves a trail: its middle, the far end of a pendulum, or none."""
        joint = self.parents.get(look.name)
        if joint is None:
            return (0.0, 0.0) if look.leads else None
        x, y = joint.hinge
        return (-x, -y) if math.hypot(x, y) > size_of(joint.a) else None

    # --- ground -----------------------------------------------------------------------------------------------------

    def _ground(self, arena: int) -> GroundView:
        """Return the ground, the same object as before while it has not changed."""
        segments = self.ground.segments[arena]
        stamp = segments.tobytes()
        if stamp != self._still_bytes or not self._still_bytes:
            self._still_bytes, self._still = stamp, ground_of(self.arena, segments)
        return self._still

    # --- what happens -----------------------------------------------------------------------------------------------

    def _amounts(self, arena: int) -> list[float]:
        return [float(slot.amount[i, arena]) for slot, i, _ in self.effects]

    def _forces(self, amounts: list[float], poses: Poses) -> list[ForceView]:
        """Return what the effects do; all that push one body are one arrow."""
        found: list[ForceView] = []
        pushes: dict[int, list[tuple[Push, float]]] = {}
        for (_, _, effect), amount in zip(self.effects, amounts, strict=True):
            if not amount or not math.isfinite(amount) or effect.role.body is None:
                continue
            if isinstance(effect, Push):
                pushes.setdefault(effect.role.number, []).append((effect, amount))
            else:
                found += self._force(effect, amount, poses)
        return [*found, *(self._push(each, poses) for each in pushes.values())]

    def _push(self, pushes: list[tuple[Push, float]], poses: Poses) -> ForceView:
        role = pushes[0][0].role
        x, y, angle = poses[role.number]
        push = sum(p.x * amount for p, amount in pushes), sum(p.y * amount for p, amount in pushes)
        edge = place((x, y), angle, exit_of(role, (0.0, 0.0), place((0.0, 0.0), -angle, push)))
        strength = math.hypot(*push) / max(1e-12, *(math.hypot(p.x, p.y) for p, _ in pushes))
        return ForceView("push", edge, push, strength, 1.6 * size_of(role))

    def _force(self, effect: Effect, amount: float, poses: Poses) -> list[ForceView]:
        role, size = effect.role, size_of(effect.role)
        x, y, angle = poses[role.number]
        if isinstance(effect, Thrust):
            push = (effect.x * amount, effect.y * amount)
            nozzle = exit_of(role, effect.at, (-push[0], -push[1]))
            long = 1.2 * size * math.sqrt(math.hypot(effect.x, effect.y) / self.weight)
            turned = place((0.0, 0.0), angle, push)
            return [ForceView("thrust", place((x, y), angle, nozzle), turned, amount, long)]
        if isinstance(effect, (Twist, Motor)):
            torque = effect.torque if isinstance(effect, Twist) else effect.strength * math.copysign(1, effect.speed)
            return [ForceView("twist", (x, y), (0.0, 0.0), amount, 0.8 * size, torque * amount)]
        return []

    def _contacts(self, arena: int, poses: Poses) -> list[ContactView]:
        pairs = self.touch.pairs[arena]
        ground = len(self.arena.roles)
        found = []
        for role in self.arena.roles:
            if pairs[role.number, ground]:
                x, y, angle = poses[role.number]
                speed = math.hypot(role.vx[arena], role.vy[arena])
                corners = near_ground(role, (x, y), angle, self.ground.segments[arena])
                found += [ContactView(at, speed) for at in corners]
        for one, other in np.argwhere(np.triu(pairs[:ground, :ground], 1)).tolist():
            a, b = poses[one], poses[other]
            mine, yours = size_of(self.arena.roles[one]), size_of(self.arena.roles[other])
            share = mine / (mine + yours)
            found.append(ContactView((a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share)))
        return found

    def _rays(self, arena: int, poses: Poses) -> list[RayView]:
        found: list[RayView] = []
        for slot, seen in self.slots:
            row = seen.value[slot.rows.start + arena].tolist()
            for sensor in slot.spec.sees:
                if isinstance(sensor, Rays):
                    angle = poses[sensor.role.number][2]
                    x, y = _at(sensor.role, sensor.at, poses)
                    nearest = np.reshape(row[: len(sensor.names)], (-1, len(sensor.angles))).max(axis=0).tolist()
                    for turn, nearness in zip(sensor.angles.tolist(), nearest, strict=True):
                        length = sensor.reach * (1.0 - nearness)
                        end = (x + length * math.cos(angle + turn), y + length * math.sin(angle + turn))
                        found.append(RayView((x, y), end, nearness))
                del row[: len(sensor.names)]
        return found


def _at(role: Role, at: Point, poses: Poses) -> Point:
    """Return where a point of a body, or of the arena itself, is."""
    if role.body is None:
        return at
    x, y, angle = poses[role.number]
    return place((x, y), angle, at)


def _rails(arena: Arena) -> tuple[tuple[Point, Point], ...]:
    return tuple((j.start, j.end) for j in arena.joints if isinstance(j, Groove) and j.a.body is None)


def ground_of(arena: Arena, segments: F64) -> GroundView:
    """Return the ground of one arena from its (segments, 2, 2): walls first, then each terrain as one line."""
    ends = accumulate((terrain.points - 1 for terrain in arena.terrains), initial=len(arena.walls))
    parts = [segments[first:last] for first, last in pairwise(ends)]
    walls = tuple(((a[0], a[1]), (b[0], b[1])) for a, b in segments[: len(arena.walls)].tolist())
    lines = tuple(np.concatenate((part[:, 0], part[-1:, 1])) for part in parts)
    return GroundView(walls, lines, _rails(arena), limits_of(arena))


def limits_of(arena: Arena) -> tuple[float, ...]:
    """Return how far left and right an episode goes on, where a rule says so in a way that can be read."""
    places = {f"{role.name} x" for role in arena.roles}
    ends = [rule for plan in arena.agents for rule in plan.ends.values()]
    rules = [rule for rule in ends if isinstance(rule, Compared) and rule.name == "beyond"]
    limits = [float(r.limit) for r in rules if isinstance(r.rule, Sensor) and r.rule.names[0] in places and r.limit > 0]
    return (-min(limits), min(limits)) if limits else ()

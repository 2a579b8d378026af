"""From a world to the stage's part of the view model: it reads columns, and changes nothing.

Environments that draw themselves give a picture and no bodies.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32, F64, I64
from ecs_rl.components import Clock, Ground, Observation, Terms, Touch
from ecs_rl.scene.effects import Effect, Motor, Push, Thrust, Twist
from ecs_rl.scene.joints import Groove, Pivot, Spring
from ecs_rl.scene.rays import Rays
from ecs_rl.scene.rules import Compared
from ecs_rl.scene.sensors import Sensor
from ecs_rl.viewer.bodies import load_sprite
from ecs_rl.viewer.camera import camera_of, framing_of
from ecs_rl.viewer.objects import BodyId, Objects
from ecs_rl.viewer.particles import Particles
from ecs_rl.viewer.shapes import NEAR, Placement, Places, distances, exit_of, near_ground, place, size_of
from ecs_rl.viewer.view import ContactView, DrawnView, ForceView, GroundView, Point, RayView, RoadView, StageView

if TYPE_CHECKING:
    from ecs_rl.scene.arena import Arena
    from ecs_rl.scene.roles import Role
    from ecs_rl.world import AgentSlot, World

EASE = 0.4
"""The share of the way that a shown force goes in a tick: fifty changes a second would flicker."""
FAINTEST = 0.04
"""Strength below which a force that fades is not shown any more."""
TILTED, SLOW = 10.0, 0.1
"""Degrees and metres per second from which on it is said how tilted and how fast a body was."""
TRAIL = 100
"""Ticks that a trail is long."""


class Reader:
    """Reads arenas of one world; `follow` one of them after each tick, then ask for its `stage` in each frame."""

    def __init__(self, world: World) -> None:
        self.world, self.arena = world, world.arena
        self.clock, self.ground, self.touch = world.one(Clock), world.one(Ground), world.one(Touch)
        self.terms = world.one(Terms)
        self.slots = [(slot, world.of(batch.entity, Observation)) for batch in world.batches for slot in batch.slots]
        self.places = Places(world)
        for look in self.places.looks:
            if look.sprite is not None:
                load_sprite(look.sprite.path)  # one that is no picture is refused before anything is shown
        weight = sum(role.body.mass for role in self.arena.roles if role.body) * math.hypot(*world.scene.gravity)
        thrusts = [thrust for thrust in self.arena.effects if isinstance(thrust, Thrust)]
        strongest = max((math.hypot(thrust.x, thrust.y) for thrust in thrusts), default=1.0)
        self.weight = weight or strongest or 1.0
        """Newtons: what burns as long as its body is large; where nothing falls, the strongest thrust."""
        self.rails = _rails(self.arena)
        self.framing = camera_of(world, self.places) or framing_of(
            world, self.places, limits_of(self.arena), self.rails
        )
        self.effects = [effect for slot, _ in self.slots for effect in slot.spec.does.effects]
        self._trails: deque[F64] = deque(maxlen=TRAIL)
        self._trailing: dict[int, slice] = {}
        """Which of the points that trail each role has."""
        points = self._points_that_trail()
        self._tips = np.array([index for index, _ in points], int), np.array([at for _, at in points]).reshape(-1, 2)
        self._followed = (-1, -1)
        self._before = self._now = self.places.at(0)
        self._touched = self._touches = self.touch.pairs[0]
        """Which roles touch each other, a tick before and now."""
        self._eased = [np.zeros(1)] * len(self.effects)
        self._ground_view, self._stands = GroundView(backdrop=world.scene.backdrop), np.full(1, np.nan)
        self._marks: dict[int, Objects] = {}
        self.particles = Particles(self)

    def follow(self, arena: int, *, held: bool = False, anew: bool = False, again: bool = False) -> None:
        """Note where the bodies of an arena are: trails grow by it, and pictures between two ticks begin here.

        While a body is `held` by a hand the picture does not widen. Another episode begins `anew`; where somebody
        jumps to what was seen before, all that moves begins `again`.
        """
        episode = (arena, int(self.clock.episode[arena]))
        self._before, self._now = self._now, self.places.at(arena)
        self._touched, self._touches = self._touches, self.touch.pairs[arena].copy()
        if anew or again or episode != self._followed:
            self._followed, self._before = episode, self._now
            self._trails.clear()
            self._eased = [np.zeros(1)] * len(self.effects)
            self.framing.cut() if again else self.framing.begin()
            self.particles.begin()
        else:
            self._now.came_from(self._before, self.world.scene.dt)
            self.particles.tick(arena, self._before, self._now)
        if held:
            self.framing.hold()
        else:
            self.framing.look(self._now, self.world.scene.dt)
        amounts = zip(self._eased, self._amounts(arena), strict=True)
        self._eased = [np.where(np.isfinite(a), e + EASE * (a - e), a) for e, a in amounts]
        objects, at = self._tips
        self._trails.append(np.where(self._now.flows[objects, None], self._now.points(objects, at), np.nan))

    @property
    def trail(self) -> F64 | None:
        """(points, 2) What the last tick added to the trails."""
        return self._trails[-1] if self._trails else None

    def trails(self, added: Sequence[F64]) -> None:
        """Let the trails be what these ticks have added."""
        self._trails.clear()
        self._trails.extend(added)

    def stage(self, arena: int, *, blend: float = 1.0, caption: str = "", selected: BodyId | None = None) -> StageView:
        """Return an arena as it is, or between the last two ticks of the followed one: `blend` is the share since."""
        if self._followed[0] == arena and blend < 1.0:
            bounds = self.framing.bounds(blend)
            amounts = [np.where(np.abs(a) >= FAINTEST, a, 0.0) for a in self._eased]
            placement = self._now.blended(self._before, blend)
        else:
            placement, amounts, bounds = self.places.at(arena), self._amounts(arena), self.framing.bounds()
        joints = self.arena.joints
        focus = self.framing.focus(blend) if self._followed[0] == arena else self.framing.focus_on(placement)
        return StageView(
            objects=self._objects(arena, placement),
            ground=self._ground(arena),
            particles=self.particles.view(blend) if self._followed[0] == arena else None,
            springs=tuple(
                pair for j in joints if isinstance(j, Spring) for pair in self._ends(j.a, j.at, j.b, j.hinge, placement)
            ),
            hinges=tuple(
                pin for j in joints if isinstance(j, Pivot) for pin, _ in self._ends(j.a, j.at, j.b, j.hinge, placement)
            ),
            forces=tuple(self._forces(amounts, placement)),
            contacts=tuple(self._contacts(arena, placement)),
            rays=tuple(self._rays(arena, placement)),
            selected=selected,
            focus=focus,
            bounds=bounds,
            exact=self.framing.exact,
            shape=self.framing.shape,
            tick=int(self.clock.tick[arena]),
            caption=caption,
        )

    # --- bodies -----------------------------------------------------------------------------------------------------

    def _objects(self, arena: int, placement: Placement) -> tuple[Objects, ...]:
        """Return all objects in the order in which they are drawn, those of the followed arena with their trails."""
        objects = self.places.objects(placement)
        for number in range(len(self.arena.roles), len(objects)):  # the same object until it changes, as the ground is
            before, mark = self._marks.get(number), objects[number]
            if before is None or not before.same(mark):
                self._marks[number] = mark
            objects[number] = self._marks[number]
        if self._followed[0] == arena and len(self._trails) > 1:
            trails = np.array(self._trails)
            for number, columns in self._trailing.items():
                lines = tuple(trails[:, i] for i in range(columns.start, columns.stop))
                objects[number] = replace(objects[number], trails=lines)
        return tuple(objects.values())

    def _points_that_trail(self) -> list[tuple[int, Point]]:
        """Return the points of bodies that leave a trail, each with the body's number among all objects.

        Those are the middle of a single body, the far end of a pendulum, and of many the middles of agents only.
        """
        acting = {effect.role.name for effect in self.effects}
        points: list[tuple[int, Point]] = []
        for number, role in enumerate(self.arena.roles):
            look, joint, objects = (
                self.places.looks[number],
                self.places.parents.get(role.name),
                self.places.slices[number],
            )
            at: Point | None = (0.0, 0.0) if look.leads or (look.many and role.name in acting) else None
            if joint is not None:
                x, y = joint.hinge
                at = (-x, -y) if math.hypot(x, y) > size_of(joint.a) else None
            if at is not None:
                self._trailing[number] = slice(len(points), len(points) + objects.stop - objects.start)
                points += [(index, at) for index in range(objects.start, objects.stop)]
        return points

    def tips_of(self, slot: AgentSlot) -> tuple[I64, F64]:
        """Return the bodies of an agent that leave a trail, by their rows in the physics, and where on each.

        Where agents are several those that it drives; the first of them if none leaves a trail.
        """
        objects, at = self._tips
        if len(self.slots) > 1 or not len(objects):
            driven = [effect.role for effect in slot.spec.does.effects] or list(self.arena.roles[:1])
            own = np.array([self.places.slices[role.number].start for role in driven])
            is_own = np.isin(objects, own)
            objects, at = (objects[is_own], at[is_own]) if is_own.any() else (own[:1], np.zeros((1, 2)))
        return self.places.rows[objects], at

    def _ends(self, a: Role, at: Point, b: Role, hinge: Point, placement: Placement) -> list[tuple[Point, Point]]:
        """Return where a joint's two ends are, for each pair of bodies that it holds and that are here."""
        ends, bases = [], [] if a.body is None else placement.poses[self.places.slices[a.number]]
        for member, position, angle in self.bodies(b, placement):
            base = place(*bases[member % len(bases)], at) if bases else at
            ends.append((base, place(position, angle, hinge)))
        return ends

    # --- ground -----------------------------------------------------------------------------------------------------

    def _ground(self, arena: int) -> GroundView:
        """Return the ground, the same object as before while it has not changed."""
        segments = self.ground.segments[arena]
        roads = [line for line in self.arena.paths if line.road]
        stands = np.concatenate([segments.ravel(), *(line.points[arena].ravel() for line in roads)])
        if not np.array_equal(stands, self._stands, equal_nan=True):
            laid = tuple(RoadView(line.points[arena].copy(), line.road, line.closed) for line in roads)
            ground = ground_of(self.arena, segments.copy())
            self._stands, self._ground_view = stands, replace(ground, roads=laid, backdrop=self.world.scene.backdrop)
        return self._ground_view

    # --- what happens -----------------------------------------------------------------------------------------------

    def _amounts(self, arena: int) -> list[F64]:
        """Return how strongly each effect works, (members,) of its agent."""
        return [np.atleast_1d(effect.amount[arena]) for effect in self.effects]

    def bodies(self, role: Role, placement: Placement) -> list[tuple[int, Point, float]]:
        """Return number, position and angle of each body of a role that is here."""
        objects = self.places.slices[role.number]
        here = np.flatnonzero(placement.here[objects]).tolist()
        return [(member, *placement.poses[objects.start + member]) for member in here]

    def _forces(self, amounts: list[F64], placement: Placement) -> list[ForceView]:
        """Return what the effects do; all that push one body are one arrow."""
        forces: list[ForceView] = []
        pushes: dict[tuple[int, int], list[tuple[Push, float]]] = {}
        for effect, strength in zip(self.effects, amounts, strict=True):
            role = effect.role
            if role.body is None or not strength.any():
                continue
            there = self.bodies(role, placement)
            by_member = strength.tolist() if len(strength) > 1 else strength.tolist() * role.members
            for member, at, angle in there:
                amount = by_member[member]
                if not amount or not math.isfinite(amount):
                    continue
                if isinstance(effect, Push):
                    pushes.setdefault((role.number, member), []).append((effect, amount))
                else:
                    forces += self._force(effect, amount, at, angle)
        for (number, member), several in pushes.items():
            forces.append(self._push(several, *placement.poses[self.places.slices[number].start + member]))
        return forces

    def _push(self, pushes: list[tuple[Push, float]], at: Point, angle: float) -> ForceView:
        role = pushes[0][0].role
        push = sum(p.x * amount for p, amount in pushes), sum(p.y * amount for p, amount in pushes)
        edge = place(at, angle, exit_of(role, (0.0, 0.0), place((0.0, 0.0), -angle, push)))
        strength = math.hypot(*push) / max(1e-12, *(math.hypot(p.x, p.y) for p, _ in pushes))
        return ForceView("push", edge, push, strength, 1.6 * size_of(role))

    def _force(self, effect: Effect, amount: float, at: Point, angle: float) -> list[ForceView]:
        role, size = effect.role, size_of(effect.role)
        if isinstance(effect, Thrust):
            push = (effect.x * amount, effect.y * amount)
            nozzle = exit_of(role, effect.at, (-push[0], -push[1]))
            if role.body is not None and math.isfinite(role.body.grip):
                return []  # wheels drive it, no flame
            turned = place((0.0, 0.0), angle, push)
            return [ForceView("thrust", place(at, angle, nozzle), turned, amount, self.flame(effect))]
        if isinstance(effect, (Twist, Motor)):
            torque = effect.torque if isinstance(effect, Twist) else effect.strength * math.copysign(1, effect.speed)
            return [ForceView("twist", at, (0.0, 0.0), amount, 0.8 * size, torque * amount)]
        return []

    def flame(self, effect: Thrust) -> float:
        """Return how long the flame of a thrust is at full strength, metres."""
        return 1.2 * size_of(effect.role) * math.sqrt(math.hypot(effect.x, effect.y) / self.weight)

    def touched(self, arena: int, role: Role, placement: Placement) -> list[Point]:
        """Return where a role touches something."""
        pairs, ground = self.touch.pairs[arena], len(self.arena.roles)
        contacts = self._on_ground(role, placement, self.ground.segments[arena]) if pairs[role.number, ground] else []
        for other in np.flatnonzero(pairs[role.number, :ground]).tolist():
            contacts += self._between(role, self.arena.roles[other], placement)
        return [contact.at for contact in contacts]

    def _contacts(self, arena: int, placement: Placement) -> list[ContactView]:
        """Return where bodies touch. What is known is which roles do: of many members those that are near enough."""
        pairs, ground = self.touch.pairs[arena], len(self.arena.roles)
        contacts = []
        for number in np.flatnonzero(pairs[:ground, ground]).tolist():
            contacts += self._on_ground(self.arena.roles[number], placement, self.ground.segments[arena])
        for one, other in np.argwhere(np.triu(pairs[:ground, :ground])).tolist():
            contacts += self._between(self.arena.roles[one], self.arena.roles[other], placement)
        return contacts

    def newest_touch(self) -> tuple[BodyId, str] | None:
        """Return the first single body that touches something since the last tick, and how it came to that in words."""
        roles, falls = self.arena.roles, any(self.world.scene.gravity)
        begun = self._touches & ~self._touched
        for role in roles:
            others = np.flatnonzero(begun[role.number])
            if role.count is not None or not len(others):
                continue
            number, start = int(others[-1]), self.places.slices[role.number].start
            other = roles[number].name if number < len(roles) else "the ground" if falls else "a wall"
            words, fast = f"{role.name} touched {other}", math.hypot(*self._before.velocity[start].tolist())
            words += f" at {fast:.1f} m/s" if fast >= SLOW else ""
            tilt = abs(math.degrees(math.remainder(float(self._before.angle[start]), math.tau)))
            return BodyId(role.name), f"{words}, tilted {tilt:.0f} degrees" if falls and tilt >= TILTED else words
        return None

    def _on_ground(self, role: Role, placement: Placement, segments: F64) -> list[ContactView]:
        contacts, start, many = [], self.places.slices[role.number].start, role.count is not None
        for member, at, angle in self.bodies(role, placement):
            if many and distances(np.array((at,)), segments)[0] > size_of(role) + NEAR:
                continue
            speed = math.hypot(*placement.velocity[start + member].tolist())
            corners = near_ground(role, at, angle, segments, at_least_one=not many)
            contacts += [ContactView(corner, speed) for corner in corners]
        return contacts

    def _between(self, one: Role, other: Role, placement: Placement) -> list[ContactView]:
        """Return a point for each pair that touches: of single bodies that is known, of others the gap tells."""
        a, b = self.places.slices[one.number], self.places.slices[other.number]
        radius, other_radius = size_of(one), size_of(other)
        gap = placement.position[b][None] - placement.position[a][:, None]
        touch = placement.here[a][:, None] & placement.here[b]
        if one.count is not None or other.count is not None:
            touch &= np.hypot(gap[..., 0], gap[..., 1]) < radius + other_radius + NEAR
        if one is other:
            touch = np.triu(touch, 1)
        first, second = np.nonzero(touch)
        at = placement.position[a][first] + gap[first, second] * (radius / (radius + other_radius))
        return [ContactView((x, y)) for x, y in at.tolist()]

    def _rays(self, arena: int, placement: Placement) -> list[RayView]:
        rays: list[RayView] = []
        for slot, seen in self.slots:
            rows = np.atleast_2d(slot.shaped(seen.value)[arena])
            first = 0
            for sensor in slot.spec.sees:
                if isinstance(sensor, Rays):
                    for member, at, angle in self.bodies(sensor.role, placement):
                        if member < len(rows):
                            rays += _rays_of(sensor, at, angle, rows[member, first : first + len(sensor.names)])
                first += len(sensor.names)
        return rays


def _rays_of(sensor: Rays, at: Point, angle: float, row: F32) -> list[RayView]:
    """Return a role's rays as far as they see; of what they tell apart that counts which is nearest."""
    rays, start = [], place(at, angle, sensor.at)
    nearest = row.reshape(-1, len(sensor.angles)).max(axis=0).tolist()
    for turn, nearness in zip(sensor.angles.tolist(), nearest, strict=True):
        length = sensor.reach * (1.0 - nearness)
        end = (start[0] + length * math.cos(angle + turn), start[1] + length * math.sin(angle + turn))
        rays.append(RayView(start, end, nearness))
    return rays


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


@dataclass
class NoPlaces:
    """The places of objects where there are none."""

    problems: list[str] = field(default_factory=list)


class EnvReader:
    """Keeps the picture of one arena after each tick, as `Reader` does the places of its bodies."""

    trail = None
    """Nothing leaves one."""

    def __init__(self, world: World, picture: Callable[[int], NDArray[np.uint8]]) -> None:
        self.picture, self.clock, self.places = picture, world.one(Clock), NoPlaces()
        self._drawn: DrawnView | None = None

    def follow(self, arena: int, *, held: bool = False, anew: bool = False, again: bool = False) -> None:
        """Note that the arena looks otherwise now; it is drawn only where somebody wants to see it."""
        self._drawn = None

    def stage(self, arena: int, *, blend: float = 1.0, caption: str = "", selected: BodyId | None = None) -> StageView:
        """Return the arena that is followed, as it was after the last tick."""
        if self._drawn is None:
            self._drawn = DrawnView(self.picture(arena))
        height, width = self._drawn.pixels.shape[:2]
        return StageView(
            drawn=self._drawn,
            shape=width / height,
            bounds=((-width / 2, -height / 2), (width / 2, height / 2)),
            exact=True,
            tick=int(self.clock.tick[arena]),
            caption=caption,
        )


def reader_of(world: World) -> Reader | EnvReader:
    """Return what reads the arenas of a world for the stage."""
    picture = world.engine.picture
    return Reader(world) if picture is None else EnvReader(world, picture)

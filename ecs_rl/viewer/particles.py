"""Dust, smoke and sparks: what flies off where engines burn, tyres slide, bodies hit each other or something is gone.

They follow from what an arena shows, tick by tick, and nothing follows from them: who watches changes no number.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pygame

from ecs_rl.arrays import F64, Bool
from ecs_rl.scene.effects import Thrust
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.palette import EARTH_EDGE, Colour
from ecs_rl.viewer.shapes import Placement, exit_of, place, size_of
from ecs_rl.viewer.view import ParticlesView, Point

if TYPE_CHECKING:
    from ecs_rl.viewer.gather import Reader

MOST = 320
"""Particles at once; the oldest make room."""
HARD = 0.6
"""Metres per second by which a touch must change a body's speed to throw anything."""
AT_REST = 1.5
"""A touch that holds a body at rest takes once what gravity adds to its speed in a tick; a hit takes more than this."""
SLIDES = 1.2
"""Metres per second across its tyres from which a body smokes."""
ELSE = 0.5
"""Metres per second by which the speed of what was placed must differ for it to be another one."""
SMOKE: Colour = (128, 136, 150)
FIRE: Colour = (255, 150, 60)
SPARK: Colour = (255, 214, 140)
LARGEST = 96
"""Pixels of a particle's radius at most."""
STEPS = 8
"""Kept pictures of one particle from new to gone."""
X, V, AGE, LIFE, SIZE, GROWS, TINT, GLOWS = slice(0, 2), slice(2, 4), 4, 5, 6, 7, slice(8, 11), 11


class Particles:
    """The particles of the arena that a reader follows."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.dt = reader, reader.world.scene.dt
        self.rows: F64 = np.zeros((0, 12))
        self._random = np.random.default_rng(7)
        self._falls = np.array(reader.world.scene.gravity) * self.dt
        self._hard = max(HARD, AT_REST * float(np.hypot(*self._falls)))
        roles = reader.arena.roles
        self._scale = max(0.2, float(np.median([size_of(role) for role in roles])))
        """Metres: the middling size of what is there."""
        self._tyres = [role for role in roles if role.body is not None and math.isfinite(role.body.grip)]
        self._leaving = [role for role in roles if role.comes_and_goes or (role.body and role.body.moves == "never")]

    def begin(self) -> None:
        """Begin an episode."""
        self.rows = self.rows[:0]

    def view(self, blend: float) -> ParticlesView | None:
        """Return them as they are, `blend` of the way from the last tick but one to the last."""
        rows = self.rows
        if not len(rows):
            return None
        share = np.clip(rows[:, AGE] / rows[:, LIFE], 0.0, 1.0)
        at = rows[:, X] - rows[:, V] * (self.dt * (1.0 - blend))
        size = rows[:, SIZE] * (1.0 + rows[:, GROWS] * share)
        return ParticlesView(at, size, 1.0 - share, rows[:, TINT], rows[:, GLOWS] > 0.0)

    def tick(self, arena: int, before: Placement, now: Placement) -> None:
        """Let a tick pass that led from one placement to another."""
        rows = self.rows
        rows[:, AGE] += self.dt
        rows = rows[rows[:, AGE] < rows[:, LIFE]]
        rows[:, X] += rows[:, V] * self.dt
        rows[:, V] *= 1.0 - 2.0 * self.dt
        rows[:, V] += np.where(rows[:, [GLOWS]] > 0.0, 0.5, 0.0) * self._falls
        self.rows = rows[-MOST:]
        self._engines(arena, now)
        self._touches(arena, before, now)
        self._tracks(now)
        self._gone(before, now)

    def throw(
        self,
        count: int,
        at: Point,
        velocity: Point,
        *,
        spread: float,
        life: float,
        size: float,
        colour: Colour,
        grows: float = 0.0,
        glows: bool = False,
        away: float = 0.0,
    ) -> None:
        """Add particles that fly on from a place, each a little otherwise; `away` metres from it at first."""
        random = self._random
        turn, pace = random.uniform(-math.pi, math.pi, count), np.sqrt(random.random(count))
        way = np.stack((np.cos(turn), np.sin(turn)), axis=1) * pace[:, None]
        rows = np.empty((count, 12))
        rows[:, V] = np.array(velocity) + spread * way
        rows[:, X] = np.array(at) + away * way + rows[:, V] * (random.random((count, 1)) * self.dt)
        rows[:, AGE], rows[:, LIFE] = 0.0, life * random.uniform(0.6, 1.2, count)
        rows[:, SIZE], rows[:, GROWS] = size * random.uniform(0.6, 1.2, count), grows
        rows[:, TINT], rows[:, GLOWS] = colour, float(glows)
        self.rows = np.concatenate((self.rows, rows))[-MOST:]

    # --- what throws them -------------------------------------------------------------------------------------------

    def _engines(self, arena: int, now: Placement) -> None:
        """Let what is burnt fly on as smoke, with a spark now and then."""
        for effect in self.reader.effects:
            if not isinstance(effect, Thrust) or effect.role in self._tyres:
                continue
            amounts = np.atleast_1d(effect.amount[arena])
            if not amounts.any():
                continue
            start, size = self.reader.places.slices[effect.role.number].start, size_of(effect.role)
            for member, at, angle in self.reader.bodies(effect.role, now):
                amount = float(amounts[member if len(amounts) > 1 else 0])
                if not math.isfinite(amount) or abs(amount) < 0.1:
                    continue
                push = effect.x * amount, effect.y * amount
                long = self.reader.flame(effect) * min(abs(amount), 1.5)
                ux, uy = place((0.0, 0.0), angle, push)
                share = -4.0 * long / max(math.hypot(ux, uy), 1e-9)
                vx, vy = now.velocity[start + member].tolist()
                nozzle = place(at, angle, exit_of(effect.role, effect.at, (-push[0], -push[1])))
                self.throw(
                    1 + (long > size / 2),
                    (nozzle[0] + ux * share * 0.12, nozzle[1] + uy * share * 0.12),
                    (vx + ux * share, vy + uy * share),
                    spread=0.8 * long,
                    life=0.55,
                    size=0.13 * long,
                    colour=SMOKE,
                    grows=2.0,
                )
                if self._random.random() < 0.3:
                    away = vx + 1.4 * ux * share, vy + 1.4 * uy * share
                    self.throw(
                        1, nozzle, away, spread=long, life=0.35, size=0.05 * long + 0.01, colour=FIRE, glows=True
                    )

    def _touches(self, arena: int, before: Placement, now: Placement) -> None:
        """Throw dust off the ground and sparks off bodies where a touch has changed a body's speed."""
        pairs, ground = self.reader.touch.pairs[arena], len(self.reader.arena.roles)
        if not pairs.any():
            return
        push = np.hypot(*(now.velocity - before.velocity - self._falls).T) * (before.here & now.here & now.flows)
        for number in np.flatnonzero(pairs[:ground].any(axis=1)).tolist():
            role = self.reader.arena.roles[number]
            hard = float(push[self.reader.places.slices[number]].max(initial=0.0))
            if not self._hard < hard < 1e3 or not role.solid or not role.yields:
                continue
            dust = bool(pairs[number, ground])
            for at in self.reader.touched(arena, role, now)[:3]:
                count, pace, size = min(3 + round(3 * hard), 14), min(0.4 + 0.35 * hard, 2.5), size_of(role)
                if dust:
                    lift = (0.0, 0.4 * pace) if self._falls[1] < 0 else (0.0, 0.0)
                    tint = EARTH_EDGE
                    self.throw(count, at, lift, spread=pace, life=0.7, size=0.14 * size, colour=tint, grows=2.0)
                self.throw(
                    count // 2, at, (0.0, 0.0), spread=2.5 * pace, life=0.3, size=0.05 * size, colour=SPARK, glows=True
                )

    def _tracks(self, now: Placement) -> None:
        """Let tyres that slide smoke."""
        for role in self._tyres:
            start = self.reader.places.slices[role.number].start
            for member, at, angle in self.reader.bodies(role, now):
                vx, vy = now.velocity[start + member].tolist()
                across = abs(vy * math.cos(angle) - vx * math.sin(angle))
                if across > SLIDES and math.isfinite(across):
                    size = size_of(role)
                    for side in (-0.4, 0.4):
                        tyre = place(at, angle, (-0.7 * size, side * size))
                        self.throw(
                            1,
                            tyre,
                            (vx * 0.2, vy * 0.2),
                            spread=0.3,
                            life=0.9,
                            size=0.16 * size,
                            colour=SMOKE,
                            grows=2.5,
                        )

    def _gone(self, before: Placement, now: Placement) -> None:
        """Let what has left, or was taken and placed anew, fly to pieces where it was."""
        for role in self._leaving:
            objects = self.reader.places.slices[role.number]
            look = self.reader.places.looks[role.number]
            there, here = before.here[objects], now.here[objects]
            turned = np.hypot(*(now.velocity[objects] - before.velocity[objects]).T)
            rests = ~before.velocity[objects].any(axis=1)  # what flies on as it did has come round, it is not gone
            gone = there & (~here | (~now.flows[objects] & (rests | (turned > ELSE))))
            gone &= np.isfinite(before.position[objects]).all(axis=1)
            for x, y in before.position[objects][gone].tolist()[:6]:
                size = max(0.05, look.size)
                count = 6 + round(8 * min(size / self._scale, 2.0))
                pace = 2.0 + 2.0 * size
                args = {"spread": pace, "life": 0.5, "colour": look.colour, "away": 0.5 * size}
                self.throw(count, (x, y), (0.0, 0.0), size=0.16 * size + 0.02, glows=True, **args)  # type: ignore[arg-type]


def draw_particles(surface: pygame.Surface, particles: ParticlesView, camera: Camera, *, glowing: bool) -> None:
    """Draw those that give light, or the others."""
    chosen: Bool = (particles.glows == glowing) & (particles.strength > 0.02)
    if not chosen.any():
        return
    at = camera.pixels(particles.position[chosen])
    size = np.clip(np.rint(particles.radius[chosen] * camera.zoom), 1, LARGEST)
    rect = surface.get_clip().inflate(2 * LARGEST, 2 * LARGEST)
    seen = ((at > rect.topleft) & (at < rect.bottomright)).all(axis=1)
    step = np.ceil(particles.strength[chosen] * STEPS)
    tint = np.rint(particles.colour[chosen])
    looks = np.column_stack((size, step, tint))[seen].astype(int).tolist()
    corners = (at - size[:, None])[seen].tolist()
    pictures = [(_picture(r, s, (a, b, c), glowing), xy) for (r, s, a, b, c), xy in zip(looks, corners, strict=True)]
    surface.fblits(pictures, pygame.BLEND_RGB_ADD if glowing else 0)


@lru_cache(maxsize=1500)
def _picture(radius: int, step: int, colour: Colour, glows: bool) -> pygame.Surface:
    """Return a soft round spot."""
    away = np.hypot(*np.mgrid[-radius : radius + 1, -radius : radius + 1]) / (radius + 0.5)
    soft = np.clip(1.0 - away, 0.0, 1.0)
    strength = step / STEPS
    if glows:
        picture = pygame.Surface(soft.shape)
        light = np.clip(2.2 * soft, 0.0, 1.0) ** 1.5 * strength
        pygame.surfarray.blit_array(picture, (light[..., None] * colour).astype(np.uint8))
        return picture
    picture = pygame.Surface(soft.shape, pygame.SRCALPHA)
    picture.fill((*colour, 0))
    alpha = pygame.surfarray.pixels_alpha(picture)
    alpha[...] = (np.clip(1.6 * soft, 0.0, 1.0) * (130 * strength**1.3)).astype(np.uint8)
    del alpha
    return picture

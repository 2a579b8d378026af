"""The physics engine: the blocks behind all columns of bodies, and the shards that move them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pymunk
from numpy.typing import NDArray

from ecs_rl.arrays import F64, I64
from ecs_rl.components import Force, Ground, Here, Motion, MotorSpeed, Pose
from ecs_rl.ecs.component import live
from ecs_rl.ecs.context import Context
from ecs_rl.ecs.entries import Entry
from ecs_rl.errors import RuleError
from ecs_rl.physics.direct import move_segments, reindex, set_states
from ecs_rl.physics.flight import Flight
from ecs_rl.physics.shard import Shard, shard_slices
from ecs_rl.physics.touch import Contacts
from ecs_rl.scene.chance import U64, episode_keys
from ecs_rl.scene.engine import WorldPlan
from ecs_rl.scene.roles import Role
from ecs_rl.scene.starts import Starter

COLLIDING_SHARD = 96
"""Arenas in a Space with collisions: more make its tree slow, fewer make the calls around it dear."""
JOINTED_SHARD = 512
"""Arenas in a Space without any shape: no tree, so only the calls count."""
WORTH_A_THREAD = 128
"""Fewer arenas than this are stepped sooner than a thread wakes."""


class Physics:
    """The engine of bodies (see `Engine`): shards of arenas in pymunk Spaces, and the blocks behind their columns.

    `state` is (6, bodies, arenas), `force` (3, bodies, arenas). Solid bodies stand first in the blocks, and in the
    Spaces. The others are moved here, by arithmetic.
    """

    starts_midway = True
    asks_rules = True
    picture = None
    why_lost = (
        "The scene keeps something that no component holds (a closure's variable, an attribute, random "
        "numbers of its own); see scenes/README.md, `train.py SCENE --check`, or go on all the same with --inexact"
    )
    why_not_resumable = (
        "brought back from its columns it goes another way: the scene keeps something that no component "
        "holds, such as a closure's variable or a generator; use arena.number, a @component, Progress or Lasting"
    )

    def __init__(self, plan: WorldPlan) -> None:
        scene, arena, arenas = plan.scene, plan.arena, plan.arenas
        self.scene, self.arena, self.arenas = scene, arena, arenas
        bodies, self.solid, self.mobile = arena.bodies, arena.solid, arena.mobile
        self.state = np.zeros((6, bodies, arenas))
        """x, y, angle, vx, vy, spin: the order in which the batch calls give them."""
        self.force = np.zeros((3, bodies, arenas))
        self.here = np.ones((bodies, arenas), bool)
        """What is not here stays in its Space, where it touches nothing and nothing moves it."""
        self.blocks: Mapping[tuple[type, ...], NDArray[Any]] = {
            (Pose, Motion): self.state,
            (Pose,): self.state[:3],
            (Motion,): self.state[3:],
            (Force,): self.force,
            (Here,): self.here,
        }
        self._parked = np.zeros((self.solid, arenas), bool)
        """What the Spaces know of that."""
        self._standing = np.full((3, self.solid - self.mobile, arenas), np.nan)
        """x, y and angle of static bodies as the Spaces have them."""
        self.flight = Flight(scene, arena)
        self.start, self.contacts = Starter(arena), Contacts(arena, arenas, self)
        motors = sum(len(motor.pairs) for motor in arena.motors)
        self.motors = live(MotorSpeed, rate=np.zeros((motors, arenas)))
        self._rates = np.zeros((motors, arenas))  # as the Spaces have them
        self._walls = np.array([wall.ends for wall in arena.walls]).reshape(-1, 2, 2)
        moving = sum(terrain.points - 1 for terrain in arena.terrains)
        segments = np.zeros((arenas, len(self._walls) + moving, 2, 2))
        self.ground = live(Ground, segments=segments, stamp=np.zeros(arenas, np.uint64))
        self.ground.segments[:, : len(self._walls)] = self._walls
        self.parts = (self.contacts.touch, self.ground, self.motors)
        self.threads = max(1, min(plan.threads, os.cpu_count() or 1, arenas // WORTH_A_THREAD))
        self.shards: list[Shard] = []
        """Empty before the first `rebuild`, which needs to know where everything starts."""
        self._pool = ThreadPoolExecutor(self.threads - 1, "physics") if self.threads > 1 else None

    def stages(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return all stages of a tick as they are."""
        return [*entries]

    def episode_keys(self, seeds: I64, numbers: I64) -> U64:
        """Return the key that names each arena's episodes."""
        return episode_keys(seeds, numbers)

    def attach(self, context: Context, *, is_watched: bool) -> None:
        """Do nothing: the blocks stand behind the columns."""

    def come_back(self, watch: Callable[[], None]) -> None:
        """Do nothing: rebuilding makes everything of the columns."""

    def rebuilding(self) -> Iterator[None]:
        """Make every Space again, its bodies where the columns say, in slices between which nobody may move them."""
        self._stamp_ground(range(self.arenas))  # the columns may be others
        # Where things collide the cut must not depend on the threads: it decides the order of contacts, and so bits.
        size = COLLIDING_SHARD if self.arena.collides else min(JOINTED_SHARD, -(-self.arenas // self.threads))
        if self.mobile:  # without anything solid that moves there is nothing for a Space to do
            made = []
            for rows in shard_slices(self.arenas, size):
                made.append(Shard.__new__(Shard))
                yield from made[-1].build(self.scene, self.arena, rows)
            before, self.shards = self.shards, made
            yield from self._filling_spaces()
            for shard in before:
                yield from shard.leave()

    def _filling_spaces(self) -> Iterator[None]:
        self._origin = np.concatenate([shard.origin for shard in self.shards])
        self._built = [built for shard in self.shards for built in shard.built]
        self._rates.fill(0.0)  # motors stand still in new Spaces
        self._parked.fill(False)
        self._standing.fill(np.nan)
        self.put(np.arange(self.arenas))
        self.park()
        yield
        terrain = self.ground.segments[:, len(self._walls) :]
        everywhere = np.indices(terrain.shape[:2]).reshape(2, -1)
        self._move_segments(everywhere[0], everywhere[1])
        yield
        self.contacts.know([body.id for built in self._built for body in built.bodies])
        self.shares = [self.shards[i :: self.threads] for i in range(self.threads)]

    def columns(self, role: Role) -> tuple[object, ...]:
        """Return a role's components, views into the blocks."""
        rows = role.rows.start if role.count is None else role.rows
        state, force = self.state[:, rows], self.force[:, rows]
        parts = (
            live(Pose, position=state[:2].T, angle=state[2].T),
            live(Motion, velocity=state[3:5].T, spin=state[5].T),
            live(Force, force=force[:2].T, torque=force[2].T),
        )
        return (*parts, live(Here, now=self.here[rows].T)) if role.comes_and_goes else parts

    def _turn_motors(self) -> None:
        """Set the rates of the motors whose speed changed, radians per second."""
        number, arena = np.nonzero(self.motors.rate != self._rates)
        rates = self.motors.rate[number, arena]
        for n, a, rate in zip(number.tolist(), arena.tolist(), rates.tolist(), strict=True):
            self._built[a].motors[n].rate = rate
        self._rates[...] = self.motors.rate

    def step(self) -> None:
        """Run one tick in all arenas."""
        if len(self._rates):
            self._turn_motors()
        if self.shards:
            self._step_spaces()
        self.flight.step(self.state, self.force, self.here)
        self.contacts.feel(self.shards)

    def _step_spaces(self) -> None:
        state, parked = self.state[:, : self.mobile], self._parked[: self.mobile]
        self._pushed = self.force[:, : self.mobile]
        if not parked.any():
            self.on_threads(self._step_share)
            return
        gravity = -self.arena.masses[:, None, None] * np.array(self.scene.gravity)
        held = state.copy()
        self._pushed = self._pushed.copy()
        self._pushed[:2] = np.where(parked, gravity.transpose(2, 0, 1), self._pushed[:2])
        self._pushed[2][parked] = 0.0
        self.on_threads(self._step_share)
        np.copyto(state, held, where=parked)

    def _step_share(self, shards: list[Shard]) -> None:
        for shard in shards:
            shard.push(self._pushed)
        for shard in shards:
            shard.step()
        for shard in shards:
            shard.pull(self.state[:, : self.mobile])

    def on_threads(self, work: Callable[[list[Shard]], None]) -> None:
        """Run this work on each thread for its share of the shards."""
        if self._pool is None:
            work(self.shards)
            return
        others = [self._pool.submit(work, share) for share in self.shares[1:]]
        work(self.shares[0])
        for other in others:
            other.result()

    @contextmanager
    def moving(self) -> Iterator[None]:
        """Surround writes into the columns of bodies; moved bodies are moved in the Spaces at the end."""
        solid = self.state[:, : self.solid]
        before = solid.copy()
        yield
        moved = (solid != before).any(axis=0)
        if moved.any():  # which most often it is not
            solid[3:, moved & ~self.here[: self.solid]] = 0.0
            self._put(*np.nonzero(moved))
        self.park()

    def park(self) -> None:
        """Update collisions in the Spaces where Here changed; bodies that left stand still."""
        if not self.arena.comes_and_goes:
            return
        here = self.here[: self.solid]
        changed = here == self._parked
        if changed.any():
            rows, arenas = changed.nonzero()
            there = here[rows, arenas]
            for row, arena, comes in zip(rows.tolist(), arenas.tolist(), there.tolist(), strict=True):
                self._built[arena].park(row, here=comes)
            self.state[3:, rows[~there], arenas[~there]] = 0.0
            self._put(rows, arenas)  # who comes back too: a Space lets drift what is not here
            np.logical_not(here, out=self._parked)

    def place(self, rows: I64, drawn: F64) -> None:
        """Put these arenas at their start, for (rows, draws) numbers in [0, 1)."""
        if self.arena.terrains:
            with self.arena.shaping(rows):
                lines = self._lines(drawn)
            self._move_terrain(rows, lines)
        self.state[:, :, rows] = self.start(drawn, rows).transpose(2, 1, 0)
        if self.arena.comes_and_goes:
            self.state[3:, :, rows] = np.where(self.here[:, rows], self.state[3:, :, rows], 0.0)
        if not self.shards:
            return
        if self.arena.collides:
            for body in self._bodies(rows):
                pymunk.Body.update_position(body, 0.0)  # forgets how contacts wanted to push it out
        self.put(rows)
        self.park()

    def cut(self, rows: I64, drawn: F64) -> None:
        """Put arenas that exploded at the start of their episodes, without contacts, and mend them."""
        state = self.state[:, : self.arena.moving]
        state[:, :, rows] = self.start(drawn, rows).transpose(2, 1, 0)[:, : self.arena.moving]
        self.contacts.forget(rows)
        self.mend(rows)

    def mend(self, rows: I64) -> None:
        """Replace joints and shapes of arenas that exploded; they must be placed before the next step."""
        if self.shards:
            for row in rows.tolist():
                self._built[row].mend()
            self._standing[:, :, rows] = np.nan
            self._rates[:, rows] = 0.0  # their motors are new, and stand still

    def forget(self, rows: I64) -> None:
        """Reset joints and contacts of these arenas, and put their bodies where the columns say."""
        if self.shards and len(rows):
            self.mend(rows)
            self.put(rows)

    def put(self, rows: I64) -> None:
        """Move the bodies of these arenas to where the columns say."""
        moved = np.ascontiguousarray(self.state[:, : self.mobile, rows].transpose(2, 1, 0))
        moved[:, :, 0] += self._origin[rows, None]
        set_states(self._bodies(rows), moved.reshape(-1, 6))
        if self.mobile < self.solid:
            static, arenas = np.meshgrid(np.arange(self.mobile, self.solid), rows, indexing="ij")
            self._put_static(static.ravel(), arenas.ravel())

    def _put(self, rows: I64, arenas: I64) -> None:
        """Move some bodies, each named by its row and its arena, to where the columns say."""
        static = rows >= self.mobile
        self._put_static(rows[static], arenas[static])
        rows, arenas = rows[~static], arenas[~static]
        moved = np.ascontiguousarray(self.state[:, rows, arenas].T)
        moved[:, 0] += self._origin[arenas]
        set_states([self._built[a].bodies[r] for r, a in zip(rows.tolist(), arenas.tolist(), strict=True)], moved)

    def _put_static(self, rows: I64, arenas: I64) -> None:
        """Move static bodies, named likewise; one that stands there already costs nothing."""
        places, number = self.state[:3, rows, arenas], rows - self.mobile
        other = (places != self._standing[:, number, arenas]).any(axis=0)
        rows, number, arenas, places = rows[other], number[other], arenas[other], places[:, other]
        if not len(rows):
            return
        self._standing[:, number, arenas] = places
        moved = np.zeros((len(rows), 6))
        moved[:, :3] = places.T
        moved[:, 0] += self._origin[arenas]
        named = list(zip(rows.tolist(), arenas.tolist(), strict=True))
        set_states([self._built[a].bodies[r] for r, a in named], moved)
        reindex([shape for r, a in named for shape in self._built[a].shapes_of(r)])

    def _bodies(self, rows: I64) -> list[pymunk.Body]:
        return [body for row in rows.tolist() for body in self._built[row].mobile]

    def _lines(self, drawn: F64) -> F64:
        """Return (rows, segments, 2, 2) of all terrains for (rows, draws)."""
        lines = []
        for terrain in self.arena.terrains:
            points = np.asarray(terrain.rule(drawn[:, terrain.slot : terrain.slot + terrain.draws]))
            if points.shape != (len(drawn), terrain.points, 2) or not np.isfinite(points).all():
                message = f"a terrain of {terrain.points} points must give finite (arenas, {terrain.points}, 2)"
                raise RuleError(f"{message}, also for {len(drawn)} arenas at once", terrain.rule)
            lines.append(np.stack((points[:, :-1], points[:, 1:]), axis=2))
        return np.concatenate(lines, axis=1)

    def _move_terrain(self, rows: I64, segments: F64) -> None:
        """Give these arenas (rows, segments, 2, 2) of new terrain; unchanged segments cost nothing."""
        terrain = self.ground.segments[:, len(self._walls) :]
        row, number = np.nonzero((terrain[rows] != segments).any(axis=(2, 3)))
        terrain[rows] = segments
        self._stamp_ground(rows)
        if self.shards:
            self._move_segments(rows[row], number)

    def _stamp_ground(self, rows: Sequence[int] | I64) -> None:
        """Update the hash of these arenas' ground, by which cached results are checked."""
        for row in rows:
            digest = hashlib.blake2b(self.ground.segments[row].tobytes(), digest_size=8).digest()
            self.ground.stamp[row] = int.from_bytes(digest, "little")

    def _move_segments(self, arena: I64, number: I64) -> None:
        """Put some segments of terrain, each named by its arena and its number there, where the columns say."""
        ends = self.ground.segments[arena, len(self._walls) + number]
        ends[:, :, 0] += self._origin[arena, None]
        named = zip(arena.tolist(), number.tolist(), strict=True)
        move_segments([self._built[a].terrain[i] for a, i in named], ends.tolist())

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

"""The physics of a world: the blocks behind all columns, and the shards that move them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pymunk

from ecs_rl.arrays import F64, I64
from ecs_rl.components import Force, Ground, Motion, MotorSpeed, Pose, Touch
from ecs_rl.ecs.component import live
from ecs_rl.errors import RuleError
from ecs_rl.physics.contacts import BodyNumbers
from ecs_rl.physics.direct import move_segments, set_states
from ecs_rl.physics.shard import Shard, shard_slices
from ecs_rl.physics.start import Starter
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.scene import Scene

COLLIDING_SHARD = 96
"""Arenas in a Space with collisions: more make its tree slow, fewer make the calls around it dear."""
JOINTED_SHARD = 512
"""Arenas in a Space without any shape: no tree, so only the calls count."""
WORTH_A_THREAD = 128
"""Fewer arenas than this are stepped sooner than a thread wakes."""


class Physics:
    """All arenas of a world as blocks of columns: `state` is (6, roles, arenas), `force` (3, roles, arenas)."""

    def __init__(self, scene: Scene, arena: Arena, arenas: int, threads: int) -> None:
        self.scene, self.arena, self.arenas = scene, arena, arenas
        roles = len(arena.roles)
        self.state = np.zeros((6, roles, arenas))
        """x, y, angle, vx, vy, spin: the order in which the batch calls give them."""
        self.force = np.zeros((3, roles, arenas))
        self.start, self._feels = Starter(arena), arena.wants_contacts
        self.touch = live(Touch, pairs=np.zeros((arenas, roles + 1, roles + 1), dtype=bool))
        self.motors = live(MotorSpeed, rate=np.zeros((len(arena.motors), arenas)))
        self._rates = np.zeros((len(arena.motors), arenas))  # as the Spaces have them
        self._walls = np.array([wall.ends for wall in arena.walls]).reshape(-1, 2, 2)
        moving = sum(terrain.points - 1 for terrain in arena.terrains)
        self.ground = live(Ground, segments=np.zeros((arenas, len(self._walls) + moving, 2, 2)))
        self.ground.segments[:, : len(self._walls)] = self._walls
        self.threads = max(1, min(threads, os.cpu_count() or 1, arenas // WORTH_A_THREAD))
        self.shards: list[Shard] = []
        """Empty before the first `rebuild`, which needs to know where everything starts."""
        self._pool = ThreadPoolExecutor(self.threads - 1, "physics") if self.threads > 1 else None

    def rebuild(self) -> None:
        """Make every Space again, its bodies where the columns say."""
        # Where things collide the cut must not depend on the threads: it decides the order of contacts, and so bits.
        size = COLLIDING_SHARD if self.arena.collides else min(JOINTED_SHARD, -(-self.arenas // self.threads))
        self.shards = [Shard(self.scene, self.arena, rows) for rows in shard_slices(self.arenas, size)]
        self._origin = np.concatenate([shard.origin for shard in self.shards])
        self._built = [built for shard in self.shards for built in shard.built]
        self._rates.fill(0.0)  # motors stand still in new Spaces
        self.put(np.arange(self.arenas))
        shown = self.ground.segments[:, len(self._walls) :]
        everywhere = np.indices(shown.shape[:2]).reshape(2, -1)
        self._move_segments(everywhere[0], everywhere[1])
        self._number_of = BodyNumbers(np.array([body.id for built in self._built for body in built.bodies]))
        self.shares = [self.shards[i :: self.threads] for i in range(self.threads)]

    def columns(self, role: int) -> tuple[Pose, Motion, Force]:
        """Return a role's components, views into the blocks."""
        state, force = self.state[:, role], self.force[:, role]
        return (
            live(Pose, position=state[:2].T, angle=state[2]),
            live(Motion, velocity=state[3:5].T, spin=state[5]),
            live(Force, force=force[:2].T, torque=force[2]),
        )

    def _turn_motors(self) -> None:
        """Tell the motors whose speed changed."""
        number, arena = np.nonzero(self.motors.rate != self._rates)
        rates = self.motors.rate[number, arena]
        for n, a, rate in zip(number.tolist(), arena.tolist(), rates.tolist(), strict=True):
            self._built[a].motors[n].rate = rate
        self._rates[...] = self.motors.rate

    def step(self) -> None:
        """Run one tick in all arenas."""
        if len(self._rates):
            self._turn_motors()
        self.on_threads(self._step_share)
        if self._feels:
            self._feel()

    def _step_share(self, shards: list[Shard]) -> None:
        for shard in shards:
            shard.push(self.force)
        for shard in shards:
            shard.step()
        for shard in shards:
            shard.pull(self.state)

    def _feel(self) -> None:
        """Mark who touches whom."""
        pairs = self.touch.pairs
        pairs[...] = False
        ids = np.concatenate([ids for shard in self.shards for ids in shard.touched])
        if len(ids):
            body = self._number_of(ids)
            roles = len(self.arena.roles)
            arena = (body // roles).max(axis=1)  # the ground's -1 is in arena -1
            role = np.where(body < 0, roles, body % roles)
            pairs[arena, role[:, 0], role[:, 1]] = True
            pairs[arena, role[:, 1], role[:, 0]] = True

    def on_threads(self, work: Callable[[list[Shard]], None]) -> None:
        """Let each thread do this work for its share of the shards."""
        if self._pool is None:
            work(self.shards)
            return
        others = [self._pool.submit(work, share) for share in self.shares[1:]]
        work(self.shares[0])
        for other in others:
            other.result()

    @contextmanager
    def moving(self) -> Iterator[None]:
        """Let somebody write into the columns of bodies; what they moved is moved in the Spaces too."""
        before = self.state.tobytes()
        yield
        if self.state.tobytes() == before:  # as most often
            return
        moved = np.flatnonzero((self.state != np.frombuffer(before).reshape(self.state.shape)).any(axis=(0, 1)))
        if len(moved):
            self.put(moved)

    def place(self, rows: I64, drawn: F64) -> None:
        """Put these arenas at their start, for (rows, draws) numbers in [0, 1)."""
        self.state[:, :, rows] = self.start(drawn).transpose(2, 1, 0)
        if self.arena.terrains:
            self._move_terrain(rows, self._lines(drawn))
        if not self.shards:
            return
        if self.arena.collides:
            for body in self._bodies(rows):
                pymunk.Body.update_position(body, 0.0)  # forgets how contacts wanted to push it out
        self.put(rows)

    def mend(self, rows: I64) -> None:
        """Let these arenas, which went astray, forget everything; they must be placed anew before the next step."""
        for row in rows.tolist():
            self._built[row].mend()
        self._rates[:, rows] = 0.0  # their motors are new, and stand still

    def put(self, rows: I64) -> None:
        """Move the bodies of these arenas to where the columns say."""
        moved = np.ascontiguousarray(self.state[:, :, rows].transpose(2, 1, 0))
        moved[:, :, 0] += self._origin[rows, None]
        set_states(self._bodies(rows), moved.reshape(-1, 6))

    def _bodies(self, rows: I64) -> list[pymunk.Body]:
        return [body for row in rows.tolist() for body in self._built[row].bodies]

    def _lines(self, drawn: F64) -> F64:
        """Return (rows, segments, 2, 2) of all terrains for (rows, draws)."""
        lines = []
        for terrain in self.arena.terrains:
            points = np.asarray(terrain.rule(drawn[:, terrain.slot : terrain.slot + terrain.draws]))
            if points.shape != (len(drawn), terrain.points, 2) or not np.isfinite(points).all():
                told = f"a terrain of {terrain.points} points must give finite (arenas, {terrain.points}, 2)"
                raise RuleError(f"{told}, also for {len(drawn)} arenas at once", terrain.rule)
            lines.append(np.stack((points[:, :-1], points[:, 1:]), axis=2))
        return np.concatenate(lines, axis=1)

    def _move_terrain(self, rows: I64, segments: F64) -> None:
        """Give these arenas (rows, segments, 2, 2) new ground; what stays, such as a landing pad, costs nothing."""
        shown = self.ground.segments[:, len(self._walls) :]
        row, number = np.nonzero((shown[rows] != segments).any(axis=(2, 3)))
        shown[rows] = segments
        if self.shards:
            self._move_segments(rows[row], number)

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

"""The physics of a world: the blocks behind all columns, and the shards that move them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ecs_rl.arrays import F64, I64
from ecs_rl.components import Chance, Clock, Force, Ground, Motion, Pose, Touch
from ecs_rl.physics.build import collides
from ecs_rl.physics.contacts import BodyNumbers
from ecs_rl.physics.shard import Shard, shard_slices
from ecs_rl.physics.start import Starter
from ecs_rl.scene.arena import Arena, Scene
from ecs_rl.scene.chance import uniforms

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
        self.start = Starter(arena)
        self.touch = Touch(np.zeros((arenas, roles + 1, roles + 1), dtype=bool))
        self._walls = np.array([wall.ends for wall in arena.walls]).reshape(-1, 2, 2)
        moving = sum(terrain.points - 1 for terrain in arena.terrains)
        self.ground = Ground(np.zeros((arenas, len(self._walls) + moving, 2, 2)))
        self.ground.segments[:, : len(self._walls)] = self._walls
        self.threads = max(1, min(threads, os.cpu_count() or 1, arenas // WORTH_A_THREAD))
        self.rebuild()
        self._pool = ThreadPoolExecutor(self.threads - 1, "physics") if self.threads > 1 else None

    def rebuild(self) -> None:
        """Make every Space again, its bodies where the columns say."""
        size = COLLIDING_SHARD if any(collides(self.arena).values()) else JOINTED_SHARD
        size = min(size, -(-self.arenas // self.threads))
        self.shards = [Shard(self.scene, self.arena, rows) for rows in shard_slices(self.arenas, size)]
        self.put(np.arange(self.arenas))
        bodies = [body.id for shard in self.shards for built in shard.built for body in built.bodies]
        self._number_of = BodyNumbers(np.array(bodies))
        self.shares = [self.shards[i :: self.threads] for i in range(self.threads)]

    def columns(self, role: int) -> tuple[Pose, Motion, Force]:
        """Return a role's components, views into the blocks."""
        state, force = self.state[:, role], self.force[:, role]
        return Pose(state[:2].T, state[2]), Motion(state[3:5].T, state[5]), Force(force[:2].T, force[2])

    def step(self) -> None:
        """Run one tick in all arenas."""
        self._on_threads(self._step_share)
        if self.arena.wants_contacts:
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
        ids = np.concatenate([shard.contacts() for shard in self.shards])
        if len(ids):
            body = self._number_of(ids)
            roles = len(self.arena.roles)
            arena = (body // roles).max(axis=1)  # the ground's -1 is in arena -1
            role = np.where(body < 0, roles, body % roles)
            pairs[arena, role[:, 0], role[:, 1]] = True
            pairs[arena, role[:, 1], role[:, 0]] = True

    def bare_step(self) -> None:
        """Let the Spaces step and nothing else: what the benchmarks measure the whole tick against."""
        self._on_threads(_bare_share)

    def _on_threads(self, work: Callable[[list[Shard]], None]) -> None:
        if self._pool is None:
            work(self.shards)
            return
        others = [self._pool.submit(work, share) for share in self.shares[1:]]
        work(self.shares[0])
        for other in others:
            other.result()

    def place(self, rows: I64, chance: Chance, clock: Clock) -> None:
        """Draw these arenas' episodes anew and put them at their start."""
        drawn = uniforms(chance.key[rows], clock.episode[rows], self.arena.draw_count)
        chance.uniform[rows] = drawn
        self.state[:, :, rows] = self.start(drawn).transpose(2, 1, 0)
        self.touch.pairs[rows] = False
        self._shape_ground(rows, drawn)
        self.put(rows)

    def put(self, rows: I64) -> None:
        """Move the bodies of these arenas, in rising order, to where the columns say."""
        for shard in self.shards:
            first, last = np.searchsorted(rows, (shard.rows.start, shard.rows.stop))
            if last > first:
                shard.put(rows[first:last] - shard.rows.start, self.state[:, :, rows[first:last]])

    def _shape_ground(self, rows: I64, drawn: F64) -> None:
        first = len(self._walls)
        for terrain in self.arena.terrains:
            points = np.asarray(terrain.rule(drawn[:, terrain.slot : terrain.slot + terrain.draws]))
            last = first + terrain.points - 1
            self.ground.segments[rows, first:last] = np.stack((points[:, :-1], points[:, 1:]), axis=2)
            first = last
        if self.arena.terrains:
            for shard in self.shards:
                first, last = np.searchsorted(rows, (shard.rows.start, shard.rows.stop))
                for row in rows[first:last].tolist():
                    shard.shape_terrain(row - shard.rows.start, self.ground.segments[row, len(self._walls) :])

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()


def _bare_share(shards: list[Shard]) -> None:
    for shard in shards:
        for _ in range(shard.substeps):
            shard.space.step(shard.dt)

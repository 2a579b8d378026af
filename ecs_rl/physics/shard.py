"""A shard: some arenas in one pymunk Space, moved in and out by batch calls.

The batch calls read and write rows in the Space's own order and past the end of a buffer that is too short, so the
order and the count are checked once, when the shard is built; neither changes after that.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pymunk
from pymunk import batch
from pymunk.batch import ArbiterFields, BodyFields

from ecs_rl.arrays import F64, I64
from ecs_rl.physics.arena_space import Built
from ecs_rl.physics.direct import STATE, InBuffer, OutBuffer
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.scene import Scene

_FORCE = BodyFields.FORCE | BodyFields.TORQUE
_PAIR = ArbiterFields.BODY_A_ID | ArbiterFields.BODY_B_ID


TOGETHER = 8
"""Arenas that are made without a pause."""
FREED = 100
"""Bodies, shapes and joints that are freed without one."""


class Shard:
    """Arenas `rows` of a world in one Space; each stands `2.5 * extent` from the next, so they never touch."""

    def __init__(self, scene: Scene, arena: Arena, rows: slice) -> None:
        for _ in self.build(scene, arena, rows):
            pass

    def build(self, scene: Scene, arena: Arena, rows: slice) -> Iterator[None]:
        """Build the Space in slices, since many arenas take longer than a frame."""
        self.rows = rows
        self.count, self.bodies = rows.stop - rows.start, arena.mobile
        self.dt, self.substeps = scene.dt / scene.substeps, scene.substeps
        self.space = pymunk.Space()
        self.space.gravity = scene.gravity
        # Contacts vanish with the step in which they part, so the list of contacts is what touches now.
        self.space.collision_persistence = 1
        static = self.space.static_body  # touched now, so that it has its row (the last) from the beginning
        self.feels, self.weighs = arena.wants_contacts, arena.wants_impulses
        self.apart = arena.collides  # what cannot touch may stand in one place, where numbers are the most exact
        spacing = 2.5 * scene.extent if self.apart else 0.0
        self.origin = spacing * scattered(self.count)
        self.built: list[Built] = []
        for x in self.origin:
            self.built.append(Built(self.space, arena, float(x)))
            if len(self.built) % TOGETHER == 0:
                yield
        self._force = np.zeros((self.count * self.bodies + 1, 3))
        self._pushed = self._force[:-1].reshape(self.count, self.bodies, 3).T
        self._force_in, self._state_out, self._contacts = InBuffer(), OutBuffer(), OutBuffer()
        self._force_in.set_float_buf(self._force)
        self.touched: list[I64] = []
        """(contacts, 2) ids of the bodies that touched in each step of the tick; the ground's is in no arena."""
        self.impulses: list[F64] = []
        """(contacts, 2) Of the same, newton seconds, where somebody asks for it."""
        self._check_rows(static)

    def leave(self) -> Iterator[None]:
        """Free the Space in slices; the shard cannot be used afterwards.

        pymunk's objects hold handles of themselves. Dropped as they are they wait for Python's look for garbage, which
        frees all of them at once, in the midst of something else.
        """
        space, stills = self.space, [body for built in self.built for body in (*built.static, built.still)]
        held = [*space.constraints, *space.shapes, *space.bodies, *stills, space.static_body]
        self.built.clear()
        del self.space, space, stills
        yield
        while held:
            for part in held[-FREED:]:
                setattr(part, "_h" if isinstance(part, pymunk.Shape) else "_data_handle", None)
            del held[-FREED:], part
            yield

    def _check_rows(self, static: pymunk.Body) -> None:
        buffer = OutBuffer()
        batch.get_space_bodies(self.space, BodyFields.BODY_ID | STATE, buffer)
        ids = np.frombuffer(buffer.int_buf(), dtype=np.uintp).astype(np.int64)
        expected = [body.id for built in self.built for body in built.mobile] + [static.id]
        if ids.tolist() != expected or len(buffer.float_buf()) != len(ids) * 6 * 8:
            raise RuntimeError("the Space lists its bodies in another order than they were added: refusing to guess")

    def push(self, force: F64) -> None:
        """Take the world's (3, bodies, arenas) forces for the coming physics step."""
        self._pushed[...] = force[:, :, self.rows]
        batch.set_space_bodies(self.space, _FORCE, self._force_in)

    def step(self) -> None:
        """Run all substeps of one tick and collect the contacts of each."""
        self.touched, self.impulses = [], []
        fields = _PAIR | ArbiterFields.TOTAL_IMPULSE if self.weighs else _PAIR
        for i in range(self.substeps):
            if i:  # the physics forgets forces after each step
                batch.set_space_bodies(self.space, _FORCE, self._force_in)
            self.space.step(self.dt)
            if self.feels:
                self._contacts.clear()
                batch.get_space_arbiters(self.space, fields, self._contacts)
                self.touched.append(np.frombuffer(self._contacts.int_buf(), dtype=np.int64).reshape(-1, 2).copy())
                if self.weighs:
                    self.impulses.append(np.frombuffer(self._contacts.float_buf()).reshape(-1, 2).copy())

    def pull(self, state: F64) -> None:
        """Write where the bodies are now into the world's (6, bodies, arenas) columns."""
        self._state_out.clear()
        batch.get_space_bodies(self.space, STATE, self._state_out)
        rows = np.frombuffer(self._state_out.float_buf(), dtype=np.float64)[:-6]
        block = state[:, :, self.rows]
        block[...] = rows.reshape(self.count, self.bodies, 6).T
        if self.apart:
            block[0] -= self.origin


def scattered(count: int) -> I64:
    """Return 0 to count - 1 in an order that jumps about: neighbours added one after the other make a lopsided tree."""
    return np.argsort(np.arange(count) * ((5**0.5 - 1) / 2) % 1.0)


def shard_slices(arenas: int, size: int) -> list[slice]:
    """Cut `arenas` rows into equal shards of about `size`."""
    count = max(1, round(arenas / size))
    edges: I64 = np.linspace(0, arenas, count + 1).astype(np.int64)
    return [slice(a, b) for a, b in pairwise(edges.tolist())]

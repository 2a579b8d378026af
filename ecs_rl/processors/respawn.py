"""respawn: EpisodeEnd -> Pose, Motion, Ground, Observation, and whatever starts anew with an episode."""

from __future__ import annotations

import numpy as np

from ecs_rl.arrays import I64
from ecs_rl.components import (
    Acting,
    Chance,
    Clock,
    Done,
    Finished,
    Here,
    Motion,
    NextObservation,
    Observation,
    PolicyState,
)
from ecs_rl.ecs import Stage
from ecs_rl.physics.physics import Physics
from ecs_rl.processors.sense import PolicySight
from ecs_rl.scene.chance import uniforms
from ecs_rl.world import World


class Respawn(Stage):
    """Begin the next episode of ended arenas from its draws, and write the first observations."""

    def __init__(self, world: World) -> None:
        self.world, self.physics, self.finished = world, world.engine_as(Physics), world.one(Finished)
        self.motion, self.here = world.block(Motion), world.block(Here)
        self.clock, self.chance = world.one(Clock), world.one(Chance)
        self.kinds = [
            (slot.spec.of, slot.shaped(world.of(batch.entity, Done).terminated).T)
            for batch in world.batches
            for slot in batch.slots
            if slot.spec.of is not None
        ]
        self.draws = self.chance.uniform.shape[1]
        seen = world.each(Observation, NextObservation, PolicyState)
        self.batches = [
            (before.value, after.value, state, PolicySight(world, batch, np.zeros_like(before.value)))
            for batch, (before, after, state) in zip(world.batches, seen, strict=True)
        ]

    def run(self) -> None:
        """Copy the next observations, and begin episodes where one ended."""
        rows = self.finished.rows
        for role, terminated in self.kinds:
            if terminated.any():
                out = terminated.copy()
                out[:, rows] = False  # there all start again
                self.here[role.rows][out] = False
                self.motion[:, role.rows][:, out] = 0.0
        if self.kinds:
            self.physics.park()
        for before, after, state, sight in self.batches:
            before[...] = after
            if state.value.shape[1]:
                state.value[~self.world.of(sight.batch.entity, Acting).value] = 0.0  # who is out remembers nothing
        if len(rows):
            self.clock.episode[rows] += 1
            self.begin(rows)

    def begin(self, rows: I64) -> None:
        """Begin the current episode of these arenas."""
        drawn = uniforms(self.chance.key[rows], self.clock.episode[rows], self.draws)
        self.chance.uniform[rows] = drawn
        arena = self.world.arena
        arena.begin_lessons(rows, self.clock.episode[rows], drawn)
        with arena.shaping(rows):
            for path in arena.paths:  # before starts, which may lie on one
                path.draw(rows, drawn)
        self.world.reset(rows, drawn, self.world.slots, lambda: self.physics.place(rows, drawn))
        for before, _, state, sight in self.batches:
            sight.look(begins=True)
            arenas = (sight.batch.rows // self.world.arenas, self.world.arenas, -1)
            before.reshape(arenas)[:, rows] = sight.out.reshape(arenas)[:, rows]
            if state.value.shape[1]:
                state.value.reshape(arenas)[:, rows] = 0.0

    def begin_all(self) -> None:
        """Begin the current episode of every arena: how a world starts."""
        self.begin(np.arange(self.world.arenas))

"""guard: Pose, Motion -> Explosion, Here."""

from __future__ import annotations

import numpy as np

from ecs_rl.components import Chance, Explosion, Here, Motion, Pose
from ecs_rl.ecs import Stage
from ecs_rl.physics.physics import Physics
from ecs_rl.world import World

FASTEST = 1e5
"""Metres or radians per second, and radians: no game goes there, but numbers that are about to overflow do."""


class Guard(Stage):
    """Find and count arenas that exploded, and reset their columns before other stages read them.

    What comes and goes and gets further out than the scene's `extent` has left; anything else explodes there.
    """

    def __init__(self, world: World) -> None:
        self.physics, moving = world.engine_as(Physics), world.arena.moving
        self.state, self.here = world.block(Pose, Motion)[:, :moving], world.block(Here)[:moving]
        """Without what never moves."""
        self.leaves = np.zeros((len(self.state[0]), 1), bool)
        for role in world.arena.roles:
            self.leaves[role.rows] = role.comes_and_goes and role not in world.arena.placing.joined
        self.explosion, self.chance = world.one(Explosion), world.one(Chance)
        self.limit = np.array([world.scene.extent] * 2 + [FASTEST] * 4).reshape(6, 1, 1)
        self.quick_limit = min(world.scene.extent, FASTEST)

    def run(self) -> None:
        """Look at the extremes of everything first: that is all an ordinary tick costs."""
        if self.explosion.any:
            self.explosion.now.fill(False)
            self.explosion.any.fill(False)
        state = self.state
        # False for NaN as well.
        if not state.size or (state.max() < self.quick_limit and state.min() > -self.quick_limit):
            return
        fine = (np.abs(state) < self.limit).all(axis=0)
        left = ~fine & self.leaves & np.isfinite(state).all(axis=0)
        if left.any():
            self.here[left] = False
            state[:2, left] = state[3:, left] = 0.0
            fine |= left
            self.physics.park()
        astray = ~fine.all(axis=0)
        if astray.any():
            self.explosion.now[...] = astray
            self.explosion.any.fill(True)
            self.explosion.count += np.count_nonzero(astray)
            # Something that makes sense to every rule until the arena starts again: where its episode began.
            rows = np.flatnonzero(astray)
            self.physics.cut(rows, self.chance.uniform[rows])

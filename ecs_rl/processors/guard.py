"""guard: Pose, Motion -> Explosion."""

from __future__ import annotations

import numpy as np

from ecs_rl.components import Chance, Explosion
from ecs_rl.ecs import Stage
from ecs_rl.world import World

FASTEST = 1e5
"""Metres or radians per second, and radians: no game goes there, but numbers that are about to overflow do."""


class Guard(Stage):
    """Find arenas whose physics went astray, count them, and keep their numbers from everyone after this stage."""

    def __init__(self, world: World) -> None:
        self.physics, self.state = world.physics, world.physics.state
        self.explosion, self.chance = world.one(Explosion), world.one(Chance)
        self.limit = np.array([world.scene.extent] * 2 + [FASTEST] * 4).reshape(6, 1, 1)
        self.quick_limit = min(world.scene.extent, FASTEST)

    def run(self) -> None:
        """Look at the extremes of everything first: that is all an ordinary tick costs."""
        if self.explosion.any:
            self.explosion.now.fill(False)
            self.explosion.any.fill(False)
        state = self.state
        if state.max() < self.quick_limit and state.min() > -self.quick_limit:  # false for NaN as well
            return
        astray = ~(np.abs(state) < self.limit).all(axis=(0, 1))
        if astray.any():
            self.explosion.now[...] = astray
            self.explosion.any.fill(True)
            self.explosion.count += np.count_nonzero(astray)
            # Something that makes sense to every rule until the arena starts again: where its episode began.
            state[:, :, astray] = self.physics.start(self.chance.uniform[astray]).transpose(2, 1, 0)
            self.physics.touch.pairs[astray] = False
            self.physics.mend(np.flatnonzero(astray))

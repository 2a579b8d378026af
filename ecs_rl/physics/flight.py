"""Motion of bodies that are not solid: pymunk's integration, by arithmetic on all members at once."""

from __future__ import annotations

import math

import numpy as np

from ecs_rl.arrays import F64, Bool
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.scene import Scene


class Flight:
    """Moves the rows of the blocks that are neither solid nor still."""

    def __init__(self, scene: Scene, arena: Arena) -> None:
        self.rows = slice(arena.solid, arena.moving)
        self.dt, self.substeps = scene.dt / scene.substeps, scene.substeps
        free = [role for role in arena.in_rows for _ in range(role.members)][self.rows]
        bodies = [(role.body, role.moment) for role in free if role.body is not None]
        gravity = [(0.0, 0.0) if body.moves != "freely" else scene.gravity for body, _ in bodies]
        yields = [
            (0.0, 0.0) if body.moves != "freely" else (1 / body.mass, 0.0 if math.isinf(moment) else 1 / moment)
            for body, moment in bodies
        ]
        self.gravity = np.array([(x, y, 0.0) for x, y in gravity]).reshape(-1, 3).T[:, :, None]
        self.yields = np.array([(mass, mass, moment) for mass, moment in yields]).reshape(-1, 3).T[:, :, None]
        """(3, rows, 1) One over the mass, and over the moment of inertia."""
        self.falls = bool(self.gravity.any())

    def step(self, state: F64, force: F64, here: Bool) -> None:
        """Move the rows by one tick; positions first, by the velocities before forces, as pymunk does."""
        if self.rows.start == self.rows.stop:
            return
        bodies, pushed, there = state[:, self.rows], force[:, self.rows], here[self.rows]
        gained = pushed * self.yields
        if self.falls:
            gained += self.gravity
        gained *= self.dt
        gained *= there
        still = not there.all()
        for _ in range(self.substeps):
            way = bodies[3:] * self.dt
            if still:
                way *= there
            bodies[:3] += way
            bodies[3:] += gained

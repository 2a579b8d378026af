"""simulate: Force, MotorSpeed -> Pose, Motion, Touch."""

from __future__ import annotations

from ecs_rl.ecs import Stage
from ecs_rl.physics.physics import Physics
from ecs_rl.world import World


class Simulate(Stage):
    """Step the physics by one tick in all arenas."""

    def __init__(self, world: World) -> None:
        self.physics = world.engine_as(Physics)

    def run(self) -> None:
        """Step all shards, on threads where there are several."""
        self.physics.step()

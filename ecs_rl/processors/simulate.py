"""simulate: Force -> Pose, Motion, Touch."""

from __future__ import annotations

from ecs_rl.processors.base import Stage


class Simulate(Stage):
    """Let the physics run for one tick in all arenas."""

    def run(self) -> None:
        """Step all shards, on threads where there are several."""
        self.world.physics.step()

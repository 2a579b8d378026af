"""render: Pose, Reward, EpisodeEnd, ... -> a window, a film."""

from __future__ import annotations

from ecs_rl.ecs import Stage
from ecs_rl.world import World


class Render(Stage):
    """Call the viewer before respawn, so that it sees the last tick of an episode; it changes no result."""

    def __init__(self, world: World) -> None:
        self.look = world.callbacks.render

    def run(self) -> None:
        """Call the viewer, which must not change anything."""
        self.look()

"""render: Pose, Reward, Ending, ... -> a window, a film."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecs_rl.components import Onlooker
from ecs_rl.processors.base import Stage

if TYPE_CHECKING:
    from ecs_rl.world import World


class Render(Stage):
    """Let the onlooker see the tick, the last picture of an episode included; taking it away changes no result."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.onlooker = world.one(Onlooker)

    def run(self) -> None:
        """Show the tick."""
        self.onlooker.look()

"""decide: Observation -> Action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecs_rl.components import Action, Observation, Policy
from ecs_rl.processors.base import Stage

if TYPE_CHECKING:
    from ecs_rl.world import World


class Decide(Stage):
    """Ask every policy for the actions of all its rows, in one batch."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.minds = world.each(Policy, Observation, Action)

    def run(self) -> None:
        """Let every policy choose."""
        for policy, observation, action in self.minds:
            action.value = policy.choose(observation.value)

"""steer: UserInput -> Action."""

from __future__ import annotations

from ecs_rl.components import Action, UserInput
from ecs_rl.ecs import Stage
from ecs_rl.world import World


class Steer(Stage):
    """Put a person's action in place of a policy's, in the rows that the person drives."""

    def __init__(self, world: World) -> None:
        self.world, self.input = world, world.one(UserInput)
        self.actions = {batch.name: (batch, world.of(batch.entity, Action)) for batch in world.batches}

    def run(self) -> None:
        """Overwrite what the policy decided."""
        for (policy, row), chosen in self.input.steers.items():
            batch, action = self.actions[policy]
            action.value[row] = chosen
            self.world.check_action(batch, action.value)

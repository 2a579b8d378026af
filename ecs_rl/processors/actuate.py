"""actuate: Action -> Amount, Force, MotorSpeed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecs_rl.components import Force
from ecs_rl.ecs import Stage

if TYPE_CHECKING:
    from ecs_rl.world import World


class Actuate(Stage):
    """Turn actions into forces."""

    def __init__(self, world: World) -> None:
        self.slots = [(world.action_of(batch), slot) for batch in world.batches for slot in batch.slots]
        self.effects = [effect for _, slot in self.slots for effect in slot.spec.does.effects]
        self.dt, self.force = world.scene.dt, world.physics.force
        moved = {role.name for effect in self.effects for role in effect.roles()}
        self.open = [v for name, kind, views in world.exposed if kind is Force and name in moved for v in views]

    def run(self) -> None:
        """Clear the forces and add what each agent's effects ask for."""
        self.force.fill(0.0)
        for action, slot in self.slots:
            slot.spec.does.work(action.value[slot.rows], slot.amount)
        for view in self.open:  # an effect of the scene's own adds to them through its role
            view.setflags(write=True)
        for effect in self.effects:
            effect.apply(self.dt)
        for view in self.open:
            view.setflags(write=False)

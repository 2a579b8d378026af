"""actuate: Action, Here -> Acting, Amount, Force, MotorSpeed; who is out does nothing."""

from __future__ import annotations

import numpy as np

from ecs_rl.arrays import finite
from ecs_rl.components import Acting, Action, Force
from ecs_rl.ecs import Stage
from ecs_rl.errors import RuleError
from ecs_rl.world import World


class Actuate(Stage):
    """Turn actions into forces."""

    def __init__(self, world: World) -> None:
        self.slots = [(world.of(batch.entity, Action), slot) for batch in world.batches for slot in batch.slots]
        self.may_be_out = [
            (slot.spec.of.here, slot.shaped(acting.value), slot.shaped(action.value), slot.shaped(slot.amount.T))
            for batch, (action, acting) in zip(world.batches, world.each(Action, Acting), strict=True)
            for slot in batch.slots
            if slot.spec.of is not None and slot.spec.of.comes_and_goes
        ]
        self.effects = [effect for _, slot in self.slots for effect in slot.spec.does.effects]
        self.world, self.dt, self.force = world, world.scene.dt, world.physics.force
        self.sound = finite(self.force)
        moved = {role.name for effect in self.effects for role in effect.roles()}
        self.open = [v for name, kind, views in world.exposed if kind is Force and name in moved for v in views]

    def run(self) -> None:
        """Clear the forces and add what each agent's effects ask for."""
        self.force.fill(0.0)
        for taken, slot in self.slots:
            slot.spec.does.work(taken.value[slot.rows], slot.amount)
        for here, acting, action, amount in self.may_be_out:
            acting[...] = here
            action[~here] = 0  # who is out pulls no trigger
            np.multiply(amount, here[..., None], out=amount)
        for view in self.open:  # an effect of the scene's own adds to them through its role
            view.setflags(write=True)
        for effect in self.effects:
            effect.apply(self.dt)
        with np.errstate(over="ignore"):  # refused here, by name
            sound = self.sound()
        if not sound:
            self._refuse()
        for view in self.open:
            view.setflags(write=False)

    def _refuse(self) -> None:
        """Name the effect whose force is not finite, by trying each alone."""
        for effect in self.effects:
            self.force.fill(0.0)
            effect.apply(self.dt)
            bad = np.argwhere(~np.isfinite(self.force))
            if len(bad):  # squares of finite numbers can overflow
                axis, row, arena = bad[0].tolist()
                role = next(role for role in self.world.arena.roles if role.rows.start <= row < role.rows.stop)
                told = f"{'torque' if axis == 2 else 'force'} on '{role.name}'"
                gave = f"{self.force[axis, row, arena]:g} {self.world.when(arena)}"
                raise RuleError(f"{type(effect).__name__} gave a {told} that is not finite: {gave}", effect)

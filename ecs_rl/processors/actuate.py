"""actuate: Action, Here -> Acting, Amount, Force, MotorSpeed; who is out does nothing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import numpy as np

from ecs_rl.arrays import finite
from ecs_rl.components import Acting, Action, Force, Motion, Pose
from ecs_rl.ecs import Stage
from ecs_rl.errors import RuleError
from ecs_rl.physics.drag import Drag
from ecs_rl.scene.effects import Push, Sum, Thrust, Twist
from ecs_rl.world import AgentSlot, World

SUMMED = (Push, Thrust, Twist)
"""Effects that one product works out together; not classes made of them, which may do something else."""


class Actuate(Stage):
    """Turn actions into forces, and add the forces that no agent drives."""

    def __init__(self, world: World) -> None:
        self.slots = [(world.of(batch.entity, Action), slot) for batch in world.batches for slot in batch.slots]
        self.may_be_out = [
            (slot.spec.of.here, slot.shaped(acting.value), slot.shaped(action.value), slot.by_agent(slot.amount))
            for batch, (action, acting) in zip(world.batches, world.each(Action, Acting), strict=True)
            for slot in batch.slots
            if slot.spec.of is not None and slot.spec.of.comes_and_goes
        ]
        self.effects = [*world.arena.effects]
        self.forces = world.arena.forces
        for effect in self.effects:
            effect.fit(world.scene)
        self.works = [work for _, slot in self.slots for work in works_of(slot)]
        self.works += [effect.apply for forces in self.forces for effect in forces.effects]
        self.world, self.dt, self.force = world, world.scene.dt, world.block(Force)
        self.sound = finite(self.force)
        moved = {role.name for effect in self.effects for role in effect.roles()}
        self.open = [v for name, kind, views in world.exposed if kind is Force and name in moved for v in views]
        self.drag: Drag | None = None
        if Drag.wanted(world.arena):
            self.drag = Drag(world.scene, world.arena, world.block(Pose, Motion), self.force)

    def run(self) -> None:
        """Clear the forces and add what each effect asks for; drag comes last, as it eases all of that."""
        self.force.fill(0.0)
        for taken, slot in self.slots:
            slot.spec.does.work(taken.value[slot.rows], slot.amount)
        for here, acting, action, amount in self.may_be_out:
            acting[...] = here
            action[~here] = 0  # who is out pulls no trigger
            np.multiply(amount, here[..., None], out=amount)
        for forces in self.forces:
            forces.work(self.world.when)
        for view in self.open:  # an effect of the scene's own adds to them through its role
            view.setflags(write=True)
        for work in self.works:
            work(self.dt)
        with np.errstate(over="ignore"):  # refused here, by name
            sound = self.sound()
        if not sound:
            self._refuse()
        for view in self.open:
            view.setflags(write=False)
        if self.drag is not None:
            self.drag.apply()

    def _refuse(self) -> None:
        """Name the effect whose force is not finite, by trying each alone."""
        for effect in self.effects:
            self.force.fill(0.0)
            effect.apply(self.dt)
            bad = np.argwhere(~np.isfinite(self.force))
            if len(bad):  # squares of finite numbers can overflow
                axis, row, arena = bad[0].tolist()
                role = next(role for role in self.world.arena.roles if role.rows.start <= row < role.rows.stop)
                what = f"{'torque' if axis == 2 else 'force'} on '{role.name}'"
                gave = f"{self.force[axis, row, arena]:g} {self.world.when(arena)}"
                raise RuleError(f"{type(effect).__name__} gave a {what} that is not finite: {gave}", effect)


def works_of(slot: AgentSlot) -> list[Callable[[float], None]]:
    """Return what applies the effects of an agent, those in a row that can be summed on one role in one go."""
    works: list[Callable[[float], None]] = []
    numbered = enumerate(slot.spec.does.effects)
    for (role, summed), group in groupby(numbered, lambda pair: (pair[1].role, type(pair[1]) in SUMMED)):
        numbers, effects = zip(*group, strict=True)
        if summed and role.count is None and slot.spec.count is None:
            works.append(Sum(role, effects, slot.amount[numbers[0] : numbers[-1] + 1]).apply)
        else:
            works += [effect.apply for effect in effects]
    return works

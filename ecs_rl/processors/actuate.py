"""actuate: Action -> Force."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.components import Action
from ecs_rl.errors import ActionError
from ecs_rl.processors.base import Stage, when
from ecs_rl.scene.checks import RuleError
from ecs_rl.scene.effects import Choice

if TYPE_CHECKING:
    from ecs_rl.world import Crew, World


class Actuate(Stage):
    """Turn actions into forces; an action that no arena can carry out stops here with an ActionError."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.crews = [(crew, world.of(crew.entity, Action)) for crew in world.crews]
        self.dt = world.scene.dt

    def run(self) -> None:
        """Clear the forces and add what each agent's effects ask for."""
        force = self.world.physics.force
        force.fill(0.0)
        for crew, action in self.crews:
            check_action(crew, action.value, self.world)
            for seat in crew.seats:
                seat.plan.does.work(action.value[seat.rows], seat.amounts)
                for effect in seat.plan.does.effects:
                    effect.apply(self.dt)
        with np.errstate(over="ignore", invalid="ignore"):  # refused here, by name
            sound = np.isfinite(force.sum())
        if not sound:
            self._refuse()

    def _refuse(self) -> None:
        """Name the effect whose force is not finite, by trying each alone."""
        force = self.world.physics.force
        for effect in (effect for crew, _ in self.crews for seat in crew.seats for effect in seat.plan.does.effects):
            force.fill(0.0)
            effect.apply(self.dt)
            bad = np.argwhere(~np.isfinite(force))
            if len(bad):  # a sum of finite numbers can overflow
                axis, role, arena = bad[0].tolist()
                what, where = ("torque" if axis == 2 else "force"), when(self.world, arena)
                told = f"{what} on '{self.world.arena.roles[role].name}' that is not finite"
                raise RuleError(f"{type(effect).__name__} gave a {told}: {force[axis, role, arena]:g} {where}", effect)


def check_action(crew: Crew, action: np.ndarray, world: World) -> None:
    """Refuse a wrong shape, a choice that is not there, and what is not a finite number."""
    does, rows = crew.seats[0].plan.does, crew.rows
    if not isinstance(action, np.ndarray):
        raise ActionError(f"policy '{crew.name}' must answer with an array, not a {type(action).__name__}")
    if isinstance(does, Choice):
        if action.shape != (rows,) or action.dtype.kind not in "iu":
            raise ActionError(f"policy '{crew.name}' must choose ({rows},) whole numbers, not {_told(action)}")
        if action.astype(np.uint64, copy=False).max() >= len(does.names):  # a negative number becomes a huge one
            raise ActionError(f"policy '{crew.name}' chose {action.min()}..{action.max()} of {len(does.names)} options")
        return
    if action.shape != (rows, len(does.names)) or action.dtype.kind != "f":
        raise ActionError(f"policy '{crew.name}' must set ({rows}, {len(does.names)}) levers, not {_told(action)}")
    if not np.isfinite(action).all():
        row, number = np.argwhere(~np.isfinite(action))[0].tolist()
        seat = next(seat for seat in crew.seats if row < seat.rows.stop)
        arena = row - seat.rows.start
        told = f"the lever '{seat.plan.does.names[number]}' of '{seat.plan.name}' to {action[row, number]:g}"
        raise ActionError(f"policy '{crew.name}' set {told}, not a finite number, {when(world, arena)}")


def _told(action: np.ndarray) -> str:
    return f"{action.shape} of {action.dtype}"

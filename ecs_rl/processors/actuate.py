"""actuate: Action -> Force."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.components import Action
from ecs_rl.errors import ActionError
from ecs_rl.processors.base import Stage
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
        self.world.physics.force.fill(0.0)
        for crew, action in self.crews:
            check_action(crew, action.value)
            for seat in crew.seats:
                seat.plan.does.work(action.value[seat.rows], seat.amounts)
                for effect in seat.plan.does.effects:
                    effect.apply(self.dt)


def check_action(crew: Crew, action: np.ndarray) -> None:
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
        raise ActionError(f"policy '{crew.name}' set a lever to something that is not a finite number")


def _told(action: np.ndarray) -> str:
    return f"{action.shape} of {action.dtype}"

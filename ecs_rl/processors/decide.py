"""decide: Observation -> Action."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.base import Decision, Discrete
from ecs_rl.components import ActionLog, Observation, PolicyState
from ecs_rl.ecs import Stage
from ecs_rl.errors import ActionError

if TYPE_CHECKING:
    from ecs_rl.world import PolicyBatch, World


class Decide(Stage):
    """Ask every policy for the actions of all its rows, in one batch; refuse what no arena can carry out."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.batches = [
            (batch, world.of(batch.entity, Observation), world.of(batch.entity, PolicyState), world.action_of(batch))
            for batch in world.batches
        ]
        self.log = next((log for (log,) in world.each(ActionLog)), None)

    def run(self) -> None:
        """Let every policy decide, and keep what it decided for actuate, for record and for a replay."""
        for batch, observation, state, action in self.batches:
            decision = self.world.policies[batch.name](observation.value, state.value)
            if not isinstance(decision, Decision):
                decision = Decision(decision)
            check_action(batch, decision.action, self.world)
            action.value, action.extras = decision.action, decision.extras
            if decision.state is not None:
                state.value = decision.state
        if self.log is not None and self.log.kept:
            self.log.actions.append(tuple(_small(action.value) for *_, action in self.batches))


def check_action(batch: PolicyBatch, action: Any, world: World) -> None:
    """Refuse a wrong shape, a choice that is not there, and what is not a finite number."""
    names, rows = batch.spec.actions.names, batch.rows
    if not isinstance(action, np.ndarray):
        raise ActionError(f"policy '{batch.name}' must answer with an array, not a {type(action).__name__}")
    if isinstance(batch.spec.actions, Discrete):
        if action.shape != (rows,) or action.dtype.kind not in "iu":
            raise ActionError(f"policy '{batch.name}' must choose ({rows},) whole numbers, not {_told(action)}")
        if action.astype(np.uint64, copy=False).max() >= len(names):  # a negative number becomes a huge one
            raise ActionError(f"policy '{batch.name}' chose {action.min()}..{action.max()} of {len(names)} options")
        return
    if action.shape != (rows, len(names)) or action.dtype.kind != "f":
        raise ActionError(f"policy '{batch.name}' must set ({rows}, {len(names)}) levers, not {_told(action)}")
    if not np.isfinite(action).all():
        row, number = np.argwhere(~np.isfinite(action))[0].tolist()
        slot, arena = batch.slots[row // world.arenas], row % world.arenas
        told = f"the lever '{names[number]}' of '{slot.spec.name}' to {action[row, number]:g}"
        raise ActionError(f"policy '{batch.name}' set {told}, not a finite number, {world.when(arena)}")


def _told(action: NDArray[Any]) -> str:
    return f"{action.shape} of {action.dtype}"


def _small(action: NDArray[Any]) -> NDArray[Any]:
    """Return a copy, choices in a byte each where they fit."""
    if action.dtype.kind in "iu":
        return action.astype(np.uint8 if action.size and action.max() < 256 else np.int64)
    return action.copy()

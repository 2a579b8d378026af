"""decide: Observation -> Action."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32
from ecs_rl.components import Action, ActionLog, Extras, Observation, PolicyState, UserInput
from ecs_rl.ecs import Stage
from ecs_rl.errors import RuleError
from ecs_rl.scene.allowed import Allowed, Permissions
from ecs_rl.spaces import Decision
from ecs_rl.world import PolicyBatch, World


class Decide(Stage):
    """Ask every policy for the actions of all its rows, in one batch; refuse what no arena can carry out."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.batches = list(zip(world.batches, world.each(Observation, PolicyState, Action, Extras), strict=True))
        self.permissions = {batch.name: some for batch in world.batches if (some := Permissions(batch.spec))}
        self.log = next((log for (log,) in world.each(ActionLog)), None)
        self.person = next((person for (person,) in world.each(UserInput)), None)
        """On a window's stage whoever may be at the controls."""

    def run(self) -> None:
        """Let every policy decide, and keep what it decided for actuate, for record and for a replay."""
        for batch, (observation, state, action, extras) in self.batches:
            state.before = state.value
            decision = self.world.policies[batch.name](observation.value, state.value)
            if not isinstance(decision, Decision):
                decision = Decision(decision)
            self.world.check_action(batch, decision.action)
            action.value[...] = decision.action
            extras.values = decision.extras
            if decision.state is not None:
                state.value = decision.state
            for (policy, row), chosen in self.person.steers.items() if self.person is not None else ():
                if policy == batch.name:
                    action.value[row] = chosen
            if (permissions := self.permissions.get(batch.name)) is not None:
                self.check_options(batch, permissions, observation.value)
                action.value[...] = permissions.corrected(action.value, observation.value)
        if self.log is not None and self.log.is_on:
            self.log.actions.append(tuple(_small(action.value) for _, (*_, action, _) in self.batches))

    def check_options(self, batch: PolicyBatch, permissions: Permissions, observation: F32) -> None:
        """Raise RuleError where an agent that is there may choose no option at all."""
        for column, mask in permissions.masks(observation):
            for row in np.flatnonzero(~mask.any(1)).tolist():
                slot, arena, member = batch.locate(row, self.world.arenas)
                kind, number = slot.spec.of, (row - slot.rows.start) // self.world.arenas
                if kind is None or not kind.comes_and_goes or kind.here[arena, number]:
                    choice = [*batch.spec.actions.about][column]
                    sensor = next(sensor for sensor in slot.spec.sees if isinstance(sensor, Allowed))
                    message = f"{sensor.source} leaves '{slot.spec.name}' no option of its {choice}"
                    where = f"{self.world.when(arena)}{member}"
                    raise RuleError(f"{message} {where}: allow one, or end the episode", sensor)


def _small(action: NDArray[Any]) -> NDArray[Any]:
    """Return a copy, choices in a byte each where they fit."""
    if action.dtype.kind in "iu":
        return action.astype(np.uint8 if action.size and action.max() < 256 else np.int64)
    return action.copy()

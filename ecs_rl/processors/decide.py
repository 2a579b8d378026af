"""decide: Observation -> Action."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.components import Action, ActionLog, Extras, Observation, PolicyState, UserInput
from ecs_rl.ecs import Stage
from ecs_rl.spaces import Decision
from ecs_rl.world import World


class Decide(Stage):
    """Ask every policy for the actions of all its rows, in one batch; refuse what no arena can carry out."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.batches = list(zip(world.batches, world.each(Observation, PolicyState, Action, Extras), strict=True))
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
        if self.log is not None and self.log.is_on:
            self.log.actions.append(tuple(_small(action.value) for _, (*_, action, _) in self.batches))


def _small(action: NDArray[Any]) -> NDArray[Any]:
    """Return a copy, choices in a byte each where they fit."""
    if action.dtype.kind in "iu":
        return action.astype(np.uint8 if action.size and action.max() < 256 else np.int64)
    return action.copy()

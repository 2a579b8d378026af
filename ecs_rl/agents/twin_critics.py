"""What SAC, TD3 and IQL share: a policy, two critics that judge its actions, and targets that follow slowly.

A critic sees all numbers and the levers, and has one output for each combination of choices; the lesser one of the two
counts. The policy sees its own numbers alone. An algorithm says how many outputs its policy has, which parameters have
targets, how it acts, and its losses. Memory, due steps, imitation and the state are those of every `ReplayLearner`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecs_rl.agents.config import CriticSettings
from ecs_rl.agents.imitation import Batch as Example
from ecs_rl.agents.masks import Mask
from ecs_rl.agents.networks import Parameters, Shapes
from ecs_rl.agents.replay_learner import ReplayLearner
from ecs_rl.agents.squashed import Layout
from ecs_rl.agents.stack import Pass, Stack
from ecs_rl.spaces import Discrete, Floats, PolicySpec

CRITICS = 2
MOST_WAYS_TO_CHOOSE = 256
"""Outputs of a critic."""


class TwinCritics(ReplayLearner):
    """A learner from a replay memory with a policy and two critics of actions."""

    FOLLOWED: ClassVar[str] = "q/"
    """How the names of the parameters begin that have targets."""
    APART: ClassVar[bool] = False
    """Whether policy and critics have an optimiser each."""

    def _build(self, threads: int) -> None:
        """Give policy and critics their first values; an algorithm calls `_begin_steps` once all of its have theirs."""
        super()._build(threads)
        self._layout, self._mask, p = Layout(self.spec.actions), Mask(self.spec), self._parameters
        self._policy_part, self._critics_part = (p.part("policy/"), p.part("q/")) if self.APART else (p, p)
        """The parameters whose gradients policy and critics write."""
        self._policy = self._stack(self._policy_part, "policy")
        self._critics = self._stack(self._critics_part, "q", CRITICS)
        self._policy.initialise(self._first, head_gain=0.01)
        self._critics.initialise(self._first, head_gain=1.0)
        self._followed = p.part(self.FOLLOWED)
        self._targets = Parameters(self._followed.shapes)
        self._target_critics = self._stack(self._targets, "q", CRITICS)
        self._copy_to_targets()

    def _stack(self, parameters: Parameters, name: str, count: int = 1) -> Stack:
        """Return `count` networks of this name with the layers of the settings."""
        return Stack(parameters, name, len(self.config.hidden) + 1, self.config.activation, count)

    @staticmethod
    def refuses(spec: PolicySpec) -> str:
        """Return why it cannot learn such a policy, '' if it can."""
        ways = math.prod(len(part.names) for part in spec.actions.parts if isinstance(part, Discrete))
        if ways <= MOST_WAYS_TO_CHOOSE:
            return ""
        reason = f"{', '.join(spec.actions.about)} can be set in {ways:,} ways: use ppo"
        return f"looks at every way to choose, at most {MOST_WAYS_TO_CHOOSE}; {reason}"

    # --- what an algorithm says -------------------------------------------------------------------------------------

    @abstractmethod
    def _imitate_policy(self, output: Tensor, batch: Example) -> tuple[float, Floats]:
        """Return the share of the actions that is best now, and the gradient by the (rows, outputs) towards them."""

    # --- the networks -----------------------------------------------------------------------------------------------

    def _policy_of(self, x: Tensor) -> Tensor:
        """Return (rows, outputs) of the policy, those of forbidden options lowered."""
        return self._mask(self._policy(x[:, : self._policy_width])[0], x)

    def _lesser_of(self, x: Tensor, levers: Tensor) -> Floats:
        """Return (rows, combinations) the values of the critic that expects less."""
        lesser: Floats = self._critics(torch.cat([x, levers], 1)).numpy().min(0)
        return lesser

    def _value_for(self, observation: Floats, value: Floats) -> NDArray[np.float64]:
        """Return the value in 64 bits, NaN where the observations lack what a critic sees."""
        lacks = observation.shape[1] < self._width
        return np.full(len(value), np.nan) if lacks else value.astype(np.float64)

    # --- learning ---------------------------------------------------------------------------------------------------

    def _imitate(self, batch: Example) -> float:
        """Make the actions probable, and let the critics predict what came of them."""
        assert isinstance(batch.seen, Tensor)
        n, action = len(batch.action), batch.columns
        policy = Pass(self._policy, batch.seen[:, : self._policy_width], back=n, learns=n)
        share, policy.grad.numpy()[0] = self._imitate_policy(self._mask(policy.forward()[0], batch.seen), batch)
        policy.backward()

        levers = torch.from_numpy(self._layout.levers_of(action))
        critics = Pass(self._critics, torch.cat([batch.seen, levers], 1), back=n, learns=n)
        taken = slice(None), np.arange(n), self._layout.combination_of(action)
        error = critics.forward().numpy()[taken] - batch.returns.numpy()
        critics.grad.zero_()
        critics.grad.numpy()[taken] = np.where(batch.known.numpy(), error, np.float32(0)) / n
        critics.backward()
        return share

    def _move_targets(self) -> None:
        """Let the targets follow by a share of the way."""
        self._targets.flat.lerp_(self._followed.flat, self.config.target_share)

    # --- the state --------------------------------------------------------------------------------------------------

    def _are_actions(self, actions: Tensor) -> bool:
        return bool(torch.isfinite(actions).all()) and self._layout.can_be(actions.numpy())


def network_shapes(spec: PolicySpec, config: CriticSettings, outputs: int) -> tuple[Shapes, Shapes]:
    """Return the shapes of the parameters of a policy with so many outputs, and of the critics."""
    layout = Layout(spec.actions)
    policy = Stack.shapes("policy", (len(spec.observations), *config.hidden, outputs))
    critics = Stack.shapes("q", (len(spec.numbers) + layout.levers, *config.hidden, layout.combined), CRITICS)
    return policy, critics

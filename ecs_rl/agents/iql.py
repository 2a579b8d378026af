"""Implicit Q-learning (Kostrikov et al. 2021): learns from recorded transitions and judges no action that nobody took.

Two critics q1, q2, each with a slow copy as the target q', a value v and a policy pi; reward r, discount g:

    u = min_i q_i'(s, a) - v(s)
    L_v = E[ |expectile - 1(u < 0)| u^2 ]                                value: what the better actions in the data earn
    L_q = E[ (q1(s, a) - r - g v(s'))^2 + (q2(s, a) - r - g v(s'))^2 ] / 2                                      critics
    L_pi = -E[ min(exp(beta u / scale), 100) log pi(a|s) ]                  policy: imitates what was better than usual

The scale is the running root mean square of u (as in MARWIL, Wang et al. 2018), so that beta means the same whatever
the rewards' unit is. A beta of 0 is behaviour cloning. Advantage-weighted actor-critic (AWAC, Nair et al. 2020) differs
in one place: v is the value of the policy, so L_v = E[ (min_i q_i'(s, a') - v(s))^2 ] / 2 with a' ~ pi(s).

The policy has the heads of PPO. The critics have one output for each combination of choices, and levers as inputs.
Networks, targets and imitation are those of `twin_critics.py`; memory, due steps and the state those of
`replay_learner.py`.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from ecs_rl.agents.base import PolicyOutput
from ecs_rl.agents.config import IQLConfig
from ecs_rl.agents.explain import log_probabilities
from ecs_rl.agents.heads import SPREAD, head_of, spread_shapes
from ecs_rl.agents.imitation import LEAST_LOG_STD
from ecs_rl.agents.imitation import Batch as Example
from ecs_rl.agents.networks import Shapes
from ecs_rl.agents.policy_heads import DISTRIBUTION
from ecs_rl.agents.replay import Batch
from ecs_rl.agents.stack import Pass, Stack
from ecs_rl.agents.state import Parts
from ecs_rl.agents.twin_critics import TwinCritics, network_shapes
from ecs_rl.spaces import ActMode, Decision, Discrete, Floats, PolicySpec

SMALLEST, LARGEST = -2.0, 0.5
"""Of the logarithm of a spread: a smaller one would let single transitions pull on the policy without limit."""
MOST_LOG_WEIGHT = math.log(100.0)
"""Of the weight of a transition in L_pi; 100 as in the paper's code."""
SCALE_SHARE = 0.005
"""Share of the way that the scale goes to a minibatch's mean square."""


class IQL(TwinCritics):
    """An off-policy learner for levers, choices and both at once, made for data that somebody else has gathered."""

    name = "iql"
    Config = IQLConfig
    HEAD = DISTRIBUTION
    METRICS = ("loss/q", "loss/value", "loss/policy", "q_mean", "advantage_scale", "entropy")
    config: IQLConfig

    def _build(self, threads: int) -> None:
        super()._build(threads)
        self._value, self._head = self._stack(self._parameters, "value"), head_of(self.spec.actions, self._parameters)
        self._value.initialise(self._first, head_gain=1.0)
        self._log_std = self._parameters.value.get(SPREAD, torch.empty(0))
        self._log_std.fill_(self.config.log_std)
        self._begin_steps(self._parameters)
        self._scale = torch.zeros(1, dtype=torch.float64)  # the running mean square of u, 0 before the first step
        self._make_passes(len(self.spec.numbers), self._layout.levers, self._batch)

    def _make_passes(self, n: int, k: int, b: int) -> None:
        """Make the arrays of a gradient step: observations of `n` numbers, `k` levers, `b` rows drawn from the memory.

        The value looks at s and s', the critics at (s, a), and for AWAC their targets at (s, a') too.
        """
        self._states, x = torch.zeros(2 * b, n), torch.zeros(2 * b, n + k)
        self._before, self._after = self._states.numpy().reshape(2, b, n)
        self._judged, self._levers = x.numpy().reshape(2, b, n + k)[:, :, :n], x.numpy().reshape(2, b, n + k)[:, :, n:]
        rows = 2 * b if self.config.value == "policy" else b
        self._value_pass = Pass(self._value, self._states, back=b, learns=b)
        self._policy_pass = Pass(self._policy, self._states[:b, : self._policy_width], back=b, learns=b)
        self._critics_pass = Pass(self._critics, x[:b], back=b, learns=b)
        self._target_pass = Pass(self._target_critics, x[:rows])
        self._row = np.arange(b)

    @staticmethod
    def shapes(spec: PolicySpec, config: IQLConfig) -> Shapes:
        """Return the shape of every parameter; nothing is made."""
        policy, critics = network_shapes(spec, config, len(spec.actions.names))
        value = Stack.shapes("value", (len(spec.numbers), *config.hidden, 1))
        return policy | spread_shapes(spec.actions) | critics | value

    # --- acting -----------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Decide for each row: the likeliest action, or one drawn from the policy while exploring or sampling."""
        self._check_observation(observation, self.rows if mode is ActMode.EXPLORE else None)
        output = self._policy_of(self.inputs(observation))
        if mode is ActMode.GREEDY:
            action = self._head.best(output)
        else:
            action, _ = self._head.sample(output, self._random if mode is ActMode.EXPLORE else self._sample_random)
        return Decision(self.spec.actions.clipped(action.numpy()))

    # --- learning ---------------------------------------------------------------------------------------------------

    def descend(self, batch: Batch, progress: float) -> None:
        """Take one step down the gradients of L_v, L_q and L_pi, all at the present parameters."""
        c, b, x = self.config, self._batch, self._states
        self._before[...], self._after[...] = batch.observation.numpy(), batch.next_observation.numpy()
        self._judged[...] = self._before
        done = batch.action.numpy()
        self._levers[0] = self._layout.levers_of(done)
        taken = self._layout.combination_of(done)
        value, value_after = self._value_pass.forward().numpy()[0].reshape(2, b)
        output = self._mask(self._policy_pass.forward()[0], x[:b])

        judged_combination = taken
        if c.value == "policy":
            drawn, _ = self._head.sample(output, self._random)
            would = self.spec.actions.clipped(drawn.numpy()).reshape(b, -1)
            self._levers[1], judged_combination = self._layout.levers_of(would), self._layout.combination_of(would)
        lesser = self._target_pass.forward().numpy().min(0)
        advantage = lesser[self._row, taken] - value
        error = advantage
        if c.value == "policy":
            error = lesser[b + self._row, judged_combination] - value
            weight: Floats | float = 0.5
        else:
            weight = np.where(error < 0.0, np.float32(1.0 - c.expectile), np.float32(c.expectile))
        np.multiply(weight * error, np.float32(-2.0 / b), out=self._value_pass.grad.numpy()[0, :, 0])
        self._value_pass.backward()

        goal = batch.reward.numpy() + batch.discount.numpy() * value_after
        q = self._critics_pass.forward().numpy()[:, self._row, taken]
        q_error = q - goal
        q_grad = self._critics_pass.grad.numpy()
        q_grad[...] = 0.0
        q_grad[:, self._row, taken] = q_error * np.float32(1.0 / b)
        self._critics_pass.backward()

        counts = self._weights(advantage, batch)
        action = batch.action[:, 0].long() if isinstance(self.spec.actions, Discrete) else batch.action
        log_prob, entropy = self._head.forward(output, action)
        self._policy_pass.grad[0] = self._head.backward(torch.from_numpy(counts * np.float32(-1.0 / b)), 0.0)
        self._policy_pass.backward()

        loss, value_loss = 0.5 / b * float(np.vdot(q_error, q_error)), float((weight * error * error).mean())
        gradient, loss = self._gradient(loss)
        self._check_step(gradient, critics_loss=loss, value_loss=value_loss)
        self._move(c.lr)
        self._log_std.clamp_(SMALLEST, LARGEST)
        self._move_targets()
        if self._is_last:
            policy_loss = -float(np.vdot(counts, log_prob.numpy())) / b
            scale = math.sqrt(float(self._scale))
            self._newest.numpy()[:] = (loss, value_loss, policy_loss, float(q.mean()), scale, float(entropy))

    def _weights(self, advantage: Floats, batch: Batch) -> Floats:
        """Return what each transition counts for in L_pi; what was demonstrated counts 1 at least."""
        square = float((advantage.astype(np.float64) ** 2).mean())
        self._scale += (square - self._scale) * (SCALE_SHARE if float(self._scale) else 1.0)
        unit = max(math.sqrt(float(self._scale)), 1e-8)
        counts = np.exp(np.minimum(advantage * np.float32(self.config.beta / unit), np.float32(MOST_LOG_WEIGHT)))
        if self._memory.demonstrated:
            held = self._demonstrated(batch)
            counts[held] = np.maximum(counts[held], 1.0)
        return np.asarray(counts, np.float32)

    def _imitate(self, batch: Example) -> float:
        """Make the actions probable, and let critics and value predict what came of them."""
        assert isinstance(batch.seen, Tensor)
        share, n = super()._imitate(batch), len(batch.action)
        value = Pass(self._value, batch.seen, back=n, learns=n)
        value.grad[0, :, 0] = batch.value_step(slice(0, n), value.forward()[0, :, 0])[1]
        value.backward()
        self._log_std.clamp_(min=LEAST_LOG_STD)
        return share

    def _imitate_policy(self, output: Tensor, batch: Example) -> tuple[float, Floats]:
        """Return the share of the actions that is likeliest now, and the gradient of how improbable they are."""
        share, grad = batch.policy_step(self._head, slice(0, len(output)), output)
        return float(share), grad.numpy()

    # --- what others ask --------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def introspect(self, observation: Floats) -> PolicyOutput:
        """Return each choice's probability or each lever's mean and spread, and each row's value v."""
        self._check_observation(observation, None)
        x = self.inputs(observation)
        value = self._value_for(observation, self._value(x)[0, :, 0].numpy())
        does, spread = self._head.describe(self._policy_of(x))
        return PolicyOutput(self._head.kind, does.numpy(), None if spread is None else spread.numpy(), value)

    def traced(self, x: Tensor, state: Tensor) -> Tensor:
        """Return each option's log-probability and each lever's mean, by operations that autograd follows."""
        return log_probabilities(self._policy_of(x), self.spec.actions)

    # --- the state --------------------------------------------------------------------------------------------------

    def _learning_parts(self) -> Parts:
        return {**super()._learning_parts(), "advantage/square": self._scale}

"""Twin delayed deep deterministic policy gradient (Fujimoto et al. 2018): one best setting for each lever, by Q-values.

Two critics q1, q2 and a policy pi, each with a slow copy q', pi' as its target, reward r, discount g:

    a' = clip(pi'(s') + clip(e, -c, c), -1, 1),  e ~ N(0, target noise)     smoothed action of the target policy
    y = r + g min_i q_i'(s', a')
    L = E[ (q1(s, a) - y)^2 + (q2(s, a) - y)^2 ] / 2                        critics, in every step
    J = -E[ q1(s, pi(s)) ]                                                  policy, in every d-th step
    q' <- q' + share (q - q'),  pi' <- pi' + share (pi - pi')               targets, in every d-th step

Exploring adds normal noise to pi(s). Networks, targets and imitation are those of `twin_critics.py`; memory, due steps
and the state those of `replay_learner.py`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ecs_rl.agents.base import PolicyOutput
from ecs_rl.agents.config import TD3Config
from ecs_rl.agents.imitation import Batch as Example
from ecs_rl.agents.imitation import alike
from ecs_rl.agents.networks import Shapes
from ecs_rl.agents.policy_heads import TANH
from ecs_rl.agents.replay import Batch
from ecs_rl.agents.squashed import FULL
from ecs_rl.agents.stack import Pass
from ecs_rl.agents.twin_critics import TwinCritics, network_shapes
from ecs_rl.spaces import ActMode, Decision, Discrete, Floats, PolicySpec


class TD3(TwinCritics):
    """An off-policy learner for levers."""

    name = "td3"
    Config = TD3Config
    HEAD = TANH
    METRICS = ("loss/q", "loss/policy", "q_mean")
    config: TD3Config

    FOLLOWED, APART = "", True

    def _build(self, threads: int) -> None:
        super()._build(threads)
        self._begin_steps(self._parameters, self._critics_part, self._policy_part)
        self._make_passes(len(self.spec.numbers), self.spec.actions.levers, self._batch)

    def _make_passes(self, n: int, k: int, b: int) -> None:
        """Make the arrays of a step: `b` rows each of (s, a), (s, pi(s)), (s', a'), of `n` numbers and `k` levers."""
        x = torch.zeros(3 * b, n + k)
        seen, seen_after = (rows[:, : self._policy_width] for rows in (x[b : 2 * b], x[2 * b :]))
        self._before, self._after = x[: 2 * b, :n].numpy().reshape(2, b, n), x[2 * b :, :n].numpy()
        self._taken, self._would, self._then = x[:, n:].numpy().reshape(3, b, k)
        self._target_policy_pass = Pass(self._stack(self._targets, "policy"), seen_after)
        self._target_pass = Pass(self._target_critics, x[2 * b :])
        self._policy_pass = Pass(self._policy, seen, back=b, learns=b)
        self._critics_pass = Pass(self._critics, x[:b], back=b, learns=b)
        self._both_pass = Pass(self._critics, x[: 2 * b], back=2 * b, learns=b, inputs=k)
        self._both_pass.grad.zero_()
        self._both_pass.grad[0, b:] = -1.0 / b  # of J, which never changes

    @staticmethod
    def refuses(spec: PolicySpec) -> str:
        """Return why it cannot learn such a policy, '' if it can."""
        choices = [p.name or " or ".join(p.names) for p in spec.actions.parts if isinstance(p, Discrete)]
        reason = f"{', '.join(choices)} {'is a choice' if len(choices) == 1 else 'are choices'}: use sac or ppo"
        return f"can only set levers, but {reason}" if choices else ""

    @staticmethod
    def shapes(spec: PolicySpec, config: TD3Config) -> Shapes:
        """Return the shape of every parameter; nothing is made."""
        policy, critics = network_shapes(spec, config, spec.actions.levers)
        return policy | critics

    # --- acting -----------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Decide for each row: pi(s), plus noise while exploring; at random in a warm-up without demonstrations."""
        explores = mode is ActMode.EXPLORE
        self._check_observation(observation, self.rows if explores else None)
        best = self._policy_of(self.inputs(observation)).tanh_()
        if mode is ActMode.GREEDY:
            return Decision(best.numpy())
        generator = self._random if explores else self._sample_random
        if explores and self._seen < self.config.warm_up and not self._memory.demonstrated:
            return Decision(best.uniform_(-1.0, 1.0, generator=generator).numpy())
        noise = torch.randn(best.shape, generator=generator)
        return Decision(best.add_(noise, alpha=self.config.noise).clamp_(-1.0, 1.0).numpy())

    # --- learning ---------------------------------------------------------------------------------------------------

    def descend(self, batch: Batch, progress: float) -> None:
        """Take one step down the gradient of L, in every d-th step of J too, both at the present parameters."""
        c, b = self.config, self._batch
        self._before[...], self._after[...] = batch.observation.numpy(), batch.next_observation.numpy()
        self._taken[...] = batch.action.numpy()
        noise = torch.randn(self._then.shape, generator=self._random).mul_(c.target_noise)
        noise.clamp_(-c.noise_limit, c.noise_limit)
        then = np.tanh(self._target_policy_pass.forward().numpy()[0]) + noise.numpy()
        np.minimum(np.maximum(then, -1.0, out=then), 1.0, out=self._then)
        first, second = self._target_pass.forward().numpy()[:, :, 0]
        goal = batch.reward.numpy() + batch.discount.numpy() * np.minimum(first, second)

        moves_policy = (self._steps + 1) % c.policy_every == 0
        critics = self._both_pass if moves_policy else self._critics_pass
        if moves_policy:
            output = self._policy_pass.forward().numpy()[0]
            np.tanh(output, out=self._would)
        q = critics.forward().numpy()[:, :, 0]
        error = q[:, :b] - goal
        np.multiply(error, np.float32(1.0 / b), out=critics.grad.numpy()[:, :b, 0])
        by_lever = critics.backward()
        if by_lever is not None:
            grad = self._policy_pass.grad.numpy()[0]
            np.multiply(by_lever.numpy()[0], 1.0 - self._would * self._would, out=grad)
            if self._memory.demonstrated:
                held = self._demonstrated(batch)
                grad[held] += np.float32(float(self._held[1]) / b) * towards(output[held], self._taken[held])
            self._policy_pass.backward()
            self._newest[1] = -float(q[0, b:].mean())

        parts = 2 if moves_policy else 1
        gradient, loss = self._gradient(0.5 / b * float(np.vdot(error, error)), parts)
        self._check_step(gradient, critics_loss=loss)
        self._move(c.lr, parts)
        if moves_policy:
            self._move_targets()
        self._newest[0], self._newest[2] = loss, float(q[:, :b].mean())

    def _imitate_policy(self, output: Tensor, batch: Example) -> tuple[float, Floats]:
        """Return the share of the actions that is set now, and the gradient of the distance from them."""
        grad = towards(output.numpy(), batch.columns) / np.float32(len(output))
        return float(alike(output.tanh(), batch.action)), grad

    # --- what others ask --------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def introspect(self, observation: Floats, state: Floats | None = None) -> PolicyOutput:
        """Return levers' settings, the exploration noise, and the lesser critic's value of each row's settings."""
        self._check_observation(observation, None)
        x = self.inputs(observation)
        best = self._policy_of(x).tanh_()
        value = self._value_for(observation, self._lesser_of(x, best)[:, 0])
        return PolicyOutput("levers", best.numpy(), np.full(best.shape[1], self.config.noise, np.float32), value)

    def traced(self, x: Tensor, state: Tensor) -> Tensor:
        """Return each lever's setting, by operations that autograd follows."""
        return self._policy_of(x).tanh()


def towards(output: Floats, action: Floats) -> Floats:
    """Return the gradient of half the squared distance between outputs and these levers, both before the tanh."""
    return np.asarray(output - np.arctanh(np.clip(action, -FULL, FULL)))

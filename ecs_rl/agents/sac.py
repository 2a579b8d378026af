"""Soft actor-critic (Haarnoja et al. 2018, for choices Christodoulou 2019): earn much, and stay as varied as can be.

Two critics q1, q2, each with a slow copy as the target q', and a policy pi with temperature t, reward r, discount g:

    y = r + g E_{a'~pi} [ min q'(s', a') - t log pi(a'|s') ]
    L = E[ (q1(s, a) - y)^2 + (q2(s, a) - y)^2 ] / 2                          critics
        + E_{a~pi} [ t log pi(a|s) - min q(s, a) ]                            policy
        + log t (H(pi) - target entropy)                                      temperatures, of levers and of choices

The critics see the observation and the levers and have one output for each combination of choices: over choices the
mean is exact, and only levers are sampled. Networks, targets and imitation are those of `twin_critics.py`; memory, due
steps and the state those of `replay_learner.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ecs_rl.agents.base import PolicyOutput
from ecs_rl.agents.config import SACConfig
from ecs_rl.agents.imitation import Batch as Example
from ecs_rl.agents.imitation import alike
from ecs_rl.agents.masks import Mask
from ecs_rl.agents.networks import Shapes
from ecs_rl.agents.policy_heads import SQUASHED
from ecs_rl.agents.replay import Batch
from ecs_rl.agents.squashed import Layout, Squashed, squashed_spread
from ecs_rl.agents.stack import Pass
from ecs_rl.agents.twin_critics import TwinCritics, network_shapes
from ecs_rl.spaces import ActMode, Decision, Floats, PolicySpec

TEMPERATURE = "temperature/log"
"""The name of the logarithms of both temperatures: of the levers' entropy and of the choices'."""
COOL = 0.001
"""The temperature after imitating, as a share of the spread of the demonstrated returns."""


class SAC(TwinCritics):
    """An off-policy learner for levers, choices and both at once."""

    name = "sac"
    Config = SACConfig
    HEAD = SQUASHED
    METRICS = ("loss/q", "loss/policy", "q_mean", "entropy", "temperature/levers", "temperature/choices")
    config: SACConfig

    def _build(self, threads: int) -> None:
        super()._build(threads)
        self._mask = Mask(self.spec, self._layout.output_of)
        self._parameters.value[TEMPERATURE].fill_(math.log(self.config.temperature))
        self._temperature_grad = self._parameters.grad[TEMPERATURE].numpy()
        self._begin_steps(self._parameters)
        self._freedom = np.array([self._layout.levers, self._layout.log_options])
        """The unit of the target entropies: the number of levers, and the greatest entropy of the choices."""
        self._make_passes(len(self.spec.numbers), self._layout.levers, self._batch)

    def _make_passes(self, n: int, k: int, b: int) -> None:
        """Make the arrays of a gradient step: observations of `n` numbers, `k` levers, `b` rows drawn from the memory.

        The rows are what was done, what the policy would do there, and what it would do after it. Where there are no
        levers, the critics' outputs say all of the second that those of the first do not.
        """
        batches = 3 if k else 2
        self._x = torch.zeros(batches * b, n + k)
        x = self._x.numpy()
        self._before, self._after = x[:-b, :n].reshape(-1, b, n), x[-b:, :n]
        self._done, self._would = x[:b, n:], x[-2 * b :, n:]
        self._drawn = self._x[-2 * b :, :n]
        self._policy_pass = Pass(self._policy, self._drawn[:, : self._policy_width], back=b, learns=b)
        self._critics_pass = Pass(self._critics, self._x[:-b], back=(batches - 1) * b, learns=b, inputs=k)
        self._target_pass = Pass(self._target_critics, self._x[-b:])
        self._q, self._q_grad = self._critics_pass.output.numpy(), self._critics_pass.grad.numpy()
        self._target_q = self._target_pass.output.numpy()
        self._policy_output, self._policy_grad = self._policy_pass.output[0], self._policy_pass.grad[0].numpy()
        self._row = np.arange(b)

    @staticmethod
    def shapes(spec: PolicySpec, config: SACConfig) -> Shapes:
        """Return the shape of every parameter; nothing is made."""
        policy, critics = network_shapes(spec, config, Layout(spec.actions).outputs)
        return policy | critics | {TEMPERATURE: (2,)}

    # --- acting -----------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Decide for each row: the likeliest action, or one drawn from the policy while exploring or sampling."""
        self._check_observation(observation, self.rows if mode is ActMode.EXPLORE else None)
        output = self._policy_of(self.inputs(observation)).numpy()
        if mode is ActMode.GREEDY:
            return Decision(self._layout.best(output))
        mean, log_std, log_p = self._layout.split(output)
        generator = self._random if mode is ActMode.EXPLORE else self._sample_random
        noise = torch.randn(mean.shape, generator=generator).numpy()
        waits = torch.empty(log_p.shape).exponential_(generator=generator).log_().numpy()  # the Gumbel trick
        return Decision(self._layout.action(Squashed(mean, log_std, noise).action, (log_p - waits).argmax(1)))

    # --- learning ---------------------------------------------------------------------------------------------------

    def descend(self, batch: Batch, progress: float) -> None:
        """Take one step down the gradient of L, of critics, policy and temperatures at their present parameters."""
        c, b, layout = self.config, self._batch, self._layout
        taken, reward, discount = self._fill(batch)
        self._policy_pass.forward()
        output = self._mask(self._policy_output, self._drawn).numpy()
        mean, log_std, log_p = layout.split(output)
        noise = torch.randn(mean.shape, generator=self._random).numpy()
        levers, p = Squashed(mean, log_std, noise), np.exp(log_p)
        self._would[...] = levers.action
        heat = np.exp(self._parameters.value[TEMPERATURE].numpy())
        surprise = heat[0] * levers.log_prob[:, None] + heat[1] * log_p  # (2 b, combinations): here, and after

        self._target_pass.forward()
        after = np.minimum(*self._target_q) - surprise[b:]
        goal = reward + discount * (p[b:] * after).sum(1)
        self._critics_pass.forward()
        q, q_grad = self._q, self._q_grad
        q_taken = q[taken]
        error = q_taken - goal
        q_grad[...] = 0.0
        q_grad[taken] = error * (1.0 / b)

        first, second = q[:, -b:]  # of what the policy would do
        value = np.minimum(first, second) - surprise[:b]
        expected = (p[:b] * value).sum(1, keepdims=True)
        if layout.levers:
            lesser = first < second
            weight = p[:b] * (-1.0 / b)
            q_grad[0, b:], q_grad[1, b:] = weight * lesser, weight * ~lesser
        by_lever = self._critics_pass.backward()
        layout.join(
            levers.backward(np.add(*by_lever.numpy()), heat[0] / b, b) if by_lever is not None else (),
            p[:b] * (expected - value) * (1.0 / b),
            out=self._policy_grad,
        )
        if self._memory.demonstrated:
            held = self._demonstrated(batch)
            towards = layout.towards(output[held], batch.action.numpy()[held])
            self._policy_grad[held] += np.float32(float(self._held[1]) / b) * towards
        self._policy_pass.backward()
        entropy = np.array([levers.log_prob[:b].sum(), (p[:b] * log_p[:b]).sum()], np.float32) * (-1.0 / b)
        targets = (self._freedom * (c.lever_entropy, c.choice_entropy)).astype(np.float32)
        self._temperature_grad[...] = entropy - targets if c.learn_temperature else 0.0

        gradient, loss = self._gradient(0.5 / b * float((error * error).sum()))
        self._check_step(gradient, critics_loss=loss)
        self._move(c.lr)
        self._move_targets()
        if self._is_last:
            self._newest.numpy()[:] = (loss, -expected.mean(), q_taken.mean(), entropy.sum(), *heat)

    def _fill(self, batch: Batch) -> tuple[tuple[Any, ...], Floats, Floats]:
        """Write transitions into the arrays of a step; return which values are theirs, their rewards and discounts."""
        self._before[0] = batch.observation.numpy()
        self._before[1:] = self._before[0]
        self._after[...] = batch.next_observation.numpy()
        did = batch.action.numpy()
        self._done[...] = self._layout.levers_of(did)
        rows = len(did)
        # Where nothing is chosen there is one value for each row, and a view of it takes a tenth of the time.
        taken = (self._row, self._layout.combination_of(did)) if self._layout.options else (slice(rows), 0)
        return (slice(None), *taken), batch.reward.numpy(), batch.discount.numpy()

    def _begin_imitation(self, spread: float) -> None:
        self._parameters.value[TEMPERATURE].fill_(math.log(min(self.config.temperature, COOL * spread)))
        self._parameters.flat_grad.zero_()

    def _imitate_policy(self, output: Tensor, batch: Example) -> tuple[float, Floats]:
        """Return the share of the actions that is likeliest now, and the gradient of how improbable they are."""
        outputs = output.numpy()
        share = float(alike(torch.from_numpy(self._layout.best(outputs)), batch.action))
        return share, self._layout.towards(outputs, batch.columns) * np.float32(1.0 / len(outputs))

    # --- what others ask --------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def introspect(self, observation: Floats) -> PolicyOutput:
        """Return levers' settings and spreads, options' probabilities, and the value of each row's best action.

        The value is the lesser one of the two critics', and counts the entropy that is still to come.
        """
        self._check_observation(observation, None)
        layout, x = self._layout, self.inputs(observation)
        mean, log_std, log_p = layout.split(self._policy_of(x).numpy())
        best = np.tanh(mean)
        q = self._lesser_of(x, torch.from_numpy(best))
        value = self._value_for(observation, q[np.arange(len(q)), log_p.argmax(1)])
        does = layout.named(best, layout.options_of(np.exp(log_p)))
        spread = layout.named(squashed_spread(mean, log_std), np.full((len(q), layout.options), np.nan, np.float32))
        return PolicyOutput(layout.kind, does, spread if layout.levers else None, value)

    def traced(self, x: Tensor, state: Tensor) -> Tensor:
        """Return each lever's setting and each option's log-probability, by operations that autograd follows."""
        return self._layout.traced(self._policy_of(x))

    def metrics(self) -> Mapping[str, float]:
        """Return the numbers of the newest gradient step, empty before the first."""
        unused = {"temperature/levers": not self._layout.levers, "temperature/choices": not self._layout.options}
        return {name: number for name, number in super().metrics().items() if not unused.get(name)}

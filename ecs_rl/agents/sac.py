"""Soft actor-critic (Haarnoja et al. 2018, for choices Christodoulou 2019): earn much, and stay as varied as can be.

Two critics q1, q2, each with a slow copy as the target q', and a policy pi with temperature t, reward r, discount g:

    y = r + g E_{a'~pi} [ min q'(s', a') - t log pi(a'|s') ]
    L = E[ (q1(s, a) - y)^2 + (q2(s, a) - y)^2 ] / 2                          critics
        + E_{a~pi} [ t log pi(a|s) - min q(s, a) ]                            policy
        + log t (H(pi) - target entropy)                                      temperatures, of levers and of choices

The critics see the observation and the levers and have one output for each combination of choices: over choices the
mean is exact, and only levers are sampled. Memory, due steps, imitation and the state are those of every learner from a
memory: `replay_learner.py`.
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
from ecs_rl.agents.imitation import NEAR
from ecs_rl.agents.imitation import Batch as Example
from ecs_rl.agents.masks import Mask
from ecs_rl.agents.networks import Parameters, Shapes
from ecs_rl.agents.policy_heads import SQUASHED
from ecs_rl.agents.replay import Batch
from ecs_rl.agents.replay_learner import ReplayLearner
from ecs_rl.agents.squashed import Layout, Squashed, squashed_spread
from ecs_rl.agents.stack import Pass, Stack
from ecs_rl.agents.state import Parts, prefixed
from ecs_rl.spaces import ActionSpace, ActMode, Decision, Discrete, Floats, PolicySpec

CRITICS = 2
MOST_WAYS_TO_CHOOSE = 256
"""Outputs of a critic."""
TEMPERATURE = "temperature/log"
"""The name of the logarithms of both temperatures: of the levers' entropy and of the choices'."""
COOL = 0.001
"""The temperature after imitating, as a share of the spread of the demonstrated returns."""


class SAC(ReplayLearner):
    """An off-policy learner for levers, choices and both at once."""

    name = "sac"
    Config = SACConfig
    HEAD = SQUASHED
    METRICS = ("loss/q", "loss/policy", "q_mean", "entropy", "temperature/levers", "temperature/choices")
    config: SACConfig

    def __init__(self, spec: PolicySpec, config: SACConfig, *, seed: int, rows: int, threads: int = 1) -> None:
        super().__init__(spec, config, seed=seed, rows=rows)
        self._layout = Layout(spec.actions)
        self._mask = Mask(spec, self._layout.output_of)
        p, layers = self._parameters, len(config.hidden) + 1
        self._policy = Stack(p, "policy", layers, config.activation)
        self._critics = Stack(p, "q", layers, config.activation, CRITICS)
        self._policy.initialise(self._first, head_gain=0.01)
        self._critics.initialise(self._first, head_gain=1.0)
        p.value[TEMPERATURE].fill_(math.log(config.temperature))
        self._temperature_grad = p.grad[TEMPERATURE].numpy()
        self._target_parameters = Parameters(self._critic_shapes(spec, config))
        size, first = len(self._target_parameters.flat), p.value["q/0.weight"].storage_offset()
        self._critics_flat = p.flat[first : first + size]
        self._target_parameters.flat.copy_(self._critics_flat)
        self._begin_steps(p)
        self._freedom = np.array([self._layout.levers, self._layout.log_options])
        """The unit of the target entropies: the number of levers, and the greatest entropy of the choices."""
        self._make_passes(len(spec.numbers), self._layout.levers, config.batch)

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
        target = Stack(self._target_parameters, "q", len(self.config.hidden) + 1, self.config.activation, CRITICS)
        own = self._policy_width
        self._policy_pass = Pass(self._policy, self._x[-2 * b :, :own], back=b, learns=b)
        self._critics_pass = Pass(self._critics, self._x[:-b], back=(batches - 1) * b, learns=b, inputs=k)
        self._target_pass = Pass(target, self._x[-b:])
        self._q, self._q_grad = self._critics_pass.output.numpy(), self._critics_pass.grad.numpy()
        self._target_q = self._target_pass.output.numpy()
        self._policy_output, self._policy_grad = (
            each.numpy()[0] for each in (self._policy_pass.output, self._policy_pass.grad)
        )
        self._row = np.arange(b)

    @staticmethod
    def refuses(spec: PolicySpec) -> str:
        """Return why it cannot learn such a policy, '' if it can."""
        ways = ways_to_choose(spec.actions)
        if ways <= MOST_WAYS_TO_CHOOSE:
            return ""
        reason = f"{', '.join(spec.actions.about)} can be set in {ways:,} ways: use ppo"
        return f"looks at every way to choose, at most {MOST_WAYS_TO_CHOOSE}; {reason}"

    @staticmethod
    def shapes(spec: PolicySpec, config: SACConfig) -> Shapes:
        """Return the shape of every parameter; nothing is made."""
        sizes = (len(spec.observations), *config.hidden, Layout(spec.actions).outputs)
        return Stack.shapes("policy", sizes) | SAC._critic_shapes(spec, config) | {TEMPERATURE: (2,)}

    @staticmethod
    def _critic_shapes(spec: PolicySpec, config: SACConfig) -> Shapes:
        layout = Layout(spec.actions)
        sizes = (len(spec.numbers) + layout.levers, *config.hidden, layout.combined)
        return Stack.shapes("q", sizes, CRITICS)

    # --- acting -----------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Decide for each row: the likeliest action, or one drawn from the policy while exploring or sampling."""
        self._check_observation(observation, self.rows if mode is ActMode.EXPLORE else None)
        x = self.inputs(observation)
        mean, log_std, log_p = self._layout.split(self._policy_of(x).numpy())
        if mode is ActMode.GREEDY:
            return Decision(self._layout.action(np.tanh(mean), log_p.argmax(1)))
        generator = self._random if mode is ActMode.EXPLORE else self._sample_random
        noise = torch.randn(mean.shape, generator=generator).numpy()
        waits = torch.empty(log_p.shape).exponential_(generator=generator).log_().numpy()  # the Gumbel trick
        return Decision(self._layout.action(Squashed(mean, log_std, noise).action, (log_p - waits).argmax(1)))

    def _policy_of(self, x: Tensor) -> Tensor:
        """Return (rows, outputs) of the policy, which sees its own numbers alone."""
        return self._mask(self._policy(x[:, : self._policy_width])[0], x)

    # --- learning ---------------------------------------------------------------------------------------------------

    def descend(self, batch: Batch, progress: float) -> None:
        """Take one step down the gradient of L, of critics, policy and temperatures at their present parameters."""
        c, b, layout = self.config, self.config.batch, self._layout
        taken, reward, discount = self._fill(batch)
        self._policy_pass.forward()
        mean, log_std, log_p = layout.split(self._masked_output())
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
            self._hold_on(batch)
        self._policy_pass.backward()
        entropy = np.array([levers.log_prob[:b].sum(), (p[:b] * log_p[:b]).sum()], np.float32) * (-1.0 / b)
        targets = (self._freedom * (c.lever_entropy, c.choice_entropy)).astype(np.float32)
        self._temperature_grad[...] = entropy - targets if c.learn_temperature else 0.0

        loss = 0.5 / b * float((error * error).sum())
        gradient = float(torch.linalg.vector_norm(self._parameters.flat_grad))
        self._check_step(gradient, critics_loss=loss)
        self._move(c.lr)
        self._target_parameters.flat.lerp_(self._critics_flat, c.target_share)
        if self._due < 2.0 or self._steps == 0:  # only the last of the steps that are due now
            self._newest.numpy()[:] = (loss, -expected.mean(), q_taken.mean(), entropy.sum(), *heat)

    def _masked_output(self) -> Floats:
        """Return the policy's outputs for the observations in the arrays of a step."""
        output: Floats = self._policy_output
        if self._mask.is_on:
            output = self._mask(torch.from_numpy(output), self._x[-len(output) :]).numpy()
        return output

    def _hold_on(self, batch: Batch) -> None:
        """Add to the policy's gradient what makes demonstrated actions more probable, where some were drawn."""
        held = (batch.rows < self._memory.demonstrated).nonzero()[0]
        towards = np.empty((len(held), self._layout.outputs), np.float32)
        self._layout.towards(self._masked_output()[held], batch.action.numpy()[held], out=towards)
        self._policy_grad[held] += np.float32(float(self._held[1]) / self.config.batch) * towards

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

    def _imitate(self, batch: Example) -> float:
        """Make the actions probable, and let the critics predict what came of them."""
        assert isinstance(batch.seen, Tensor)
        layout, n = self._layout, len(batch.action)
        action = batch.action.numpy().reshape(n, -1).astype(np.float32)
        policy = Pass(self._policy, batch.seen[:, : self._policy_width], back=n, learns=n)
        output = self._mask(policy.forward()[0], batch.seen).numpy()
        layout.towards(output, action, out=policy.grad.numpy()[0])
        policy.grad.mul_(1.0 / n)
        policy.backward()
        x = torch.cat([batch.seen, torch.from_numpy(layout.levers_of(action))], 1)
        critics = Pass(self._critics, x, back=n, learns=n)
        taken = slice(None), np.arange(n), layout.combination_of(action)
        error = critics.forward().numpy()[taken] - batch.returns.numpy()
        critics.grad.zero_()
        critics.grad.numpy()[taken] = np.where(batch.known.numpy(), error, np.float32(0)) / n
        critics.backward()
        return float(layout.alike(output, action, NEAR).mean())

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
        q = self._critics(torch.cat([x, torch.from_numpy(best)], 1)).numpy().min(0)
        value = q[np.arange(len(q)), log_p.argmax(1)].astype(np.float64)
        if observation.shape[1] < self._width:
            value.fill(np.nan)
        does = layout.named(best, layout.options_of(np.exp(log_p)))
        spread = layout.named(squashed_spread(mean, log_std), np.full((len(q), layout.options), np.nan, np.float32))
        return PolicyOutput(layout.kind, does, spread if layout.levers else None, value)

    def traced(self, x: Tensor, state: Tensor) -> Tensor:
        """Return each lever's setting and each option's log-probability, by operations that autograd follows."""
        return self._layout.traced(self._mask(self._policy.traced(x[:, : self._policy_width])[0], x))

    def metrics(self) -> Mapping[str, float]:
        """Return the numbers of the newest gradient step, empty before the first."""
        unused = {"temperature/levers": not self._layout.levers, "temperature/choices": not self._layout.options}
        return {name: number for name, number in super().metrics().items() if not unused.get(name)}

    # --- the state --------------------------------------------------------------------------------------------------

    def _copy_to_targets(self) -> None:
        self._target_parameters.flat.copy_(self._critics_flat)

    def _target_parts(self) -> Parts:
        return prefixed("target", self._target_parameters.value)

    def _are_actions(self, actions: Tensor) -> bool:
        return self._layout.can_be(actions.numpy())


def ways_to_choose(space: ActionSpace) -> int:
    """Return how many ways there are to set all choices of a space at once."""
    return math.prod(len(part.names) for part in space.parts if isinstance(part, Discrete))

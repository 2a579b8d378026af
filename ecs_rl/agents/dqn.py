"""Double deep Q-learning (van Hasselt et al. 2016): replay transitions, fit the values of options to their targets.

With reward r of n ticks, discount g (0 where the episode ended), online network Q, target network Q':

    y = r + g Q'(s', argmax_a Q(s', a))          of several choices: the mean over them
    L = E[ w huber(Q(s, a) - y) ]                w: importance weight of a transition that is drawn by its error

The settings turn it into most of what deep Q-learning has become since: returns over n ticks, dueling and branching
values, distributions of returns (`quantiles.py`), prioritised replay, targets that follow slowly. Memory, due steps,
imitation and the state are those of every learner from a memory: `replay_learner.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecs_rl.agents.action_values import ActionValues, Choices, MeanFit
from ecs_rl.agents.base import Demonstration, PolicyOutput
from ecs_rl.agents.config import DQNConfig, learning_rate
from ecs_rl.agents.imitation import Batch as Example
from ecs_rl.agents.imitation import alike
from ecs_rl.agents.masks import Mask
from ecs_rl.agents.networks import MLP, Parameters, Shapes
from ecs_rl.agents.policy_heads import FORBIDDEN, VALUES
from ecs_rl.agents.quantiles import QuantileFit, QuantileMLP
from ecs_rl.agents.replay import Batch
from ecs_rl.agents.replay_learner import ReplayLearner
from ecs_rl.agents.state import Parts, prefixed
from ecs_rl.spaces import ActMode, Composed, Continuous, Decision, Floats, PolicySpec


class DQN(ReplayLearner):
    """An off-policy learner for one choice, or for several at once."""

    name = "dqn"
    Config = DQNConfig
    HEAD = VALUES
    METRICS = ("loss/q", "q_mean", "lr")
    config: DQNConfig

    def _build(self, threads: int) -> None:
        super()._build(threads)
        spec, config = self.spec, self.config
        self._values, self._mask = ActionValues(spec.actions, dueling=config.dueling), Mask(spec)
        other = Parameters(self.shapes(spec, config))
        self._followed, self._targets = (other, self._parameters) if config.slow_policy else (self._parameters, other)
        network, layers = _kind_of_network(config), len(config.hidden) + 1
        self._q, self._target_q = (network(p, "q", layers, config.activation) for p in (self._followed, self._targets))
        self._policy_q = self._target_q if config.slow_policy else self._q
        if config.first_weights == "uniform":
            self._q.initialise_evenly(self._first)
        else:
            self._q.initialise(self._first, head_gain=1.0)
        self._copy_to_targets()
        self._begin_steps(self._followed)
        quantiles, values = config.quantiles, self._values
        self._fit = QuantileFit(values, quantiles, self._random) if quantiles else MeanFit(values)

    @staticmethod
    def refuses(spec: PolicySpec) -> str:
        """Return why it cannot learn such a policy, '' if it can."""
        levers = [name for part in spec.actions.parts if isinstance(part, Continuous) for name in part.names]
        use = "sac, td3 or ppo" if len(levers) == len(spec.actions.names) else "sac or ppo"
        reason = f"{', '.join(levers)} {'is a lever' if len(levers) == 1 else 'are levers'}: use {use}"
        if spec.critic_sees:
            return "has no critic that could see more: leave critic_sees out, or take ppo or sac"
        return f"can only choose between options, but {reason}" if levers else ""

    @staticmethod
    def shapes(spec: PolicySpec, config: DQNConfig) -> Shapes:
        """Return the shape of every parameter; nothing is made."""
        outputs = len(spec.actions.names) + config.dueling
        return _kind_of_network(config).shapes("q", (len(spec.observations), *config.hidden, outputs))

    # --- acting -----------------------------------------------------------------------------------------------------

    @property
    def epsilon(self) -> float:
        """The share of random actions now."""
        return self.config.epsilon(self._seen)

    @torch.inference_mode()
    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Decide for each row: the best options, but while exploring or sampling random ones now and then."""
        self._check_observation(observation, self.rows if mode is ActMode.EXPLORE else None)
        chosen = self._values.best(self._values_of(observation, explores=mode is ActMode.EXPLORE))
        if mode is not ActMode.GREEDY:
            generator = self._random if mode is ActMode.EXPLORE else self._sample_random
            explores = torch.rand(chosen.shape, generator=generator).numpy() < self.epsilon
            chosen = np.where(explores, self._random_choices(observation, generator), chosen)
        several = isinstance(self.spec.actions, Composed)
        return Decision(chosen.astype(np.float32) if several else chosen[:, 0])

    def _values_of(self, observation: Floats, *, explores: bool = False) -> Floats:
        """Return (rows, options) what the policy's network says, or the online one where that explores."""
        x = self.inputs(observation)
        return self._mask(self._values.mixed((self._q if explores else self._policy_q)(x)), x).numpy()

    def _random_choices(self, observation: Floats, generator: torch.Generator) -> Choices:
        """Return (rows, choices) options at random, all allowed ones equally probable."""
        if not self._mask.is_on:
            return self._values.random(len(observation), generator)
        scores = torch.rand(len(observation), self._values.options, generator=generator)
        return self._values.best(self._mask(scores, self.inputs(observation)).numpy())

    # --- learning ---------------------------------------------------------------------------------------------------

    @property
    def _replays(self) -> tuple[int, float]:
        return self.config.n_step, self.config.priority

    @property
    def _per_row(self) -> float:
        return 1.0

    @property
    def _per_step(self) -> float:
        return float(self.config.learn_every)

    def _correction(self, progress: float) -> float:
        least = self.config.priority_correction
        return least + (1.0 - least) * min(max(progress, 0.0), 1.0)

    def descend(self, batch: Batch, progress: float) -> None:
        """Take one step down the gradient of L."""
        c, values, fit = self.config, self._values, self._fit
        following = batch.next_observation
        slow = fit.look(self._target_q, following)
        judge = values.of(self._q(following)) if c.double else slow
        if self._mask.is_on:
            judge = self._mask(torch.from_numpy(judge), following).numpy()
        q_all = fit.forward(self._q, batch.observation)
        goal = fit.goal(values.columns(values.best(judge)), batch.reward.numpy(), batch.discount.numpy())
        taken = values.columns(batch.action.numpy().astype(np.int64))
        loss, q, error = fit.loss(taken, goal, batch.weight, c.huber)
        if self._memory.demonstrated:
            self._hold_on(fit.grad, q_all, taken, self._demonstrated(batch))
        fit.backward(self._q)
        gradient, loss = self._gradient(loss)
        self._followed.limit_gradient(gradient, c.max_grad_norm)
        self._check_step(gradient, loss=loss)
        if self._steps and self._steps % c.target_every == 0:  # now that these parameters are known to be sound
            self._targets.flat.lerp_(self._followed.flat, c.target_rate)
        lr = learning_rate(c, progress)
        self._move(lr)
        if batch.weight is not None:
            self._memory.learned(batch.rows, np.abs(error).mean(axis=1))
        if self._is_last:
            self._newest.numpy()[:] = loss, np.add.reduce(q, axis=None) / q.size, lr

    def imitate(self, episodes: Sequence[Demonstration]) -> float:
        """Learn to act as in the episodes; after that the share of random actions begins with `epsilon_end`."""
        share = super().imitate(episodes)
        self._seen = max(self._seen, self.config.epsilon_steps, self.config.warm_up)
        return share

    def _imitate(self, batch: Example) -> float:
        """Fit the values of the actions to their returns, and hold all others below them by a margin."""
        assert isinstance(batch.seen, Tensor)
        values, fit = self._values, self._fit
        q, taken = fit.forward(self._q, batch.seen), values.columns(batch.columns.astype(np.int64))
        fit.loss(taken, batch.returns.numpy(), batch.known.numpy().astype(np.float32), self.config.huber)
        self._hold_on(fit.grad, q, taken, np.arange(len(q)))
        fit.backward(self._q)
        self._followed.clip_gradient(self.config.max_grad_norm)
        best = values.best(self._mask(torch.from_numpy(q), batch.seen).numpy())
        return float(alike(torch.from_numpy(best), batch.action))

    def _hold_on(self, grad: Floats, q: Floats, taken: Choices, rows: NDArray[np.int64]) -> None:
        """Add to the gradient what makes the demonstrated option of these rows the best one by the margin."""
        at, margin = rows[:, None], float(self._held[1])
        rivals = q[rows] + np.float32(margin)
        rivals[np.arange(len(rows))[:, None], taken[rows]] = q[at, taken[rows]]
        best = self._values.columns(self._values.best(rivals))
        push = np.float32(min(self.config.huber, margin) / taken.size)
        grad[at, best] += push
        grad[at, taken[rows]] -= push

    # --- what others ask --------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def introspect(self, observation: Floats, state: Floats | None = None) -> PolicyOutput:
        """Return each option's value, NaN for a forbidden one; a row's is its best one's, or the mean of those."""
        self._check_observation(observation, None)
        values = self._values_of(observation)
        best = np.take_along_axis(values, self._values.columns(self._values.best(values)), axis=1)
        values = np.where(values < 0.5 * FORBIDDEN, np.float32(np.nan), values) if self._mask.is_on else values
        return PolicyOutput("values", values, None, best.mean(axis=1, dtype=np.float64))

    def traced(self, x: Tensor, state: Tensor) -> Tensor:
        """Return each option's value, by operations that autograd follows."""
        return self._mask(self._values.mixed(self._policy_q(x)), x)

    def metrics(self) -> Mapping[str, float]:
        """Return the numbers of the newest gradient step, empty before the first."""
        newest = super().metrics()
        return {**newest, "epsilon": self.epsilon} if newest else {}

    # --- the state --------------------------------------------------------------------------------------------------

    def _policy_parts(self) -> Parts:
        return super()._policy_parts() if self.config.normalise_observations else self._parameters.value

    def _target_parts(self) -> Parts:
        return prefixed("online", self._followed.value) if self.config.slow_policy else super()._target_parts()

    def _are_actions(self, actions: Tensor) -> bool:
        return self._values.are_options(actions)


def _kind_of_network(config: DQNConfig) -> type[MLP]:
    """Return the kind of network that these settings take."""
    return QuantileMLP if config.quantiles else MLP

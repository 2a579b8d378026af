"""Double deep Q-learning (van Hasselt et al. 2016): remember transitions, replay random ones, fit their targets.

Read from top to bottom: `act` explores less and less, `observe` fills the memory, `learn` takes the gradient steps
that have come due. Each step pays off its own share of what is due, so an update that is dropped halfway goes on later.
The settings turn it into most of what deep Q-learning has become since: returns over n ticks, dueling and branching
values, prioritised replay, targets that follow slowly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

import numpy as np
import torch
from numpy.typing import NDArray

from ecs_rl.agents.action_values import ActionValues, Choices
from ecs_rl.agents.base import Demonstration, PolicyOutput, State
from ecs_rl.agents.config import DQNConfig, learning_rate
from ecs_rl.agents.explain import traced
from ecs_rl.agents.imitation import Examples, check_held, transitions
from ecs_rl.agents.networks import MLP, Adam, Parameters, Shapes
from ecs_rl.agents.normalise import Normaliser
from ecs_rl.agents.nstep import NStep
from ecs_rl.agents.replay import Replay
from ecs_rl.agents.state import Attribute, Learner, Parts, check_count, prefixed, under
from ecs_rl.errors import CheckpointError, DivergedError
from ecs_rl.spaces import ActMode, Composed, Continuous, Decision, Experience, Floats, PolicySpec

ADAM_EPSILON = 1e-8
IMITATING = 2_000
"""Gradient steps by which it imitates; the values have a long way to go from zero."""
MARGIN, SMALLEST = 0.5, 1e-3
"""By how much what was shown is to be worth more than anything else: as a share of the returns' spread, and at least.
"""
METRICS = ("loss/q", "q_mean", "lr", "epsilon")


class DQN(Learner):
    """An off-policy learner for one choice, or for several at once."""

    name = "dqn"
    Config = DQNConfig

    def __init__(self, spec: PolicySpec, config: DQNConfig, *, seed: int, rows: int, threads: int = 1) -> None:
        super().__init__(spec, self.shapes(spec, config), seed=seed, rows=rows, discount=config.gamma)
        torch.set_num_threads(1)  # however many there are: a replayed batch is too small to share out
        self.config = config
        self._values = ActionValues(spec.actions, dueling=config.dueling)
        other = Parameters(self.shapes(spec, config))
        self._online, self._slow = (other, self._parameters) if config.slow_policy else (self._parameters, other)
        """The parameters that learn, and those of the target network; one of them is the policy."""
        self._q, self._target_q = (
            MLP(p, "q", len(config.hidden) + 1, config.activation) for p in (self._online, self._slow)
        )
        self._policy_q = self._target_q if config.slow_policy else self._q
        if config.first_weights == "uniform":
            self._q.initialise_evenly(self._first)
        else:
            self._q.initialise(self._first, head_gain=1.0)
        self._slow.flat.copy_(self._online.flat)
        self._adam = Adam(self._online, ADAM_EPSILON)
        inputs, columns = len(spec.observations), spec.actions.columns
        self._actions = slice(2 * inputs, 2 * inputs + columns)  # the actions in a row of the memory
        self._normaliser = Normaliser(inputs, config.normalise_observations)
        self._waiting = NStep(config.n_step, rows, inputs, columns, config.gamma)
        self._memory = Replay(config.memory, inputs, columns, config.priority)
        self._shown = torch.zeros(2, dtype=torch.float64)  # how many decisions are imitated, and by which margin
        self._seen = 0  # valid transitions so far
        self._due = 0  # transitions since the warm-up that no gradient step has answered yet
        self._steps = 0  # gradient steps so far
        self._newest = torch.zeros(3, dtype=torch.float64)  # loss, mean Q and learning rate of the newest step
        self._at = np.arange(config.batch)[:, None]
        self._grad = np.zeros((config.batch, self._values.options), np.float32)

    @staticmethod
    def refuses(spec: PolicySpec) -> str:
        """Return why it cannot learn such a policy, '' if it can."""
        levers = [name for part in spec.actions.parts if isinstance(part, Continuous) for name in part.names]
        told = f"{', '.join(levers)} {'is a lever' if len(levers) == 1 else 'are levers'}: use sac or ppo"
        return f"can only choose between options, but {told}" if levers else ""

    @staticmethod
    def shapes(spec: PolicySpec, config: DQNConfig) -> Shapes:
        """Return the shape of every parameter; nothing is made."""
        outputs = len(spec.actions.names) + config.dueling
        return MLP.shapes("q", (len(spec.observations), *config.hidden, outputs))

    # --- acting -----------------------------------------------------------------------------------------------------

    @property
    def epsilon(self) -> float:
        """The share of random actions now."""
        return linear_epsilon(self._seen, self.config)

    @torch.inference_mode()
    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Decide for each row: the best options, but while exploring or sampling random ones now and then."""
        self._check_observation(observation, self.rows if mode is ActMode.EXPLORE else None)
        chosen = self._values.best(self._values_of(observation, explores=mode is ActMode.EXPLORE))
        if mode is not ActMode.GREEDY:
            generator = self._random if mode is ActMode.EXPLORE else self._sample_random
            explores = torch.rand(chosen.shape, generator=generator).numpy() < self.epsilon
            chosen = np.where(explores, self._values.random(len(chosen), generator), chosen)
        several = isinstance(self.spec.actions, Composed)
        return Decision(chosen.astype(np.float32) if several else chosen[:, 0])

    def _values_of(self, observation: Floats, *, explores: bool = False) -> Floats:
        """Return (rows, options) what the policy's network says, or the online one where that explores."""
        return self._values.of((self._q if explores else self._policy_q)(self.inputs(observation)))

    # --- gathering --------------------------------------------------------------------------------------------------

    def observe(self, experience: Experience) -> None:
        """Store the valid transitions, and count the gradient steps that they bring due."""
        self._check_observation(experience.next_observation, self.rows)
        self._memory.add(self._waiting.add(experience))
        valid = experience.valid
        self._normaliser.update(experience.observation if valid is None else experience.observation[valid])
        before, self._seen = self._seen, self._seen + (self.rows if valid is None else int(np.count_nonzero(valid)))
        self._due += max(0, self._seen - max(before, self.config.warm_up))

    # --- learning ---------------------------------------------------------------------------------------------------

    def learn(self, progress: float) -> Iterator[None]:
        """Take the gradient steps that are due, yielding between them."""
        c, done = self.config, min(max(progress, 0.0), 1.0)
        lr = learning_rate(c, progress)
        correction = c.priority_correction + (1.0 - c.priority_correction) * done
        while self._due >= c.learn_every and self._memory.size:
            self._descend(lr, correction)
            self._due -= c.learn_every
            if self._due >= c.learn_every:
                yield

    @torch.inference_mode()
    def _descend(self, lr: float, correction: float) -> None:
        """Take one step down the gradient of the Huber loss between Q and its target."""
        c, values, at = self.config, self._values, self._at
        batch = self._memory.draw(c.batch, self._random, correction)
        for seen in (batch.observation, batch.next_observation) if c.normalise_observations else ():
            self._normaliser.apply(seen.numpy(), out=seen.numpy())
        following = batch.next_observation
        slow = values.of(self._target_q(following))
        judge = values.of(self._q(following)) if c.double else slow
        q_all = values.of(self._q.forward(batch.observation))
        taken = values.columns(batch.action.numpy().astype(np.int64))
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is told below
            value = slow[at, values.columns(values.best(judge))]
            target = q_target(value, batch.reward.numpy(), batch.discount.numpy())
            q = q_all[at, taken]
            error = q - target[:, None]
            loss, grad = huber(error, batch.weight, c.huber)

        self._grad.fill(0.0)
        self._grad[at, taken] = grad
        if self._memory.kept:
            self._hold_on(self._grad, q_all, taken, (batch.rows < self._memory.kept).nonzero()[0])
        self._q.backward(values.backward(torch.from_numpy(self._grad)))
        norm = self._online.clip_gradient(c.max_grad_norm)
        if not (math.isfinite(norm) and math.isfinite(loss)):
            # A step that ruins the network leaves it finite, and only the next one shows it.
            self._online.flat.copy_(self._slow.flat)
            raise DivergedError(
                f"DQN diverged at gradient step {self._steps}: loss {loss:g}, gradient {norm:g}; the target "
                "network's parameters were kept. Try a lower dqn.lr, or look for huge rewards and observations"
            )
        if self._steps and self._steps % c.target_every == 0:  # now that these parameters are known to be sound
            self._slow.flat.lerp_(self._online.flat, c.target_rate)
        self._adam.step(lr)
        self._steps += 1
        if batch.weight is not None:
            self._memory.learned(batch.rows, np.abs(error).mean(axis=1))
        self._newest.numpy()[:] = loss, np.add.reduce(q, axis=None) / q.size, lr

    @torch.inference_mode()
    def imitate(self, shown: Sequence[Demonstration]) -> float:
        """Learn what came of what was shown, and that all else is worth less by a margin (Hester et al. 2018).

        It is kept, and held to while learning goes on. It takes the place of exploring at random: the share of random
        actions begins with `epsilon_end`. Returns the share of it that is best now.
        """
        c, values = self.config, self._values
        examples = Examples.of(shown, self._normaliser, None, c.gamma)
        margin = MARGIN * max(float(examples.returns.std()), SMALLEST)
        self._shown[:] = torch.tensor((self._memory.keep(*transitions(shown, c.n_step, c.gamma)), margin))
        shares = []
        for batch in examples.batches(self._random, steps=IMITATING):
            assert isinstance(batch.seen, torch.Tensor)
            q, choices = values.of(self._q.forward(batch.seen)), batch.action.numpy().reshape(len(batch.action), -1)
            taken, at = values.columns(choices.astype(np.int64)), np.arange(len(q))
            error = np.where(batch.known.numpy()[:, None], q[at[:, None], taken] - batch.returns.numpy()[:, None], 0.0)
            grad = np.zeros_like(q)
            grad[at[:, None], taken] = huber(error.astype(np.float32), threshold=c.huber)[1]
            self._hold_on(grad, q, taken, at)
            self._q.backward(values.backward(torch.from_numpy(grad)))
            self._online.clip_gradient(c.max_grad_norm)
            self._adam.step(c.lr)
            shares.append(float((values.best(q) == choices).all(1).mean()))
        self._slow.flat.copy_(self._online.flat)
        self._adam.forget()
        self._seen = max(self._seen, c.epsilon_steps, c.warm_up)
        return fmean(shares[-10:])

    def _hold_on(self, grad: Floats, q: Floats, taken: Choices, rows: NDArray[np.int64]) -> None:
        """Add to the gradient what makes the option that was shown in these rows the best one by the margin."""
        at, margin = rows[:, None], float(self._shown[1])
        rivals = q[rows] + np.float32(margin)
        rivals[np.arange(len(rows))[:, None], taken[rows]] = q[at, taken[rows]]
        best = self._values.columns(self._values.best(rivals))
        push = np.float32(min(self.config.huber, margin) / taken.size)
        grad[at, best] += push
        grad[at, taken[rows]] -= push

    # --- what others ask --------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def introspect(self, observation: Floats, state: Floats | None = None) -> PolicyOutput:
        """Return each option's value; a row's is that of its best one, of several choices the mean of those."""
        self._check_observation(observation, None)
        values = self._values_of(observation)
        best = np.take_along_axis(values, self._values.columns(self._values.best(values)), axis=1)
        return PolicyOutput("values", values, None, best.mean(axis=1, dtype=np.float64))

    def inputs(self, observation: Floats) -> torch.Tensor:
        """Return (rows, numbers) what the network is given for observations."""
        x = torch.empty(observation.shape)
        self._normaliser.apply(observation, out=x.numpy())
        return x

    def traced(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """Return each option's value, by operations that autograd follows."""
        return self._values.mixed(traced(self._policy_q, x, state))

    def metrics(self) -> Mapping[str, float]:
        """Return the numbers of the newest gradient step, empty before the first."""
        if not self._steps:
            return {}
        return dict(zip(METRICS, (*self._newest.tolist(), self.epsilon), strict=True))

    # --- its state --------------------------------------------------------------------------------------------------

    def is_finite(self) -> bool:
        """Tell whether every parameter of both networks is a finite number."""
        return super().is_finite() and bool(torch.isfinite(self._online.flat).all())

    def _policy_parts(self) -> Parts:
        moments = self._normaliser.moments.parts if self.config.normalise_observations else {}
        return {**self._parameters.value, **prefixed("normaliser", moments)}

    def _learning_parts(self) -> Parts:
        slow = self.config.slow_policy
        return {
            **(prefixed("online", self._online.value) if slow else prefixed("target", self._slow.value)),
            **prefixed("adam", self._adam.moments),
            **prefixed("waiting", self._waiting.parts),
            **prefixed("memory", self._memory.parts),
            "shown": self._shown,
            "count/seen": Attribute(self, "_seen"),
            "count/due": Attribute(self, "_due"),
            "count/steps": Attribute(self, "_steps"),
            "newest": self._newest,
        }

    def _check(self, state: State) -> None:
        check_count(state, "count/seen")
        check_count(state, "count/due", int(state["count/seen"]))
        check_count(state, "count/steps", int(state["count/seen"]))
        self._waiting.check(under("waiting", state))
        self._memory.check(under("memory", state))
        check_held(state["shown"], len(state["memory/rows"]))
        waiting = state["waiting/table"][state["waiting/open"]]
        if not all(self._values.are_options(rows[:, self._actions]) for rows in (state["memory/rows"], waiting)):
            raise CheckpointError(f"the saved agent remembers actions that are none of {self.spec.actions.about}")

    def load_state(self, state: State) -> None:
        """Continue exactly where `state` was taken."""
        if "memory/table" in state:
            raise CheckpointError(
                "this checkpoint is of an older version, whose replay memory this one cannot go on with: play it, or "
                "start a new run from its policy with --init-from"
            )
        super().load_state({"shown": torch.zeros_like(self._shown), **state})  # older files do not have it
        self._memory.kept = int(self._shown[0])
        self._memory.refresh()
        self._normaliser.refresh()

    def load_policy_state(self, state: State) -> None:
        """Take over a policy saved by `policy_state`, for both networks."""
        super().load_policy_state(state)
        self._normaliser.refresh()
        for network in (self._online, self._slow):
            network.flat.copy_(self._parameters.flat)


def linear_epsilon(seen: int, config: DQNConfig) -> float:
    """Return the share of random actions after so many transitions: a straight line, then flat."""
    done = min(1.0, seen / config.epsilon_steps)
    return config.epsilon_start + done * (config.epsilon_end - config.epsilon_start)


def q_target(value: Floats, reward: Floats, discount: Floats) -> Floats:
    """Return (rows,) what Q should be: the rewards, and what came next at its discount, which is 0 after termination.

    `value` is (rows, choices), for each choice the target network's value of the option that the online network likes
    best there; all choices share the mean.
    """
    return reward + discount * (value[:, 0] if value.shape[1] == 1 else value.mean(axis=1))


def huber(error: Floats, weight: Floats | None = None, threshold: float = 1.0) -> tuple[float, Floats]:
    """Return the mean Huber loss of (rows, choices) errors and its gradient; `weight` is (rows,) what each counts for.

    It is quadratic up to the threshold, and straight beyond.
    """
    inner = np.minimum(np.maximum(error, np.float32(-threshold)), np.float32(threshold))
    grad: Floats = np.divide(inner, error.size, dtype=np.float32)
    if weight is not None:
        grad *= weight[:, None]
    return float(np.add.reduce(grad * (error - 0.5 * inner), axis=None)), grad

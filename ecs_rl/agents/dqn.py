"""Double deep Q-learning (van Hasselt et al. 2016): remember transitions, replay random ones, fit their targets.

Read from top to bottom: `act` explores less and less, `observe` fills the memory, `learn` takes the gradient steps
that have come due. Each step pays off its own share of what is due, so an update that is dropped halfway goes on later.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from ecs_rl.agents.base import ActMode, Decision, Experience, Floats, PolicyOutput, PolicySpec, State
from ecs_rl.agents.config import DQNConfig
from ecs_rl.agents.networks import MLP, Adam, Parameters, Shapes
from ecs_rl.agents.replay import Replay
from ecs_rl.agents.state import (
    check_finite,
    check_fits,
    check_observation,
    counter,
    prefixed,
    random_streams,
    restore_random,
    under,
    whole_number,
)
from ecs_rl.errors import CheckpointError, DivergedError

ADAM_EPSILON = 1e-8
METRICS = ("loss/q", "q_mean", "epsilon", "lr")


class DQN:
    """An off-policy learner for discrete actions."""

    name = "dqn"

    def __init__(self, spec: PolicySpec, config: DQNConfig, *, seed: int, rows: int) -> None:
        torch.set_num_threads(1)  # a replayed batch is too small to share out
        self.spec, self.config, self.rows = spec, config, rows
        first, self._random, self._sample_random = random_streams(seed, 3)
        inputs, self._choices = len(spec.observations), len(spec.actions.names)
        shapes = self.shapes(spec, config)
        self._parameters, self._target_parameters = Parameters(shapes), Parameters(shapes)
        self._q = MLP(self._parameters, "q", len(config.hidden) + 1, config.activation)
        self._target_q = MLP(self._target_parameters, "q", len(config.hidden) + 1, config.activation)
        self._q.initialise(first, head_gain=1.0)
        self._target_parameters.flat.copy_(self._parameters.flat)
        self._adam = Adam(self._parameters, ADAM_EPSILON)
        self._memory = Replay(config.memory, inputs)
        self._seen = 0  # transitions stored so far
        self._due = 0  # transitions since the warm-up that no gradient step has answered yet
        self._steps = 0  # gradient steps so far
        self._newest = torch.zeros(2, dtype=torch.float64)  # loss and mean Q of the newest step

    @staticmethod
    def shapes(spec: PolicySpec, config: DQNConfig) -> Shapes:
        """Return the shape of every parameter; nothing is made."""
        return MLP.shapes("q", (len(spec.observations), *config.hidden, len(spec.actions.names)))

    # --- acting -----------------------------------------------------------------------------------------------------

    @property
    def epsilon(self) -> float:
        """The share of random actions now."""
        return linear_epsilon(self._seen, self.config)

    @torch.inference_mode()
    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        """Decide for each row: the best action, but while exploring or sampling a random one now and then."""
        check_observation(observation, self.spec, self.rows if mode is ActMode.EXPLORE else None)
        best = self._q(_copied(observation)).argmax(1)
        if mode is ActMode.GREEDY:
            return Decision(best.numpy())
        generator = self._random if mode is ActMode.EXPLORE else self._sample_random
        explores = torch.rand(len(best), generator=generator) < self.epsilon
        anything = torch.randint(self._choices, (len(best),), generator=generator)
        return Decision(torch.where(explores, anything, best).numpy())

    # --- gathering --------------------------------------------------------------------------------------------------

    def observe(self, experience: Experience) -> None:
        """Store the valid transitions, and count the gradient steps that they bring due."""
        check_observation(experience.next_observation, self.spec, None)
        added = self._memory.add(experience)
        before, self._seen = self._seen, self._seen + added
        self._due += max(0, self._seen - max(before, self.config.warm_up))

    # --- learning ---------------------------------------------------------------------------------------------------

    def learn(self, progress: float) -> Iterator[None]:
        """Take the gradient steps that are due, yielding between them."""
        while self._due >= self.config.learn_every:
            self._descend()
            self._due -= self.config.learn_every
            if self._due >= self.config.learn_every:
                yield

    @torch.inference_mode()
    def _descend(self) -> None:
        """Take one step down the gradient of the Huber loss between Q and its double-Q target."""
        c = self.config
        x, following, action, reward, terminated = self._memory.draw(c.batch, self._random)
        target = double_q_target(self._q(following), self._target_q(following), reward, terminated, c.gamma)
        column = action.unsqueeze(1)
        q_all = self._q.forward(x)
        q = q_all.gather(1, column)
        loss, grad = huber(q.squeeze(1) - target)

        self._q.backward(torch.zeros_like(q_all).scatter_(1, column, grad.unsqueeze(1)))
        norm, loss_now, mean = self._parameters.clip_gradient(c.max_grad_norm), float(loss), float(q.mean())
        if not (math.isfinite(norm) and math.isfinite(loss_now)):
            # A step that ruins the network leaves it finite, and only the next one shows it.
            self._parameters.flat.copy_(self._target_parameters.flat)
            raise DivergedError(
                f"DQN diverged at gradient step {self._steps}: loss {loss_now:g}, gradient {norm:g}; the target "
                "network's parameters were kept. Try a lower dqn.lr, or look for huge rewards and observations"
            )
        self._adam.step(c.lr)
        self._steps += 1
        if self._steps % c.target_every == 0:
            self._target_parameters.flat.copy_(self._parameters.flat)
        self._newest[0], self._newest[1] = loss_now, mean

    # --- what others ask --------------------------------------------------------------------------------------------

    @property
    def discount(self) -> float:
        """What a reward one tick later counts for."""
        return self.config.gamma

    @torch.inference_mode()
    def introspect(self, observation: Floats) -> PolicyOutput:
        """Return each choice's value; a row's is that of its best one."""
        check_observation(observation, self.spec, None)
        values = self._q(_copied(observation)).numpy()
        return PolicyOutput("values", values, None, values.max(axis=1).astype(np.float64))

    def metrics(self) -> Mapping[str, float]:
        """Return the numbers of the newest gradient step, empty before the first."""
        if not self._steps:
            return {}
        return dict(zip(METRICS, (*self._newest.tolist(), self.epsilon, self.config.lr), strict=True))

    def is_finite(self) -> bool:
        """Tell whether every parameter is a finite number."""
        return self._parameters.is_finite()

    def parameters_sha256(self) -> str:
        """Return the SHA-256 of the network's parameters in the order of their names."""
        return self._parameters.sha256()

    def policy_state(self) -> State:
        """Return copies of the parameters."""
        return self._parameters.state()

    def load_policy_state(self, state: State) -> None:
        """Take over a policy saved by `policy_state`, as the target too."""
        check_fits(state, self.policy_state())
        check_finite(state)
        self._parameters.load_state(state)
        self._target_parameters.load_state(state)

    def state(self) -> State:
        """Return copies of everything that continuing exactly needs."""
        return {
            **self.policy_state(),
            **prefixed("target", self._target_parameters.state()),
            **prefixed("adam", self._adam.state()),
            **prefixed("memory", self._memory.state()),
            "random/train": self._random.get_state(),
            "random/sample": self._sample_random.get_state(),
            "count/seen": counter(self._seen),
            "count/due": counter(self._due),
            "count/steps": counter(self._steps),
            "newest": self._newest.clone(),
        }

    def load_state(self, state: State) -> None:
        """Continue exactly where `state` was taken."""
        check_fits(state, self.state(), growing=("memory/table",))
        seen = whole_number(state, "count/seen")
        due, steps = whole_number(state, "count/due", seen), whole_number(state, "count/steps", seen)
        chosen = state["memory/table"][:, -3]
        if not bool(((chosen >= 0) & (chosen < self._choices)).all()):
            raise CheckpointError(f"the saved replay memory holds actions that none of the {self._choices} choices is")
        self._memory.load_state(under("memory", state))
        self._parameters.load_state(state)
        self._target_parameters.load_state(under("target", state))
        self._adam.load_state(under("adam", state))
        restore_random(self._random, state["random/train"])
        restore_random(self._sample_random, state["random/sample"])
        self._seen, self._due, self._steps = seen, due, steps
        self._newest.copy_(state["newest"])


def _copied(observation: Floats) -> Tensor:
    x = torch.empty(observation.shape)
    np.copyto(x.numpy(), observation)
    return x


def linear_epsilon(seen: int, config: DQNConfig) -> float:
    """Return the share of random actions after so many transitions: a straight line, then flat."""
    done = min(1.0, seen / config.epsilon_steps)
    return config.epsilon_start + done * (config.epsilon_end - config.epsilon_start)


def double_q_target(online: Tensor, target: Tensor, reward: Tensor, terminated: Tensor, gamma: float) -> Tensor:
    """Return the targets: the online network picks the next action, the target network says its value.

    A cut episode (truncated) still counts its next observation's value; one that terminated does not.
    """
    value = target.gather(1, online.argmax(1, keepdim=True)).squeeze(1)
    return torch.addcmul(reward, 1.0 - terminated, value, value=gamma)


def huber(error: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean Huber loss (quadratic up to 1, straight beyond) and its gradient by each error."""
    inner = error.clamp(-1.0, 1.0)
    return (inner * (error - 0.5 * inner)).mean(), inner / len(error)

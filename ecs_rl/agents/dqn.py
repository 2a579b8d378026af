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
from ecs_rl.agents.state import Attribute, Learner, Parts, check_count, prefixed, under
from ecs_rl.errors import DivergedError

ADAM_EPSILON = 1e-8
METRICS = ("loss/q", "q_mean", "epsilon", "lr")


class DQN(Learner):
    """An off-policy learner for discrete actions."""

    name = "dqn"

    def __init__(self, spec: PolicySpec, config: DQNConfig, *, seed: int, rows: int, threads: int = 1) -> None:
        super().__init__(spec, self.shapes(spec, config), seed=seed, rows=rows, discount=config.gamma)
        torch.set_num_threads(1)  # however many there are: a replayed batch is too small to share out
        self.config = config
        inputs, self._choices = len(spec.observations), len(spec.actions.names)
        self._target_parameters = Parameters(self.shapes(spec, config))
        self._q = MLP(self._parameters, "q", len(config.hidden) + 1, config.activation)
        self._target_q = MLP(self._target_parameters, "q", len(config.hidden) + 1, config.activation)
        self._q.initialise(self._first, head_gain=1.0)
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
        self._check_observation(observation, self.rows if mode is ActMode.EXPLORE else None)
        best = self._q(torch.tensor(observation, dtype=torch.float32)).argmax(1)
        if mode is ActMode.GREEDY:
            return Decision(best.numpy())
        generator = self._random if mode is ActMode.EXPLORE else self._sample_random
        explores = torch.rand(len(best), generator=generator) < self.epsilon
        anything = torch.randint(self._choices, (len(best),), generator=generator)
        return Decision(torch.where(explores, anything, best).numpy())

    # --- gathering --------------------------------------------------------------------------------------------------

    def observe(self, experience: Experience) -> None:
        """Store the valid transitions, and count the gradient steps that they bring due."""
        self._check_observation(experience.next_observation, None)
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

    @torch.inference_mode()
    def introspect(self, observation: Floats) -> PolicyOutput:
        """Return each choice's value; a row's is that of its best one."""
        self._check_observation(observation, None)
        values = self._q(torch.tensor(observation, dtype=torch.float32)).numpy()
        return PolicyOutput("values", values, None, values.max(axis=1).astype(np.float64))

    def metrics(self) -> Mapping[str, float]:
        """Return the numbers of the newest gradient step, empty before the first."""
        if not self._steps:
            return {}
        return dict(zip(METRICS, (*self._newest.tolist(), self.epsilon, self.config.lr), strict=True))

    # --- its state --------------------------------------------------------------------------------------------------

    def _policy_parts(self) -> Parts:
        return self._parameters.value

    def _learning_parts(self) -> Parts:
        return {
            **prefixed("target", self._target_parameters.value),
            **prefixed("adam", self._adam.moments),
            **prefixed("memory", self._memory.parts),
            "count/seen": Attribute(self, "_seen"),
            "count/due": Attribute(self, "_due"),
            "count/steps": Attribute(self, "_steps"),
            "newest": self._newest,
        }

    def _check(self, state: State) -> None:
        check_count(state, "count/seen")
        check_count(state, "count/due", int(state["count/seen"]))
        check_count(state, "count/steps", int(state["count/seen"]))
        self._memory.check(under("memory", state), self._choices)

    def load_policy_state(self, state: State) -> None:
        """Take over a policy saved by `policy_state`, as the target too."""
        super().load_policy_state(state)
        self._target_parameters.flat.copy_(self._parameters.flat)


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

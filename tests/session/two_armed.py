"""A real learner small enough to read in one breath: it learns which arm of a bandit pays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import numpy as np
import torch

from ecs_rl.agents.base import State
from ecs_rl.spaces import ActMode, Decision, Discrete, Experience, Floats, PolicySpec


class ArmValues:
    """Keeps the mean reward of each arm and mostly pulls the better one."""

    name = "arm-values"
    spec = PolicySpec(("nothing",), Discrete(("left", "right")))

    def __init__(self, seed: int = 0) -> None:
        self.values = torch.zeros(2)
        self.pulls = torch.zeros(2)
        self.batches: list[Experience] = []
        self.progress: list[float] = []
        self._random = np.random.default_rng(seed)

    def act(self, observation: Floats, mode: ActMode, state: Floats | None = None) -> Decision:
        greedy = np.full(len(observation), int(self.values.argmax()))
        if mode is ActMode.GREEDY:
            return Decision(greedy)
        explores = self._random.random(len(observation)) < 0.3
        return Decision(np.where(explores, self._random.integers(0, 2, len(observation)), greedy))

    def observe(self, experience: Experience) -> None:
        self.batches.append(experience)

    def learn(self, progress: float) -> Iterator[None]:
        self.progress.append(progress)
        for experience in self.batches:
            for arm, reward in zip(experience.action, experience.reward, strict=True):
                self.pulls[arm] += 1
                self.values[arm] += (float(reward) - self.values[arm]) / self.pulls[arm]
            yield
        self.batches.clear()

    def metrics(self) -> Mapping[str, float]:
        return {"value/right": float(self.values[1])}

    def is_finite(self) -> bool:
        return bool(self.values.isfinite().all())

    def policy_state(self) -> State:
        return {"values": self.values.clone()}

    def load_policy_state(self, state: State) -> None:
        self.values = state["values"].clone()

    def state(self) -> State:
        return {"values": self.values.clone(), "pulls": self.pulls.clone()}

    def load_state(self, state: State) -> None:
        self.values, self.pulls = state["values"].clone(), state["pulls"].clone()

    def parameters_sha256(self) -> str:
        return hashlib.sha256(self.values.numpy().tobytes()).hexdigest()


def rows(count: int) -> Experience:
    """Return `count` transitions in which the right arm paid 1."""
    return Experience(
        observation=np.zeros((count, 1), np.float32),
        action=np.ones(count, np.int64),
        reward=np.ones(count, np.float32),
        next_observation=np.zeros((count, 1), np.float32),
        terminated=np.ones(count, np.bool_),
        truncated=np.zeros(count, np.bool_),
    )

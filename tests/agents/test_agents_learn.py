"""Two problems small enough to know the answer: a contextual bandit, and a corridor with its goal five cells away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ecs_rl.agents import (
    ActMode,
    Agent,
    Continuous,
    Discrete,
    DQNConfig,
    Experience,
    PolicySpec,
    PPOConfig,
    SACConfig,
    TD3Config,
    make_agent,
)
from ecs_rl.agents.config import AgentConfig
from ecs_rl.spaces import Bools, Floats

SEEDS = (0, 1, 2)
ROWS = 16


class Bandit:
    """One tick an episode: say which side the context lies on (or where, if the action is a number)."""

    def __init__(self, seed: int, continuous: bool) -> None:
        self.random, self.continuous = np.random.default_rng(seed), continuous
        actions = Continuous(("guess",)) if continuous else Discrete(("left", "right"))
        self.spec = PolicySpec(("x", "noise"), actions)
        self.observation = self.draw()

    def draw(self) -> Floats:
        return self.random.uniform(-1, 1, size=(ROWS, 2)).astype(np.float32)

    def step(self, action: NDArray[Any]) -> Experience:
        x = self.observation[:, 0]
        reward = -((action[:, 0] - 0.5 * x) ** 2) if self.continuous else (action == (x > 0)).astype(np.float32)
        before, self.observation = self.observation, self.draw()
        over = np.ones(ROWS, bool)
        return Experience(before, action, reward.astype(np.float32), self.observation, over, ~over)


class Corridor:
    """Cells 0 to 4 as one-hot: the reward is at the right end, a small one tempts at the left; cut after 20 ticks."""

    spec = PolicySpec(("a", "b", "c", "d", "e"), Discrete(("left", "right")))

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.cell, self.age = self.random.integers(1, 4, ROWS), np.zeros(ROWS, int)

    @property
    def observation(self) -> Floats:
        return np.eye(5, dtype=np.float32)[self.cell]

    def step(self, action: NDArray[Any]) -> Experience:
        before = self.observation
        self.cell += np.where(action == 1, 1, -1)
        self.age += 1
        terminated: Bools = (self.cell == 0) | (self.cell == 4)
        truncated = (self.age >= 20) & ~terminated
        reward = np.where(self.cell == 4, 1.0, np.where(self.cell == 0, 0.1, 0.0)).astype(np.float32)
        after, over = self.observation, terminated | truncated
        self.cell[over], self.age[over] = self.random.integers(1, 4, over.sum()), 0
        return Experience(before, action, reward, after, terminated, truncated)


def train(agent: Agent, world: Bandit | Corridor, ticks: int) -> None:
    for tick in range(ticks):
        decision = agent.act(world.observation, ActMode.EXPLORE)
        agent.observe(replace(world.step(decision.action), extras=decision.extras))
        for _ in agent.learn(tick / ticks):
            pass


PPO = PPOConfig(rollout=16, minibatch=64, lr=3e-3, hidden=(32,), normalise_rewards=False)
DQN = DQNConfig(batch=32, warm_up=200, learn_every=16, epsilon_steps=2000, lr=3e-3, hidden=(32,), gamma=0.9)
SAC = SACConfig(
    batch=64, warm_up=200, updates_per_step=1 / 8, lr=3e-3, hidden=(32,), gamma=0.9, choice_entropy=0.1, temperature=0.1
)
TD3 = TD3Config(batch=64, warm_up=200, updates_per_step=1 / 8, lr=3e-3, hidden=(32,), gamma=0.9, noise=0.3)
SETTINGS: dict[str, AgentConfig] = {"ppo": PPO, "dqn": DQN, "sac": SAC}
LEVERS: dict[str, AgentConfig] = {"ppo": PPO, "sac": SAC, "td3": TD3}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SETTINGS)
def test_a_bandit_with_two_arms_is_learned(name: str, seed: int) -> None:
    world = Bandit(seed, continuous=False)
    agent = make_agent(name, world.spec, SETTINGS[name], seed=seed, rows=ROWS)
    train(agent, world, 600)
    x = np.linspace(-1, 1, 200, dtype=np.float32)
    action = agent.act(np.stack([x, x * 0], 1), ActMode.GREEDY).action
    assert (action == (x > 0)).mean() > 0.93


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", LEVERS)
def test_a_bandit_with_a_continuous_arm_is_learned(name: str, seed: int) -> None:
    world = Bandit(seed, continuous=True)
    agent = make_agent(name, world.spec, LEVERS[name], seed=seed, rows=ROWS)
    train(agent, world, 800)
    x = np.linspace(-1, 1, 200, dtype=np.float32)
    action = agent.act(np.stack([x, x * 0], 1), ActMode.GREEDY).action
    assert np.abs(action[:, 0] - 0.5 * x).mean() < 0.08


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SETTINGS)
def test_a_corridor_is_walked_to_its_better_end_from_every_cell(name: str, seed: int) -> None:
    world = Corridor(seed)
    agent = make_agent(name, world.spec, SETTINGS[name], seed=seed, rows=ROWS)
    train(agent, world, 500)
    assert agent.act(np.eye(5, dtype=np.float32)[1:4], ActMode.GREEDY).action.tolist() == [1, 1, 1]

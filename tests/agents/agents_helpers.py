"""What the tests of the agents share: small agents, and the package's own random transitions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ecs_rl.agents import (
    Agent,
    Composed,
    Discrete,
    DQNConfig,
    IQLConfig,
    PolicySpec,
    PPOConfig,
    SACConfig,
    TD3Config,
    make_agent,
)
from ecs_rl.spaces import TRIGGER
from ecs_rl.testing.transitions import CHOICES, MIXED, ROWS, play, same, some_experience, some_observation
from ecs_rl.testing.transitions import LEVERS as MOTORS

__all__ = ["CHOICES", "MIXED", "MOTORS", "ROWS", "play", "same", "some_experience", "some_observation"]

SEVERAL = PolicySpec(
    ("x", "y", "z"), Composed((Discrete(("left", "stay", "right"), "steer"), Discrete(TRIGGER, "fire")))
)
SMALL_PPO = PPOConfig(rollout=5, epochs=2, minibatch=8, hidden=(8, 8))
SMALL_DQN = DQNConfig(batch=8, warm_up=12, memory=40, learn_every=4, target_every=3, hidden=(8,), epsilon_steps=50)
SMALL_SAC = SACConfig(batch=8, warm_up=12, memory=40, updates_per_step=0.25, hidden=(8,))
SMALL_TD3 = TD3Config(batch=8, warm_up=12, memory=40, updates_per_step=0.25, hidden=(8,))
SMALL_IQL = IQLConfig(batch=8, warm_up=12, memory=40, updates_per_step=0.25, hidden=(8,))
FULL_DQN = replace(
    SMALL_DQN,
    n_step=3,
    dueling=True,
    priority=0.6,
    target_every=1,
    target_rate=0.2,
    slow_policy=True,
    normalise_observations=True,
)
KINDS = (
    "ppo",
    "ppo continuous",
    "ppo mixed",
    "ppo gru",
    "dqn",
    "dqn several",
    "dqn full",
    "dqn quantiles",
    "sac",
    "sac continuous",
    "sac mixed",
    "td3",
    "iql",
    "iql continuous",
    "iql mixed",
    "iql policy",
)
SPECS = {
    "ppo continuous": MOTORS,
    "ppo mixed": MIXED,
    "dqn several": SEVERAL,
    "dqn full": SEVERAL,
    "dqn quantiles": SEVERAL,
    "sac continuous": MOTORS,
    "sac mixed": MIXED,
    "td3": MOTORS,
    "iql continuous": MOTORS,
    "iql mixed": MIXED,
    "iql policy": MIXED,
}
CONFIGS = {
    "ppo": SMALL_PPO,
    "ppo gru": replace(SMALL_PPO, network="gru", state=4),
    "dqn": SMALL_DQN,
    "dqn full": FULL_DQN,
    "dqn quantiles": replace(FULL_DQN, quantiles=4, slow_policy=False),
    "sac": SMALL_SAC,
    "td3": SMALL_TD3,
    "iql": SMALL_IQL,
    "iql policy": replace(SMALL_IQL, value="policy"),
}


def config_of(kind: str) -> Any:
    """Return the settings of one of the `KINDS`."""
    return CONFIGS.get(kind, CONFIGS[kind.split(maxsplit=1)[0]])


def small_agent(kind: str = "ppo", *, seed: int = 0, rows: int = ROWS, config: Any = None) -> Agent:
    """Return a small agent of one of the `KINDS`."""
    spec = SPECS.get(kind, CHOICES)
    name = kind.split(maxsplit=1)[0]
    return make_agent(name, spec, config or config_of(kind), seed=seed, rows=rows)

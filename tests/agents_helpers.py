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
KINDS: dict[str, tuple[PolicySpec, Any]] = {
    "ppo": (CHOICES, SMALL_PPO),
    "ppo continuous": (MOTORS, SMALL_PPO),
    "ppo mixed": (MIXED, SMALL_PPO),
    "ppo gru": (CHOICES, replace(SMALL_PPO, network="gru", state=4)),
    "dqn": (CHOICES, SMALL_DQN),
    "dqn several": (SEVERAL, SMALL_DQN),
    "dqn full": (SEVERAL, FULL_DQN),
    "dqn quantiles": (SEVERAL, replace(FULL_DQN, quantiles=4, slow_policy=False)),
    "sac": (CHOICES, SMALL_SAC),
    "sac continuous": (MOTORS, SMALL_SAC),
    "sac mixed": (MIXED, SMALL_SAC),
    "td3": (MOTORS, SMALL_TD3),
    "iql": (CHOICES, SMALL_IQL),
    "iql continuous": (MOTORS, SMALL_IQL),
    "iql mixed": (MIXED, SMALL_IQL),
    "iql policy": (MIXED, replace(SMALL_IQL, value="policy")),
}
"""Small agents: what each decides, and its settings. The first word of a name is the algorithm."""


def config_of(kind: str) -> Any:
    """Return the settings of one of the `KINDS`."""
    return KINDS[kind][1]


def small_agent(kind: str = "ppo", *, seed: int = 0, rows: int = ROWS, config: Any = None) -> Agent:
    """Return a small agent of one of the `KINDS`."""
    spec, settings = KINDS[kind]
    return make_agent(kind.split(maxsplit=1)[0], spec, config or settings, seed=seed, rows=rows)

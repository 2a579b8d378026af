"""What the tests of the agents share: small specs, random transitions and a loop that plays them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents import (
    ActMode,
    Agent,
    Composed,
    Continuous,
    Decision,
    Discrete,
    DQNConfig,
    Experience,
    PolicySpec,
    PPOConfig,
    make_agent,
)
from ecs_rl.agents.base import TRIGGER

ROWS = 6
CHOICES = PolicySpec(("x", "y", "z"), Discrete(("left", "stay", "right")))
MOTORS = PolicySpec(("x", "y", "z"), Continuous(("turn", "push")))
MIXED = PolicySpec(
    ("x", "y", "z"),
    Composed((Discrete(("left", "stay", "right"), "steer"), Continuous(("gas",)), Discrete(TRIGGER, "fire"))),
)
SEVERAL = PolicySpec(
    ("x", "y", "z"), Composed((Discrete(("left", "stay", "right"), "steer"), Discrete(TRIGGER, "fire")))
)
SMALL_PPO = PPOConfig(rollout=5, epochs=2, minibatch=8, hidden=(8, 8))
SMALL_DQN = DQNConfig(batch=8, warm_up=12, memory=40, learn_every=4, target_every=3, hidden=(8,), epsilon_steps=50)
FULL_DQN = replace(
    SMALL_DQN, n_step=3, dueling=True, priority=0.6, target_every=1, target_rate=0.2, normalise_observations=True
)
KINDS = ("ppo", "ppo continuous", "ppo mixed", "ppo gru", "dqn", "dqn several", "dqn full")
SPECS = {"ppo continuous": MOTORS, "ppo mixed": MIXED, "dqn several": SEVERAL, "dqn full": SEVERAL}
CONFIGS = {
    "ppo": SMALL_PPO,
    "ppo gru": replace(SMALL_PPO, network="gru", state=4),
    "dqn": SMALL_DQN,
    "dqn full": FULL_DQN,
}


def config_of(kind: str) -> Any:
    """Return the settings of one of the `KINDS`."""
    return CONFIGS.get(kind, CONFIGS[kind.split(maxsplit=1)[0]])


def small_agent(kind: str = "ppo", *, seed: int = 0, rows: int = ROWS, config: Any = None) -> Agent:
    """Return a small agent of one of the `KINDS`."""
    spec = SPECS.get(kind, CHOICES)
    name = kind.split(maxsplit=1)[0]
    return make_agent(name, spec, config or config_of(kind), seed=seed, rows=rows)


def some_observation(random: np.random.Generator, rows: int = ROWS) -> NDArray[np.float32]:
    """Return observations whose numbers have different scales."""
    return (random.normal(size=(rows, 3)) * (1.0, 5.0, 0.2) + (0.0, 3.0, -1.0)).astype(np.float32)


def some_experience(
    random: np.random.Generator, observation: NDArray[np.float32], decision: Decision, invalid: float = 0.1
) -> Experience:
    """Return what followed a decision: transitions of which some terminate, some are cut and some are invalid."""
    rows = len(observation)
    end = random.random(rows)
    return Experience(
        observation=observation,
        action=decision.action,
        reward=random.normal(size=rows).astype(np.float32),
        next_observation=some_observation(random, rows),
        terminated=end < 0.15,
        truncated=end > 0.85,
        valid=random.random(rows) >= invalid if invalid else None,
        extras=decision.extras,
    )


def play(agent: Agent, ticks: int, data: np.random.Generator, *, invalid: float = 0.1, learn: bool = True) -> None:
    """Let an agent explore random data for some ticks, learning in full as it goes."""
    for _ in range(ticks):
        observation = some_observation(data)
        decision = agent.act(observation, ActMode.EXPLORE)
        agent.observe(some_experience(data, observation, decision, invalid))
        if learn:
            for _ in agent.learn(0.3):
                pass

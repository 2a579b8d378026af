"""Small policies and random transitions, with which any agent can be tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load, save

from ecs_rl.agents.base import Agent, State
from ecs_rl.spaces import TRIGGER, ActMode, Composed, Continuous, Decision, Discrete, Experience, PolicySpec

SEES = ("x", "y", "z")
CHOICES = PolicySpec(SEES, Discrete(("left", "stay", "right")))
LEVERS = PolicySpec(SEES, Continuous(("turn", "push")))
MIXED = PolicySpec(
    SEES, Composed((Discrete(("left", "stay", "right"), "steer"), Continuous(("gas",)), Discrete(TRIGGER, "fire")))
)
ROWS = 6
"""Rows of a batch, unless told otherwise."""
PROGRESS = 0.3
"""The share of the schedule that is done in all these updates."""


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


def play(
    agent: Agent, ticks: int, data: np.random.Generator, rows: int = ROWS, *, invalid: float = 0.1, learn: bool = True
) -> list[NDArray[Any]]:
    """Let an agent explore random data for some ticks, learning in full as it goes; return what it did."""
    done = []
    for _ in range(ticks):
        observation = some_observation(data, rows)
        decision = agent.act(observation, ActMode.EXPLORE)
        done.append(decision.action.copy())
        experience = some_experience(data, observation, decision, invalid)
        if learn:
            learn_from(agent, experience)
        else:
            agent.observe(experience)
    return done


def learn_from(agent: Agent, experience: Experience) -> None:
    """Let an agent observe what followed its decisions and learn from it in full."""
    agent.observe(experience)
    for _ in agent.learn(PROGRESS):
        pass


def same(a: State, b: State) -> bool:
    """Tell whether two states are equal to the last bit."""
    return a.keys() == b.keys() and all(
        torch.equal(a[n].nan_to_num(), b[n].nan_to_num()) and a[n].dtype == b[n].dtype for n in a
    )


def copied(state: State) -> State:
    """Return a state as it comes back from a file."""
    return load(save(state))

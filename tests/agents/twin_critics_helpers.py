"""What the tests of SAC, TD3 and IQL share: agents that have learned something, and their networks written plainly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch
from agents_helpers import MOTORS, ROWS, config_of
from torch import Tensor

from ecs_rl.agents import ActMode, Experience, PolicySpec
from ecs_rl.agents.config import CriticSettings
from ecs_rl.agents.twin_critics import TwinCritics

Agent = TypeVar("Agent", bound=TwinCritics)
PARAMETERS = ("policy/", "q/", "value/", "temperature/", "target/")


def ready(kind: type[Agent], spec: PolicySpec = MOTORS, **settings: Any) -> Agent:
    """Return an agent with a filled memory whose networks and targets are no longer those of the start.

    No gradient step is due. Each action that a mask may forbid is allowed half of the time, and always next.
    """
    config = replace(config_of(kind.name), **{"normalise_observations": False, **settings})
    agent, data = kind(spec, config, seed=0, rows=ROWS), np.random.default_rng(0)
    for _ in range(6):
        x, following = (data.normal(size=(ROWS, len(spec.numbers))).astype(np.float32) for _ in range(2))
        for column, _ in spec.allowed:
            x[:, column], following[:, column] = data.random(ROWS) < 0.5, 1.0
        action, ends = agent.act(x, ActMode.EXPLORE).action, data.random(ROWS) < 0.2
        agent.observe(Experience(x, action, x[:, 0], following, ends, np.zeros(ROWS, bool)))
    random, state = torch.Generator().manual_seed(7), agent.state()
    for name in state:
        if name.startswith(PARAMETERS):
            state[name] += 0.3 * torch.randn(state[name].shape, generator=random)
    agent.load_state({**state, "count/due": torch.zeros_like(state["count/due"])})
    return agent


def perceptron(
    parameters: Mapping[str, Tensor], config: CriticSettings, name: str, x: Tensor, critic: int | None = None
) -> Tensor:
    """Return (rows, outputs) of a network of this name, of one of the critics if it is named."""
    last = len(config.hidden)
    for i in range(last + 1):
        weight, bias = (parameters[f"{name}/{i}.{kind}"] for kind in ("weight", "bias"))
        x = x @ weight.T + bias if critic is None else x @ weight[critic].T + bias[critic]
        if i < last:
            x = torch.tanh(x) if config.activation == "tanh" else torch.relu(x)
    return x

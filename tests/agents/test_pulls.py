"""What pulls on an action: gradients by autograd, held against finite differences, and nothing in the agent changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from agents_helpers import CHOICES, KINDS, play, small_agent, some_observation
from numpy.typing import NDArray
from torch import nn

from ecs_rl.agents.config import OwnNetwork, PPOConfig
from ecs_rl.agents.explain import Traceable, pulls
from ecs_rl.agents.ppo import PPO
from ecs_rl.spaces import PolicySpec

F64 = NDArray[np.float64]


def difference(agent: Any, observation: NDArray[np.float32], state: NDArray[np.float32], output: int) -> F64:
    """Return (numbers,) the slope of an output by each input of the network, by central differences in float32."""
    x = agent.inputs(observation)
    slopes_by_input = np.zeros(x.shape[1])
    step = 4e-3
    for i in range(x.shape[1]):
        sides = []
        for by in (+step, -step):
            moved = x.clone()
            moved[0, i] += by
            with torch.no_grad():
                sides.append(float(agent.traced(moved, torch.from_numpy(state))[0, output]))
        slopes_by_input[i] = (sides[0] - sides[1]) / (2 * step)
    return slopes_by_input


def remembered(agent: Any) -> NDArray[np.float32]:
    return np.random.default_rng(5).normal(0.0, 0.5, (1, agent.spec.state)).astype(np.float32)


def check(agent: Any, observation: NDArray[np.float32]) -> None:
    state = remembered(agent)
    outputs = list(range(len(agent.spec.actions.names)))
    slopes_by_input = pulls(agent, observation, outputs, state)
    assert slopes_by_input is not None
    assert slopes_by_input.shape == (len(outputs), observation.shape[1])
    x = agent.inputs(observation)[0].numpy()
    for output in outputs:
        slopes = difference(agent, observation, state, output)
        np.testing.assert_allclose(
            slopes_by_input[output], slopes * x, rtol=0.02, atol=2e-3 * max(1.0, np.abs(slopes_by_input).max())
        )
    assert np.abs(slopes_by_input).max() > 1e-4, "it pulls at all"


@pytest.mark.parametrize("kind", KINDS)
def test_pulls_are_slopes_times_inputs(kind: str) -> None:
    agent = small_agent(kind)
    play(agent, 60, np.random.default_rng(0))
    check(agent, some_observation(np.random.default_rng(1), 1))


class Own(nn.Module):
    """A network of a user's own."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(inputs, 8), nn.Linear(8, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(self.head(torch.nn.functional.silu(self.body(x))))


class Remembers(nn.Module):
    """One that remembers."""

    state = 6

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.cell, self.head = nn.GRUCell(inputs, 6), nn.Linear(6, outputs)

    def forward(self, x: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        state = self.cell(x, state)
        return self.head(state), state


@pytest.mark.parametrize("kind", [Own, Remembers])
@pytest.mark.parametrize("shared", [True, False])
def test_networks_of_ones_own_pull_by_autograd(kind: type[nn.Module], shared: bool) -> None:
    def make(inputs: int, outputs: int, spec: PolicySpec) -> nn.Module:
        return kind(inputs, outputs)

    config = PPOConfig(network=OwnNetwork("own.py:make", make), shared=shared, rollout=8, minibatch=32)
    agent = PPO(CHOICES, config, seed=0, rows=8)
    check(agent, some_observation(np.random.default_rng(2), 1))


@pytest.mark.parametrize("kind", KINDS)
def test_asking_changes_no_bit_of_an_agent_in_the_middle_of_an_update(kind: str) -> None:
    agents = [small_agent(kind) for _ in range(2)]
    for agent in agents:
        play(agent, 40, np.random.default_rng(0))
    observation = some_observation(np.random.default_rng(1), 1)
    state = remembered(agents[0])
    for number, agent in enumerate(agents):
        for _ in agent.learn(0.5):
            if number:
                assert pulls(agent, observation, [0, 1], state) is not None
        play(agent, 40, np.random.default_rng(2))
    ours, theirs = (agent.state() for agent in agents)
    assert ours.keys() == theirs.keys()
    assert all(ours[name].numpy().tobytes() == theirs[name].numpy().tobytes() for name in ours)


def test_an_agent_that_cannot_tell_says_nothing() -> None:
    class Opaque:
        name = "opaque"

    assert not isinstance(Opaque(), Traceable)
    assert pulls(Opaque(), np.zeros((1, 3), np.float32), [0], np.zeros((1, 0), np.float32)) is None

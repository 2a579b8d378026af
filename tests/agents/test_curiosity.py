"""Curiosity pays for what is new, and for nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from agents_helpers import CHOICES, ROWS, SMALL_PPO, play, same

from ecs_rl.agents import make_agent
from ecs_rl.agents.curiosity import Curiosity

CURIOUS = replace(SMALL_PPO, curiosity=0.1)


def bonus_of(curiosity: Curiosity, x: torch.Tensor) -> np.ndarray:
    reward = np.zeros(len(x), np.float32)
    curiosity.pay(x, None, reward)
    return reward


@torch.inference_mode()
def test_what_was_seen_often_pays_less_than_what_is_new() -> None:
    g = torch.Generator().manual_seed(0)
    curiosity = Curiosity(3, 1.0, torch.Generator().manual_seed(1))
    for _ in range(400):
        curiosity.learn([torch.randn(64, 3, generator=g)], 1e-3)
    usual, new = torch.randn(200, 3, generator=g), torch.randn(20, 3, generator=g) + 4.0
    bonus = bonus_of(curiosity, torch.cat([usual, new]))
    assert bonus[200:].mean() > bonus[:200].mean() + 1.0
    assert bonus.mean() == pytest.approx(0.0, abs=1e-5)


@torch.inference_mode()
def test_the_bonus_is_the_errors_distance_from_its_mean_by_the_formula() -> None:
    curiosity = Curiosity(3, 0.5, torch.Generator().manual_seed(1))
    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(2))
    error = (curiosity._target(x) - curiosity._predictor(x)).square().mean(1).double().numpy()
    np.testing.assert_allclose(bonus_of(curiosity, x), 0.5 * (error - error.mean()) / error.std(), rtol=1e-3, atol=1e-4)


@torch.inference_mode()
def test_the_predictors_gradient_is_that_of_the_mean_square() -> None:
    curiosity = Curiosity(3, 0.5, torch.Generator().manual_seed(1))
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(2))
    with torch.inference_mode(False), torch.enable_grad():
        weights = {name: tensor.clone().requires_grad_() for name, tensor in curiosity._learns.value.items()}
        h, part = torch.tensor(x[::4].numpy()), torch.tensor(curiosity._target(x[::4]).numpy())
        for i in range(3):
            h = h @ weights[f"novelty/{i}.weight"].T + weights[f"novelty/{i}.bias"]
            h = h.relu() if i < 2 else h
        (h - part).square().mean().backward()  # type: ignore[no-untyped-call]
    curiosity.learn([x], 0.0)
    for name, weight in weights.items():
        torch.testing.assert_close(curiosity._learns.grad[name], weight.grad, rtol=1e-4, atol=1e-6)


@torch.inference_mode()
def test_an_invalid_row_is_paid_nothing_and_teaches_no_mean() -> None:
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(2))
    valid = np.array([True, True, False, True, True, True])
    one, two = (Curiosity(3, 0.5, torch.Generator().manual_seed(1)) for _ in range(2))
    reward = np.zeros(6, np.float32)
    one.pay(x, valid, reward)
    assert reward[2] == 0.0
    np.testing.assert_allclose(reward[valid], bonus_of(two, x[torch.from_numpy(valid)]), rtol=1e-5)


def test_a_curious_learner_goes_on_exactly_from_its_state_and_tells_the_term() -> None:
    agent = make_agent("ppo", CHOICES, CURIOUS, seed=0, rows=ROWS)
    play(agent, 13, np.random.default_rng(0))
    other = make_agent("ppo", CHOICES, CURIOUS, seed=5, rows=ROWS)
    other.load_state(agent.state())
    for player in (agent, other):
        play(player, 12, np.random.default_rng(1))
    assert same(agent.state(), other.state())
    assert "term/curiosity" in agent.metrics()
    assert not any(name.startswith("curiosity") for name in agent.policy_state())


def test_without_a_weight_there_is_none() -> None:
    agent = make_agent("ppo", CHOICES, SMALL_PPO, seed=0, rows=ROWS)
    play(agent, 10, np.random.default_rng(0))
    assert "term/curiosity" not in agent.metrics()
    assert not any(name.startswith("curiosity") for name in agent.state())

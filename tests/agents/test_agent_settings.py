from __future__ import annotations

from typing import Any

import pytest
from agents_helpers import MIXED

from ecs_rl.agents import Continuous, Discrete, DQNConfig, PolicySpec, PPOConfig, make_agent
from ecs_rl.errors import CommandError

SPEC = PolicySpec(("x",), Discrete(("a", "b")))


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("lr", 0.0, "greater than 0"),
        ("lr", float("nan"), "greater than 0"),
        ("lr", float("inf"), "greater than 0"),
        ("lr", "fast", "a number"),
        ("gamma", 1.01, "from 0 to 1"),
        ("gae_lambda", -0.1, "from 0 to 1"),
        ("minibatch", 0, "at least 1"),
        ("minibatch", 2.5, "a whole number"),
        ("rollout", -1, "from 1 to 1,000,000"),
        ("epochs", True, "a whole number"),
        ("clip", 0.0, "greater than 0"),
        ("entropy", -0.1, "at least 0"),
        ("target_kl", float("nan"), "at least 0"),
        ("log_std", 400.0, "from -20 to 5"),
        ("hidden", (64, 0), "a list of at most 16 whole numbers from 1"),
        ("activation", "gelu", "tanh or relu"),
        ("lr_schedule", "cosine", "constant or linear or exponential"),
        ("normalise_rewards", "yes", "true or false"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_by_name_with_what_it_must_be(name: str, value: Any, wanted: str) -> None:
    with pytest.raises(CommandError, match=rf"ppo\.{name}(:| must be) .*{wanted}"):
        PPOConfig(**{name: value})


@pytest.mark.parametrize(("name", "value"), [("memory", 0), ("epsilon_end", 2.0), ("epsilon_steps", 0), ("batch", -3)])
def test_the_settings_of_dqn_are_checked_too(name: str, value: Any) -> None:
    with pytest.raises(CommandError, match=rf"dqn\.{name} must be"):
        DQNConfig(**{name: value})


def test_a_learning_rate_cannot_fall_by_a_share_to_nothing() -> None:
    for config in (PPOConfig, DQNConfig):
        assert config(lr_schedule="linear", lr_end=0).lr_end == 0
        with pytest.raises(CommandError, match=r"(ppo|dqn)\.lr_end must be above 0 where the learning rate falls exp"):
            config(lr_schedule="exponential", lr_end=0)


def test_settings_at_the_edge_of_their_range_are_taken() -> None:
    PPOConfig(gamma=1, gae_lambda=0, entropy=0, hidden=(), log_std=-1.0, target_kl=0.01)
    DQNConfig(gamma=0, warm_up=0, epsilon_start=0)


def test_an_unknown_agent_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(CommandError, match="did you mean 'ppo'"):
        make_agent("pppo", SPEC, PPOConfig(), seed=0, rows=1)


def test_dqn_refuses_levers_and_says_what_to_use() -> None:
    with pytest.raises(CommandError, match="but turn, push are levers: use sac, td3 or ppo"):
        make_agent("dqn", PolicySpec(("x",), Continuous(("turn", "push"))), DQNConfig(), seed=0, rows=1)


def test_dqn_refuses_a_mixture_and_names_its_levers() -> None:
    with pytest.raises(CommandError, match="can only choose between options, but gas is a lever: use sac or ppo"):
        make_agent("dqn", MIXED, DQNConfig(), seed=0, rows=1)


def test_settings_of_another_algorithm_are_refused() -> None:
    with pytest.raises(TypeError, match="PPOConfig"):
        make_agent("ppo", SPEC, DQNConfig(), seed=0, rows=1)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(CommandError, match="--seed -1"):
        make_agent("ppo", SPEC, PPOConfig(), seed=-1, rows=1)

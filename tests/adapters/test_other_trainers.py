"""What other libraries train with takes our scenes as it takes any environment, by their names alone."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.wrappers import RecordEpisodeStatistics

NAME = "ecs_rl.adapters.gym:ecs_rl/Balance-v0"
"""A file that knows nothing of this project imports what it needs by that."""


def test_a_file_in_the_manner_of_clean_rl_finds_all_that_it_goes_by() -> None:
    torch.set_num_threads(1)  # two would wait for each other on a busy machine
    made = [lambda: RecordEpisodeStatistics(gymnasium.make(NAME)) for _ in range(4)]
    envs: Any = gymnasium.vector.SyncVectorEnv(made)
    assert isinstance(envs.single_action_space, gymnasium.spaces.Discrete)
    policy = torch.nn.Linear(int(np.prod(envs.single_observation_space.shape)), envs.single_action_space.n)
    seen, _ = envs.reset(seed=1)
    lengths, over = list[float](), np.zeros(4, bool)
    for _ in range(300):
        categorical: Any = torch.distributions.Categorical(logits=policy(torch.Tensor(seen)))
        chosen = categorical.sample()
        assert chosen.shape == (4,)
        seen, reward, terminated, truncated, infos = envs.step(chosen.numpy())
        assert torch.tensor(reward).view(-1).shape == (4,)
        over = np.logical_or(terminated, truncated)
        if "episode" in infos:
            lengths += infos["episode"]["l"][over].tolist()
    assert len(lengths) > 4
    assert sum(lengths) <= 4 * 300
    envs.close()


def test_the_vector_environment_takes_the_library_s_own_wrappers() -> None:
    envs: Any = gymnasium.make_vec(NAME, num_envs=5)
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    envs.reset(seed=3)
    told = 0
    for _ in range(300):
        seen, reward, terminated, truncated, infos = envs.step(envs.action_space.sample())
        over = terminated | truncated
        if over.any():
            assert np.array_equal(infos["_episode"], over)
            assert np.array_equal(infos["_final_obs"], over)
            told += int(over.sum())
    assert told > 5
    assert (seen.shape, reward.shape) == ((5, 4), (5,))
    envs.close()


def test_stable_baselines_finds_nothing_to_complain_of_and_learns() -> None:
    pytest.importorskip("stable_baselines3", reason="needs the extra bench")
    from stable_baselines3 import PPO, SAC
    from stable_baselines3.common.env_checker import check_env
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scene in ("Balance", "Swingup", "Lander", "Flappy", "Reacher"):
            check_env(gymnasium.make(f"ecs_rl/{scene}-v0"), skip_render_check=True)
    envs = make_vec_env(NAME, n_envs=4)
    learner = PPO("MlpPolicy", envs, n_steps=128, batch_size=128, learning_rate=1e-3, seed=0, device="cpu")
    learner.learn(10_000)
    lengths = [episode["l"] for episode in learner.ep_info_buffer or ()]
    assert np.mean(lengths[-10:]) > 60, lengths  # by chance it is about 20
    SAC("MlpPolicy", "ecs_rl/Swingup-v0", learning_starts=100, seed=0, device="cpu").learn(150)

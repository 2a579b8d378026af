"""A run whose critic sees more than its policy: trained, resumed exactly, played back, and played without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_runs import play, train
from small_learners import DQN, IQL, PPO, SAC, TD3
from team_scene import TEAM

import ecs_rl

SETTINGS = {"ppo": PPO, "sac": SAC, "td3": TD3, "iql": IQL}


@pytest.mark.parametrize("agent", SETTINGS)
def test_a_pilot_needs_only_what_the_policy_sees(agent: str, tmp_path: Path) -> None:
    scene = tmp_path / "team.py"
    scene.write_text(TEAM)
    small = ("--arenas", 4, "--eval-every", 320, "--eval-episodes", 2, "--schedule-steps", 1280, *SETTINGS[agent])
    told = train(scene, *small, "--steps", 640, "--json", "--runs", tmp_path / "runs")
    assert told.code == 0, told.err
    again = play(told.run, "--headless", "--json", "--episodes", 2)
    assert again.json["mean_return"] == pytest.approx(told.json["best_eval"])
    pilots = [ecs_rl.load(told.run, backend=backend) for backend in ("numpy", "torch")]
    assert pilots[0].observations == ("fish x", "fish y")
    x = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    np.testing.assert_allclose(pilots[0].act(x), pilots[1].act(x), atol=2e-5)
    assert pilots[0].act({"fish x": 0.1, "fish y": -0.2}).shape == (1,)
    resumed = train(scene, "--resume", told.run, "--steps", 1280, "--json", "--runs", tmp_path / "runs")
    whole = train(scene, *small, "--steps", 1280, "--json", "--runs", tmp_path / "whole")
    assert resumed.code == whole.code == 0, resumed.err
    assert resumed.json["params_sha256"] == whole.json["params_sha256"]


def test_an_algorithm_without_a_critic_of_its_own_is_refused(tmp_path: Path) -> None:
    scene = tmp_path / "team.py"
    scene.write_text(TEAM.replace("Levers(up=", "Choice(down=None, up="))
    told = train(scene, *DQN, "--runs", tmp_path / "runs")
    assert told.code == 2
    assert "--agent dqn has no critic that could see more: leave critic_sees out, or take ppo or sac" in told.err

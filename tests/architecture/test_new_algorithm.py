"""A new algorithm of the project costs one file and one row of the registry."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ecs_rl

FILE = '''
"""A2C: the gradient of log pi(a|s) A, one pass over the rollout, without a clip."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ecs_rl.agents.config import LEARNING_RATE, PPOConfig, Slider
from ecs_rl.agents.on_policy import OnPolicy
from ecs_rl.values import Count


@dataclass(frozen=True)
class A2CConfig(PPOConfig):
    """Advantage actor-critic."""

    epochs: Count = 1
    """Passes over a rollout."""
    sliders = {"lr": LEARNING_RATE, "value_weight": Slider(0.1, 2.0)}


class A2C(OnPolicy):
    """L = - E[ log pi(a|s) A ] + value_weight E[ (V(s) - R)^2 ] - entropy H(pi)"""

    name = "a2c"
    Config = A2CConfig
    METRICS = ("loss/policy", "loss/value", "entropy", "kl", "clip_fraction", "explained_variance", "lr")

    def gradient(self, batch):
        c, n = self.config, batch.total

        def policy_step(head, rows, output):
            log_prob, entropy = head.forward(output, batch.action[rows])
            grad = head.backward(batch.advantage[rows] * (-1.0 / n), -c.entropy * len(log_prob) / n)
            loss = -(log_prob * batch.advantage[rows]).sum() / n
            return torch.stack([loss, entropy * len(log_prob) / n, torch.zeros(()), torch.zeros(())]), grad

        def value_step(rows, value):
            error = value - batch.returns[rows]
            return torch.dot(error, error) / n, error * (2.0 * c.value_weight / n)

        policy, value_loss = self._networks.learn(batch.seen, policy_step, value_step)
        return torch.cat([policy[:1], value_loss.reshape(1), policy[1:]])
'''
PROGRAM = """
import sys
import ecs_rl.agents
ecs_rl.agents.__path__.append({folder!r})
from ecs_rl.agents.a2c import A2CConfig
from ecs_rl.agents.make import AGENTS, Algorithm
AGENTS["a2c"] = Algorithm("a2c", A2CConfig, "ecs_rl.agents.a2c:A2C")  # the row
from ecs_rl.commands import play, train
sys.exit((train if sys.argv[1] == "train" else play).main(sys.argv[2:]))
"""
SETTINGS = ("--a2c.rollout", "16", "--a2c.minibatch", "4096", "--a2c.hidden", "16", "--a2c.lr", "1e-2")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a program with the commands, to whose learners the file and the row were added."""
    folder = tmp_path / "room"
    folder.mkdir()
    (folder / "a2c.py").write_text(FILE)
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(folder=str(folder)))
    return path


def run(program: Path, *args: object) -> str:
    """Return what a command writes to stdout."""
    called = subprocess.run([sys.executable, program, *map(str, args)], capture_output=True, text=True, check=False)
    assert called.returncode == 0, called.stderr
    return called.stdout


def test_an_algorithm_is_one_file_and_one_row(program: Path, tmp_path: Path) -> None:
    told = run(program, "train", "balance", "--help")
    assert "--a2c.value-weight" in told
    assert "{ppo,dqn,sac" in told
    assert ",a2c,FILE.py:CLASS}" in told

    runs = ("--runs", tmp_path / "runs")
    steps = ("--steps", "40k", "--arenas", 16, "--eval-every", "10k", "--eval-episodes", 5, "--schedule-steps", "80k")
    first = json.loads(run(program, "train", "balance", "--agent", "a2c", *SETTINGS, *steps, "--json", *runs))
    assert first["best_eval"] > 60.0, "random play lasts 22 ticks"

    more = json.loads(run(program, "train", "balance", "--resume", first["run"], "--steps", "50k", "--json", *runs))
    whole = (*SETTINGS, *steps, "--steps", "50k", "--json", "--runs", tmp_path / "whole")
    assert (
        json.loads(run(program, "train", "balance", "--agent", "a2c", *whole))["params_sha256"]
        == (more["params_sha256"])
    )
    played = json.loads(run(program, "play", more["run"], "--headless", "--json", "--episodes", 5))
    assert played["mean_return"] == more["best_eval"]

    pilot = ecs_rl.load(more["run"], backend="numpy")  # here, where nobody knows the algorithm
    assert pilot.act(np.zeros(4, np.float32)) in (0, 1)

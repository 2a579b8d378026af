"""Numbers that run away stop the training with 5, and what is on disk stays finite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_runs import SMALL, TINY, Told, changed_balance, metadata, play, train
from small_learners import DQN, PPO, SAC, TD3

from ecs_rl.agents.base import State
from ecs_rl.agents.dqn import DQN as DqnAgent
from ecs_rl.agents.ppo import PPO as PpoAgent
from ecs_rl.runs import read_checkpoint, section

SPOILT = """
import torch
from torch import Tensor, nn


class Root(nn.Module):
    def __init__(self, inputs: int, outputs: int, spec: object) -> None:
        super().__init__()
        self.first, self.head = nn.Linear(inputs, 16), nn.Linear(16, outputs)
        self.drift = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Tensor) -> Tensor:
        far = (self.drift.abs().amax() > 0.01).float()
        return self.head(self.first(x).tanh()) + self.drift + far / (1.0 - far) * 0.0
"""
"""A network that is none any more once it has learned a little."""

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")


def assert_finite_policy(tensors: State) -> None:
    policy = section(tensors, "policy")
    assert policy
    assert all(bool(tensor.isfinite().all()) for tensor in policy.values())


def assert_diverged_and_saved(told: Told) -> None:
    assert told.code == 5
    assert "train.py: training diverged: " in told.err
    assert "Traceback" not in told.err
    known = metadata(told.run)
    assert (told.json["status"], known["status"]) == ("diverged", "diverged")
    manifest, tensors = read_checkpoint(told.run / "checkpoints" / "latest.safetensors")
    assert_finite_policy(tensors)
    assert manifest.step == told.json["steps"] == known["total_steps"]
    played = play(told.run, "--headless", "--json", "--checkpoint", "latest", "--episodes", 2)
    assert (played.code, played.json["step"]) == (0, manifest.step)


@pytest.mark.parametrize(
    ("agent", "step", "args"),
    [(PpoAgent, "_descend", PPO), (DqnAgent, "descend", (*DQN, "--dqn.target-rate", "1"))],
    ids=["ppo", "dqn"],
)
def test_a_gradient_that_becomes_nan_later_on_keeps_the_parameters_of_before(
    agent: Any, step: str, args: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, digests = getattr(agent, step), []

    def spoiled_at_the_twentieth(self: Any, *given: Any) -> Any:
        digests.append(self.parameters_sha256())
        if len(digests) == 20:
            self._parameters.clip_gradient = lambda _: float("nan")  # as PPO asks for it
            self._gradient = lambda loss: (float("nan"), loss)  # and DQN
        return original(self, *given)

    monkeypatch.setattr(agent, step, spoiled_at_the_twentieth)
    told = train("balance", *SMALL, *args, "--json", "--runs", tmp_path)
    assert len(digests) == 20
    assert_diverged_and_saved(told)
    assert told.sha in digests


def test_a_learning_rate_far_too_large_diverges(tmp_path: Path) -> None:
    told = train("balance", *TINY, "--ppo.lr", "1e30", "--json", "--runs", tmp_path)
    assert_diverged_and_saved(told)
    assert "lower ppo.lr" in told.err


def test_dqn_with_a_learning_rate_far_too_large_diverges(tmp_path: Path) -> None:
    told = train("balance", *SMALL, *DQN, "--dqn.lr", "1e20", "--json", "--runs", tmp_path)
    assert_diverged_and_saved(told)
    assert "lower dqn.lr" in told.err


def test_sac_with_a_learning_rate_far_too_large_diverges(tmp_path: Path) -> None:
    told = train("swingup", *SMALL, *SAC, "--sac.lr", "1e20", "--json", "--runs", tmp_path)
    assert_diverged_and_saved(told)
    assert "lower sac.lr" in told.err


def test_td3_with_a_learning_rate_far_too_large_diverges(tmp_path: Path) -> None:
    result = train("swingup", *SMALL, *TD3, "--td3.lr", "1e20", "--json", "--runs", tmp_path)
    assert_diverged_and_saved(result)
    assert "lower td3.lr" in result.err


def test_a_policy_that_sets_its_levers_to_nan_has_diverged_too(tmp_path: Path) -> None:
    told = train("swingup", *TINY, "--ppo.lr", "1e10", "--json", "--runs", tmp_path)
    assert_diverged_and_saved(told)


def test_a_module_that_returns_nan_once_it_has_learned_leaves_the_policy_from_before(tmp_path: Path) -> None:
    module = tmp_path / "root.py"
    module.write_text(SPOILT)
    told = train("balance", *TINY, "--network", f"{module}:Root", "--json", "--runs", tmp_path / "runs")
    assert_diverged_and_saved(told)
    assert 0 < told.json["steps"] < 3000


def test_rewards_too_large_to_learn_from_are_refused_by_name_and_solve_nothing(tmp_path: Path) -> None:
    scene = changed_balance(tmp_path / "rich.py", '"upright": 1.0', '"upright": lambda: cart.x * 0.0 + 3e38')
    told = train(scene, *TINY, "--json", "--runs", tmp_path / "runs")
    assert told.code == 2
    assert "the reward 'upright' of 'agent' gave 3e+38, too large to learn from" in told.err


def test_a_step_into_the_infinite_leaves_the_policy_from_before_it(tmp_path: Path) -> None:
    # 1e39 does not fit into a 32-bit float: the first gradient step leaves nothing that could be used.
    args = ("balance", *TINY, "--ppo.lr", "1e39", "--json", "--runs", tmp_path)
    assert_diverged_and_saved(train(*args))
    earlier = train(*args, "--checkpoint-every", 8)
    _, tensors = read_checkpoint(earlier.run / "checkpoints" / "latest.safetensors")
    assert_finite_policy(tensors)
    assert f"play.py {earlier.run} --checkpoint latest" in earlier.err

"""A policy that collapses is told, and with `--restore-best` the best one learns on, exactly resumed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_runs import Told, rows, train
from small_learners import PPO

from ecs_rl.agents import make_agent
from ecs_rl.agents.base import Agent
from ecs_rl.agents.ppo import PPO as PPOAgent
from ecs_rl.runs import read_checkpoint, sealed_pieces
from ecs_rl.training import scene_agents

ARGS = ("balance", "--arenas", 8, "--eval-every", 256, "--eval-episodes", 5, "--checkpoint-every", 900, "--json", *PPO)
SPOILT = range(5_000, 9_000)
"""Steps at which every update ends with parameters that are all zero: it always pushes to the same side."""
WHOLE = 200_000
"""Steps of the schedule, by which an agent knows how far training is."""


@pytest.fixture(autouse=True)
def _spoilt(monkeypatch: pytest.MonkeyPatch) -> None:
    learn = PPOAgent.learn

    def spoiling(self: PPOAgent, progress: float) -> Iterator[None]:
        yield from learn(self, progress)
        if round(progress * WHOLE) in SPOILT:
            self._parameters.flat.zero_()

    monkeypatch.setattr(PPOAgent, "learn", spoiling)


def flags(told: Told, name: str) -> list[tuple[int, float]]:
    """Return what the rows of metrics say at each evaluation, by its step."""
    return [(row["total_steps"], row[name]) for row in rows(told.run, "metrics") if name in row]


def test_a_collapse_is_told_once_and_stands_in_the_metrics_and_at_the_end(tmp_path: Path) -> None:
    told = train(*ARGS, "--steps", 8_500, "--runs", tmp_path)
    assert told.code == 0
    assert told.err.count("the policy has collapsed: its newest evaluations are far below the best") == 1
    assert "and the policy has collapsed since" in told.err.splitlines()[-2]
    found = dict(flags(told, "eval/collapsed"))
    began = min(step for step, collapsed in found.items() if collapsed)
    assert began in range(SPOILT.start + 9 * 256, SPOILT.start + 12 * 256)
    assert not any(collapsed for step, collapsed in found.items() if step < began)
    assert not flags(told, "eval/restored")
    best = train("balance", "--resume", told.run, "--steps", 9_000, "--json").json["best_step"]
    assert best < SPOILT.start


def test_the_best_policy_learns_on_after_a_collapse_and_that_is_told(tmp_path: Path) -> None:
    plain = train(*ARGS, "--steps", 11_000, "--runs", tmp_path)
    told = train(*ARGS, "--steps", 11_000, "--restore-best", "--runs", tmp_path)
    assert told.err.count("the policy had collapsed: it goes on from the best one's") == 2, "it was spoilt again"
    assert flags(told, "eval/restored")[-1][1] == 2.0
    assert told.sha != plain.sha
    before = [row for row in rows(plain.run, "train_episodes") if row["total_steps"] < 7_200]
    assert rows(told.run, "train_episodes")[: len(before)] == before, "until then nothing is different"


def test_a_restored_training_is_resumed_to_the_last_bit(tmp_path: Path) -> None:
    args = (*ARGS, "--restore-best")
    whole = train(*args, "--steps", 9_600, "--runs", tmp_path / "whole")
    assert flags(whole, "eval/restored")[-1][1] >= 1.0
    run = train(*args, "--steps", 6_000, "--runs", tmp_path / "parts").run  # in the middle of the collapse
    for steps in (7_900, 9_600):
        part = train("balance", "--resume", run, "--steps", steps, "--json")
    assert part.sha == whole.sha
    assert flags(part, "eval/restored") == flags(whole, "eval/restored")


def test_a_run_that_had_collapsed_goes_back_to_its_best_when_it_is_resumed_with_the_flag(tmp_path: Path) -> None:
    first = train(*ARGS, "--steps", 8_500, "--runs", tmp_path)
    told = train("balance", "--resume", first.run, "--steps", 9_500, "--restore-best", "--json")
    assert "the policy had collapsed: it goes on from the best one's" in told.err
    assert flags(told, "eval/restored")[-1][1] == 1.0


def test_an_agent_that_cannot_go_on_from_an_earlier_policy_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoRestart:
        def __init__(self, agent: Agent) -> None:
            self.agent = agent

        def __getattr__(self, name: str) -> Any:
            if name == "restart":
                raise AttributeError(name)
            return getattr(self.agent, name)

    monkeypatch.setattr(scene_agents, "make_agent", lambda *args, **kwargs: NoRestart(make_agent(*args, **kwargs)))
    told = train(*ARGS, "--restore-best", "--runs", tmp_path / "runs")
    assert told.code == 2
    assert "--restore-best: ppo cannot go on from an earlier policy: leave it out" in told.err
    assert not (tmp_path / "runs").exists()


def test_a_checkpoint_from_before_collapses_were_noted_takes_its_best_along(tmp_path: Path) -> None:
    first = train(*ARGS, "--steps", 6_500, "--runs", tmp_path)
    for path in (first.run / "checkpoints").glob("[sl]*.safetensors"):
        manifest, tensors = read_checkpoint(path)
        manifest.resume["exam"].pop("trend", None)  # `latest` is another name of the newest step
        path.write_bytes(b"".join(sealed_pieces(tensors, manifest)))
    told = train("balance", "--resume", first.run, "--steps", 9_500, "--restore-best", "--json")
    assert told.code == 0, told.err
    assert told.json["best_step"] == first.json["best_step"]
    assert "the policy had collapsed: it goes on from the best one's" in told.err

"""How episodes end, and what each reward term brings, is told over training in every run's metrics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ecs_rl.agents import PPOConfig
from ecs_rl.loading import load_scene
from ecs_rl.runs import TrainingRun
from ecs_rl.session import EndedBy, EpisodeRecord
from ecs_rl.training.prepare import prepare
from ecs_rl.training.settings import TrainingSettings


def test_an_ending_of_several_rules_is_shared_among_them_and_one_of_none_is_no_rules() -> None:
    crashed, both, none = (
        EpisodeRecord(1.0, 2, "Terminated", {"fuel": 3.0, **dict.fromkeys(names, 1.0)})
        for names in (("end/crashed",), ("end/crashed", "end/flew off"), ())
    )
    told = [[source(each) for each in (crashed, both, none)] for source in map(EndedBy, ("crashed", "flew off", ""))]
    assert told == [[1.0, 0.5, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 1.0]]


def test_the_metrics_tell_the_endings_and_terms_of_the_last_hundred_episodes(tmp_path: Path) -> None:
    run = TrainingRun.create("lander", runs_dir=tmp_path)
    config = PPOConfig(rollout=32, hidden=(8,), minibatch=256, epochs=1)
    training = prepare(
        load_scene("lander"), "ppo", config, TrainingSettings(arenas=32, steps=14_000, eval_every=10**9), run=run
    )
    while not training.done:
        training.tick()
    training.close()
    rows = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    episodes = [json.loads(line) for line in (run.path / "train_episodes.jsonl").read_text().splitlines()]
    row = next(row for row in reversed(rows) if row["rollout/episodes"] >= 100)
    last = [each for each in episodes if each["total_steps"] <= row["total_steps"]][-100:]
    endings = {name: row[name] for name in row if name.startswith("rollout/end/")}
    assert set(endings) == {f"rollout/end/{name}" for name in ("landed", "crashed", "flew off", "time up")}
    assert sum(endings.values()) == pytest.approx(1.0)
    for name in ("landed", "crashed", "flew off"):
        shares = [1 / sum(k.startswith("end/") for k in e["extras"]) for e in last if f"end/{name}" in e["extras"]]
        assert endings[f"rollout/end/{name}"] == pytest.approx(sum(shares) / 100)
    for name in training.world.terms:
        assert row[f"rollout/term/{name}"] == pytest.approx(sum(each["extras"][name] for each in last) / 100)
    assert sum(row[f"rollout/term/{name}"] for name in training.world.terms) == pytest.approx(
        row["rollout/mean_return"], abs=1e-3
    )

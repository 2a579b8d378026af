"""The commands with a scene of mixed controls: trained, played back, checked, refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_runs import TINY, play, rows, train
from mixed_controls import MIXED

from ecs_rl.agents import Composed, Continuous, Discrete
from ecs_rl.runs import read_manifest


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.py"
    path.write_text(MIXED)
    return path


def test_a_run_knows_its_controls_and_plays_back_what_it_recorded(scene: Path, tmp_path: Path) -> None:
    told = train(scene, *TINY, "--json", "--runs", tmp_path / "runs")
    assert told.code == 0, told.err
    (entry,) = read_manifest(told.run / "checkpoints" / "best.safetensors").policies
    assert entry.spec().actions == Composed(
        (Discrete(("left", "straight", "right"), "steer"), Continuous(("gas",)), Discrete(("off", "on"), "fire"))
    )
    played = play(told.run, "--headless", "--json", "--episodes", 3)
    assert (played.code, played.err) == (0, "")
    best = [row for row in rows(told.run, "eval_episodes") if row["total_steps_at_eval"] == told.json["best_step"]]
    assert played.json["returns"] == [row["total_reward"] for row in best]


def test_a_checkpoint_is_refused_where_a_control_has_become_something_else(scene: Path, tmp_path: Path) -> None:
    run = train(scene, *TINY, "--steps", 1000, "--json", "--runs", tmp_path / "runs").run
    other = tmp_path / "other.py"
    other.write_text(MIXED.replace("gas=gas,", "gas=Trigger(gas),"))
    refused = play(run, "--scene", other, "--headless")
    assert refused.code == 3
    assert "'policy' does ['gas: -1 to 1'] there and ['gas: off, on'] here" in refused.err


def test_dqn_refuses_mixed_controls_in_one_sentence(scene: Path, tmp_path: Path) -> None:
    refused = train(scene, "--agent", "dqn", "--runs", tmp_path / "runs")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        "train.py: --agent dqn can only choose between options, but gas is a lever: use sac or ppo\n"
    )


def test_a_check_tells_every_control_and_what_it_can_be_set_to(scene: Path) -> None:
    told = train(scene, "--check", "--arenas", 4, "--json")
    assert told.code == 0, told.err
    found = json.loads(told.out)
    assert found["does"] == {"steer": "left, straight, right", "gas": "-1 to 1", "fire": "off, on"}
    (count,) = [stage for stage in found["tick"] if stage["own"]]
    assert (count["stage"], count["reads"]) == ("count", ["Action", "Amount"])
    lines = train(scene, "--check", "--arenas", 4).out.splitlines()
    at = lines.index("does:")
    assert [line.split()[0] for line in lines[at + 1 : at + 4]] == ["steer", "gas", "fire"]

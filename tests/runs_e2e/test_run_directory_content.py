"""One small training, and everything that it leaves on disk and says."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
from command_runs import JSON_KEYS, SMALL, TINY, Told, metadata, rows, train
from small_learners import DQN

from ecs_rl.runs import read_checkpoint, read_manifest

EVERY = 700


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    runs = tmp_path_factory.mktemp("content") / "runs"
    return train("balance", *TINY, "--checkpoint-every", EVERY, "--keep", 99, "--json", "--seed", 5, "--runs", runs)


def test_json_is_the_only_line_on_stdout_and_progress_goes_to_stderr(told: Told) -> None:
    assert told.code == 0
    assert len(told.out.splitlines()) == 1
    assert "3,000/3,000 100%" in told.err
    assert f"python play.py {told.run}" in told.err


def test_json_has_exactly_the_keys_of_the_contract(told: Told) -> None:
    assert list(told.json) == JSON_KEYS


def test_json_tells_what_was_asked_for_and_what_came_of_it(told: Told) -> None:
    found = told.json
    asked = ("balance", "ppo", 5, 8, "finished", 3000)
    assert tuple(found[key] for key in ("scene", "agent", "seed", "arenas", "status", "steps")) == asked
    assert found["solved_step"] is None
    assert found["solved_second"] is None
    assert re.fullmatch("[0-9a-f]{64}", found["params_sha256"])


def test_seconds_add_up_and_the_speed_is_steps_over_them(told: Told) -> None:
    found = told.json
    stages = found["seconds_in"]
    assert {"decide", "simulate", "learn", "evaluate", "write"} <= stages.keys()
    assert all(seconds >= 0 for seconds in stages.values())
    assert 0.3 * found["seconds"] < sum(stages.values()) <= found["seconds"]
    assert found["steps_per_second"] == pytest.approx(found["steps"] / found["seconds"])


def test_the_run_directory_holds_what_the_contract_names(told: Told) -> None:
    names = {"metadata.json", "config.json", "checkpoints", ".lock"}
    names |= {"train_episodes.jsonl", "eval_episodes.jsonl", "metrics.jsonl"}
    assert {path.name for path in told.run.iterdir()} == names
    assert told.run.parent.name == "v1"
    assert told.run.parent.parent.name == "balance"
    assert re.fullmatch(r"\d{8}_\d{6}(_\d+)?", told.run.name)


def test_a_human_run_says_everything_on_stdout(tmp_path: Path) -> None:
    told = train("balance", *TINY, "--runs", tmp_path)
    assert told.code == 0
    assert told.err == ""
    assert "3,000/3,000 100%" in told.out
    run = next((tmp_path / "balance" / "v1").iterdir())
    assert f"python play.py {run}" in told.out
    assert "finished at step 3,000: best evaluation" in told.out


def test_metadata_tells_the_truth_about_the_run(told: Told) -> None:
    known, found = metadata(told.run), told.json
    assert (known["name"], known["version"], known["scene"], known["agent"]) == ("balance", "v1", "balance", "ppo")
    assert known["run_id"] == f"balance/v1/{told.run.name}"
    assert (known["total_steps"], known["total_episodes"]) == (3000, found["episodes"])
    assert (known["best_eval"], known["best_step"]) == (found["best_eval"], found["best_step"])
    assert (known["seed"], known["status"]) == (5, "finished")
    began, ended = (datetime.fromisoformat(known[key]) for key in ("started_at", "last_updated"))
    assert began.tzinfo is not None
    assert ended.tzinfo is not None
    assert began <= ended
    assert {"python", "torch", "numpy", "esper", "pymunk"} <= known["versions"].keys()


def test_config_holds_every_resolved_setting(told: Told) -> None:
    config = json.loads((told.run / "config.json").read_text())
    assert (config["arenas"], config["steps"], config["seed"], config["eval_every"]) == (8, 3000, 5, 1000)
    assert (config["ppo"]["rollout"], config["ppo"]["hidden"]) == (16, [16])
    assert config["threads"] >= 1
    assert "dqn" not in config


def test_every_training_episode_is_a_row_with_its_reward_terms(told: Told) -> None:
    episodes = rows(told.run, "train_episodes")
    assert len(episodes) == told.json["episodes"] > 10
    for row in episodes:
        assert list(row) == ["total_steps", "total_reward", "length", "status", "extras"]
        assert row["status"] in ("Terminated", "Truncated")
        assert row["extras"]["upright"] == row["total_reward"] == row["length"]
    steps = [row["total_steps"] for row in episodes]
    assert steps == sorted(steps)
    assert steps[-1] <= 3000


def test_training_episodes_follow_each_other_without_a_gap(told: Told) -> None:
    ends = Counter(row["total_steps"] // 8 for row in rows(told.run, "train_episodes"))
    begins = Counter(row["total_steps"] // 8 - row["length"] for row in rows(told.run, "train_episodes"))
    # Eight begin at first, one where another has ended, and eight are still going on at the end.
    possible = Counter({0: 8}) + ends
    assert begins <= possible
    assert (possible - begins).total() == 8


def test_every_evaluation_episode_is_a_row_with_its_seed(told: Told) -> None:
    episodes = rows(told.run, "eval_episodes")
    keys = ["total_steps", "total_reward", "length", "status", "extras", "total_steps_at_eval", "seed"]
    assert all(list(row) == keys for row in episodes)
    marks = [(row["total_steps_at_eval"], row["seed"]) for row in episodes]
    assert marks == [(step, 10_000 + i) for step in (1000, 2000, 3000) for i in range(3)]
    assert all(row["extras"]["upright"] == row["total_reward"] for row in episodes)


def test_best_is_the_first_of_the_best_evaluations(told: Told) -> None:
    episodes = rows(told.run, "eval_episodes")
    means = {
        step: sum(row["total_reward"] for row in episodes if row["total_steps_at_eval"] == step) / 3
        for step in (1000, 2000, 3000)
    }
    best = max(means, key=lambda step: means[step])
    assert (told.json["best_step"], told.json["best_eval"]) == (best, pytest.approx(means[best]))
    assert read_manifest(told.run / "checkpoints" / "best.safetensors").step == best


def test_metrics_belong_to_the_groups_of_the_contract_and_reach_the_end(told: Told) -> None:
    metrics = rows(told.run, "metrics")
    names = {key for row in metrics for key in row} - {"total_steps", "seconds"}
    assert {name.split("/")[0] for name in names} == {"rollout", "eval", "train", "time", "env"}
    assert {"rollout/mean_return", "eval/mean_return", "train/loss/policy", "time/learn", "env/explosions"} <= names
    steps = [row["total_steps"] for row in metrics]
    assert steps == sorted(set(steps))
    assert steps[-1] == 3000
    assert [row["total_steps"] for row in metrics if "eval/mean_return" in row] == [1000, 2000, 3000]
    seconds = [row["seconds"] for row in metrics]
    assert seconds == sorted(seconds)


def test_a_checkpoint_fires_at_the_first_tick_past_each_multiple_and_once_at_the_end(told: Told) -> None:
    past = [next(step for step in range(0, 3001, 8) if step >= k * EVERY) for k in range(1, 3000 // EVERY + 1)]
    files = {path.name for path in (told.run / "checkpoints").iterdir() if "milestone" not in path.name}
    assert files == {"best.safetensors", "latest.safetensors", *(f"step_{n}.safetensors" for n in [*past, 3000])}
    assert past == [704, 1400, 2104, 2800]


def test_latest_is_the_checkpoint_of_the_last_step(told: Told) -> None:
    checkpoints = told.run / "checkpoints"
    assert (checkpoints / "latest.safetensors").read_bytes() == (checkpoints / "step_3000.safetensors").read_bytes()
    assert read_manifest(checkpoints / "latest.safetensors").step == 3000
    manifests = {path: read_manifest(path) for path in checkpoints.glob("step_*")}
    assert all(path.stem == f"step_{manifest.step}" for path, manifest in manifests.items())


def test_only_the_newest_step_checkpoints_stay(tmp_path: Path) -> None:
    told = train("balance", *TINY, "--checkpoint-every", EVERY, "--keep", 2, "--json", "--runs", tmp_path)
    files = {path.name for path in (told.run / "checkpoints").iterdir() if "milestone" not in path.name}
    assert files == {"best.safetensors", "latest.safetensors", "step_2800.safetensors", "step_3000.safetensors"}


def test_a_total_that_no_tick_meets_exactly_is_passed_by_less_than_a_tick_and_told_truly(tmp_path: Path) -> None:
    told = train("balance", *TINY, "--steps", 1001, "--json", "--runs", tmp_path)
    assert told.json["steps"] == metadata(told.run)["total_steps"] == 1008
    assert read_manifest(told.run / "checkpoints" / "latest.safetensors").step == 1008


def test_a_config_file_reaches_the_agent_and_config_json_and_the_command_line_wins(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('steps = "2k"\narenas = 4\n[ppo]\nrollout = 32\nhidden = [24, 8]\nlr = 5e-4\n')
    told = train("balance", "--config", file, "--arenas", 8, "--eval-episodes", 2, "--json", "--runs", tmp_path / "r")
    assert told.code == 0
    config = json.loads((told.run / "config.json").read_text())
    assert (config["steps"], config["arenas"], config["config"]) == (2000, 8, str(file))
    assert config["ppo"] | {"rollout": 32, "hidden": [24, 8], "lr": 5e-4} == config["ppo"]
    _, tensors = read_checkpoint(told.run / "checkpoints" / "latest.safetensors")
    assert [tuple(tensors[f"policy/policy/{i}.weight"].shape) for i in range(3)] == [(24, 4), (8, 24), (2, 8)]
    assert tomllib.loads(file.read_text())["arenas"] == 4


def test_a_setting_that_no_agent_knows_in_a_config_file_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[ppo]\nrolout = 32\n")
    told = train("balance", "--config", file, "--runs", tmp_path / "runs")
    assert told.code == 2
    assert str(file) in told.err
    assert "'ppo.rolout': did you mean 'ppo.rollout'?" in told.err
    assert not (tmp_path / "runs").exists()


def test_dqn_writes_the_same_kind_of_run(tmp_path: Path) -> None:
    told = train("balance", *SMALL, *DQN, "--json", "--runs", tmp_path)
    assert told.code == 0
    assert list(told.json) == JSON_KEYS
    assert (told.json["agent"], metadata(told.run)["agent"]) == ("dqn", "dqn")
    assert {"train/loss/q", "train/epsilon"} <= rows(told.run, "metrics")[-1].keys()
    assert len(rows(told.run, "train_episodes")) == told.json["episodes"]

"""The logs hold valid JSON with exactly the contract's keys, and lose or hide nothing."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ecs_rl.errors import StorageError
from ecs_rl.runs import Manifest, TrainEpisode, TrainingRun


@pytest.fixture
def run(tmp_path: Path) -> TrainingRun:
    return TrainingRun.create("cart", runs_dir=tmp_path)


def lines(run: TrainingRun, name: str) -> list[Any]:
    run.flush()
    return [msgspec.json.decode(line) for line in (run.path / f"{name}.jsonl").read_bytes().splitlines()]


def test_a_training_episode_has_exactly_the_contracts_keys(run: TrainingRun) -> None:
    run.log_train_episode(5, 1.5, 3, "Terminated", {"upright": 0.5})
    assert lines(run, "train_episodes") == [
        {"total_steps": 5, "total_reward": 1.5, "length": 3, "status": "Terminated", "extras": {"upright": 0.5}}
    ]


def test_an_evaluation_episode_has_the_same_keys_and_two_more(run: TrainingRun) -> None:
    run.log_eval_episode(5, 1.5, 3, "Truncated", {}, total_steps_at_eval=4, seed=10_000)
    assert lines(run, "eval_episodes") == [
        {
            "total_steps": 5,
            "total_reward": 1.5,
            "length": 3,
            "status": "Truncated",
            "extras": {},
            "total_steps_at_eval": 4,
            "seed": 10_000,
        }
    ]


def test_metrics_are_flat_and_grouped(run: TrainingRun) -> None:
    run.log_metrics(5, 0.25, {"train/loss": 1.5, "time/fps": 60.0})
    assert lines(run, "metrics") == [{"total_steps": 5, "seconds": 0.25, "train/loss": 1.5, "time/fps": 60.0}]
    with pytest.raises(ValueError, match="'loss' belongs to no group"):
        run.log_metrics(6, 0.5, {"loss": 1.0})


def test_many_rows_at_once_are_the_same_as_one_by_one(run: TrainingRun) -> None:
    run.log_train_episodes([TrainEpisode(1, 1.0, 2, "Terminated", {}), TrainEpisode(2, 2.0, 3, "Truncated", {"a": 1})])
    run.log_train_episodes([])
    run.log_train_episode(1, 1.0, 2, "Terminated", {})
    run.log_train_episode(2, 2.0, 3, "Truncated", {"a": 1})
    first, second, third, fourth = lines(run, "train_episodes")
    assert (first, second) == (third, fourth)


def test_numpy_numbers_and_numbers_that_are_not_finite_become_valid_json(run: TrainingRun) -> None:
    extras: dict[str, Any] = {"nan": float("nan"), "f": np.float32(0.5), "i": np.int64(3), "b": np.True_}
    run.log_train_episode(np.int64(5), np.float32(1.5), np.int32(3), "Terminated", extras)  # type: ignore[arg-type]
    (row,) = lines(run, "train_episodes")
    assert (row["total_steps"], row["total_reward"], row["length"]) == (5, 1.5, 3)
    assert row["extras"] == {"nan": None, "f": 0.5, "i": 3, "b": True}


@pytest.mark.parametrize("act", ["update_metadata", "close", "save_checkpoint", "save_best"])
def test_rows_are_on_disk_before_what_refers_to_them(run: TrainingRun, act: str) -> None:
    run.log_train_episode(5, 1.5, 3, "Terminated", {})
    log = run.path / "train_episodes.jsonl"
    assert log.read_bytes() == b""
    arguments: tuple[Any, ...] = ({}, Manifest(scene="", agent="", step=1)) if act.startswith("save") else ()
    getattr(run, act)(*arguments)
    assert log.read_bytes().count(b"\n") == 1


@pytest.mark.parametrize(("left", "kept"), [(b'{"a":1}\n{"b', 1), (b'{"a', 0), (b'{"a":1}\n', 1), (b"x" * 200_000, 0)])
def test_half_a_row_left_by_a_killed_process_is_cut_off(run: TrainingRun, left: bytes, kept: int) -> None:
    run.close()
    (run.path / "train_episodes.jsonl").write_bytes(left)
    again = TrainingRun.resume(run.path)
    again.log_train_episode(5, 1.5, 3, "Terminated", {})
    assert len(lines(again, "train_episodes")) == kept + 1


def test_whole_rows_before_a_long_half_one_stay(run: TrainingRun) -> None:
    run.close()
    whole = b'{"a":1}\n' * 20_000
    (run.path / "metrics.jsonl").write_bytes(whole + b"y" * 150_000)
    TrainingRun.resume(run.path).close()
    assert (run.path / "metrics.jsonl").read_bytes() == whole


@pytest.mark.parametrize("how", ["one", "many", "flush", "update_metadata", "close"])
def test_a_full_disk_is_an_error_that_names_the_log(run: TrainingRun, how: str) -> None:
    log = run._train
    log._file.close()
    full = io.BufferedWriter(io.FileIO("/dev/full", "a"), 1 << 16)
    log._file = full
    row = TrainEpisode(1, 1.0, 2, "Terminated", {"padding" * 100: 1.0})
    with pytest.raises(StorageError, match=r"train_episodes\.jsonl: No space left on device"):  # noqa: PT012
        if how == "one":
            for _ in range(1000):
                log.append(row)
        elif how == "many":
            run.log_train_episodes([row] * 1000)
        else:
            log.append(row)
            getattr(run, how)()
    full.raw.close()

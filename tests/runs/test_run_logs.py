"""The logs hold valid JSON with exactly the contract's keys, and lose or hide nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ecs_rl.errors import CheckpointError, StorageError
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


@pytest.mark.parametrize("act", ["update_metadata", "close", "save_checkpoint", "save_policy"])
def test_rows_are_on_disk_before_what_refers_to_them(run: TrainingRun, act: str) -> None:
    run.log_train_episode(5, 1.5, 3, "Terminated", {})
    log = run.path / "train_episodes.jsonl"
    assert log.read_bytes() == b""
    arguments: tuple[Any, ...] = ({}, Manifest(scene="", agent="", step=1)) if act.startswith("save") else ()
    getattr(run, act)(*(("best",) if act == "save_policy" else ()), *arguments)
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


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Return a function that lets only so many more bytes be written, the last of them as a torn row."""
    write, left = os.write, [1 << 60]

    def limited(descriptor: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = write(descriptor, data[: left[0]])
        left[0] -= taken
        return taken

    def leave(size: int) -> None:
        left[0] = size

    monkeypatch.setattr(os, "write", limited)
    yield leave
    left[0] = 1 << 60


ROW = TrainEpisode(1, 1.0, 2, "Terminated", {"padding" * 100: 1.0})


@pytest.mark.parametrize("how", ["one", "many", "flush", "update_metadata", "close"])
def test_a_full_disk_is_an_error_that_names_the_log(
    run: TrainingRun, how: str, full_disk: Callable[[int], None]
) -> None:
    run.log_train_episodes([ROW] * 10)
    whole = run.flush()["train_episodes.jsonl"]
    full_disk(100)
    with pytest.raises(StorageError, match=r"train_episodes\.jsonl: No space left on device") as first:  # noqa: PT012
        if how == "one":
            for _ in range(1000):
                run.log_train_episode(1, 1.0, 2, "Terminated", ROW.extras)
        elif how == "many":
            run.log_train_episodes([ROW] * 1000)
        else:
            run.log_train_episodes([ROW])
            getattr(run, how)()
    full_disk(1 << 60)
    assert (run.path / "train_episodes.jsonl").stat().st_size == whole, "a torn row stayed"
    run.close()
    run.close()
    assert run.problem is first.value


def test_after_a_refused_write_every_other_is_the_same_error_and_changes_nothing(
    run: TrainingRun, full_disk: Callable[[int], None]
) -> None:
    run.log_metrics(1, 0.1, {"train/loss": 1.0})
    full_disk(3)
    with pytest.raises(StorageError) as first:
        run.flush()
    full_disk(1 << 60)
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    for write in (
        lambda: run.log_metrics(2, 0.2, {}),
        lambda: run.save_checkpoint({}, Manifest(scene="", agent="", step=1)),
        lambda: run.save_policy("best", {}, Manifest(scene="", agent="", step=1)),
        lambda: run.prune_checkpoints(0),
        lambda: run.update_metadata(total_steps=1),
        lambda: run.write_config({}),
        run.flush,
    ):
        with pytest.raises(StorageError) as again:
            write()
        assert again.value is first.value
    run.close()
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before


def test_a_log_deleted_while_it_is_written_is_noticed(run: TrainingRun) -> None:
    run.log_metrics(1, 0.1, {})
    run.flush()
    (run.path / "metrics.jsonl").unlink()
    run.log_metrics(2, 0.2, {})
    with pytest.raises(StorageError, match=r"metrics\.jsonl: The file was deleted"):
        run.flush()


def test_a_cut_and_new_rows_leave_exactly_the_rows_counted_and_the_new_ones(run: TrainingRun) -> None:
    run.log_metrics(1, 0.1, {})
    lengths = run.flush(sync=True)
    for step in range(2, 5):
        run.log_metrics(step, step / 10, {})
    run.close()
    with (run.path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"total_steps":5,"sec')
    again = TrainingRun.resume(run.path)
    again.cut_logs(lengths)
    again.log_metrics(2, 0.25, {})
    assert [(row["total_steps"], row["seconds"]) for row in lines(again, "metrics")] == [(1, 0.1), (2, 0.25)]


@pytest.mark.parametrize("length", [5, 10_000, -1])
def test_a_cut_where_no_row_ends_is_refused(run: TrainingRun, length: int) -> None:
    run.log_metrics(1, 0.1, {})
    before = run.flush()
    with pytest.raises(CheckpointError, match="rows are missing"):
        run.cut_logs({"metrics.jsonl": length})
    assert run.flush() == before


def test_a_log_that_is_no_plain_file_is_refused_at_once(run: TrainingRun) -> None:
    run.close()
    log = run.path / "metrics.jsonl"
    log.unlink()
    os.mkfifo(log)
    with pytest.raises(StorageError, match=r"metrics\.jsonl: Not a plain file"):
        TrainingRun.resume(run.path)
    log.unlink()
    log.mkdir()
    with pytest.raises(StorageError, match=r"metrics\.jsonl: Is a directory"):
        TrainingRun.resume(run.path)


def test_a_huge_log_of_no_rows_is_refused_before_it_takes_long(run: TrainingRun) -> None:
    run.close()
    with (run.path / "metrics.jsonl").open("ab") as file:
        file.truncate(1 << 40)
    with pytest.raises(CheckpointError, match="does not end in rows"):
        TrainingRun.resume(run.path)

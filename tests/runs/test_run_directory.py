"""A run gets a directory of its own, says who it is, and never writes anywhere else."""

from __future__ import annotations

import errno
import os
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ecs_rl.errors import CheckpointError, CommandError, StorageError
from ecs_rl.runs import TrainingRun, read_metadata


@pytest.fixture
def frozen_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecs_rl.runs.run.now", lambda: datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.usefixtures("frozen_clock")
def test_sixty_four_simultaneous_starts_get_sixty_four_directories(tmp_path: Path) -> None:
    barrier, paths = threading.Barrier(64), []

    def start() -> None:
        barrier.wait()
        paths.append(TrainingRun.create("crowd", runs_dir=tmp_path).path)

    threads = [threading.Thread(target=start) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = {path.name for path in paths}
    assert names == {"20260101_000000"} | {f"20260101_000000_{number}" for number in range(2, 65)}
    assert {read_metadata(path).run_id for path in paths} == {f"crowd/v1/{name}" for name in names}


@pytest.mark.usefixtures("frozen_clock")
def test_a_new_run_has_every_file_of_the_contract(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", "v2", tmp_path, scene="cartpole", scene_sha256="5a", agent="ppo", seed=3)
    run.write_config({"ppo": {"lr": 3e-4}})
    assert run.path == tmp_path / "cart" / "v2" / "20260101_000000"
    assert sorted(path.name for path in run.path.iterdir()) == [
        ".lock",
        "checkpoints",
        "config.json",
        "eval_episodes.jsonl",
        "metadata.json",
        "metrics.jsonl",
        "train_episodes.jsonl",
    ]
    metadata = msgspec.json.decode((run.path / "metadata.json").read_bytes())
    versions = metadata.pop("versions")
    assert {"python", "torch", "numpy", "esper", "pymunk", "safetensors", "msgspec"} <= set(versions)
    assert metadata == {
        "name": "cart",
        "version": "v2",
        "run_id": "cart/v2/20260101_000000",
        "scene": "cartpole",
        "scene_sha256": "5a",
        "agent": "ppo",
        "seed": 3,
        "total_steps": 0,
        "total_episodes": 0,
        "best_eval": None,
        "best_step": None,
        "started_at": "2026-01-01T00:00:00+00:00",
        "last_updated": "2026-01-01T00:00:00+00:00",
        "status": "running",
    }


BAD_NAMES = ["", ".", "..", "../x", "a/b", "a\\b", "/etc", "-x", ".x", "_x", "a b", "a\n", "é", "a" * 65, "a\x00"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_could_leave_the_runs_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandError, match="the name"):
        TrainingRun.create(name, runs_dir=tmp_path / "runs")
    with pytest.raises(CommandError, match="the version"):
        TrainingRun.create("fine", name, tmp_path / "runs")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a", "9", "A.b_c-d", "x" * 64, "v1.."])
def test_a_plain_name_is_taken(tmp_path: Path, name: str) -> None:
    assert TrainingRun.create(name, name, tmp_path).path.parent == tmp_path / name / name


def test_links_out_of_the_runs_folder_are_not_followed(tmp_path: Path) -> None:
    outside, runs = tmp_path / "outside", tmp_path / "runs"
    outside.mkdir()
    runs.mkdir()
    (runs / "linked").symlink_to(outside)
    with pytest.raises(CommandError, match="leaves"):
        TrainingRun.create("linked", runs_dir=runs)
    run = TrainingRun.create("fine", runs_dir=runs)
    run.close()
    (run.path / "metrics.jsonl").unlink()
    (run.path / "metrics.jsonl").symlink_to(outside / "target")
    with pytest.raises(StorageError, match=r"metrics\.jsonl"):
        TrainingRun.resume(run.path)
    (run.path / "checkpoints").rmdir()
    (run.path / "checkpoints").symlink_to(outside)
    with pytest.raises(CheckpointError, match="is a link"):
        TrainingRun.resume(run.path)
    assert list(outside.iterdir()) == []


def test_a_resumed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    run.write_config({"steps": 100})
    run.log_metrics(1, 0.5, {"time/fps": 60.0})
    run.update_metadata(total_steps=100, status="interrupted")
    run.close()
    again = TrainingRun.resume(run.path)
    again.log_metrics(2, 0.6, {"time/fps": 61.0})
    again.close()
    assert again.config == {"steps": 100}
    assert (again.metadata.total_steps, again.metadata.status) == (100, "running")
    assert (run.path / "metrics.jsonl").read_bytes().count(b"\n") == 2


def test_a_config_may_be_a_dataclass_with_numpy_and_paths(tmp_path: Path) -> None:
    @dataclass
    class Config:
        lr: float
        hidden: tuple[int, ...]
        scene: Path

    run = TrainingRun.create("cart", runs_dir=tmp_path)
    run.write_config({"ppo": Config(0.5, (64, 64), Path("scenes/a.py")), "limit": np.float32(0.25)})
    assert run.config == {"ppo": {"lr": 0.5, "hidden": [64, 64], "scene": "scenes/a.py"}, "limit": 0.25}


def test_a_config_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    assert run.config == {}
    (run.path / "config.json").write_text("[1]")
    run.close()
    with pytest.raises(CheckpointError, match=r"config\.json"):
        _ = TrainingRun.resume(run.path).config


def test_unknown_metadata_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    with pytest.raises(TypeError):
        run.update_metadata(total_step=1)
    assert read_metadata(run.path) == run.metadata


def test_a_failed_replacement_leaves_the_old_metadata_whole_and_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("ecs_rl.files.os.fsync", full)
    with pytest.raises(StorageError, match=r"cannot write .*metadata\.json: No space left on device; .*--runs"):
        run.update_metadata(total_steps=9)
    assert read_metadata(run.path).total_steps == run.metadata.total_steps == 0
    assert not list(run.path.glob(".*.tmp"))


def test_a_runs_folder_that_is_a_file_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(StorageError, match="runs"):
        TrainingRun.create("cart", runs_dir=tmp_path / "runs")

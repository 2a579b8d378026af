"""The run that is meant is found: by path, version or name, the newest usable one, saying what was skipped."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch

from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.runs import Manifest, TrainingRun, find_run, list_runs
from ecs_rl.runs.layout import natural


def make(runs: Path, where: str, *, checkpoint: bool = True) -> Path:
    name, version, start = where.split("/")
    run = TrainingRun.create(name, version, runs)
    if checkpoint:
        run.save_checkpoint({"a": torch.ones(3)}, Manifest(scene="", agent="", step=1))
    run.close()
    return run.path.rename(run.path.with_name(start))


@pytest.mark.parametrize("absolute", [True, False])
def test_an_exact_directory_a_version_and_a_name_are_accepted_as_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absolute: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    old = make(Path("runs"), "cart/v1/20260101_000000")
    new = make(Path("runs"), "cart/v1/20260102_000000")
    root = tmp_path if absolute else Path()
    assert find_run(root / old).path.resolve() == old.resolve()
    assert find_run(str(root / "runs/cart/v1")).path.resolve() == new.resolve()
    assert find_run(root / "runs/cart").path.resolve() == new.resolve()
    assert find_run("cart/v1/20260101_000000").path == old
    assert find_run("cart/v1").path == new
    assert find_run("cart").path == new


def test_paths_outside_the_runs_folder_work_as_well(tmp_path: Path) -> None:
    run = make(tmp_path / "other", "cart/v1/20260101_000000")
    for path in (run, run.parent, run.parent.parent):
        assert find_run(path, tmp_path / "runs").path == run


def test_the_newest_version_and_run_go_by_number(tmp_path: Path) -> None:
    make(tmp_path, "cart/v9/20270101_000000")
    make(tmp_path, "cart/v10/20260101_000000_9")
    make(tmp_path, "cart/v10/20260101_000000")
    newest = make(tmp_path, "cart/v10/20260101_000000_10")
    assert find_run("cart", tmp_path).path == newest


def test_natural_order_is_what_a_person_expects() -> None:
    names = ["v1", "v01", "v2", "v9", "v10", "v10.2", "v10.10", "w1"]
    assert sorted(names, key=natural) == ["v01", "v1", "v2", "v9", "v10", "v10.2", "v10.10", "w1"]


def test_nothing_given_means_the_newest_run_of_all(tmp_path: Path) -> None:
    make(tmp_path, "zebra/v7/20260101_000000")
    newest = make(tmp_path, "ant/v1/20260101_000001")
    assert find_run(None, tmp_path).path == newest
    assert find_run(tmp_path, tmp_path).path == newest


def test_broken_and_empty_candidates_are_skipped_and_told(tmp_path: Path) -> None:
    good = make(tmp_path, "cart/v9/20260101_000000")
    for start, name, damage in (
        ("20260102_000000", "checkpoints/latest.safetensors", b""),
        ("20260103_000000", "metadata.json", b"{"),
        ("20260104_000000", "metadata.json", b'{"name": 5}'),
    ):
        broken = make(tmp_path, f"cart/v9/{start}")
        (broken / "checkpoints" / "step_1.safetensors").unlink()
        (broken / name).write_bytes(damage)
    make(tmp_path, "cart/v9/20260105_000000", checkpoint=False)
    (tmp_path / "cart/v9/20260106_000000").mkdir()
    (tmp_path / "cart/v9/notes").mkdir()
    (tmp_path / "cart/v10").mkdir()
    (tmp_path / "cart/readme.txt").write_text("")
    found = find_run("cart", tmp_path)
    assert found.path == good
    places = [
        "v10:",
        "20260106_000000 is not a run",
        "20260105_000000:",
        "20260104_000000 is not a run",
        "20260103_000000 is not a run",
        "20260102_000000:",
    ]
    assert len(found.skipped) == len(places)
    for place, sentence in zip(places, found.skipped, strict=True):
        assert place in sentence


def test_one_sound_checkpoint_is_enough(tmp_path: Path) -> None:
    run = make(tmp_path, "cart/v1/20260101_000000")
    latest = run / "checkpoints" / "latest.safetensors"
    latest.unlink()  # it shares its content with the newest step
    latest.write_bytes(b"rubbish")
    assert find_run("cart", tmp_path)[:2] == (run, [])


def test_a_run_without_checkpoints_is_the_last_resort_of_a_library_resume(tmp_path: Path) -> None:
    make(tmp_path, "cart/v1/20260101_000000", checkpoint=False)
    newest = make(tmp_path, "cart/v1/20260102_000000", checkpoint=False)
    with pytest.raises(CheckpointError, match="no checkpoint that can be used"):
        find_run("cart", tmp_path)
    resumed = TrainingRun.resume("cart", tmp_path)
    resumed.close()
    assert resumed.path == newest
    older = make(tmp_path, "cart/v1/20251231_000000")
    with pytest.warns(UserWarning, match="skipped") as told:
        resumed = TrainingRun.resume("cart", tmp_path)
    resumed.close()
    assert resumed.path == older
    sentences = [str(warning.message) for warning in told if warning.category is UserWarning]
    assert [sentence.split(":")[0][-15:] for sentence in sentences] == ["20260102_000000", "20260101_000000"]


def test_an_unknown_name_suggests_the_nearest(tmp_path: Path) -> None:
    make(tmp_path, "cartpole/v1/20260101_000000")
    with pytest.raises(CommandError, match="did you mean 'cartpole'"):
        find_run("cartpol", tmp_path)
    with pytest.raises(CommandError, match="train one first"):
        find_run("cartpole", tmp_path / "none")
    with pytest.raises(CheckpointError, match="train one first"):
        find_run(None, tmp_path / "none")


@pytest.mark.parametrize("nothing", ["", "."])
def test_an_empty_name_means_nothing(tmp_path: Path, nothing: str) -> None:
    make(tmp_path, "cart/v1/20260101_000000")
    with pytest.raises(CommandError, match="there is no run"):
        find_run(nothing, tmp_path)


def test_a_folder_called_like_the_name_does_not_hide_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = make(Path("runs"), "cart/v1/20260101_000000")
    Path("cart").mkdir()
    assert find_run("cart").path == run


def test_a_version_called_like_a_start_is_still_a_version(tmp_path: Path) -> None:
    run = make(tmp_path, "cart/20260101_000000/20260102_000000")
    assert find_run("cart", tmp_path).path == run
    assert find_run("cart/20260101_000000", tmp_path).path == run


def test_the_listing_shows_every_run_newest_first_and_what_is_wrong(tmp_path: Path) -> None:
    first = make(tmp_path, "cart/v1/20260101_000000")
    second = make(tmp_path, "ant/v1/20260102_000000", checkpoint=False)
    broken = make(tmp_path, "cart/v2/20260103_000000")
    (broken / "metadata.json").unlink()
    entries = list_runs(tmp_path)
    assert [entry.path for entry in entries] == [broken, second, first]
    assert entries[0].metadata is None
    assert "metadata.json" in str(entries[0].problem)
    assert entries[1].metadata is not None
    assert (entries[1].metadata.name, entries[1].problem) == ("ant", None)
    assert list_runs(tmp_path / "none") == []


def test_a_run_found_by_name_that_is_not_meant_is_skipped_with_the_reason_one_named_itself_is_not(
    tmp_path: Path,
) -> None:
    meant = make(tmp_path, "cart/v1/20260101_000000")
    newest = make(tmp_path, "cart/v1/20260102_000000")

    def unfit(run: Path, manifest: Manifest) -> str:
        assert manifest.step == 1
        return "" if run == meant else f"{run}: not this one"

    for name in ("cart", "cart/v1", None):
        assert find_run(name, tmp_path, unfit=unfit)[:2] == (meant, [f"skipped {newest}: not this one"])
    assert find_run(newest, tmp_path, unfit=unfit)[:2] == (newest, [])
    with pytest.raises(CheckpointError, match=r"no run that can be used in .*; skipped .*: not this one"):
        find_run("cart", tmp_path, unfit=lambda run, manifest: f"{run}: not this one")


@pytest.mark.parametrize("name", ["cart", "ant"])
def test_a_run_started_after_the_clock_was_set_back_is_still_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("ecs_rl.runs.run.now", lambda: datetime(2026, 1, 1, tzinfo=UTC))
    make(tmp_path, "cart/v1/20300101_000000")
    make(tmp_path, "cart/v1/20300101_000000_9")
    for number in (10, 11):
        run = TrainingRun.create(name, "v1", tmp_path)
        run.save_checkpoint({"a": torch.ones(3)}, Manifest(scene="", agent="", step=1))
        run.close()
        assert run.path == tmp_path / name / "v1" / f"20300101_000000_{number}"
        assert find_run(name, tmp_path).path == find_run(None, tmp_path).path == run.path
        assert list_runs(tmp_path)[0].path == run.path
        assert run.metadata.started_at == "2026-01-01T00:00:00+00:00"
    monkeypatch.setattr("ecs_rl.runs.run.now", lambda: datetime(2031, 1, 1, tzinfo=UTC))
    assert TrainingRun.create(name, "v1", tmp_path).path.name == "20310101_000000"


@pytest.mark.parametrize("odd", ["v\u00b2", "\u0663", "v1\u00b2", "2\u00b22"])
def test_folders_with_digits_that_are_none_take_nothing_down(tmp_path: Path, odd: str) -> None:
    run = make(tmp_path, "cart/v1/20260101_000000")
    (tmp_path / "cart" / odd).mkdir()
    assert find_run("cart", tmp_path).path == run
    assert [entry.path for entry in list_runs(tmp_path)] == [run]


def test_a_folder_that_may_not_be_looked_into_is_one_line_of_the_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make(tmp_path, "cart/v1/20260101_000000")
    shut = tmp_path / "cart" / "v2"
    shut.mkdir()
    iterdir = Path.iterdir

    def refuse(path: Path) -> Iterator[Path]:
        if path == shut:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return iterdir(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert [entry.path for entry in list_runs(tmp_path)] == [run, shut]
    assert "cannot look into" in str(list_runs(tmp_path)[1].problem)
    TrainingRun.create("cart", "v1", tmp_path).close()

"""A run that is deleted, moved or replaced under its writer gets no second writer, and nothing is written elsewhere."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from injected_faults import Call, copied, prepared, refusal, save, sound, watched

from ecs_rl.commands.train import main
from ecs_rl.errors import CheckpointError, StorageError
from ecs_rl.runs import TrainingRun, list_runs
from ecs_rl.runs.lock import RunLock

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return prepared(tmp_path)


def content(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@contextmanager
def held_by_an_earlier_version(path: Path) -> Iterator[None]:
    """Hold `.lock` alone, as all versions did that knew nothing of the directory's own lock."""
    descriptor = os.open(path / ".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    yield
    os.close(descriptor)


def test_deleting_the_lock_file_admits_no_second_writer(path: Path) -> None:
    run = TrainingRun.resume(path)
    (path / ".lock").unlink()
    with pytest.raises(CheckpointError, match=f"{path} is being written by another process"):
        TrainingRun.resume(path)
    save(run, 2)
    with pytest.raises(CheckpointError, match=f"is being written by process {os.getpid()}"):
        TrainingRun.resume(path)
    run.close()
    assert sound(path)["latest"] == 2


def test_a_lock_file_made_anew_by_hand_is_taken_again(path: Path) -> None:
    run = TrainingRun.resume(path)
    (path / ".lock").unlink()
    (path / ".lock").touch()
    save(run, 2)
    with pytest.raises(BlockingIOError), held_by_an_earlier_version(path):
        pass
    run.close()


def test_a_run_that_an_earlier_version_holds_is_refused(path: Path) -> None:
    with held_by_an_earlier_version(path), pytest.raises(CheckpointError, match="is being written by"):
        TrainingRun.resume(path)
    TrainingRun.resume(path).close()


def test_an_earlier_version_is_refused_while_a_run_is_written(path: Path) -> None:
    run = TrainingRun.resume(path)
    with pytest.raises(BlockingIOError), held_by_an_earlier_version(path):
        pass
    run.close()


def test_whoever_took_the_lock_file_has_the_run_and_nothing_more_is_written_into_it(path: Path) -> None:
    run = TrainingRun.resume(path)
    run.log_metrics(2, 0.2, {})
    (path / ".lock").unlink()
    with held_by_an_earlier_version(path):
        before = content(path)
        with pytest.raises(CheckpointError, match=f"{path} is being written by") as first:
            save(run, 2)
        with pytest.raises(CheckpointError) as again:
            run.update_metadata(total_steps=7)
        assert again.value is first.value is run.problem
        run.abandon("failed")
        run.close()
        assert content(path) == before


def test_rows_of_another_writer_are_neither_written_after_nor_cut_away(path: Path) -> None:
    run = TrainingRun.resume(path)
    with (path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"total_steps":7}\n')
    before = (path / "metrics.jsonl").read_bytes()
    run.log_metrics(2, 0.2, {})
    with pytest.raises(StorageError, match=r"metrics\.jsonl: another program changed it"):
        run.flush()
    run.close()
    assert (path / "metrics.jsonl").read_bytes() == before


def moved(path: Path, outside: Path) -> None:
    path.rename(outside / "moved")


def replaced_by_a_copy(path: Path, outside: Path) -> None:
    path.rename(outside / "moved")
    path.mkdir()
    (path / "checkpoints").mkdir()


def replaced_by_a_link(path: Path, outside: Path) -> None:
    path.rename(outside / "moved")
    (outside / "target" / "checkpoints").mkdir(parents=True)
    path.symlink_to(outside / "target")


def checkpoints_replaced_by_a_link(path: Path, outside: Path) -> None:
    (path / "checkpoints").rename(outside / "moved")
    (outside / "target").mkdir()
    (path / "checkpoints").symlink_to(outside / "target")


Change = Callable[[Path, Path], None]
CHANGES: list[Change] = [moved, replaced_by_a_copy, replaced_by_a_link, checkpoints_replaced_by_a_link]


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_written_once_the_run_has_been_taken_away(path: Path, tmp_path: Path, change: Change) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    run = TrainingRun.resume(path)
    run.log_metrics(2, 0.2, {})
    change(path, outside)
    before = content(tmp_path)
    with pytest.raises(StorageError, match="the directory was moved, replaced or deleted while it was written"):
        save(run, 2)
    if change is not checkpoints_replaced_by_a_link:  # there the run itself is still ours, and is told to have failed
        run.abandon("failed")
    run.close()
    assert content(tmp_path) == before


@pytest.mark.parametrize("change", CHANGES)
def test_a_directory_replaced_in_any_moment_of_a_save_is_not_written_through(
    path: Path, tmp_path: Path, change: Change
) -> None:
    """Before every single call of a save: whatever is put in the place of the run stays as it was put there."""
    for at in range(1, 100):
        one, outside = copied(path, f"{change.__name__}-{at}"), tmp_path / f"outside-{at}"
        outside.mkdir()
        run = TrainingRun.resume(one)

        def swap(number: int, _: Call, __: object, at: int = at, one: Path = one, outside: Path = outside) -> None:
            if number == at:
                change(one, outside)

        with watched(swap, tmp_path) as calls:
            error = refusal(partial(save, run, 2))
            assert error is None or "moved, replaced or deleted" in str(error)
        run.close()
        assert content(outside / "target") == {}
        if one.exists() and change is replaced_by_a_copy and at <= len(calls):
            assert content(one) == {}
        if len(calls) < at:
            return
    raise AssertionError


def test_a_training_whose_checkpoints_become_a_link_ends_with_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def swap() -> None:
        while not (found := list(tmp_path.glob("runs/balance/v1/*/checkpoints/latest.safetensors"))):
            time.sleep(0.001)
        checkpoints_replaced_by_a_link(found[0].parent.parent, outside)

    outside = tmp_path / "outside"
    outside.mkdir()
    thread = threading.Thread(target=swap)
    thread.start()
    small = ["--arenas", "8", "--checkpoint-every", "500", "--steps", "500k", "--runs", str(tmp_path / "runs")]
    assert main(["balance", *small]) == StorageError.exit_code
    thread.join()
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("train.py: ")]
    assert len(told) == 1
    assert "the directory was moved, replaced or deleted" in told[0]
    assert content(outside / "target") == {}


LISTING = "from ecs_rl.runs import list_runs\nwhile True: list_runs({!r})"


def test_listing_runs_never_keeps_a_writer_out(path: Path) -> None:
    """Several processes that do nothing but list, while a run says `running` and nobody has it."""
    TrainingRun.resume(path).close()
    code = LISTING.format(str(path.parents[2]))
    lookers = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(3)]
    try:
        time.sleep(1.0)
        for _ in range(200):
            RunLock(path).release()
    finally:
        for looker in lookers:
            looker.kill()
            looker.wait()


def test_two_that_look_at_once_see_the_same(path: Path) -> None:
    TrainingRun.resume(path).close()
    found: list[str] = []

    def look() -> None:
        for _ in range(200):
            (entry,) = list_runs(path.parents[2])
            assert entry.metadata is not None
            found.append(entry.metadata.status)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {"killed"}

"""A disk that fills in a sweep is no setting's fault: all stops, and goes on to the same bits once there is room."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ecs_rl.cli.plan import plan_of
from ecs_rl.cli.process import Answer
from ecs_rl.errors import StorageError
from ecs_rl.many import sweep as sweep_command
from ecs_rl.many.jobs import Call, Job, JobCommand, JobReport, Trainee
from ecs_rl.many.ranges import parse_ranges
from ecs_rl.many.search import ListedSettings
from ecs_rl.many.seeds import checked
from ecs_rl.many.sweep_file import GRID, SweepFile, read_sweep
from ecs_rl.many.table import Table
from ecs_rl.many.trials import Trials

ARGV = (
    *("balance", "--arenas", "16", "--eval-every", "1k", "--eval-episodes", "2", "--steps", "5k", "--threads", "1"),
    *("--checkpoint-every", "1k", "--ppo.hidden", "8"),
)
RANGES = ("ppo.lr=1e-3,2e-3",)


def to_the_end(folder: Path, runs: tuple[str, ...] = ()) -> JobReport:
    """Return the last report of a trial in this folder, a new one or one that goes on with these runs."""
    folder.mkdir(exist_ok=True)
    over = {"name": "balance", "version": "sweep_1", "runs": str(folder), "threads": 1}
    command = JobCommand("--sweep", ARGV, "train.py", over, {})
    trainee = Trainee(command, lambda: False)
    report = trainee.do(Call("begin", Job(0, (0, 1), {"ppo.lr": 2e-3}, runs)))
    for _ in range(40):
        if report.is_over:
            return report
        report = trainee.do(Call("advance"))
    raise AssertionError("it does not end")


@contextmanager
def full_after(calls: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the disk refuse all that is written after so many calls."""
    left, write = [calls], os.write

    def refusing(descriptor: int, data: Any) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", refusing)
        yield
        assert left[0] < 0


@pytest.mark.parametrize("calls", [3, 60, 150])
def test_a_trial_that_the_disk_stopped_goes_on_to_the_same_bits(
    calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = to_the_end(tmp_path / "whole")
    with full_after(calls, monkeypatch):
        report = to_the_end(tmp_path / "part")
    assert (report.state, report.is_full) == ("interrupted", True)
    assert "No space left on device; free some space" in report.message
    again = to_the_end(tmp_path / "part", report.runs)
    assert (again.state, again.steps) == ("finished", whole.steps)
    shas = [[item["params_sha256"] for item in finished.summaries] for finished in (again, whole)]
    assert shas[0] == shas[1]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SweepFile]:
    """The file of a sweep that has begun nothing yet."""
    settings = checked(plan_of([*ARGV, "--sweep", *RANGES, "--runs", str(tmp_path)])).settings
    folder = tmp_path / "balance" / "sweep_1"
    folder.mkdir(parents=True)
    file = SweepFile(folder, sweep_command.new_sweep(settings, GRID, 2))
    file.write()
    yield file
    file.close()


def begun(file: SweepFile) -> tuple[Trials, Job, Job]:
    """Return the trials of the sweep, and the jobs of both, which have begun."""
    settings = plan_of([*ARGV, "--sweep", *RANGES]).settings
    axes = parse_ranges(settings.sweep, settings)
    trials = Trials(file, ListedSettings(file.sweep, axes), Table(io.StringIO(), "trial"))
    first, second = trials.next(), trials.next()
    assert first is not None
    assert second is not None
    return trials, first, second


FULL = JobReport("interrupted", 1000, message="cannot write x", is_full=True)


def test_a_full_disk_stops_the_sweep_and_leaves_all_trials_to_go_on_with(file: SweepFile) -> None:
    trials, first, second = begun(file)
    trials.take(first, FULL)
    assert (trials.problem, trials.must_stop) == ("cannot write x", True)
    trials.lost(second, 1, [])
    assert [row.state for row in file.sweep.rows] == ["interrupted", "interrupted"]


def test_a_process_that_died_on_a_disk_with_room_stays_failed(file: SweepFile) -> None:
    trials, first, _ = begun(file)
    trials.lost(first, -9, [])
    assert (file.sweep.rows[0].state, file.sweep.rows[0].message) == ("failed", "its process died")
    assert (trials.problem, trials.must_stop) == ("", False)


def test_what_the_disk_refuses_of_the_sweeps_own_file_ends_no_trial(
    file: SweepFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials, first, second = begun(file)
    with full_after(0, monkeypatch):
        trials.take(first, JobReport("interrupted", 1000))
        trials.lost(second, -9, [])
    assert "sweep.json: No space left on device" in trials.problem
    assert trials.must_stop
    assert [row.state for row in file.sweep.rows] == ["interrupted", "interrupted"]
    assert read_sweep(file.path).rows == []  # as it was written last


def test_the_command_says_how_to_go_on_and_leaves_with_4(
    file: SweepFile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [*ARGV, "--sweep", *RANGES, "--runs", str(file.path.parents[1])]
    plan = plan_of(argv)
    trials, first, _ = begun(file)
    trials.take(first, FULL)
    monkeypatch.setattr(sweep_command, "source_of", lambda *rest: trials)
    with pytest.raises(StorageError, match="cannot write x") as error:
        sweep_command.carried_out(argv, plan, file, (), together=1, answer=Answer(lambda number: None))
    assert error.value.exit_code == 4
    assert f"go on once there is room: python train.py {' '.join(argv)} --resume {file.path}" in capsys.readouterr().out
    sweep = read_sweep(file.path)
    assert (sweep.status, [row.state for row in sweep.rows]) == ("interrupted", ["interrupted"])

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

from ecs_rl.cli.parse import parse_train
from ecs_rl.cli.plan import recipes_of
from ecs_rl.cli.process import Answer
from ecs_rl.errors import StorageError, WorkerLostError
from ecs_rl.many.table import Table
from ecs_rl.sweeps import run as sweep_run
from ecs_rl.sweeps.driver import Driver, Reports
from ecs_rl.sweeps.ranges import parse_ranges
from ecs_rl.sweeps.record import Row, SweepFile, read_sweep
from ecs_rl.sweeps.run import begun, carried_out
from ecs_rl.sweeps.search import GRID, Settings
from ecs_rl.sweeps.trial import FULL, Order, SweepTrial

ARGV = (
    *("balance", "--arenas", "16", "--eval-every", "1k", "--eval-episodes", "2", "--steps", "5k", "--threads", "1"),
    *("--checkpoint-every", "1k", "--ppo.hidden", "8"),
)
RANGES = ("ppo.lr=1e-3,2e-3",)


def trial(folder: Path, runs: list[str] | None = None) -> SweepTrial:
    """Return a trial as Tune makes one."""
    folder.mkdir(exist_ok=True)
    over = {"name": "balance", "version": "sweep_1", "runs": str(folder), "threads": 1}
    found = SweepTrial()
    found.config = {"trial": 0, "setting": {"ppo.lr": 2e-3}, "runs": runs or []}
    found.setup(found.config, Order(ARGV, over, (0, 1), str(folder), str(folder), {}, {}))
    found._checked = True  # that this machine has the versions of this machine
    return found


def to_the_end(of: SweepTrial) -> dict[str, Any]:
    for _ in range(20):
        told = of.step()
        if told["done"]:
            of.cleanup()
            return told
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
    monkeypatch.chdir(tmp_path)
    whole = to_the_end(trial(tmp_path / "whole"))
    with full_after(calls, monkeypatch):
        told = to_the_end(trial(tmp_path / "part"))
    assert (told["state"], told[FULL]) == ("interrupted", True)
    assert "No space left on device; free some space" in told["message"]
    again = to_the_end(trial(tmp_path / "part", told["runs"]))
    assert (again["state"], again["steps"]) == ("finished", whole["steps"])
    shas = [[each["params_sha256"] for each in found["told"]] for found in (again, whole)]
    assert shas[0] == shas[1]


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Driver]:
    settings = parse_train([*ARGV, "--sweep", *RANGES, "--runs", str(tmp_path)], recipes_of)
    axes = parse_ranges(settings.sweep, settings)
    sweep, _ = begun(settings, GRID, 2)
    folder = tmp_path / "balance" / "sweep_1"
    folder.mkdir(parents=True)
    file = SweepFile(folder, sweep)
    file.write()
    driver = Driver(file, Settings(sweep, axes), Table(io.StringIO(), "trial"))
    for name in ("a", "b"):
        driver.begin(name)
        driver.started(name)
    yield driver
    file.close()


REPORT = {"state": "interrupted", "message": "cannot write x", "steps": 1000, "runs": [], "done": True}


def test_a_full_disk_stops_the_sweep_and_leaves_all_trials_to_go_on_with(driver: Driver) -> None:
    driver.reported("a", {**REPORT, FULL: True})
    assert (driver.problem, driver.stopping, driver.exhausted) == ("cannot write x", True, True)
    assert (driver.file.path / "stopping").exists()
    driver.lost("b")  # Tune could not write, either
    assert [row.state for row in driver.file.sweep.rows] == ["interrupted", "interrupted"]


def test_a_process_that_died_on_a_disk_with_room_stays_failed(driver: Driver) -> None:
    driver.lost("a")
    assert (driver.file.sweep.rows[0].state, driver.problem) == ("failed", "")


def test_what_the_disk_refuses_of_the_sweeps_own_file_ends_no_trial(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with full_after(0, monkeypatch):
        driver.reported("a", {**REPORT, "state": "running", "message": "", "done": False})
        driver.lost("b")
    assert "sweep.json: No space left on device" in driver.problem
    assert [row.state for row in driver.file.sweep.rows] == ["running", "interrupted"]
    assert read_sweep(driver.file.path).rows == []  # as it was written last


def test_an_exchange_that_a_full_disk_prevents_is_the_disks(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    run = driver.file.path / "20260101_000000"
    (run / "checkpoints").mkdir(parents=True)
    (run / "checkpoints" / "step_1.safetensors").write_bytes(bytes(1000))
    driver.file.sweep.rows[0].runs = [str(run)]
    driver.lost_exchange = "member 0 cannot take over"
    reports = Reports()
    reports.driver = driver
    with full_after(0, monkeypatch), pytest.raises(StorageError, match="room: No space left on device"):
        reports.on_step_end(1, [])
    with pytest.raises(WorkerLostError, match="member 0 cannot take over"):
        reports.on_step_end(2, [])
    assert not (driver.file.path / "room").exists()


def test_the_command_says_how_to_go_on_and_leaves_with_4(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = driver.file
    argv = [*ARGV, "--sweep", *RANGES, "--runs", str(file.path.parents[1])]
    settings = parse_train(argv, recipes_of)
    driver.reported("a", {**REPORT, FULL: True})
    monkeypatch.setattr(sweep_run, "ordered", lambda *rest: None)
    monkeypatch.setattr(sweep_run, "tried", lambda *rest, **more: driver)
    with pytest.raises(StorageError, match="cannot write x") as error:
        carried_out(argv, settings, file, (), at_once=1, answer=Answer(lambda number: None))
    assert error.value.exit_code == 4
    assert f"go on once there is room: python train.py {' '.join(argv)} --resume {file.path}" in capsys.readouterr().out
    sweep = read_sweep(file.path)
    assert (sweep.status, [row.state for row in sweep.rows]) == ("interrupted", ["interrupted"])
    assert isinstance(sweep.rows[0], Row)

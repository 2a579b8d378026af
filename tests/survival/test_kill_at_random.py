"""kill -9 at random moments, again and again: every run resumes, and ends as if nobody had ever touched it.

360 kills: `python -m pytest -m slow tests/survival/test_kill_at_random.py -s` (some minutes; two runs at a time).
A checkpoint every 300 steps makes saving a third of a life here; some kills wait for a save to begin, so that many come
in the middle of one. Others come before the first checkpoint, or while a life still reads the last one's files.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import wait
from pathlib import Path

import pytest
from exact_resume_cases import recorded
from games import TEXTS
from readme_scenes import BEACONS
from survival_runs import (
    SMALL_DQN,
    SMALL_IQL,
    SMALL_PPO,
    Life,
    Told,
    assert_same_end,
    assert_same_logs,
    metadata,
    newest_step,
    wait_until,
)

from ecs_rl.runs import read_manifest
from ecs_rl.tasks.resume_run import newest_checkpoint

SHARED = ("--checkpoint-every", 300, "--eval-every", 1700, "--eval-episodes", 2, "--threads", 1)
KINDS = {
    "ppo": (*SHARED, "--arenas", 8, *SMALL_PPO),
    "wide": (*SHARED, "--arenas", 16, "--keep", 1, *SMALL_PPO),
    "dqn": (*SHARED, "--arenas", 8, "--keep", 2, *SMALL_DQN),
    "beacons": (*SHARED, "--arenas", 8, *SMALL_PPO),
    "shooter": (*SHARED, "--arenas", 8, *SMALL_PPO),
    "offline": (*SHARED, "--arenas", 8, *SMALL_IQL),
}
OWN = {"beacons": BEACONS, "shooter": TEXTS["shooter"]}
"""The scenes that do not come with the project."""
NO_CHECKPOINT = 3
"""The exit code where there is nothing yet to go on from."""


@dataclass
class Tally:
    """What the kills of one run hit."""

    kills: int = 0
    early: int = 0
    """While the life was still starting, reading or cutting logs."""
    in_a_save: int = 0
    """Between the first and the last file of a save."""
    without_checkpoint: int = 0


@dataclass(frozen=True)
class Run:
    """One training that is killed again and again."""

    kind: str
    number: int
    folder: Path
    steps: int

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.number}"

    @property
    def path(self) -> Path:
        return max((self.folder / self.name / "v1").iterdir())

    @property
    def scene(self) -> str:
        """A scene that brings systems along, or one that comes with the project."""
        if self.kind not in OWN:
            return "balance"
        path = self.folder.parent / f"{self.kind}.py"  # the same file for the run that nobody kills
        if not path.exists():
            path.write_text(OWN[self.kind])
        return str(path)

    def args(self, *more: object) -> tuple[str, ...]:
        data = ("--offline", recorded(self.scene, self.folder.parent)) if self.kind == "offline" else ()
        given = (
            self.scene,
            *KINDS[self.kind],
            *data,
            "--seed",
            self.number,
            "--steps",
            self.steps,
            "--runs",
            self.folder,
        )
        return tuple(map(str, (*given, "--name", self.name, *more)))

    def again(self) -> tuple[str, ...]:
        return tuple(map(str, (self.scene, "--resume", self.path, "--runs", self.folder)))


def kill_again_and_again(run: Run, kills: int) -> Tally:
    """Start, kill and resume until so many kills have hit; the run is then wherever the last kill left it."""
    rng, tally, args = random.Random(run.name), Tally(), run.args()
    while tally.kills < kills:
        begins = newest_step(run.folder, run.name)
        life = Life(args, run.folder / f"{run.name}-said")
        moment = rng.choices(("early", "later", "saving"), (0.2, 0.5, 0.3))[0]
        early = moment == "early"
        if not early:
            assert wait_until(lambda begins=begins: newest_step(run.folder, run.name) > begins, life), life.end().err
        if moment == "saving":
            wait_for_a_save(run, rng)
        else:
            time.sleep(rng.uniform(0.0, 0.12 if early else 0.04))
        announced = newest_step(run.folder, run.name)
        life.process.kill()
        told = life.end()
        assert told.code == -9, f"ended before it was killed: {told}"  # the run is long enough for all kills
        tally.kills += 1
        tally.early += early
        args = run.again() if check_what_is_left(run, announced, tally) else run.args()
    return tally


def wait_for_a_save(run: Run, rng: random.Random) -> None:
    """Wait until the next save shows its first, half-written file, and then for a random part of it."""
    folder = run.path / "checkpoints"
    end = time.monotonic() + 5.0
    while not any(name.startswith(".") for name in os.listdir(folder)) and time.monotonic() < end:
        time.sleep(0.0001)  # two runs are watched by two threads of one interpreter
    time.sleep(rng.uniform(0.0, 0.001))


def check_what_is_left(run: Run, announced: int, tally: Tally) -> bool:
    """Tell whether the run can go on; look for anything that was lost, torn or half there."""
    if not (run.folder / run.name).exists() or newest_step(run.folder, run.name) == 0:
        assert announced == 0
        tally.without_checkpoint += 1
        if (run.folder / run.name).exists():
            refused = Life(run.again(), run.folder / f"{run.name}-said").end()
            assert refused.code in (2, NO_CHECKPOINT), refused.err
            assert "Traceback" not in refused.err
        return False
    checkpoints = run.path / "checkpoints"
    steps = {int(file.stem.removeprefix("step_")): file for file in checkpoints.glob("step_*.safetensors")}
    for step, file in steps.items():  # what can be seen is whole
        assert read_manifest(file).step == step
    manifest, _ = newest_checkpoint(run.path)
    assert manifest.step == max(steps) >= announced
    latest = checkpoints / "latest.safetensors"
    known = metadata(run.path)
    half = list(checkpoints.glob(".*.tmp")) or not latest.exists() or read_manifest(latest).step < manifest.step
    tally.in_a_save += bool(half or known["total_steps"] < manifest.step)
    if known["best_eval"] is not None:
        assert read_manifest(checkpoints / "best.safetensors").best_eval >= known["best_eval"]
    return True


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Run], Told]:
    """Train a run in one go, once."""
    folder = tmp_path_factory.mktemp("undisturbed")

    @cache
    def trained(run: Run) -> Told:
        return Life(Run(run.kind, run.number, folder, run.steps).args(), folder / run.name).end()

    return trained


def finish_and_compare(run: Run, undisturbed: Callable[[Run], Told]) -> None:
    """Let the run live to its end and compare it with one that nobody killed."""
    resumed = Life(
        run.again() if newest_step(run.folder, run.name) else run.args(), run.folder / f"{run.name}-end"
    ).end()
    wanted = undisturbed(run)
    assert resumed.json["steps"] == wanted.json["steps"] >= run.steps
    assert resumed.sha == wanted.sha
    assert_same_logs(resumed.run, wanted.run)
    assert_same_end(resumed.run, wanted.run)
    assert [resumed.json[key] for key in ("episodes", "best_eval", "best_step", "solved_step")] == [
        wanted.json[key] for key in ("episodes", "best_eval", "best_step", "solved_step")
    ]


def test_how_a_life_ended_is_told_while_another_thread_starts_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, was_read = forkserver.read_signed, threading.Event()

    def slowly(file: int) -> object:
        status = read(file)
        was_read.set()
        time.sleep(0.3)
        return status

    killed = Life(Run("ppo", 0, tmp_path, 100_000).args(), tmp_path / "killed")
    killed.process.kill()
    assert wait([killed.process.sentinel], 60)
    monkeypatch.setattr(forkserver, "read_signed", slowly)
    with ThreadPoolExecutor(1) as pool:
        another = pool.submit(Life, ("balance", "--steps", "0"), tmp_path / "another")
        assert was_read.wait(60)
        assert killed.end().code == -9
        assert another.result().end().code == 2


@pytest.mark.parametrize(
    ("kind", "number", "steps"),
    [
        ("ppo", 1, 12_000),
        ("dqn", 2, 12_000),
        ("beacons", 3, 12_000),
        pytest.param("offline", 5, 12_000, marks=pytest.mark.slow),
        pytest.param("shooter", 4, 12_000, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_killed_three_times_ends_as_if_it_never_was(
    kind: str, number: int, steps: int, tmp_path: Path, undisturbed: Callable[[Run], Told]
) -> None:
    run = Run(kind, number, tmp_path, steps)
    assert kill_again_and_again(run, kills=3).kills == 3
    finish_and_compare(run, undisturbed)


@pytest.mark.slow
def test_360_kills_lose_nothing(tmp_path: Path, undisturbed: Callable[[Run], Told]) -> None:
    runs = [Run(kind, number, tmp_path, 90_000) for number in range(3) for kind in KINDS]
    for run in runs:
        run.args()  # writes the scenes and the data, which is not for two threads at once
    with ThreadPoolExecutor(2) as pool:
        tallies = list(pool.map(lambda run: kill_again_and_again(run, kills=20), runs))
    whole = Tally(*(sum(getattr(each, name) for each in tallies) for name in Tally.__dataclass_fields__))
    print(f"\n{whole}")
    assert whole.kills == 360
    assert whole.in_a_save > 60
    assert whole.early > 30
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda run: finish_and_compare(run, undisturbed), runs))

"""A training that writes on a thread: nobody waits for the disk, and nothing is said to be saved that is not."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

import pytest
import torch
from injected_faults import Call, watched
from survival_runs import assert_same_end, assert_same_logs

from ecs_rl.agents.config import PPOConfig
from ecs_rl.errors import StorageError
from ecs_rl.loading import load_scene
from ecs_rl.runs import TrainingRun, read_checkpoint, section
from ecs_rl.runs.write_queue import MOST_TOGETHER, WriteQueue
from ecs_rl.training.prepare import prepare
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.training.training import Training
from ecs_rl.viewer.live.background import BackgroundTraining

PPO = PPOConfig(rollout=8, minibatch=32, epochs=1, hidden=(8,))


class Disk:
    """A disk that can be held up: no fsync comes to its end then."""

    def __init__(self) -> None:
        self.works = threading.Event()
        self.works.set()
        self.held = threading.Event()
        """Something waits for it."""
        self.sync = os.fsync

    def fsync(self, descriptor: int) -> None:
        if not self.works.is_set():
            self.held.set()
            assert self.works.wait(60)
        self.sync(descriptor)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    disk = Disk()
    monkeypatch.setattr(os, "fsync", disk.fsync)
    yield disk
    disk.works.set()


def training_in(folder: Path, *, behind: bool = True, steps: int = 40_000, every: int = 500) -> Training:
    run = TrainingRun.create("behind", runs_dir=folder, scene="balance", agent="ppo")
    settings = TrainingSettings(arenas=8, steps=steps, eval_every=1000, eval_episodes=2, checkpoint_every=every)
    training = prepare(load_scene("balance"), "ppo", PPO, settings, run=run)
    if behind:
        training.session.write_behind()
    return training


def path_of(training: Training) -> Path:
    assert training.session.run is not None
    return training.session.run.path


def told(run: Path) -> int:
    """Return the step that metadata.json speaks of."""
    return int(json.loads((run / "metadata.json").read_text())["total_steps"])


def steps_there(run: Path) -> set[int]:
    return {int(file.stem.removeprefix("step_")) for file in (run / "checkpoints").glob("step_*.safetensors")}


def tick_to(training: Training, step: int) -> None:
    while training.session.total_steps < step:
        training.tick()


# --- a training -----------------------------------------------------------------------------------------------------


def test_training_goes_on_while_the_disk_is_slow_and_tells_of_a_save_when_it_is_there(
    tmp_path: Path, disk: Disk
) -> None:
    training = training_in(tmp_path, every=1600)
    run = path_of(training)
    disk.works.clear()
    tick_to(training, 1600)
    assert disk.held.wait(60)
    tick_to(training, 2400)
    assert steps_there(run) == set()
    assert not (run / "checkpoints" / "latest.safetensors").exists()
    assert told(run) == 0
    disk.works.set()
    for _ in training.session.written():
        pass
    assert steps_there(run) == {1600}
    best_step = training.session.best_step or 0  # of equal evaluations the newest is kept, and saved as well
    assert told(run) == max(1600, best_step)
    training.close()


def test_what_was_learned_since_is_not_in_a_checkpoint_that_was_written_late(tmp_path: Path, disk: Disk) -> None:
    training = training_in(tmp_path, every=1600)
    disk.works.clear()
    tick_to(training, 1600)
    then = training.session.agent.policy_state()
    tick_to(training, 2800)
    disk.works.set()
    training.close()
    now = training.session.agent.policy_state()
    manifest, tensors = read_checkpoint(path_of(training) / "checkpoints" / "step_1600.safetensors")
    saved = section(tensors, "policy")
    assert manifest.resume["session"]["total_steps"] == 1600
    assert all(torch.equal(saved[name], then[name]) for name in then)
    assert not all(torch.equal(saved[name], now[name]) for name in now)


def test_the_same_files_come_of_it_as_of_a_training_that_waits(tmp_path: Path) -> None:
    trained = []
    for behind in (True, False):
        training = training_in(tmp_path / str(behind), behind=behind, steps=4000)
        while not training.done:
            training.tick()
        training.close()
        trained.append(path_of(training))
    ours, theirs = (sorted(file.name for file in (run / "checkpoints").iterdir()) for run in trained)
    assert ours == theirs
    assert_same_logs(*trained)
    assert_same_end(*trained)


def test_a_checkpoint_waits_for_the_one_before_it_in_slices(tmp_path: Path, disk: Disk) -> None:
    training = training_in(tmp_path, every=800)
    disk.works.clear()
    tick_to(training, 800)
    while training.session.total_steps < 1600:
        slices = training.slices()
        names = [None for _, _ in zip(slices, range(60), strict=False)]
    assert len(names) == 60, "it comes to no end before the disk works"
    disk.works.set()
    for _ in slices:
        pass
    training.close()
    assert {800, 1600} <= steps_there(path_of(training))


def test_the_thread_that_ticks_touches_no_file_of_the_run(tmp_path: Path) -> None:
    training, here = training_in(tmp_path), threading.get_ident()

    def note(number: int, call: Call, arguments: tuple[object, ...]) -> None:
        threads.setdefault(threading.get_ident(), set()).add(call.name)

    threads: dict[int, set[str]] = {}
    with watched(note, tmp_path):
        tick_to(training, 1600)
        for _ in training.session.written():
            pass
    assert threads.pop(here, set()) == set()
    assert set().union(*threads.values()) >= {"open", "write", "fsync", "replace", "link"}
    training.close()
    assert 1504 in steps_there(path_of(training))


def test_closing_waits_for_everything(tmp_path: Path, disk: Disk) -> None:
    training = training_in(tmp_path)
    disk.works.clear()
    tick_to(training, 520)
    release = threading.Timer(0.3, disk.works.set)
    release.start()
    training.close()
    run = path_of(training)
    assert steps_there(run) == {504, 520}
    assert told(run) == 520
    assert json.loads((run / "metadata.json").read_text())["status"] == "interrupted"


def test_a_save_that_somebody_asked_for_is_told_when_it_is_on_disk(tmp_path: Path, disk: Disk) -> None:
    training, said = training_in(tmp_path, every=100_000), list[str]()
    work = BackgroundTraining(training, lambda: None)
    work.run(perf_counter() + 0.05)
    work.finish_tick()
    step = training.session.total_steps
    disk.works.clear()
    work.pause(True)
    work.save(lambda text, tone: said.append(text))
    work.run(perf_counter() + 0.2)
    assert said == []
    assert steps_there(path_of(training)) == set()
    disk.works.set()
    work.run(perf_counter() + 30)
    assert said == [f"step_{step}.safetensors is written: the newest 3 stay"]
    assert steps_there(path_of(training)) == {step}
    training.close()


def test_what_the_disk_refused_ends_the_training_in_one_of_the_next_ticks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = training_in(tmp_path)
    tick_to(training, 480)

    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StorageError, match="No space left on device"):
        tick_to(training, 40_000)
    monkeypatch.undo()
    assert told(path_of(training)) == 0, "nothing is told of a save that failed"
    training.close("failed")
    assert json.loads((path_of(training) / "metadata.json").read_text())["status"] == "failed"


def test_what_the_disk_refused_last_of_all_is_told_by_closing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = training_in(tmp_path)
    tick_to(training, 520)
    for _ in training.session.written():
        pass
    training.tick()

    def refuse(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StorageError, match="Input/output error"):
        training.close()
    assert steps_there(path_of(training)) == {504}
    assert json.loads((path_of(training) / "metadata.json").read_text())["status"] in ("failed", "running")
    monkeypatch.undo()
    TrainingRun.resume(path_of(training)).close()  # its lock was given back


# --- the queue ------------------------------------------------------------------------------------------------------


def refuse(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("behind", [False, True])
def test_jobs_are_done_in_order_small_ones_included(behind: bool) -> None:
    queue, did = WriteQueue(), list[int]()
    if behind:
        queue.go_behind()
    for number in range(3 * MOST_TOGETHER):
        (queue.do if number % 7 == 0 else queue.later)(partial(did.append, number))
    assert queue.wait()
    assert did == list(range(3 * MOST_TOGETHER))
    queue.close()


def test_small_jobs_wait_for_each_other_but_not_for_ever() -> None:
    queue, did = WriteQueue(), list[int]()
    queue.go_behind()
    for number in range(MOST_TOGETHER):
        queue.later(partial(did.append, number))
    assert not did
    queue.later(partial(did.append, MOST_TOGETHER))
    queue.close()
    assert did == list(range(MOST_TOGETHER + 1))


def test_nothing_is_done_after_a_failure_until_it_was_raised_once() -> None:
    queue, did, first = WriteQueue(), list[str](), StorageError("first")
    queue.go_behind()
    held = threading.Event()
    queue.do(held.wait)
    queue.do(partial(refuse, first))
    queue.do(partial(did.append, "after it"))
    queue.later(partial(did.append, "and later"))
    held.set()
    with pytest.raises(StorageError) as raised:
        queue.wait()
    assert raised.value is first
    assert queue.wait()
    assert did == []
    queue.do(partial(did.append, "again"))
    assert queue.wait()
    assert did == ["again"]
    queue.close()


def test_a_mistake_of_ours_on_the_thread_is_raised_too() -> None:
    queue = WriteQueue()
    queue.go_behind()
    queue.do(partial(refuse, ZeroDivisionError("a bug")))
    with pytest.raises(ZeroDivisionError, match="a bug"):
        queue.wait()
    queue.close()


def test_waiting_for_a_while_tells_whether_all_is_done() -> None:
    queue, held = WriteQueue(), threading.Event()
    queue.go_behind()
    queue.do(held.wait)
    assert not queue.wait(0.01)
    held.set()
    assert queue.wait(30)
    queue.close()

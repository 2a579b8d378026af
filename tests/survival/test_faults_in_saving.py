"""Whatever call of a save fails, and whenever the process is killed in it: the old save or the new one is there.

`python -m pytest -m slow tests/survival/test_faults_in_saving.py` takes every error at every call.
"""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter

import pytest
from injected_faults import (
    ERRORS,
    Call,
    assert_goes_on,
    copied,
    dying,
    failing,
    prepared,
    refusal,
    save,
    sound,
    watched,
)

from ecs_rl.errors import StorageError
from ecs_rl.runs import TrainingRun, read_manifest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked process")
Work = Callable[[Path], None]


def every_call_refused(base: Path, code: int, *, from_then_on: bool) -> int:
    """Refuse each call of a save in turn, and return how many there were."""
    for at in count(1):
        path = copied(base, f"{code}-{from_then_on}-{at}")
        run = TrainingRun.resume(path)
        with watched(failing(at, code, from_then_on=from_then_on)) as calls:
            began = perf_counter()
            error = refusal(partial(save, run, 2))
            if error is None:
                gone = code == errno.ENOENT and len(calls) >= at and calls[at - 1].name == "unlink"
                assert gone or len(calls) < at, f"{calls[at - 1]} failed and nobody noticed"
            else:
                assert f"cannot write {path}" in str(error), calls[at - 1]
                assert os.strerror(code) in str(error)
            assert run.problem is error
            run.close()
            assert perf_counter() - began < 60.0, "it waits for a disk that has refused"
        assert not list(path.rglob(".*.tmp")), calls[at - 1]
        assert_goes_on(path, {1, 2})
        if len(calls) < at:
            return len(calls)
    raise AssertionError


def test_a_full_disk_at_any_call_leaves_the_old_save_or_the_new_one(tmp_path: Path) -> None:
    base = prepared(tmp_path)
    assert every_call_refused(base, errno.ENOSPC, from_then_on=False) > 20
    assert every_call_refused(base, errno.ENOSPC, from_then_on=True) > 20


@pytest.mark.slow
@pytest.mark.parametrize("from_then_on", [False, True])
@pytest.mark.parametrize("code", ERRORS)
def test_any_error_at_any_call_leaves_the_old_save_or_the_new_one(
    tmp_path: Path, code: int, from_then_on: bool
) -> None:
    assert every_call_refused(prepared(tmp_path), code, from_then_on=from_then_on) > 20


def save_2(path: Path) -> None:
    run = TrainingRun.resume(path)
    try:
        save(run, 2)
    finally:
        run.close()


def resume_and_cut(path: Path) -> None:
    lengths = read_manifest(path / "checkpoints" / "latest.safetensors").resume["logs"]
    run = TrainingRun.resume(path)
    run.log_metrics(1, 0.2, {})
    run.cut_logs(lengths)
    run.close()


def killed_at_every_call(base: Path, work: Work) -> int:
    for at in count(1):
        path = copied(base, f"{work.__name__}-{at}")
        child = os.fork()
        if not child:
            code = 1
            try:
                with watched(dying(at)):
                    work(path)
                code = 0
            finally:
                os._exit(code)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert ended in (0, 9)
        assert_goes_on(path, {1, 2})
        if not ended:
            return at - 1
    raise AssertionError


@needs_fork
@pytest.mark.parametrize("work", [save_2, resume_and_cut])
def test_a_kill_in_any_call_leaves_the_old_save_or_the_new_one(tmp_path: Path, work: Work) -> None:
    assert killed_at_every_call(prepared(tmp_path), work) > 10


@needs_fork
def test_a_kill_in_a_second_save_with_leftovers_of_a_first_one_is_survived(tmp_path: Path) -> None:
    base = prepared(tmp_path)
    for name in ("step_2", "latest", "best"):
        os.link(base / "checkpoints" / "step_1.safetensors", base / "checkpoints" / f".{name}.safetensors.tmp")
    assert killed_at_every_call(base, save_2) > 20


def largest_file_allowed(base: Path, limit: int) -> None:
    """Save in a process whose files may not grow beyond `limit` bytes: the system itself takes half, then refuses."""
    path = copied(base, f"limit-{limit}")
    child = os.fork()
    if not child:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            code = 4 if refusal(lambda: save_2(path)) else 0
        finally:
            os._exit(code)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended in (0, 4)
    assert not list(path.rglob(".*.tmp"))
    assert_goes_on(path, {1, 2})


@needs_fork
def test_a_file_that_the_system_cuts_in_the_middle_is_never_taken_for_whole(tmp_path: Path) -> None:
    base = prepared(tmp_path)
    for limit in range(100, 8000, 800):
        largest_file_allowed(base, limit)


@needs_fork
@pytest.mark.slow
def test_a_file_that_the_system_cuts_anywhere_is_never_taken_for_whole(tmp_path: Path) -> None:
    base = prepared(tmp_path)
    for limit in range(1, 8000, 13):
        largest_file_allowed(base, limit)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES])
def test_a_run_that_cannot_be_created_leaves_no_directory(tmp_path: Path, code: int) -> None:
    for at in count(1):
        with watched(failing(at, code)) as calls:
            error = refusal(lambda: TrainingRun.create("new", runs_dir=tmp_path / "runs").close())
        if error is None:
            assert len(calls) < at
            break
        assert str(tmp_path / "runs") in str(error)
        assert not list((tmp_path / "runs").glob("*/*/*"))
    assert at > 10


def test_a_directory_that_vanishes_is_named_and_closing_adds_nothing(tmp_path: Path) -> None:
    path = prepared(tmp_path)
    run = TrainingRun.resume(path)
    path.rename(path.with_name("elsewhere"))
    with pytest.raises(StorageError, match=f"cannot write {path}: the directory was moved, replaced or deleted"):
        save(run, 2)
    run.abandon("failed")
    run.close()
    assert not path.exists()
    assert sound(path.with_name("elsewhere"))["latest"] == 1


def position(calls: list[Call], name: str, path: str, *, last: bool = False) -> int:
    places = [place for place, call in enumerate(calls) if call.name == name and Path(call.path).name == path]
    assert places, f"no {name} of {path}"
    return places[-1 if last else 0]


def test_everything_is_on_the_disk_before_what_refers_to_it(tmp_path: Path) -> None:
    run = TrainingRun.resume(prepared(tmp_path))
    with watched(lambda *_: None) as calls:
        save(run, 2)
    named = position(calls, "replace", ".step_2.safetensors.tmp")
    for log in ("train_episodes.jsonl", "metrics.jsonl"):
        assert position(calls, "write", log, last=True) < position(calls, "fsync", log) < named
    temporary = ".step_2.safetensors.tmp"
    assert position(calls, "write", temporary, last=True) < position(calls, "fsync", temporary) < named
    latest = position(calls, "replace", ".latest.safetensors.tmp")
    folder = position(calls, "fsync", "checkpoints")
    pruned = position(calls, "unlink", "step_1.safetensors")
    assert named < latest < folder < pruned < position(calls, "replace", ".metadata.json.tmp")


def test_a_save_writes_its_tensors_once(tmp_path: Path) -> None:
    run = TrainingRun.resume(prepared(tmp_path))
    run.flush(sync=True)
    with watched(lambda *_: None) as calls:
        save(run, 2)
    assert {call.path for call in calls if call.name == "write" and "latest" in call.path} == set()
    assert sum(call.name == "fsync" for call in calls) <= 8

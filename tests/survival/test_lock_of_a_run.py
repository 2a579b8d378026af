"""A run has one writer: a second one is told who it is, and a killed one gives the run back."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ecs_rl.errors import CheckpointError
from ecs_rl.runs import TrainingRun, find_run, list_runs, read_metadata
from ecs_rl.runs.lock import RunLock

ROOT = Path(__file__).parents[2]
OPEN = "from ecs_rl.runs import TrainingRun; run = TrainingRun.resume({!r}); "
WAIT = "print('open', flush=True); import time; time.sleep(60)"
REFUSED = (
    "from ecs_rl.errors import CheckpointError\nfrom ecs_rl.runs import TrainingRun\n"
    "try:\n    TrainingRun.resume({!r})\nexcept CheckpointError as error:\n    print(error, error.exit_code)\n"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    run.close()
    return run.path


@contextmanager
def another(code: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def outcome(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_second_process_is_refused_and_told_who_writes(path: Path) -> None:
    run = TrainingRun.resume(path)
    before = read_metadata(path)
    told = outcome(REFUSED.format(str(path)))
    assert f"{path} is being written by process {os.getpid()} on '{socket.gethostname()}' since '20" in told
    assert told.endswith(" 3\n")
    assert read_metadata(path) == before
    run.log_metrics(1, 0.1, {})
    run.close()
    assert outcome(REFUSED.format(str(path))) == ""


def test_a_killed_writer_gives_the_run_back_at_once(path: Path) -> None:
    with another(OPEN.format(str(path)) + WAIT) as process:
        with pytest.raises(CheckpointError, match=f"process {process.pid} on"):
            TrainingRun.resume(path)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        TrainingRun.resume(path).close()


def test_another_run_is_independent(path: Path, tmp_path: Path) -> None:
    with another(OPEN.format(str(path)) + WAIT):
        other = TrainingRun.create("cart", runs_dir=tmp_path)
        other.close()
        TrainingRun.resume(other.path).close()


def test_the_same_run_twice_in_one_process_is_refused(path: Path) -> None:
    run = TrainingRun.resume(path)
    with pytest.raises(CheckpointError, match=f"process {os.getpid()} on"):
        TrainingRun.resume(path)
    run.close()
    run.close()
    TrainingRun.resume(path).close()


def test_a_new_run_is_locked_from_the_start(tmp_path: Path) -> None:
    run = TrainingRun.create("cart", runs_dir=tmp_path)
    with pytest.raises(CheckpointError, match="is being written by"):
        TrainingRun.resume(run.path)
    run.close()


def test_readers_need_no_lock(path: Path, tmp_path: Path) -> None:
    run = TrainingRun.resume(path)
    assert [entry.path for entry in list_runs(tmp_path)] == [path]
    assert find_run("cart", tmp_path, needs_checkpoint=False).path == path
    run.close()


def test_a_resume_that_fails_gives_the_lock_back(path: Path) -> None:
    (path / "metrics.jsonl").unlink()
    (path / "metrics.jsonl").mkdir()
    for _ in range(2):
        with pytest.raises(Exception, match=r"metrics\.jsonl: Is a directory"):
            TrainingRun.resume(path)
    (path / "metrics.jsonl").rmdir()
    TrainingRun.resume(path).close()


@pytest.mark.parametrize("content", [b"", b"\0" * 9, b"{", b'{"pid":"x"}', b"[" * 5000, b'{"pid":1' + b"0" * 5000])
def test_what_is_in_the_file_does_not_matter(path: Path, content: bytes) -> None:
    (path / ".lock").write_bytes(content)
    lock = RunLock(path)
    assert json.loads((path / ".lock").read_bytes())["pid"] == os.getpid()
    (path / ".lock").write_bytes(content)
    with pytest.raises(CheckpointError, match="is being written by another process"):
        RunLock(path)
    lock.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_does_not_keep_the_lock_of_its_killed_parent(path: Path) -> None:
    # The parent waits a little: for some microseconds after the fork both have the lock.
    code = OPEN.format(str(path)) + (
        "import os, time; child = os.fork(); "
        "time.sleep(0.5 if child else 20); print('open', flush=True); time.sleep(20)"
    )
    with another(code) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        TrainingRun.resume(path).close()


def test_a_started_child_does_not_keep_the_lock_of_its_killed_parent(path: Path) -> None:
    code = OPEN.format(str(path)) + "import subprocess; subprocess.Popen(['sleep', '20'], close_fds=False); " + WAIT
    with another(code) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        TrainingRun.resume(path).close()


def test_a_child_that_ends_does_not_take_the_parents_lock_along(path: Path) -> None:
    run = TrainingRun.resume(path)
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(CheckpointError, match="is being written by"):
        TrainingRun.resume(path)
    run.close()


def starts(tmp_path: Path, processes: int, each: int) -> None:
    code = (
        "import sys; from ecs_rl.runs import TrainingRun; sys.stdin.read()\n"
        f"for _ in range({each}): print(TrainingRun.create('crowd', runs_dir={str(tmp_path)!r}).path)"
    )
    waiting = [
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(processes)
    ]
    for process in waiting:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    paths = [Path(line.decode()) for process in waiting for line in process.communicate()[0].splitlines()]
    assert len(set(paths)) == processes * each
    assert {read_metadata(each).run_id for each in paths} == {f"crowd/v1/{each.name}" for each in paths}
    assert set((tmp_path / "crowd" / "v1").iterdir()) == set(paths)


def test_processes_that_start_at_once_get_directories_of_their_own(tmp_path: Path) -> None:
    starts(tmp_path, processes=4, each=16)


@pytest.mark.slow
def test_sixty_four_processes_that_start_at_once_get_directories_of_their_own(tmp_path: Path) -> None:
    starts(tmp_path, processes=64, each=4)

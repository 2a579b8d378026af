"""Workers: processes of this machine, or Ray actors on a cluster. Inside of both is a `Trainee`.

A worker has one call at a time. Its answer, its messages and its end come as events into the queue of the runner.
A process that its parent has left saves and ends: the pipe behind its stdin closes then.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import IO, Any, Protocol, TypeVar

import msgspec

from ecs_rl.cli.process import Answer
from ecs_rl.files import plain
from ecs_rl.many.jobs import Call, JobCommand, JobReport, Trainee

ROOT = Path(__file__).resolve().parents[2]
"""The folder that this package is in: a worker may start in any other one."""
HEAD = 8
"""Bytes in front of a message on a pipe: its length."""
WORKER = "import sys; sys.path.insert(0, sys.argv.pop(1)); from ecs_rl.many.job_workers import serve; serve()"
LOOK_EVERY = 0.2
"""Seconds between two looks for the file that stops the jobs of a cluster."""
LAST_LINES = 1.0
"""Seconds to wait for the stderr of a process that has ended: its own children may hold it open."""


Message = TypeVar("Message")


def send(message: object, pipe: IO[bytes]) -> None:
    """Write a message to a pipe."""
    content = msgspec.msgpack.encode(message, enc_hook=plain)
    pipe.write(len(content).to_bytes(HEAD, "little") + content)
    pipe.flush()


def receive(kind: type[Message], pipe: IO[bytes]) -> Message | None:
    """Return the next message from a pipe, None if it was closed, perhaps in the middle of a message."""
    size = int.from_bytes(pipe.read(HEAD), "little")
    content = pipe.read(size)
    return msgspec.msgpack.decode(content, type=kind) if size and len(content) == size else None


@dataclass(frozen=True)
class Event:
    """What came from a worker: the report of a call, a line of its stderr, or its end."""

    worker: Worker
    report: JobReport | None = None
    line: str = ""
    is_end: bool = False
    exit_code: int = 0
    """Of a process that ended; negative for a signal."""


class Worker(Protocol):
    """Does jobs somewhere."""

    def call(self, call: Call) -> None:
        """Let the trainee do something; its report comes as an event."""

    def stop(self) -> None:
        """Ask for all to be saved and to end; may be called in the handler of a signal."""

    def leave(self) -> None:
        """Let the worker end: nothing more will be asked."""

    def join(self) -> None:
        """Wait until it has ended."""


class LocalWorker:
    """A process of this machine."""

    def __init__(self, command: JobCommand, events: SimpleQueue[Event]) -> None:
        self._events = events
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", WORKER, str(ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C comes to the parent alone, which hands it on
        )
        self._lines = threading.Thread(target=self._read_lines, daemon=True)
        self._lines.start()
        threading.Thread(target=self._read_reports, daemon=True).start()
        self._send(command)

    def call(self, call: Call) -> None:
        """Let the trainee do something."""
        self._send(call)

    def stop(self) -> None:
        """Send SIGTERM, which the worker answers by saving."""
        self._process.terminate()

    def leave(self) -> None:
        """Close the pipe behind stdin."""
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended, and something was still to be sent
            self._process.stdin.close()

    def join(self) -> None:
        """Wait until the process has ended."""
        self._process.wait()

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended: that comes as an event
            send(message, self._process.stdin)

    def _read_reports(self) -> None:
        assert self._process.stdout is not None
        while report := receive(JobReport, self._process.stdout):
            self._events.put(Event(self, report=report))
        self._lines.join(LAST_LINES)
        self._events.put(Event(self, is_end=True, exit_code=self._process.wait()))

    def _read_lines(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._events.put(Event(self, line=line.decode(errors="replace").rstrip()))


class RayWorker:
    """An actor on a machine of a cluster."""

    def __init__(self, command: JobCommand, events: SimpleQueue[Event], threads: int) -> None:
        import ray

        self._events, self._stop_file, self._is_up = events, Path(command.stop_file), False
        self._actor: Any = ray.remote(num_cpus=threads, max_restarts=0)(RemoteTrainee).remote(command)

    def call(self, call: Call) -> None:
        """Let the trainee do something."""
        self._actor.do.remote(call).future().add_done_callback(self._answered)

    def stop(self) -> None:
        """Write the file that asks all jobs to save and end; leave one that still waits for its place."""
        with suppress(OSError):  # the folder is gone, and the jobs fail by themselves
            self._stop_file.touch()
        if not self._is_up:
            threading.Thread(target=self.leave).start()  # Ray may be at work where the signal came

    def leave(self) -> None:
        """End the actor."""
        import ray

        ray.kill(self._actor)

    def join(self) -> None:
        """An actor that is killed needs no waiting."""

    def _answered(self, future: Any) -> None:
        lost, self._is_up = future.exception() is not None, True
        self._events.put(Event(self, is_end=True) if lost else Event(self, report=future.result()))


class RemoteTrainee(Trainee):
    """A trainee on a machine of a cluster, which shares the folder of the sweep."""

    def __init__(self, command: JobCommand) -> None:
        os.chdir(command.cwd)
        super().__init__(command, stop_by_file(Path(command.stop_file)))


def stop_by_file(path: Path) -> Callable[[], bool]:
    """Return a function that tells whether a file is there; it looks a few times a second."""
    looked_at, is_there = 0.0, False

    def must_stop() -> bool:
        nonlocal looked_at, is_there
        now = monotonic()
        if not is_there and now - looked_at > LOOK_EVERY:
            looked_at, is_there = now, path.exists()
        return is_there

    return must_stop


def serve() -> None:
    """Be a local worker: answer the calls that come on stdin until it closes."""
    calls, reports = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # what a user's code prints is no report
    stopping = threading.Event()
    Answer(lambda number: stopping.set()).install()
    command = receive(JobCommand, calls)
    if command is None:
        return
    trainee = Trainee(command, stopping.is_set)
    waiting: SimpleQueue[Call | None] = SimpleQueue()
    threading.Thread(target=_listen, args=(calls, waiting), daemon=True).start()
    while call := waiting.get():
        try:
            send(trainee.do(call), reports)
        except BrokenPipeError:  # nobody is there to read it, and all is saved
            os._exit(0)
    trainee.do(Call("close"))


def _listen(calls: IO[bytes], waiting: SimpleQueue[Call | None]) -> None:
    """Hand on the calls; when the parent is gone, end as at SIGTERM, so that a job in the middle is saved."""
    while call := receive(Call, calls):
        waiting.put(call)
    waiting.put(None)
    os.kill(os.getpid(), signal.SIGTERM)

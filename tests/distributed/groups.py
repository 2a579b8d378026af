"""Groups of processes for tests: each is forked from a process that has torch, and says what it came to."""

from __future__ import annotations

import os
import pickle
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from process_groups import forked, free_port

from ecs_rl.distributed import processes
from ecs_rl.distributed.processes import joined
from ecs_rl.errors import EcsRlError

MOST = 120.0
"""Seconds after which a test of a group fails: a deadlock must not hold up the others."""
GONE = "gone"
"""What a process has come to that ended without a word."""
Work = Callable[..., Any]
"""A function of a module, with the group as its first argument."""


@dataclass(frozen=True)
class Place:
    """A process of a group, and what it goes by."""

    rank: int
    size: int
    meeting: str | None
    environment: Mapping[str, str]
    constants: Mapping[str, float]


def over_tcp() -> dict[str, str]:
    """Return an environment by which processes meet at an address of this machine, as a launcher sets it."""
    return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}


def in_group(
    size: int,
    work: Work,
    *arguments: Any,
    environment: Mapping[str, str] | None = None,
    constants: Mapping[str, float] | None = None,
) -> list[Any]:
    """Return what `work(group, *arguments)` comes to in each of so many processes, in the order of their ranks.

    An error of ours comes back as it was raised, a process that was killed as `GONE`. The processes meet in a file, or
    as the `environment` says. `constants` replaces some of `ecs_rl.distributed.processes`. A process
    that has stopped for good is killed once the others are done.
    """
    with tempfile.TemporaryDirectory() as folder:
        meeting = None if environment else f"file://{folder}/meeting"
        team, ends = [], list[Connection]()
        for rank in range(size):
            end, other = forked.Pipe(duplex=False)
            place = Place(rank, size, meeting, dict(environment or {}), dict(constants or {}))
            process = forked.Process(target=_be, args=(other, place, pickle.dumps((work, arguments))), daemon=True)
            process.start()
            other.close()
            team.append(process)
            ends.append(end)
        try:
            return _answers(team, ends)
        finally:
            for process in team:
                process.kill()
                process.join()


def _answers(team: Sequence[Any], ends: Sequence[Connection]) -> list[Any]:
    """Return what the processes say; those that stopped for good are killed once all others have said something."""
    answers: dict[Connection, Any] = {}
    deadline = time.monotonic() + MOST
    while waiting := [end for end in ends if end not in answers]:
        for end in wait(waiting, timeout=0.2):
            assert isinstance(end, Connection)
            try:
                answers[end] = pickle.loads(end.recv_bytes())
            except EOFError:
                answers[end] = GONE
        silent = [process for process, end in zip(team, ends, strict=True) if end not in answers]
        if all(state_of(process.pid) == "T" for process in silent):
            for process in silent:
                process.kill()
        said = list(answers.values())
        assert time.monotonic() < deadline, f"{len(silent)} of {len(ends)} processes say nothing, the others {said}"
    return [answers[end] for end in ends]


def state_of(pid: int) -> str:
    """Return the letter for what a process does: `T` if it was stopped, nothing if it has ended in this moment."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _be(end: Connection, place: Place, message: bytes) -> None:
    work, arguments = pickle.loads(message)  # torch has a way of its own to pass tensors on, which needs the sender
    os.environ.update(place.environment)
    for name, value in place.constants.items():
        assert hasattr(processes, name)
        setattr(processes, name, value)
    try:
        with joined(place.rank, place.size, "gloo", place.meeting) as group:
            answer = work(group, *arguments)
            end.send_bytes(pickle.dumps(answer))
    except EcsRlError as error:
        end.send_bytes(pickle.dumps(error))
    except Exception:
        end.send_bytes(pickle.dumps(traceback.format_exc()))
        raise


def listening(pid: int) -> list[int]:
    """Return the TCP ports that a process listens at."""
    inodes = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            inodes.add(path.readlink().name)
    ports = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == "0A" and f"socket:[{rest[5]}]" in inodes:
                ports.append(int(local.rpartition(":")[2], 16))
    return ports

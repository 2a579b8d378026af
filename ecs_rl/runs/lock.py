"""One writer for each run: a lock that the system itself gives back when its process ends, however it ends."""

from __future__ import annotations

import errno
import os
import socket
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

import msgspec

from ecs_rl.errors import CheckpointError
from ecs_rl.runs.files import NO_LINKS, PLAIN_FLAGS, write_all, writing
from ecs_rl.runs.metadata import iso, now
from ecs_rl.runs.reading import plain_size

LOCK = ".lock"
"""The file's name in a run. It stays when the run is closed; only whether it is locked means anything."""
_HELD_ERRNOS = {errno.EAGAIN, errno.EACCES, errno.EDEADLK}
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP}
_MAX_BYTES = 1000


class Holder(msgspec.Struct, frozen=True):
    """Who writes a run, as its lock file tells."""

    pid: int
    host: str
    started_at: str


class RunLock:
    """The right to write a run, held from here until `release` or the end of the process."""

    def __init__(self, run: Path) -> None:
        self.path = run / LOCK
        with writing(self.path):
            self._file = open(self.path, "r+b", buffering=0, opener=_open)  # noqa: SIM115
        try:
            self._acquire(run)
        except BaseException:
            self._file.close()
            raise
        _held.add(self)

    def release(self) -> None:
        """Let others write the run; a second call does nothing."""
        with suppress(OSError):  # closing gives the lock back even if it reports an error
            self._file.close()

    def _acquire(self, run: Path) -> None:
        descriptor = self._file.fileno()
        with writing(self.path):
            plain_size(descriptor)
            try:
                _lock(descriptor)
            except OSError as error:
                if error.errno in _HELD_ERRNOS:
                    raise CheckpointError(
                        f"{run} is being written by {_who(descriptor)}: stop that one, or start a run of its own"
                    ) from error
                if error.errno not in _NO_LOCKS:
                    raise
                warnings.warn(f"{run} is where nothing can be locked: see that nobody else writes it", stacklevel=5)
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            write_all(descriptor, msgspec.json.encode(Holder(os.getpid(), socket.gethostname(), iso(now()))))


def _who(descriptor: int) -> str:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        holder = msgspec.json.decode(os.read(descriptor, _MAX_BYTES), type=Holder)
    except (OSError, msgspec.DecodeError, ValueError):
        return "another process"
    return f"process {holder.pid} on {holder.host!r} since {holder.started_at!r}"


if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30
    """Windows hides a locked byte from readers: one far behind the text is locked instead."""

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_RDWR | os.O_CREAT | NO_LINKS | PLAIN_FLAGS, 0o666)


_held: WeakSet[RunLock] = WeakSet()


def _leave_to_the_parent() -> None:
    # A forked child shares the parent's lock, and would keep it when the parent is killed.
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_the_parent)

"""One writer for each run: a lock that the system itself gives back when its process ends, however it ends."""

from __future__ import annotations

import errno
import os
import socket
import sys
import warnings
from contextlib import suppress
from io import FileIO
from pathlib import Path
from time import monotonic, sleep
from weakref import WeakSet

import msgspec

from ecs_rl.errors import CheckpointError
from ecs_rl.files import NO_LINKS, PLAIN_FLAGS, UNREADABLE, Folder, closing, plain_size, write_all, writing
from ecs_rl.runs.metadata import iso, now

LOCK = ".lock"
"""The file's name in a run. It stays when the run is closed; only whether it is locked means anything."""
_HELD_ERRNOS = {errno.EAGAIN, errno.EACCES, errno.EDEADLK}
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EBADF, errno.EINVAL}
"""What systems answer that cannot lock this; EBADF and EINVAL come from network folders, for directories."""
PATIENCE = 0.4
"""Seconds that a lock is tried for: whoever lists runs looks whether one is held, and an earlier version takes it."""
_MAX_BYTES = 1000


class Holder(msgspec.Struct, frozen=True):
    """Who writes a run, as its lock file tells."""

    pid: int
    host: str
    started_at: str


class RunLock:
    """The right to write a run, held from here until `release` or the end of the process.

    Two locks: the directory itself, which nobody can delete and make anew unnoticed, where the system can lock one;
    and the file `.lock`, which tells who writes, and which is all that other systems and earlier versions know.
    """

    def __init__(self, run: Path) -> None:
        self.folder = Folder(run)
        self._file: FileIO | None = None
        try:
            if self.folder.descriptor is not None:
                with writing(run):
                    self._lock(self.folder.descriptor)
            self._file = self._take_file()
        except BaseException:
            self.release()
            raise
        _held.add(self)

    def release(self) -> None:
        """Let others write the run; a second call does nothing."""
        if self._file is not None:
            with suppress(OSError):  # closing gives the lock back even if it reports an error
                self._file.close()
        self.folder.close()

    def check(self) -> None:
        """Refuse to write on once the run was moved or replaced, or somebody else holds it.

        A lock file that was deleted is made anew: the directory was ours all the time.
        """
        self.folder.require_unmoved()
        if self._file is None or self._file.closed:
            raise ValueError(f"{self.folder.path} is closed: nothing can be written to it")
        try:
            ours = os.path.samestat(os.fstat(self._file.fileno()), self.folder.stat(LOCK))
        except FileNotFoundError:
            ours = False
        if not ours:
            self._file, before = self._take_file(), self._file
            before.close()

    def _take_file(self) -> FileIO:
        run = self.folder.path
        with writing(run / LOCK):
            # As a file object only so that a forgotten one is closed; reading and writing go by its descriptor.
            file = FileIO(self.folder.open(LOCK, os.O_RDWR | os.O_CREAT), "r+")
            try:
                plain_size(file.fileno())
                if not self._lock(file.fileno()):
                    warnings.warn(f"{run} is where nothing can be locked: see that nobody else writes it", stacklevel=4)
                os.ftruncate(file.fileno(), 0)
                os.lseek(file.fileno(), 0, os.SEEK_SET)
                write_all(file.fileno(), msgspec.json.encode(Holder(os.getpid(), socket.gethostname(), iso(now()))))
            except BaseException:
                file.close()
                raise
        return file

    def _lock(self, descriptor: int) -> bool:
        """Take a lock, or refuse if somebody else has it; tell whether the system can lock this at all."""
        end = monotonic() + PATIENCE
        while True:
            try:
                _take(descriptor)
                return True
            except OSError as error:
                if error.errno in _NO_LOCKS:
                    return False
                if error.errno not in _HELD_ERRNOS:
                    raise
                if monotonic() > end:
                    raise self._held_by_another() from error
            sleep(PATIENCE / 20)

    def _held_by_another(self) -> CheckpointError:
        run, who = self.folder.path, "another process"
        with suppress(OSError, *UNREADABLE), closing(self.folder.open(LOCK, os.O_RDONLY)) as descriptor:
            plain_size(descriptor)
            holder = msgspec.json.decode(os.read(descriptor, _MAX_BYTES), type=Holder)
            who = f"process {holder.pid} on {holder.host!r} since {holder.started_at!r}"
        return CheckpointError(f"{run} is being written by {who}: stop that one, or start a run of its own")


def is_free(run: Path) -> bool:
    """Tell whether nobody holds the lock file of a run; the look lasts some microseconds and keeps no lock."""
    try:
        with closing(os.open(run / LOCK, os.O_RDWR | NO_LINKS | PLAIN_FLAGS)) as descriptor:
            _share(descriptor)
    except OSError:
        return False  # held, or nothing can be known here
    return True


if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30
    """Windows hides a locked byte from readers: one far behind the text is locked instead."""

    def _take(descriptor: int) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    _share = _take
else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _share(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


_held: WeakSet[RunLock] = WeakSet()


def _leave_to_the_parent() -> None:
    # A forked child shares the parent's lock, and would keep it when the parent is killed.
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_the_parent)

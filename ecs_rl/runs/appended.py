"""A file that is only ever appended to, through a buffer, and that never keeps half of what was given to it."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from ecs_rl.errors import CheckpointError, StorageError
from ecs_rl.runs.files import NO_LINKS, PLAIN_FLAGS, storage_error, write_all, writing
from ecs_rl.runs.reading import plain_size

BUFFER_BYTES = 1 << 16


class Appended:
    """An open file that grows. After a failed write nothing more is written: what would follow has a gap before it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem: StorageError | None = None
        """The first failure, None as long as all is well."""
        self._waiting = bytearray()
        with writing(path):
            # As a file object only so that a forgotten one is closed; reading and writing go by its descriptor.
            self._file = open(path, "r+b", buffering=0, opener=_open)  # noqa: SIM115
            try:
                self._length, self._synced = plain_size(self._file.fileno()), -1
            except OSError:
                self._file.close()
                raise

    def put(self, data: bytes) -> None:
        """Add these bytes; they reach the system with the next flush, or when enough have come together."""
        self._check()
        self._waiting += data
        if len(self._waiting) > BUFFER_BYTES:
            self._drain()

    def flush(self, *, sync: bool = False) -> int:
        """Hand all bytes to the operating system, with `sync` to the disk; return the length of the file."""
        self._check()
        self._drain()
        if sync and self._synced != self._length:
            self._attempt_sync()
        return self._length

    def cut(self, length: int) -> None:
        """Forget everything after so many bytes; a file that is shorter has lost something, which is refused."""
        there = self.flush()
        if not 0 <= length <= there:
            raise CheckpointError(
                f"{self.path} has {there} bytes and the checkpoint counts {length}: rows are missing; "
                "restore the file from a copy, or start a new run from the policy with --init-from"
            )
        with writing(self.path):
            os.ftruncate(self._file.fileno(), length)
        self._length, self._synced = length, -1

    def close(self, *, drop: bool = False) -> None:
        """Flush, or `drop` what waits, and close; a second call does nothing, and after a failure it adds no other."""
        if self._file.closed:
            return
        try:
            if self.problem is None and not drop:
                self.flush()
        finally:
            self._close_file()

    def _check(self) -> None:
        if self.problem is not None:
            raise self.problem
        if self._file.closed:
            raise ValueError(f"{self.path} is closed: nothing can be written to it")

    def _drain(self) -> None:
        try:
            now = os.fstat(self._file.fileno())
            if now.st_nlink == 0:  # writing would succeed, and nobody could read it
                raise FileNotFoundError(errno.ENOENT, "The file was deleted while it was written")
            if now.st_size != self._length:
                self._refuse_others(now.st_size)
            if self._waiting:
                write_all(self._file.fileno(), self._waiting)
        except OSError as error:
            self._fail(error)
        self._length += len(self._waiting)
        self._waiting = bytearray()

    def _refuse_others(self, size: int) -> None:
        """Write nothing more into a file that somebody else changed: no checkpoint could say where its rows end."""
        self._waiting = bytearray()
        self.problem = StorageError(
            f"cannot write {self.path}: another program changed it, it has {size} bytes instead of {self._length}; "
            "see that nobody else writes the run, and go on from its newest checkpoint with --resume"
        )
        raise self.problem

    def _attempt_sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            self._fail(error)
        self._synced = self._length

    def _fail(self, error: OSError) -> None:
        with suppress(OSError):  # a torn end that cannot be removed now is removed when the run is opened again
            os.ftruncate(self._file.fileno(), self._length)
        self._waiting = bytearray()
        self.problem = storage_error(self.path, error)
        raise self.problem from error

    def _close_file(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            if self.problem is None:
                self.problem = storage_error(self.path, error)
                raise self.problem from error


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_RDWR | os.O_APPEND | os.O_CREAT | NO_LINKS | PLAIN_FLAGS, 0o666)

"""A run's logs: their rows, the keys exactly as in the contract, and files that never keep half of a row."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from ecs_rl.errors import CheckpointError, StorageError
from ecs_rl.files import NO_LINKS, PLAIN_FLAGS, plain, plain_size, storage_error, write_all, writing
from ecs_rl.records import Status

BUFFER_BYTES = 1 << 16
MAX_ROW_BYTES = 64_000_000
"""How far back the end of a row is looked for in a damaged log."""
METRIC_GROUPS = ("rollout/", "eval/", "train/", "time/", "env/", "change/", "lesson/", "lesson_step/")


class TrainEpisode(msgspec.Struct, frozen=True, gc=False):
    """One line of train_episodes.jsonl; a number that is not finite is written as null."""

    total_steps: int
    total_reward: float
    length: int
    status: Status
    extras: Mapping[str, float]


class EvalEpisode(TrainEpisode, frozen=True, gc=False):
    """One line of eval_episodes.jsonl."""

    total_steps_at_eval: int
    seed: int | None


class Appended:
    """A file that grows, through a buffer. After a failed write nothing more is written: it would follow a gap."""

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
        with self._noting_failure():
            self._waiting += data
            if len(self._waiting) > BUFFER_BYTES:
                self._drain()

    def flush(self, *, sync: bool = False) -> int:
        """Hand all bytes to the operating system, with `sync` to the disk; return the length of the file."""
        with self._noting_failure():
            self._drain()
            if sync and self._synced != self._length:
                os.fsync(self._file.fileno())
                self._synced = self._length
        return self._length

    def close(self, *, drop: bool = False) -> None:
        """Flush, or `drop` what waits, and close; a second call does nothing, and after a failure it adds no other."""
        if self._file.closed:
            return
        try:
            if self.problem is None and not drop:
                self.flush()
        finally:
            try:
                self._file.close()
            except OSError as error:
                if self.problem is None:
                    self.problem = storage_error(self.path, error)
                    raise self.problem from error

    def _drain(self) -> None:
        now = os.fstat(self._file.fileno())
        if now.st_nlink == 0:  # writing would succeed, and nobody could read it
            raise FileNotFoundError(errno.ENOENT, "The file was deleted while it was written")
        if now.st_size != self._length:  # no checkpoint could say where its rows end
            raise StorageError(
                f"cannot write {self.path}: another program changed it, "
                f"it has {now.st_size} bytes instead of {self._length}; "
                "see that nobody else writes the run, and go on from its newest checkpoint with --resume"
            )
        if self._waiting:
            write_all(self._file.fileno(), self._waiting)
            self._length += len(self._waiting)
            self._waiting = bytearray()

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        """Raise the first failure again if there was one; what fails in the block is the first otherwise."""
        if self.problem is not None:
            raise self.problem
        if self._file.closed:
            raise ValueError(f"{self.path} is closed: nothing can be written to it")
        try:
            yield
        except StorageError as problem:
            self.problem = problem
            raise
        except OSError as error:
            with suppress(OSError):  # a torn end that cannot be removed now is removed when the run is opened again
                os.ftruncate(self._file.fileno(), self._length)
            self.problem = storage_error(self.path, error)
            raise self.problem from error


class JsonLines(Appended):
    """A file of JSON lines, every one of them whole."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._encoder = msgspec.json.Encoder(enc_hook=plain)
        try:
            # A killed process can leave the beginning of a row, and the next row would be glued to it.
            self.cut(self._row_end(self._length))
        except BaseException:
            self._file.close()
            raise

    def extend(self, rows: Sequence[object]) -> None:
        """Add rows."""
        self.put(self._encoder.encode_lines(rows))

    def require_row_end(self, length: int) -> None:
        """Refuse a length at which no row ends: cut there, the log would have lost something."""
        if self._row_end(min(length, self.flush())) != length:
            raise CheckpointError(
                f"{self.path} has no row that ends at byte {length}, where the checkpoint saw one: rows are missing; "
                "restore the file from a copy, or start a new run from the policy with --init-from"
            )

    def cut(self, length: int) -> None:
        """Forget everything after so many bytes, at which a row must end."""
        self.flush()
        with writing(self.path):
            os.ftruncate(self._file.fileno(), length)
        self._length, self._synced = length, -1

    def _row_end(self, size: int) -> int:
        """Return where the last whole row within the first `size` bytes ends."""
        first = max(0, size - MAX_ROW_BYTES)
        while size > first:
            start = max(first, size - BUFFER_BYTES)
            with writing(self.path):
                os.lseek(self._file.fileno(), start, os.SEEK_SET)
                end = os.read(self._file.fileno(), size - start).rfind(b"\n")
            if end >= 0:
                return start + end + 1
            size = start
        if first:
            raise CheckpointError(
                f"{self.path} does not end in rows of JSON: restore it from a copy, or delete the run"
            )
        return 0


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_RDWR | os.O_APPEND | os.O_CREAT | NO_LINKS | PLAIN_FLAGS, 0o666)

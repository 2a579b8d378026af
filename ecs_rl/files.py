"""Read and write files so that nothing is lost or waited for.

After a crash a file that `Folder` wrote is the old one or the new one. A read takes plain files only, at most so many
bytes, and never waits at a pipe or a device. What the disk refuses is a `StorageError` that names the file.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from weakref import finalize

import msgspec

from ecs_rl.errors import CheckpointError, StorageError

NO_LINKS: int = getattr(os, "O_NOFOLLOW", 0)
"""Keeps a symbolic link in a run from leading a write out of the runs folder (Windows has no such flag)."""
PLAIN_FLAGS: int = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
"""Never wait for somebody at the other end of a pipe, never translate bytes, never hand the file to a child."""
_NO_HARD_LINKS = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK, errno.EINVAL}
_RELATIVE = os.open in os.supports_dir_fd
"""Whether the system can work relative to an open directory."""

UNREADABLE = (ValueError, RecursionError)
"""What decoding hostile JSON may raise."""
LONGEST_NAME = 255
"""Bytes of a file's name on the file systems in use."""
MAX_JSON_BYTES = 4_000_000
"""metadata.json and config.json have a few thousand bytes."""

Bytes = bytes | bytearray | memoryview
Content = TypeVar("Content")


def storage_error(path: Path, error: OSError) -> StorageError:
    """Return the error that tells which file the disk refused, why, and what to do."""
    reason = error.strerror or str(error)
    return StorageError(f"cannot write {path}: {reason}; free some space or choose another folder with --runs")


def is_refused(error: BaseException) -> bool:
    """Tell whether an error is the disk's, which is full, and nobody's mistake."""
    return isinstance(error, StorageError) or (
        isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn any OSError in the block into a StorageError that names `path`."""
    try:
        yield
    except OSError as error:
        raise storage_error(path, error) from error


def plain(value: object) -> object:
    """Return what msgspec cannot encode (numpy scalars and arrays, paths, texts with more to them) as what it can."""
    if isinstance(value, str):  # a network of a user's own is its name, and a function
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise NotImplementedError(f"{type(value).__name__} cannot be written as JSON")


def json_bytes(value: Any) -> bytes:
    """Return `value` as indented JSON that ends in a new line."""
    return msgspec.json.format(msgspec.json.encode(value, enc_hook=plain), indent=2) + b"\n"


def write_all(descriptor: int, data: Bytes) -> None:
    """Write every byte: the system may take only a part at a time, the last one before the disk is full for example."""
    rest = memoryview(data).cast("B")
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextmanager
def closing(descriptor: int) -> Iterator[int]:
    """Close the descriptor at the end; an error in the block comes before one in closing."""
    try:
        yield descriptor
    except BaseException:
        with suppress(OSError):
            os.close(descriptor)
        raise
    os.close(descriptor)


@contextmanager
def opened(path: Path, limit: int) -> Iterator[tuple[BinaryIO, int]]:
    """Open a plain file of at most `limit` bytes and yield it with its size; OSError for anything else, at once."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | PLAIN_FLAGS)) as file:
        yield file, plain_size(file.fileno(), limit)


def plain_size(descriptor: int, limit: int | None = None) -> int:
    """Return the size of an open file; OSError if it is a folder, a pipe or a device, or larger than `limit`."""
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "Not a plain file")
    if limit is not None and status.st_size > limit:
        raise OSError(errno.EFBIG, f"It has {status.st_size:,} bytes, and more than {limit:,} are never read")
    return status.st_size


def read_json(path: Path, kind: type[Content], before: str, after: str) -> Content:
    """Return the content of a small JSON file; CheckpointError with the reason between two texts if it is unusable."""
    try:
        with opened(path, MAX_JSON_BYTES) as (file, size):
            return msgspec.json.decode(file.read(size), type=kind)
    except (OSError, *UNREADABLE) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise CheckpointError(f"{before}: {reason}; {after}") from error


class Folder:
    """A directory that is opened once: all that is done in it is done in this one, whatever its path names by then.

    Where the system cannot work relative to an open directory (Windows), names are joined to the path instead; an
    open file keeps its directory from being renamed there.
    """

    def __init__(self, path: Path, inside: Folder | None = None) -> None:
        """Open a directory; one `inside` another must be a plain directory in it, and is made if it is not there."""
        self.path, self._inside = path, inside
        self.descriptor: int | None = None
        with writing(path):
            if inside is not None:
                inside._require_plain(path.name)
            if _RELATIVE:
                at = inside.descriptor if inside is not None else None
                flags = os.O_RDONLY | os.O_DIRECTORY | PLAIN_FLAGS | (NO_LINKS if inside is not None else 0)
                self.descriptor = os.open(path if at is None else path.name, flags, dir_fd=at)
            self._close = finalize(self, _close, self.descriptor)  # a forgotten one is closed, too
            self._status = os.stat(path if self.descriptor is None else self.descriptor)

    def close(self) -> None:
        """Give the directory back; a second call does nothing, and nothing can be done in it any more."""
        self._close()
        self.descriptor = -1 if _RELATIVE else None

    def require_unmoved(self) -> None:
        """Refuse with StorageError if the path names another directory by now, or none."""
        try:
            now = os.stat(self.path) if self._inside is None else self._inside.stat(self.path.name)
        except OSError:
            now = None
        if now is None or not os.path.samestat(now, self._status):
            raise StorageError(
                f"cannot write {self.path}: the directory was moved, replaced or deleted while it was written; "
                "nothing more is written; put it back, and go on from its newest checkpoint with --resume"
            )

    def stat(self, name: str) -> os.stat_result:
        """Return what the system knows of a name, of a link itself where it is one."""
        return os.stat(self._at(name), dir_fd=self.descriptor, follow_symlinks=False)

    def open(self, name: str, flags: int) -> int:
        """Return a descriptor of a file in this directory; a link is never followed."""
        return os.open(self._at(name), flags | NO_LINKS | PLAIN_FLAGS, 0o666, dir_fd=self.descriptor)

    def names(self) -> list[str]:
        """Return the names of all that is in the directory."""
        return os.listdir(self.path if self.descriptor is None else self.descriptor)

    def write(self, name: str, *pieces: Bytes, sync: bool = True, durable: bool = True) -> None:
        """Replace a file by these bytes in one step.

        After a power cut there is the old file or the new one, with `sync` for certain the new one; what is not even
        `durable` may be empty then.
        """
        with writing(self.path / name), self._temporary(name) as temporary:
            self._clear(temporary)  # never into a file that is there: it could be a second name of a good checkpoint
            with closing(self.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)) as descriptor:
                for piece in pieces:
                    write_all(descriptor, piece)
                if durable:
                    os.fsync(descriptor)
            self._replace(temporary, name)
            if sync:
                self.sync()

    def link(self, source: str, name: str) -> None:
        """Make `name` a second name of a file in one step, or a copy of it where there are no hard links."""
        with writing(self.path / name), self._temporary(name) as temporary:
            self._clear(temporary)
            try:
                at = self.descriptor
                os.link(self._at(source), self._at(temporary), src_dir_fd=at, dst_dir_fd=at)
            except OSError as error:
                if error.errno not in _NO_HARD_LINKS:
                    raise
                self.write(name, (self.path / source).read_bytes())
                return
            self._replace(temporary, name)
            self._clear(temporary)  # renaming one name of a file to another name of the same file does nothing at all

    def unlink(self, name: str) -> None:
        """Delete a file, if it is there."""
        with writing(self.path / name):
            self._clear(name)

    def sync(self) -> None:
        """Bring the names in the directory to the disk."""
        if self.descriptor is not None:  # else Windows, where a rename is durable without it
            os.fsync(self.descriptor)

    def remove_leftovers(self) -> None:
        """Delete what a killed writer left half-written; only the run's one writer may do this."""
        for name in self.names():
            if name.startswith(".") and name.endswith(".tmp"):
                self.unlink(name)

    def _require_plain(self, name: str) -> None:
        with suppress(FileExistsError):
            os.mkdir(self._at(name), dir_fd=self.descriptor)
        if stat.S_ISLNK(self.stat(name).st_mode):
            raise CheckpointError(f"{self.path / name} is a link that leaves the run; make it a plain directory")

    def _at(self, name: str) -> Path | str:
        return self.path / name if self.descriptor is None else name

    def _replace(self, name: str, other: str) -> None:
        os.replace(self._at(name), self._at(other), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def _clear(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self.stat(name)
            os.unlink(self._at(name), dir_fd=self.descriptor)

    @contextmanager
    def _temporary(self, name: str) -> Iterator[str]:
        temporary = temporary_name(name)
        try:
            yield temporary
        except BaseException:
            with suppress(OSError):  # the first error is the one to tell
                self._clear(temporary)
            raise


def temporary_name(name: str) -> str:
    """Return the name under which a file is written until it is whole, at most as long as a file system takes."""
    if len(os.fsencode(name)) > LONGEST_NAME - len("..tmp"):
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}.tmp"


def _close(descriptor: int | None) -> None:
    if descriptor is not None:
        with suppress(OSError):
            os.close(descriptor)

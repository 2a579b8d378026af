"""Writing to disk so that a crash leaves the old file or the new one, and a failure is never silent."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from ecs_rl.errors import StorageError

NO_LINKS: int = getattr(os, "O_NOFOLLOW", 0)
"""Keeps a symbolic link in a run from leading a write out of the runs folder (Windows has no such flag)."""
PLAIN_FLAGS: int = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
"""Never wait for somebody at the other end of a pipe, never translate bytes, never hand the file to a child."""
_NO_HARD_LINKS = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK, errno.EINVAL}

Bytes = bytes | bytearray | memoryview


def storage_error(path: Path, error: OSError) -> StorageError:
    """Return the error that tells which file the disk refused, why, and what to do."""
    reason = error.strerror or str(error)
    return StorageError(f"cannot write {path}: {reason}; free some space or choose another folder with --runs")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn any OSError in the block into a StorageError that names `path`."""
    try:
        yield
    except OSError as error:
        raise storage_error(path, error) from error


def plain(value: object) -> object:
    """Return what msgspec cannot encode (numpy scalars and arrays, paths, sets) as something it can."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise NotImplementedError(f"{type(value).__name__} cannot be written as JSON")


def write_atomically(path: Path, *pieces: Bytes, sync_folder: bool = True) -> None:
    """Replace `path` by these bytes in one step.

    After a power cut there is the old file or the new one, with `sync_folder` for certain the new one.
    """
    with writing(path), _temporary_for(path) as temporary:
        with _new_file(temporary) as descriptor:
            for piece in pieces:
                write_all(descriptor, piece)
            os.fsync(descriptor)
        os.replace(temporary, path)
        if sync_folder:
            sync_directory(path.parent)


def link_atomically(source: Path, path: Path) -> bool:
    """Make `path` a second name of `source` in one step; False, and nothing done, where there are no hard links."""
    with writing(path), _temporary_for(path) as temporary:
        try:
            _clear(temporary)
            os.link(source, temporary)
        except OSError as error:
            if error.errno in _NO_HARD_LINKS:
                return False
            raise
        os.replace(temporary, path)
        _clear(temporary)  # renaming one name of a file to another name of the same file does nothing at all
    return True


def write_json(path: Path, value: Any, *, sync_folder: bool = True) -> None:
    """Replace `path` by `value` as indented JSON, atomically."""
    encoded = msgspec.json.encode(value, enc_hook=plain)
    write_atomically(path, msgspec.json.format(encoded, indent=2) + b"\n", sync_folder=sync_folder)


def write_all(descriptor: int, data: Bytes) -> None:
    """Write every byte: the system may take only a part at a time, the last one before the disk is full for example."""
    rest = memoryview(data).cast("B")
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_directory(path: Path) -> None:
    """Bring the names in a directory to the disk, so that a file made or renamed in it is there after a power cut."""
    if os.name == "nt":  # a directory cannot be opened there, and a rename is durable without it
        return
    descriptor = os.open(path, os.O_RDONLY | PLAIN_FLAGS)
    with closing(descriptor):
        os.fsync(descriptor)


def remove_leftovers(folder: Path) -> None:
    """Delete what a killed writer left half-written in a folder; only the run's one writer may do this."""
    for path in folder.glob(".*.tmp"):
        with writing(path):
            path.unlink(missing_ok=True)


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
def _temporary_for(path: Path) -> Iterator[Path]:
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        yield temporary
    except BaseException:
        with suppress(OSError):  # the first error is the one to tell
            _clear(temporary)
        raise


@contextmanager
def _new_file(path: Path) -> Iterator[int]:
    # Never into a file that is there: it could be a killed writer's second name of a good checkpoint.
    _clear(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS | PLAIN_FLAGS
    with closing(os.open(path, flags, 0o666)) as descriptor:
        yield descriptor


def _clear(path: Path) -> None:
    if os.path.lexists(path):
        path.unlink(missing_ok=True)

"""Writing to disk so that a crash leaves the old file or the new one, and a failure is never silent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ecs_rl.errors import StorageError

NO_LINKS: int = getattr(os, "O_NOFOLLOW", 0)
"""Keeps a symbolic link in a run from leading a write out of the runs folder (Windows has no such flag)."""


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


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by `data` in one step that also survives a power cut."""
    temporary = path.with_name(f".{path.name}.tmp")
    with writing(path):
        try:
            _write_through(temporary, data)
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        _sync_directory(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Replace `path` by `value` as indented JSON, atomically."""
    encoded = msgspec.json.encode(value, enc_hook=plain)
    write_atomically(path, msgspec.json.format(encoded, indent=2) + b"\n")


def _write_through(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NO_LINKS | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    if os.name == "nt":  # a directory cannot be opened there, and a rename is durable without it
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

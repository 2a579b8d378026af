"""Reading files that somebody else may have made: never waiting, and never more than was agreed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ecs_rl.runs.files import PLAIN_FLAGS, closing

MAX_JSON_BYTES = 4_000_000
"""metadata.json and config.json have a few thousand bytes."""
CHUNK_BYTES = 1 << 20


@contextmanager
def opened(path: Path, limit: int) -> Iterator[tuple[int, int]]:
    """Yield descriptor and size of a plain file of at most `limit` bytes; OSError for anything else, at once."""
    with closing(os.open(path, os.O_RDONLY | PLAIN_FLAGS)) as descriptor:
        yield descriptor, plain_size(descriptor, limit)


def plain_size(descriptor: int, limit: int | None = None) -> int:
    """Return the size of an open file; OSError if it is a folder, a pipe or a device, or larger than `limit`."""
    found = os.fstat(descriptor)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "Not a plain file")
    if limit is not None and found.st_size > limit:
        raise OSError(errno.EFBIG, f"It has {found.st_size:,} bytes, and more than {limit:,} are never read")
    return found.st_size


def chunks(descriptor: int, size: int, start: int = 0) -> Iterator[bytes]:
    """Yield the bytes from `start` to `size` piece by piece; fewer if the file turns out shorter."""
    os.lseek(descriptor, start, os.SEEK_SET)
    while start < size:
        chunk = os.read(descriptor, min(CHUNK_BYTES, size - start))
        if not chunk:
            return
        start += len(chunk)
        yield chunk


def read_small(path: Path, limit: int = MAX_JSON_BYTES) -> bytes:
    """Return the content of a plain file of at most `limit` bytes; OSError for anything else."""
    with opened(path, limit) as (descriptor, size):
        return b"".join(chunks(descriptor, size))

"""The user's files that a checkpoint names: they run if the user has run the same content before.

Whoever writes a checkpoint also writes the path and the digest in it, so these prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PureWindowsPath

from ecs_rl.errors import CheckpointError
from ecs_rl.user_files.known import is_known, place_of
from ecs_rl.user_files.named import FromFile, object_in, parted
from ecs_rl.user_files.sources import Sources, read_sources

DEEPEST = 8
"""Last parts of a path that are looked for elsewhere."""


def trusted_sources(checkpoint: Path, maker: str, file: str, sha256: str, flag: str) -> Sources:
    """Return the file that a checkpoint names, with the content that it names, if this user has run that before.

    CheckpointError begins with the `maker` of the checkpoint, and ends with the `flag` that names the file, `{}` in
    its place.
    """
    same, changed = None, None
    for place in _places(checkpoint, file, sha256):
        if (sources := _readable(place)) is None:
            continue
        if sources.sha256 == sha256:
            same = sources
            break
        changed = changed or place
    if same is not None and is_known(sha256):
        return same
    if same is not None:
        reason, named = f"you have never run {same.main.file}", str(same.main.file)
    elif changed is not None:
        reason, named = f"{changed} has changed since", str(changed)
    else:
        raise CheckpointError(f"{maker}, and there is no such file: name it with {flag.format('FILE.py')}")
    raise CheckpointError(f"{maker}, and {reason}: if you trust it, add {flag.format(named)}")


def trusted_object(checkpoint: Path, maker: str, flag: str, reference: str, sha256: str) -> FromFile:
    """Return the object that a checkpoint names as `FILE.py:NAME`, if the user has run that content before."""
    file, name = parted(flag, reference)
    return object_in(flag, trusted_sources(checkpoint, maker, str(file), sha256, f"{flag} {{}}:{name}"), name)


def _places(checkpoint: Path, file: str, sha256: str) -> Iterator[Path]:
    """Yield where a file may be: its path, where that content was run last, and what a moved project may look like.

    A project moves as a whole: its files are below one of the folders that the checkpoint is in, or the current one.
    """
    path = PureWindowsPath(file)
    if Path(file).is_absolute():
        yield Path(file)
    if (place := place_of(sha256)) is not None:
        yield place
    parts = path.parts[1:] if path.anchor else path.parts
    for folder in (Path.cwd(), *checkpoint.absolute().parents):
        for i in range(max(0, len(parts) - DEEPEST), len(parts)):
            if ".." not in parts[i:]:
                yield folder.joinpath(*parts[i:])


def _readable(place: Path) -> Sources | None:
    """Return a file and its helpers as they are now, None if there is none; nothing is run."""
    try:
        file = place.resolve(strict=True)
        return read_sources(file) if file.is_file() else None
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError, RuntimeError):
        return None  # whatever a hostile name leads to is no file of ours

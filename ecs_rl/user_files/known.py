"""The code that this user has run, by content: a checkpoint may name a file, and only what was run before is run again.

For each content there is a small file in the user's state folder: its name is the SHA-256 of the code with the helper
modules that it imports, its text the path where the code was run last. Processes need no lock for that, and there is
nothing to parse. A folder that cannot be used is told in one line, and ends nothing: files are then unknown.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ecs_rl.console import tell
from ecs_rl.errors import visible
from ecs_rl.user_files.sources import Sources

FOLDER = "run_files"
"""The folder below the state folder."""
MOST_FILES = 4096
"""Contents that are remembered; beyond that the one that was run longest ago is forgotten."""
LONGEST_PATH = 8192
"""Bytes of an entry that are read."""

_run_here: dict[tuple[Path, str], Path] = {}
"""Where this process has run a content last, by the folder of the entries and the SHA-256."""
_told: set[Path] = set()
"""State folders of whose trouble the user has heard."""


def state_folder() -> Path:
    """Return this user's folder for what the project remembers between commands; RuntimeError without a home."""
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    if given.is_absolute():  # by its specification a relative one counts as none
        return given / "ecs_rl"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "ecs_rl"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "ecs_rl"
    return Path.home() / ".local" / "state" / "ecs_rl"


def remember(sources: Sources) -> None:
    """Remember that the user named these files to be run."""
    with _telling_trouble() as folder:
        key = folder, sources.sha256
        if _run_here.get(key) == sources.main.file:
            return
        _run_here[key] = sources.main.file  # this command may run them again, even if no other will know
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".", dir=folder)
        try:
            with open(descriptor, "wb") as file:
                file.write(os.fsencode(sources.main.file))
            os.replace(temporary, folder / sources.sha256)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
        _forget_the_oldest(folder)


def is_known(sha256: str) -> bool:
    """Tell whether the user has run code with this digest before."""
    return _place_run(sha256) is not None


def place_of(sha256: str) -> Path | None:
    """Return where the code with this digest was run last, None if that is not known."""
    place = _place_run(sha256)
    return place if place is not None and place.is_absolute() else None


def _place_run(sha256: str) -> Path | None:
    """Return where code with this digest was run last, a relative path where the entry has none; None if it was not."""
    place = None
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        return place
    with _telling_trouble() as folder:
        place = _run_here.get((folder, sha256))
        with suppress(FileNotFoundError), open(folder / sha256, "rb", opener=_never_waiting) as file:
            text = os.fsdecode(file.read(LONGEST_PATH))
            place = Path("" if "\0" in text else text)
    return place


def _never_waiting(name: str, flags: int) -> int:
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


@contextmanager
def _telling_trouble() -> Iterator[Path]:
    """Yield the folder of the entries, and say once what is wrong with it."""
    folder = Path(FOLDER)
    try:
        folder = state_folder() / FOLDER
        yield folder
    except (OSError, RuntimeError) as error:
        if folder in _told:
            return
        _told.add(folder)
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        trouble = f"{folder}: {reason}: it is not known which files you have run, and play.py asks for --scene FILE"
        tell(visible(f"ecs_rl: {trouble}; mend that folder, or name another one in XDG_STATE_HOME"), sys.stderr)


def _forget_the_oldest(folder: Path) -> None:
    """Delete entries beyond `MOST_FILES`, those that were written longest ago first; other processes may do so too."""
    names = os.listdir(folder)
    if len(names) <= MOST_FILES:
        return
    written = dict[str, int]()
    for name in names:
        with suppress(FileNotFoundError):
            written[name] = os.stat(folder / name, follow_symlinks=False).st_mtime_ns
    for name in sorted(written, key=written.__getitem__)[: len(written) - MOST_FILES]:
        (folder / name).unlink(missing_ok=True)

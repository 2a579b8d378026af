"""Which files a scene opens below its own folder, such as levels, and what is in them.

Python tells of every file that it opens by an audit event. Files that the import system opens are left out: the modules
of a scene count by its own SHA-256 (see sources.py). Files in hidden folders and installed packages are left out too.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ABSENT, WRITTEN = "absent", "written"
"""What stands in place of a SHA-256 for a file that was not there, and for one that the scene itself writes."""
_LEFT_OUT = ("site-packages", "dist-packages", "__pycache__")
_WRITING = os.O_WRONLY | os.O_RDWR
_IMPORTING = "<frozen importlib._bootstrap_external>"


class OpenedFiles:
    """The files below a folder that were opened while this watched, in the thread that watched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.contents: dict[str, str] = {}
        """By the path below the folder: the SHA-256 at the first look, ABSENT or WRITTEN."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note what is opened meanwhile."""
        before, _here.watching = _here.watching, self
        try:
            yield
        finally:
            _here.watching = before

    def note(self, path: Any, flags: int) -> None:
        """Take in one file that is about to be opened."""
        if isinstance(path, int) or _is_importing():
            return
        name = self._below(Path(os.fsdecode(path)))
        if name is None:
            return
        if flags & _WRITING:
            self.contents[name] = WRITTEN
        elif name not in self.contents:
            self.contents[name] = digest_of(self.folder / name)

    def _below(self, path: Path) -> str | None:
        """Return a file's path below the folder, None for a file that does not count."""
        for place in (Path(os.path.abspath(path)), Path(os.path.realpath(path))):
            if place.is_relative_to(self.folder):
                parts = place.relative_to(self.folder).parts
                if parts and not any(part.startswith(".") or part in _LEFT_OUT for part in parts[:-1]):
                    return "/".join(parts)
        return None


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file, ABSENT where there is none that can be read."""
    try:
        if not file.is_file():  # a pipe or a device would be read for ever
            return ABSENT
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError:
        return ABSENT


def differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the names of the files whose content is not what it was; what the scene writes itself may be anything."""
    return [
        name
        for name in sorted(before.keys() | now.keys())
        if WRITTEN not in (old := before.get(name, ABSENT), new := now.get(name, ABSENT)) and old != new
    ]


def _is_importing() -> bool:
    """Tell whether the import system is at work in this thread."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_filename == _IMPORTING:
            return True
    return False


class _Here(threading.local):
    """What the present thread watches."""

    watching: OpenedFiles | None = None


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or (files := _here.watching) is None:
        return
    path, _, flags = arguments
    _here.watching = None  # what is opened to make the digest is none of the scene's
    try:
        files.note(path, flags)
    finally:
        _here.watching = files


_here = _Here()
sys.addaudithook(_heard)  # for good: Python never takes one away

"""`FILE.py:NAME`: something of a user's own, such as an algorithm, taken from a Python file that they name.

The file is run as scene files are: from the bytes that were hashed, with the modules beside it; what goes wrong in it
is told by file and line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ecs_rl.errors import CommandError, nearest
from ecs_rl.user_files.file_errors import blaming
from ecs_rl.user_files.known import remember
from ecs_rl.user_files.sources import Sources, read_sources

_FORM = re.compile(r"(?P<file>.*\.py):(?P<name>[^:/\\]*)", re.DOTALL)
"""The last colon divides: what stands behind the one of `C:\\cem.py` is no name."""


@dataclass(frozen=True)
class FromFile:
    """Something that a file holds under a name."""

    value: Any
    file: Path
    name: str
    sha256: str
    """Of the file, and of what that imports from its folder."""

    @property
    def reference(self) -> str:
        """How to name it again, from any folder."""
        return f"{self.file}:{self.name}"


def is_reference(text: str) -> bool:
    """Tell whether a text is meant as `FILE.py:NAME`."""
    return _FORM.fullmatch(text) is not None


def parted(flag: str, text: str) -> tuple[Path, str]:
    """Return the file and the name of `FILE.py:NAME`, or refuse what is written otherwise; nothing is read."""
    match = _FORM.fullmatch(text)
    if match is None or not match["name"].isidentifier():
        raise CommandError(f"{flag} {text}: write a file and a name in it, as in FILE.py:NAME")
    return Path(match["file"]), match["name"]


def load_object(flag: str, text: str) -> FromFile:
    """Return what `FILE.py:NAME` names, which the user wrote; a CommandError begins with the flag that named it.

    The file counts as run by the user from now on, and is run anew with every call. A path counts from the current
    folder.
    """
    file, name = parted(flag, text)
    if not file.is_file():
        raise CommandError(f"{flag} {text}: there is no file {file}: check the path")
    file = file.resolve()
    with blaming(flag, file):
        try:
            sources = read_sources(file)
        except OSError as error:
            raise CommandError(f"{flag} {text}: {error.filename} cannot be read: {error.strerror}") from error
        except (ValueError, RecursionError, MemoryError) as error:  # zeros in it, or a nest too deep for the parser
            raise CommandError(f"{flag} {text}: {file} cannot be read as a Python file: {error}") from error
    remember(sources)
    return object_in(flag, sources, name)


def object_in(flag: str, sources: Sources, name: str) -> FromFile:
    """Return what these files hold under a name, or tell which names there are; they are run as they were read."""
    file = sources.main.file
    with blaming(flag, file):
        module = sources.run(lambda helper: blaming(flag, Path(helper)))
    if not hasattr(module, name):
        there = _own_names(module)
        known = nearest(name, there) if there else "it makes no class and no function"
        raise CommandError(f"{flag} {file}:{name}: there is no '{name}' in that file; {known}")
    return FromFile(getattr(module, name), file, name, sources.sha256)


def _own_names(module: ModuleType) -> list[str]:
    """Return the classes and functions that a module makes itself."""
    made = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    return [name for name, value in made.items() if getattr(value, "__module__", None) == module.__name__]

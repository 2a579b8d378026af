"""Where things are in the runs folder: names, directories, order."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from pathlib import Path

from ecs_rl.errors import CommandError, StorageError
from ecs_rl.runs.files import writing

CHECKPOINTS = "checkpoints"
FILMS = "films"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
START = re.compile(r"[0-9]{8}_[0-9]{6}(_[0-9]+)?")
"""How the directory of one run is called: its start, and a number if others started in the same second."""
_STEP = re.compile(r"step_([0-9]+)\.safetensors")
_CLIP = re.compile(r"step_([0-9]+)\.mp4")


def check_name(kind: str, name: str) -> str:
    """Return `name` if it may be a directory's name; CommandError otherwise."""
    if not NAME.fullmatch(name):
        raise CommandError(
            f"the {kind} {name!r} cannot be used: take 1 to 64 letters, digits, '.', '_' or '-', "
            "the first one a letter or a digit"
        )
    return name


def new_run_directory(runs_dir: Path, name: str, version: str, started: datetime) -> Path:
    """Make and return a directory that no other run has; mkdir itself decides who was first.

    Its name sorts after that of every run there is, of any name: a clock that was set back must not make an older run
    the newest. It then goes by the newest start there is, with a number.
    """
    parent = runs_dir / check_name("name", name) / check_name("version", version)
    with writing(parent):
        if not parent.resolve().is_relative_to(runs_dir.resolve()):
            raise CommandError(f"{parent} is a link that leaves {runs_dir}; choose another --name or --version")
        parent.mkdir(parents=True, exist_ok=True)
        for name_of_run in _starts_after(run_directories(runs_dir), f"{started:%Y%m%d_%H%M%S}"):
            path = parent / name_of_run
            try:
                path.mkdir()
            except FileExistsError:
                continue
            break
        try:
            (path / CHECKPOINTS).mkdir()
        except BaseException:
            undo_run_directory(path)
            raise
    return path


def _starts_after(runs: Iterable[Path], stamp: str) -> Iterator[str]:
    """Yield names for a run that began now, the best one first: the stamp, or the newest one there is with a number."""
    newest, number = max((_start(run.name) for run in runs), default=("", 0))
    if newest < stamp:
        yield stamp
        newest, number = stamp, 1
    yield from (f"{newest}_{n}" for n in count(number + 1))


def _start(name: str) -> tuple[str, int]:
    """Return the stamp in the name of a run's directory and its number, 1 where there is none."""
    stamp, number = name[:15], name[16:]
    return stamp, int(number or 1)


def run_directories(runs_dir: Path, unreadable: dict[Path, str] | None = None) -> list[Path]:
    """Return every directory below the runs folder that is called like a run, newest first.

    What may not be looked into holds none; what is wrong with it is put into `unreadable`.
    """
    found, problems = [], {} if unreadable is None else unreadable
    for name in folders(runs_dir):
        for version in _folders_or_note(name, problems):
            found += [run for run in _folders_or_note(version, problems) if START.fullmatch(run.name)]
    return sorted(found, key=lambda run: (natural(run.name), natural(run.parent.name), run), reverse=True)


def _folders_or_note(folder: Path, problems: dict[Path, str]) -> list[Path]:
    try:
        return folders(folder)
    except StorageError as error:
        problems[folder] = str(error)
        return []


def runs_in(version: Path) -> list[Path]:
    """Return the directories of a version that are called like a run, newest first."""
    return newest_first(path for path in folders(version) if START.fullmatch(path.name))


def folders(folder: Path) -> list[Path]:
    """Return the directories in a folder, nothing if there is no such folder."""
    with _looking_into(folder):
        return [path for path in subpaths(folder) if path.is_dir()]


def newest_first(paths: Iterable[Path]) -> list[Path]:
    """Return paths of one folder sorted by their names, the last name first, numbers by their value."""
    return sorted(paths, key=lambda path: natural(path.name), reverse=True)


def undo_run_directory(path: Path) -> None:
    """Take a directory away that `new_run_directory` made a moment ago, as far as the disk lets it."""
    shutil.rmtree(path, ignore_errors=True)


def step_checkpoints(run: Path) -> dict[int, Path]:
    """Return the periodic checkpoints of a run by step."""
    found = ((_STEP.fullmatch(path.name), path) for path in subpaths(run / CHECKPOINTS))
    return {int(match[1]): path for match, path in found if match}


def clips(run: Path) -> dict[int, Path]:
    """Return the clips of a run's policy by step."""
    found = ((_CLIP.fullmatch(path.name), path) for path in subpaths(run / FILMS))
    return {int(match[1]): path for match, path in sorted(found, key=lambda each: each[1]) if match}


def subpaths(folder: Path) -> list[Path]:
    """Return what is in a folder, nothing if there is no such folder."""
    with _looking_into(folder):
        return list(folder.iterdir()) if folder.is_dir() else []


@contextmanager
def _looking_into(folder: Path) -> Iterator[None]:
    """Turn any OSError in the block into a StorageError that names the folder."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot look into {folder}: {error.strerror}; check its permissions") from error


def natural(name: str) -> tuple[list[str | int], str]:
    """Return a sort key that puts v10 after v9; the name itself settles v1 and v01."""
    # Every second part is digits: `isdigit` would take a superscript for a number, too.
    return [int(part) if i % 2 else part for i, part in enumerate(re.split(r"([0-9]+)", name))], name

"""Where things are in the runs folder: names, directories, order."""

from __future__ import annotations

import re
import shutil
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
    """Make and return a directory that no other run has; mkdir itself decides who was first."""
    parent = runs_dir / check_name("name", name) / check_name("version", version)
    with writing(parent):
        if not parent.resolve().is_relative_to(runs_dir.resolve()):
            raise CommandError(f"{parent} is a link that leaves {runs_dir}; choose another --name or --version")
        parent.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            path = parent / (f"{started:%Y%m%d_%H%M%S}" + (f"_{number}" if number > 1 else ""))
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
    try:
        return list(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise StorageError(f"cannot look into {folder}: {error.strerror}; check its permissions") from error


def natural(name: str) -> tuple[list[str | int], str]:
    """Return a sort key that puts v10 after v9; the name itself settles v1 and v01."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", name)], name

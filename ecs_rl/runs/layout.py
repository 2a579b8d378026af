"""Where runs are and which one is meant: by path, by name and version, by name alone, or simply the newest."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec

from ecs_rl.errors import CheckpointError, CommandError, StorageError, nearest, visible
from ecs_rl.files import Folder, writing
from ecs_rl.runs.checkpoint import read_manifest
from ecs_rl.runs.lock import is_free
from ecs_rl.runs.manifest import Manifest
from ecs_rl.runs.metadata import Metadata, read_metadata

CHECKPOINTS = "checkpoints"
FILMS = "films"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
START = re.compile(r"[0-9]{8}_[0-9]{6}(_[0-9]+)?")
"""How the directory of one run is called: its start, and a number if others started in the same second."""


class FoundRun(NamedTuple):
    """A run directory, and a sentence for each newer candidate that could not be used."""

    path: Path
    skipped: list[str]
    manifest: Manifest | None
    """Of the newest sound checkpoint, if there is one and it was looked for."""


class NoRunError(CheckpointError):
    """There are no runs where one is looked for, or none that can be used."""


class RunEntry(NamedTuple):
    """One run in a listing; `metadata` is None where `problem` says why it cannot be read."""

    path: Path
    metadata: Metadata | None
    problem: str | None


def find_run(
    run: str | Path | None = None,
    runs_dir: str | Path = "runs",
    *,
    needs_checkpoint: bool = True,
    unfit: Callable[[Path, Manifest], str] = lambda run, manifest: "",
) -> FoundRun:
    """Return the newest usable run that is meant: an exact directory, `name/version`, `name`, or any if None.

    Usable is a run with readable metadata and at least one sound checkpoint. Without `needs_checkpoint`, the newest
    one that only lacks checkpoints is taken when there is nothing better. `unfit` says why a usable run is not the one
    that is meant, '' if it is; a run named by its own directory is not asked about. CommandError if nothing of that
    name exists, CheckpointError if nothing of it is usable.
    """
    base = _base(run, Path(runs_dir))
    depth = _depth(base, Path(runs_dir))
    skipped: list[str] = []
    fallback: FoundRun | None = None
    for candidate in _newest_first(base, depth, skipped):
        try:
            read_metadata(candidate)
        except CheckpointError as error:
            problem = str(error)
        else:
            # Of a run that is named by its own directory, nobody needs to know whether it has a checkpoint.
            manifest = sound_manifest(candidate) if needs_checkpoint or depth < 3 else None
            if manifest is None:
                problem = f"{candidate}: it has no checkpoint that can be used"
                if not needs_checkpoint:
                    fallback = fallback or FoundRun(candidate, list(skipped), None)
            else:
                problem = "" if depth == 3 else unfit(candidate, manifest)
            if not problem:
                return FoundRun(candidate, skipped, manifest)
        skipped.append(visible(f"skipped {problem}"))
    if fallback:
        return fallback
    raise NoRunError(f"no run that can be used in {base}; " + ("; ".join(skipped) or "train one first"))


def run_of_scene(scene: str, runs_dir: str | Path = "runs", *, sha256: str = "") -> FoundRun | None:
    """Return the newest usable run of a scene, whatever the run is called; None if there is none.

    The scene is known by its name or path, and a file that moved by its `sha256`.
    """
    skipped: list[str] = []
    for path in run_directories(Path(runs_dir))[0]:
        with suppress(CheckpointError):
            known = read_metadata(path)
            if known.scene == scene or (sha256 and known.scene_sha256 == sha256):
                if (manifest := sound_manifest(path)) is not None:
                    return FoundRun(path, skipped, manifest)
                skipped.append(visible(f"skipped {path}: it has no checkpoint that can be used"))
    return None


def list_runs(runs_dir: str | Path = "runs") -> list[RunEntry]:
    """Return every run below the runs folder, newest first, the unreadable ones with their problem.

    The status is `killed` where the metadata says `running` and nobody holds the run's lock.
    """
    runs, unreadable = run_directories(Path(runs_dir))
    return [_entry(path) for path in runs] + [RunEntry(path, None, problem) for path, problem in unreadable.items()]


def sound_manifest(run: Path) -> Manifest | None:
    """Return the manifest of the newest checkpoint of a run that passes its seal, None if none does."""
    try:
        steps = step_checkpoints(run)
    except StorageError:
        return None
    latest, best = (run / CHECKPOINTS / f"{name}.safetensors" for name in ("latest", "best"))
    for path in (latest, *(steps[step] for step in sorted(steps, reverse=True)), best):
        try:
            return read_manifest(path)
        except CheckpointError:
            continue
    return None


def _entry(path: Path) -> RunEntry:
    try:
        metadata = read_metadata(path)
        # Read once more after the look at the lock: it could have been given back by a run that just ended well.
        if metadata.status == "running" and is_free(path) and (metadata := read_metadata(path)).status == "running":
            metadata = msgspec.structs.replace(metadata, status="killed")
        return RunEntry(path, metadata, None)
    except CheckpointError as error:
        return RunEntry(path, None, str(error))


def _base(run: str | Path | None, runs_dir: Path) -> Path:
    if run is None:
        return runs_dir
    # A name comes first: a folder that happens to be called like it says nothing about runs.
    for base in (runs_dir / run, Path(run)):
        if base.is_dir() and str(run) not in {"", "."}:
            return base
    names = [path.name for path in folders(runs_dir)]
    hint = nearest(str(run).split("/", maxsplit=1)[0], names) if names else "train one first"
    raise CommandError(f"there is no run '{run}' in {runs_dir}; {hint}")


def _depth(base: Path, runs_dir: Path) -> int:
    """Return 0 for the folder of runs, 1 for the directory of a name, 2 for a version, 3 for a run.

    Outside `runs_dir` it goes by what the directory holds.
    """
    if (base / "metadata.json").is_file():
        return 3
    if base.resolve().is_relative_to(runs_dir.resolve()):
        return len(base.resolve().relative_to(runs_dir.resolve()).parts)
    if START.fullmatch(base.name):
        return 3
    return 2 if runs_in(base) else 1


def _newest_first(base: Path, depth: int, skipped: list[str]) -> Iterator[Path]:
    if depth == 0:
        runs, unreadable = run_directories(base)
        skipped += [f"skipped {problem}" for problem in unreadable.values()]
        yield from runs
    elif depth < 3:
        for version in folders(base) if depth == 1 else [base]:
            runs = runs_in(version)
            if not runs:
                skipped.append(visible(f"skipped {version}: it holds no run"))
            yield from runs
    else:
        yield base


def new_run_directory(runs_dir: Path, name: str, version: str, started: datetime) -> Path:
    """Make and return a directory that no other run has; mkdir itself decides who was first.

    Its name sorts after that of every run there is, of any name: a clock that was set back must not make an older run
    the newest. It then goes by the newest start there is, with a number.
    """
    parent = runs_dir / _checked("name", name) / _checked("version", version)
    with writing(parent):
        if not parent.resolve().is_relative_to(runs_dir.resolve()):
            raise CommandError(f"{parent} is a link that leaves {runs_dir}; choose another --name or --version")
        parent.mkdir(parents=True, exist_ok=True)
        for name_of_run in _starts_after(run_directories(runs_dir)[0], f"{started:%Y%m%d_%H%M%S}"):
            path = parent / name_of_run
            try:
                path.mkdir()
            except FileExistsError:
                continue
            break
    return path


def _checked(kind: str, name: str) -> str:
    if not NAME.fullmatch(name):
        raise CommandError(
            f"the {kind} {name!r} cannot be used: take 1 to 64 letters, digits, '.', '_' or '-', "
            "the first one a letter or a digit"
        )
    return name


def _starts_after(runs: Iterable[Path], stamp: str) -> Iterator[str]:
    """Yield names for a run that began now, the best one first: the stamp, or the newest one there is with a number."""
    newest, number = max(((run.name[:15], int(run.name[16:] or 1)) for run in runs), default=("", 0))
    if newest < stamp:
        yield stamp
        newest, number = stamp, 1
    yield from (f"{newest}_{n}" for n in count(number + 1))


def run_directories(runs_dir: Path) -> tuple[list[Path], dict[Path, str]]:
    """Return every directory below the runs folder that is called like a run, newest first, and what is unreadable.

    What may not be looked into holds no run; it is returned with what is wrong with it.
    """
    names, unreadable = folders(runs_dir), dict[Path, str]()
    for _ in ("names", "versions"):
        above, names = names, []
        for folder in above:
            try:
                names += folders(folder)
            except StorageError as error:
                unreadable[folder] = str(error)
    runs = [run for run in names if START.fullmatch(run.name)]
    return sorted(runs, key=lambda run: (natural(run.name), natural(run.parent.name), run), reverse=True), unreadable


def runs_in(version: Path) -> list[Path]:
    """Return the directories of a version that are called like a run, newest first."""
    return [path for path in folders(version) if START.fullmatch(path.name)]


def folders(folder: Path) -> list[Path]:
    """Return the directories in a folder, the last name first, numbers by their value; nothing if there is none."""
    return sorted(_content(folder, Path.is_dir), key=lambda path: natural(path.name), reverse=True)


def natural(name: str) -> tuple[list[str | int], str]:
    """Return a sort key that puts v10 after v9; the name itself settles v1 and v01."""
    # Every second part is digits: `isdigit` would take a superscript for a number, too.
    return [int(part) if i % 2 else part for i, part in enumerate(re.split(r"([0-9]+)", name))], name


def step_checkpoints(run: Path) -> dict[int, Path]:
    """Return the periodic checkpoints of a run by step."""
    return _by_step(run / CHECKPOINTS, "step", "safetensors")


def milestones(run: Path) -> dict[int, Path]:
    """Return the policies that a run keeps for good, by step."""
    return _by_step(run / CHECKPOINTS, "milestone", "safetensors")


def policies(run: Path) -> dict[int, Path]:
    """Return all policies of a run by step: its milestones, and its periodic checkpoints."""
    return milestones(run) | step_checkpoints(run)


def clips(run: Path) -> dict[int, Path]:
    """Return the clips of a run's policy by step."""
    return _by_step(run / FILMS, "step", "mp4")


def films_folder(run: Path) -> Path:
    """Return the folder of a run's films, made if need be; CheckpointError if it is a link that leaves the run."""
    return Folder(run / FILMS, Folder(run)).path


def cut_clips(run: Path, step: int) -> None:
    """Delete the clips past a step, and what a killed writer left: they are of a future that does not come."""
    if not (run / FILMS).is_dir():
        return
    folder = Folder(run / FILMS, Folder(run))
    folder.remove_leftovers()
    for shot_at, path in clips(run).items():
        if shot_at > step:
            folder.unlink(path.name)


def chosen_clips(run: Path, milestones: Sequence[int]) -> list[Path]:
    """Return the first clip at or past each milestone, and the last one of all."""
    there = clips(run)
    steps = sorted(there)
    chosen = set(steps[-1:])
    for start, end in zip(milestones, [*milestones[1:], math.inf], strict=True):
        chosen.update([step for step in steps if start <= step < end][:1])
    return [there[step] for step in sorted(chosen)]


def _by_step(folder: Path, name: str, ending: str) -> dict[int, Path]:
    matches = ((re.fullmatch(rf"{name}_([0-9]+)\.{ending}", path.name), path) for path in sorted(_content(folder)))
    return {int(match[1]): path for match, path in matches if match}


def _content(folder: Path, wanted: Callable[[Path], bool] = lambda path: True) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if wanted(path)] if folder.is_dir() else []
    except OSError as error:
        raise StorageError(f"cannot look into {folder}: {error.strerror}; check its permissions") from error

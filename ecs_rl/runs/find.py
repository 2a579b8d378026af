"""Which run is meant: by path, by name and version, by name alone, or simply the newest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from ecs_rl.errors import CheckpointError, CommandError, StorageError, nearest, visible
from ecs_rl.runs.checkpoint import read_manifest
from ecs_rl.runs.layout import CHECKPOINTS, START, folders, newest_first, run_directories, runs_in, step_checkpoints
from ecs_rl.runs.lock import is_free
from ecs_rl.runs.manifest import Manifest
from ecs_rl.runs.metadata import Metadata, read_metadata


class FoundRun(NamedTuple):
    """A run directory, and a sentence for each newer candidate that could not be used."""

    path: Path
    skipped: list[str]


@dataclass(frozen=True)
class RunEntry:
    """One run in a listing; `metadata` is None where `problem` says why it cannot be read."""

    path: Path
    metadata: Metadata | None
    problem: str | None


def find_run(
    run: str | Path | None = None,
    runs_dir: str | Path = "runs",
    *,
    needs_checkpoint: bool = True,
    unfit: Callable[[Path, Manifest], str] | None = None,
) -> FoundRun:
    """Return the newest usable run that is meant: an exact directory, `name/version`, `name`, or any if None.

    Usable is a run with readable metadata and at least one sound checkpoint. Without `needs_checkpoint`, the newest
    one that only lacks checkpoints is taken when there is nothing better. `unfit` says why a usable run is not the one
    that is meant, '' if it is; a run named by its own directory is not asked about. CommandError if nothing of that
    name exists, CheckpointError if nothing of it is usable.
    """
    base = _base(run, Path(runs_dir))
    if _depth(base, Path(runs_dir)) == 3:
        unfit = None
    skipped: list[str] = []
    fallback: FoundRun | None = None
    for candidate in _newest_first(base, skipped, Path(runs_dir)):
        problem = _metadata_problem(candidate)
        manifest = sound_manifest(candidate) if problem is None else None
        if manifest is not None:
            problem = unfit(candidate, manifest) if unfit else ""
            if not problem:
                return FoundRun(candidate, skipped)
        if problem is None and not needs_checkpoint:
            fallback = fallback or FoundRun(candidate, list(skipped))
        skipped.append(visible(f"skipped {problem or f'{candidate}: it has no checkpoint that can be used'}"))
    if fallback:
        return fallback
    raise CheckpointError(f"no run that can be used in {base}; " + ("; ".join(skipped) or "train one first"))


def list_runs(runs_dir: str | Path = "runs") -> list[RunEntry]:
    """Return every run below the runs folder, newest first, the unreadable ones with their problem.

    The status is `killed` where the metadata says `running` and nobody holds the run's lock.
    """
    unreadable: dict[Path, str] = {}
    entries = [_entry(path) for path in run_directories(Path(runs_dir), unreadable)]
    return entries + [RunEntry(path, None, problem) for path, problem in unreadable.items()]


def sound_manifest(run: Path) -> Manifest | None:
    """Return the manifest of the newest checkpoint of a run that passes its seal, None if none does."""
    try:
        steps = step_checkpoints(run)
    except StorageError:
        return None
    named = [run / CHECKPOINTS / f"{name}.safetensors" for name in ("latest", "best")]
    candidates = [named[0], *(steps[step] for step in sorted(steps, reverse=True)), named[1]]
    for path in candidates:
        try:
            return read_manifest(path)
        except CheckpointError:
            continue
    return None


def _metadata_problem(run: Path) -> str | None:
    try:
        read_metadata(run)
    except CheckpointError as error:
        return str(error)
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


def _newest_first(base: Path, skipped: list[str], runs_dir: Path) -> Iterator[Path]:
    depth = _depth(base, runs_dir)
    if depth == 0:
        unreadable: dict[Path, str] = {}
        runs = run_directories(base, unreadable)
        skipped += [f"skipped {problem}" for problem in unreadable.values()]
        yield from runs
    elif depth == 1:
        for version in newest_first(folders(base)):
            yield from _runs_or_note(version, skipped)
    elif depth == 2:
        yield from _runs_or_note(base, skipped)
    else:
        yield base


def _depth(base: Path, runs_dir: Path) -> int:
    """Return 1 for the directory of a name, 2 for a version, 3 for a run; outside `runs_dir` by what it holds."""
    if (base / "metadata.json").is_file():
        return 3
    if base.resolve().is_relative_to(runs_dir.resolve()):
        return len(base.resolve().relative_to(runs_dir.resolve()).parts)
    if START.fullmatch(base.name):
        return 3
    return 2 if runs_in(base) else 1


def _runs_or_note(version: Path, skipped: list[str]) -> list[Path]:
    runs = runs_in(version)
    if not runs:
        skipped.append(visible(f"skipped {version}: it holds no run"))
    return runs

"""Which run is meant: by path, by name and version, by name alone, or simply the newest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from ecs_rl.errors import CheckpointError, CommandError, StorageError, nearest, visible
from ecs_rl.runs.checkpoint import read_manifest
from ecs_rl.runs.layout import CHECKPOINTS, START, folders, run_directories, runs_in, step_checkpoints
from ecs_rl.runs.lock import is_free
from ecs_rl.runs.manifest import Manifest
from ecs_rl.runs.metadata import Metadata, read_metadata


class FoundRun(NamedTuple):
    """A run directory, and a sentence for each newer candidate that could not be used."""

    path: Path
    skipped: list[str]


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
            manifest = sound_manifest(candidate)
            if manifest is None:
                problem = f"{candidate}: it has no checkpoint that can be used"
                if not needs_checkpoint:
                    fallback = fallback or FoundRun(candidate, list(skipped))
            else:
                problem = "" if depth == 3 else unfit(candidate, manifest)
            if not problem:
                return FoundRun(candidate, skipped)
        skipped.append(visible(f"skipped {problem}"))
    if fallback:
        return fallback
    raise CheckpointError(f"no run that can be used in {base}; " + ("; ".join(skipped) or "train one first"))


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

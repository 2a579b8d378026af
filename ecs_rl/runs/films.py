"""The folder `films` of a run: clips of the policy by step, and the film of all its learning."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from ecs_rl.errors import CheckpointError
from ecs_rl.runs.files import Folder, writing
from ecs_rl.runs.layout import FILMS, clips


def films_folder(run: Path) -> Path:
    """Return the folder of a run's films, made if need be; CheckpointError if it is a link that leaves the run."""
    folder = run / FILMS
    if folder.resolve() != run.resolve() / FILMS:
        raise CheckpointError(f"{folder} is a link that leaves the run; make it a plain directory")
    with writing(folder):
        folder.mkdir(exist_ok=True)
    return folder


def cut_clips(run: Path, step: int) -> None:
    """Delete the clips past a step, and what a killed writer left: they are of a future that does not come."""
    if not (run / FILMS).is_dir():
        return
    folder = Folder(films_folder(run))
    folder.remove_leftovers()
    folder.close()
    for shot_at, path in clips(run).items():
        if shot_at > step:
            with writing(path):
                path.unlink(missing_ok=True)


def chosen_clips(run: Path, milestones: Sequence[int]) -> list[Path]:
    """Return the first clip at or past each milestone, and the last one of all."""
    there = clips(run)
    steps = sorted(there)
    chosen = set(steps[-1:])
    for start, end in zip(milestones, [*milestones[1:], math.inf], strict=True):
        chosen.update([step for step in steps if start <= step < end][:1])
    return [there[step] for step in sorted(chosen)]

"""The clips of a training with `--record-every`: what is filmed, what is written over it, and how long it may be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ecs_rl.errors import EcsRlError
from ecs_rl.processors.film import Film
from ecs_rl.runs.layout import chosen_clips, films_folder

if TYPE_CHECKING:
    from ecs_rl.training.prepare import Training

QUARTERS = 4
"""A milestone after each of so many parts of the training."""
LONGEST, IN_HASTE = 12.0, 2.0
"""Seconds of a clip, and of one that somebody waits for who wants to stop."""


def milestones(steps: int) -> tuple[int, ...]:
    """Return the steps at which a training is filmed in any case, its beginning and its end included."""
    return tuple(steps * i // QUARTERS for i in range(QUARTERS + 1))


def shoot(training: Training, run: Path, steps: int) -> Iterator[None]:
    """Film the evaluation's first episode as the policy of this step plays it, a picture at a time."""
    from ecs_rl.viewer.films.studio import shoot_clip  # whoever films nothing needs no pygame

    total = max(training.films.milestones) if training.films else steps
    return shoot_clip(
        training.world.scene,
        training.agents,
        training.evaluation.seeds,
        films_folder(run) / f"step_{steps}.mp4",
        text=f"{min(100, 100 * steps // total)} %  ·  {steps:,} of {total:,} steps",
        share=min(1.0, steps / total),
        longest=lambda: IN_HASTE if training.stop else LONGEST,
    )


def film_the_end(training: Training) -> Iterator[None]:
    """Film the policy at the end of its training, and join the clips of the milestones, in slices.

    Nothing happens where nothing is filmed, and no second clip is shot when it is called again.
    """
    run, films = training.session.run, training.films
    if films is None or run is None or not training.session.total_steps:
        return
    stage = training.world.stages["film"]
    assert isinstance(stage, Film)
    yield from stage.shoot()
    clips = chosen_clips(run.path, films.milestones)
    if not clips or films.problem:
        return
    from ecs_rl.viewer.films.encoder import joining

    try:
        yield from joining(clips, films_folder(run.path) / "learning.mp4")
    except EcsRlError as error:
        films.problem = str(error)

"""The clips of a training with `--record-every`: what is filmed, what is written over it, and how long it may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ecs_rl.runs.layout import chosen_clips, films_folder

if TYPE_CHECKING:
    from ecs_rl.training.training import Training

QUARTERS = 4
"""A milestone after each of so many parts of the training."""
LONGEST, IN_HASTE = 12.0, 2.0
"""Seconds of a clip, and of a clip while somebody waits for the training to stop."""


@dataclass(frozen=True)
class Clips:
    """Films the policy of a training every so many steps and at each quarter; pygame loads with the first clip."""

    every: int
    """Steps between two clips."""

    def milestones(self, steps: int) -> tuple[int, ...]:
        """Return the steps of the clips that make the film of a whole training: beginning, quarters and end."""
        return tuple(steps * i // QUARTERS for i in range(QUARTERS + 1))

    def shoot(self, training: Training, run: Path, steps: int) -> Iterator[None]:
        """Film the evaluation's first episode as the policy of this step plays it, a picture at a time."""
        from ecs_rl.viewer.films.studio import shoot_clip

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

    def join(self, run: Path, milestones: Sequence[int]) -> Iterator[None]:
        """Join the clips of the milestones to one film, in slices; nothing happens where there is no clip."""
        from ecs_rl.viewer.films.encoder import joining

        clips = chosen_clips(run, milestones)
        if clips:
            yield from joining(clips, films_folder(run) / "learning.mp4")

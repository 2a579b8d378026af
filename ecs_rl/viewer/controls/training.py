"""The training behind the window: pause, pace, turbo, checkpoints and evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import pygame

from ecs_rl.viewer.live.background import OPENS, PACES
from ecs_rl.viewer.number_formats import speed
from ecs_rl.viewer.palette import WARN
from ecs_rl.viewer.panel import App, Chip, Command, Control

if TYPE_CHECKING:
    from ecs_rl.viewer.live.background import BackgroundTraining

WORDS = {"slow": "at a quarter of real time", "1x": "at real time", "max": "flat out"}


def _while_training(do: Callable[[App, BackgroundTraining], object]) -> Callable[[Control, App], None]:
    """Return what does something to the training while it goes on, and says so if it does not."""

    def run(control: Control, app: App) -> None:
        if app.run.background is None or app.run.background.is_saved:
            app.say("training is over", "warn")
        else:
            do(app, app.run.background)

    return run


def _change_pace(app: App, work: BackgroundTraining) -> None:
    """Go on to the next pace."""
    names = list(PACES)
    work.pace.name = names[(names.index(work.pace.name) + 1) % len(names)] if work.pace.name in names else names[0]
    app.say(f"training goes {WORDS[work.pace.name]}")


def _again(control: Control, app: App) -> None:
    """Close the window for a training of the same scene with the next seed."""
    work = app.run.background
    if work is None or not work.is_saved:
        app.say("first this training has to end", "warn")
    elif work.training.together is not None:
        app.say("begin another training of several processes by its command", "warn")
    else:
        work.training.again = app.closing = True


class TrainingControls(Control):
    """Asks the training to rest, to hurry or to save."""

    name = "training"

    def is_on(self, app: App) -> bool:
        """Return whether the window is in turbo."""
        return app.run.in_turbo

    def leave(self, app: App) -> None:
        """Leave turbo."""
        if app.run.background is not None:
            app.run.background.turbo = False

    def chips(self, app: App) -> Iterable[Chip]:
        """Return the chips of a training that rests, is slowed down or in a hurry."""
        work = app.run.background
        if work is not None and work.paused:
            yield Chip("TRAINING PAUSED", "T", WARN, rank=6)
        elif work is not None and not work.is_saved and math.isfinite(work.times_real):
            opens = ", OPENS UP" if work.pace.name == OPENS else ""
            yield Chip(f"TRAINING AT {speed(work.times_real)}{opens}", "O", rank=7)
        if app.run.in_turbo:
            yield Chip("TURBO", "U", WARN, rank=9)

    # fmt: off
    keys = (
        Command("Training", "T", "pause training", "pause it; Ctrl+N another one, at its end",
                _while_training(lambda _, work: work.pause(not work.paused)), (pygame.K_t,), trains=True),
        Command("Training", "N", "one update", "one update, then wait",
                _while_training(lambda _, work: work.one_update()), (pygame.K_n,), trains=True),
        Command("Training", "O", "pace", "pace: slow, real time, flat out",
                _while_training(_change_pace), (pygame.K_o,), trains=True),
        Command("Training", "U", "turbo", "turbo: 4 frames a second",
                _while_training(lambda _, work: setattr(work, "turbo", not work.turbo)), (pygame.K_u,), trains=True),
        Command("Training", "Ctrl+S", "save", "checkpoint now",
                _while_training(lambda app, work: work.save(app.say)), (pygame.K_s,), trains=True),
        Command("Training", "Ctrl+N", "again", "train again, with another seed",
                _again, (pygame.K_n,), trains=True, listed=False),
        Command("Training", "Ctrl+E", "evaluate", "evaluate now",
                _while_training(lambda app, work: work.evaluate(app.say)), (pygame.K_e,), trains=True),
    )
    # fmt: on

"""Going on, in the same window, with a scene whose file was saved while it trained: by a save and a resume."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ecs_rl.commands.settings import TrainSettings

if TYPE_CHECKING:
    from ecs_rl.runs import TrainingRun
    from ecs_rl.training.training import Training
    from ecs_rl.viewer.live.watch import WatchWindow


def with_scene_of_now(
    settings: TrainSettings, record: TrainingRun, window: WatchWindow
) -> tuple[TrainSettings, Training, WatchWindow]:
    """Return the settings that resume this run, their training in the scene as its file is now, and its window."""
    from ecs_rl.commands.train import ready
    from ecs_rl.viewer.live.pace import FLAT_OUT
    from ecs_rl.viewer.live.watch import WatchWindow

    resumed = replace(settings, resume=str(record.path), init_from=None, imitate=None, changes=None)
    try:
        settings, training = ready(resumed)
    except BaseException:
        window.close()
        raise
    return settings, training, WatchWindow.open(training, window.display, pace=settings.pace or FLAT_OUT)

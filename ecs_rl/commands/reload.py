"""Going on, in the same window, with a scene whose file was saved while it trained: by a save and a resume."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from ecs_rl.commands.settings import TrainSettings
from ecs_rl.console import tell
from ecs_rl.errors import EcsRlError

if TYPE_CHECKING:
    from ecs_rl.runs import TrainingRun
    from ecs_rl.scene.scene import Scene
    from ecs_rl.training.training import Training
    from ecs_rl.viewer.live.watch import WatchWindow

Going = tuple[TrainSettings, "Training", "WatchWindow"]
"""The settings that resume a run, their training, and its window."""


def with_scene_of_now(
    settings: TrainSettings, record: TrainingRun, window: WatchWindow, before: Scene
) -> tuple[Going, Scene | None]:
    """Return what goes on with a run in the scene as its file is now, and the scene to go back to if that one fails.

    Where nothing can go on in the file's scene, return what goes on in the scene of `before`, and None.
    """
    from ecs_rl.training.reload import scene_in_file

    try:
        return _going(settings, record, window, scene_in_file(before.reference)), before
    except EcsRlError as problem:
        return with_scene_of_before(settings, record, window, before, problem), None


def with_scene_of_before(
    settings: TrainSettings, record: TrainingRun, window: WatchWindow, before: Scene, problem: EcsRlError
) -> Going:
    """Return what goes on with a run in the scene of `before`, and say why it does."""
    message = f"{problem}: it goes on in the scene of before"
    tell(f"train.py: {message}", sys.stderr)
    window.show.close()
    try:
        settings, training, window = _going(settings, record, window, before)
    except BaseException:
        window.close()
        raise
    return settings, training, replace(window, says=message)


def _going(settings: TrainSettings, record: TrainingRun, window: WatchWindow, scene: Scene) -> Going:
    from ecs_rl.commands.train import ready
    from ecs_rl.viewer.live.pace import FLAT_OUT
    from ecs_rl.viewer.live.watch import WatchWindow

    resumed = replace(settings, resume=str(record.path), init_from=None, imitate=None, changes=None)
    settings, training = ready(resumed, scene=scene)
    try:
        opened = WatchWindow.open(training, window.display, pace=settings.pace or FLAT_OUT)
    except BaseException:
        training.world.close()
        raise
    return settings, training, opened

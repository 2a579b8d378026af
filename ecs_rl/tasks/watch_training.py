"""`train.py SCENE --watch`: a training in its window, which goes on in the same window when its scene's file was saved.

It goes on by a save and a resume. pygame is loaded here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.cli.plan import Plan
from ecs_rl.cli.process import Answer
from ecs_rl.console import tell
from ecs_rl.errors import EcsRlError, SceneError
from ecs_rl.runs import TrainingRun
from ecs_rl.runs.recorders import Recorder, recorders_of
from ecs_rl.scene.scene import Scene
from ecs_rl.tasks.assemble import assemble, recorded
from ecs_rl.tasks.run_training import Watch, stop, train
from ecs_rl.training.reload import scene_in_file
from ecs_rl.training.training import Training
from ecs_rl.viewer.live.background import FLAT_OUT
from ecs_rl.viewer.live.screen import NoDisplay, Screen
from ecs_rl.viewer.live.screen_process import ScreenProcess
from ecs_rl.viewer.live.watch import WatchWindow, watch_training

Going = tuple[Plan, Training, WatchWindow]
"""The plan that resumes a run, its training, and its window."""


def train_in_window(plan: Plan, training: Training, recorders: Mapping[str, Recorder], answer: Answer) -> int:
    """Train in a window; a changed scene in which the training cannot go on leaves it in the scene of before."""
    settings = plan.settings
    window = open_window(settings, training)
    before: Scene | None = None
    while True:
        answer.first = partial(stop, training)
        code, problem = 1, None
        try:
            record = recorded(training, plan, recorders)
            code = train(training, record, settings, watching(settings, training, window))
        except SceneError as error:
            if before is None:
                raise
            problem = error
        finally:
            if problem is None and (not (training.reloads or training.again) or code):
                window.close()
        if before is not None and problem is not None:
            plan, training, window = with_scene_of_before(plan, record, window, before, problem)
            before = None
        elif training.reloads and not code:
            going, before = with_scene_of_now(plan, record, window, training.world.scene)
            plan, training, window = going
        elif training.again and not code:
            plan, training, window = _going(_with_next_seed(plan), window)
            before = None
        else:
            return code
        settings = plan.settings
        recorders = recorders_of(settings.recorders)


def open_window(settings: TrainSettings, training: Training) -> WatchWindow:
    """Return the window of `--watch`."""
    open_screen = ScreenProcess.start if os.name == "posix" else Screen.open  # elsewhere no connection can be inherited
    try:
        screen = open_screen(f"{training.world.scene.name} - ecs_rl")
    except NoDisplay as none:
        raise NoDisplay(f"--watch: {none}: train without --watch, and see it later with play.py --record") from None
    try:
        return WatchWindow.open(training, screen, pace=settings.pace or ("max" if settings.json else ""))
    except BaseException:
        screen.close()
        raise


def watching(settings: TrainSettings, training: Training, window: WatchWindow) -> Watch:
    """Return what trains in a window until the training is over or the window is closed."""
    return lambda run, after_tick: watch_training(
        window, training, run, after_tick=after_tick, attended=not settings.json
    )


def with_scene_of_now(
    plan: Plan, record: TrainingRun, window: WatchWindow, before: Scene
) -> tuple[Going, Scene | None]:
    """Return what goes on with a run in the scene as its file is now, and the scene to go back to if that one fails.

    Where nothing can go on in the file's scene, return what goes on in the scene of `before`, and None.
    """
    try:
        return _going(_resuming(plan, record, scene_in_file(before.reference)), window), before
    except EcsRlError as problem:
        return with_scene_of_before(plan, record, window, before, problem), None


def with_scene_of_before(
    plan: Plan, record: TrainingRun, window: WatchWindow, before: Scene, problem: EcsRlError
) -> Going:
    """Return what goes on with a run in the scene of `before`, and say why it does."""
    message = f"{problem}: it goes on in the scene of before"
    tell(f"train.py: {message}", sys.stderr)
    window.show.close()
    try:
        plan, training, window = _going(_resuming(plan, record, before), window)
    except BaseException:
        window.close()
        raise
    return plan, training, replace(window, says=message)


def _resuming(plan: Plan, record: TrainingRun, scene: Scene) -> Plan:
    """Return the plan that goes on with a run in a scene."""
    again = replace(plan, scene=scene).resuming(record.path, imitate=None, remember=None, changes=None)
    return again.changed(pace=plan.settings.pace or FLAT_OUT)


def _with_next_seed(plan: Plan) -> Plan:
    """Return the plan of a new run with the next seed."""
    return replace(plan.changed(resume=None, seed=plan.settings.seed + 1), run=None)


def _going(plan: Plan, window: WatchWindow) -> Going:
    """Return what trains by a plan in the screen of this window."""
    plan, training = assemble(plan)
    try:
        opened = WatchWindow.open(training, window.screen, pace=plan.settings.pace)
    except BaseException:
        training.world.close()
        raise
    return plan, training, opened

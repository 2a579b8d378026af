"""Notices when the file of the scene on the stage is saved, and offers to go on with it as it is then."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter

import pygame

from ecs_rl.errors import EcsRlError
from ecs_rl.training.reload import scene_of_now, why_not
from ecs_rl.user_files.sources import read_sources
from ecs_rl.viewer.panel import App, Command, Control

CHECK_EVERY = 1.0
"""Seconds between two looks at the times of the files."""


class SceneReload(Control):
    """Watches the files of the scene that trains behind a window."""

    name = "reload"

    def __init__(self) -> None:
        self.can_reload = False
        """There is another scene in the file, and the training can go on in it."""
        self._files: list[Path] = []
        self._times: list[int] = []
        self._due = 0.0

    def open(self, app: App) -> None:
        """Note when the files were written."""
        scene = app.show.scene
        if app.run.background is not None and scene.file:
            self._files = [*_files(Path(scene.file)), *scene.data_files]
        self._times, self._due = _times(self._files), perf_counter() + CHECK_EVERY

    def advance(self, app: App, seconds: float) -> None:
        """Offer to go on with a file that was saved; say so where that cannot be."""
        now, work = perf_counter(), app.run.background
        if now < self._due or work is None or work.is_saved:
            return
        self._due = now + CHECK_EVERY
        times = _times(self._files)
        if times == self._times:
            return
        self._times, name = times, self._files[0].name
        try:
            scene = scene_of_now(work.training)
            unfit = "" if scene is None else why_not(work.training, scene)
        except EcsRlError as error:
            self.can_reload = False
            app.say(f"{name} was saved, and cannot be used: {error}", "warn")
            return
        self.can_reload = scene is not None and not unfit
        if self.can_reload:
            app.say(f"{name} was saved: Ctrl+R goes on with its rewards, looks and marks of now", "good")
        elif unfit:
            app.say(f"{name} was saved: {unfit}, so it is for a new run", "warn")

    def reload(self, app: App) -> None:
        """Save, and go on with the scene as it is now."""
        work = app.run.background
        if not self.can_reload or work is None or work.is_saved:
            app.say("the scene's file is as it was, or cannot be gone on with", "warn")
        elif work.training.together is not None:
            app.say("several processes cannot change their scene: stop, and go on with --resume", "warn")
        else:
            work.training.reloads = True
            work.training.stop = work.training.stop or "its scene has changed"

    keys = (
        Command("Training", "Ctrl+R", "reload scene", "take over the scene's file", reload, (pygame.K_r,), trains=True),
    )


def _files(main: Path) -> list[Path]:
    """Return a scene's file and those that it imports from its folder; none where it cannot be read."""
    try:
        return read_sources(main).files
    except (OSError, SyntaxError, EcsRlError):
        return []


def _times(files: list[Path]) -> list[int]:
    return [_time(file) for file in files]


def _time(file: Path) -> int:
    """Return when a file was written last, 0 where it is not there: an editor may be at it."""
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return 0

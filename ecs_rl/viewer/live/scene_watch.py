"""Notices when the file of the scene on the stage is saved, and offers to go on with it as it is then."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from ecs_rl.errors import EcsRlError
from ecs_rl.training.reload import scene_of_now, why_not
from ecs_rl.user_files.sources import read_sources

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window

LOOKS = 1.0
"""Seconds between two looks at the file's time."""


class SceneWatch:
    """Looks at the files of the scene that trains behind a window."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.offers = False
        """There is another scene in the file, and the training can go on in it."""
        work, scene = window.background, window.show.scene
        self._files = [*_files(Path(scene.file)), *scene.data_files] if work is not None and scene.file else []
        self._seen, self._due = self._times(), perf_counter() + LOOKS

    def look(self) -> None:
        """Offer to go on with a file that was saved; say so where that cannot be."""
        now, work = perf_counter(), self.window.background
        if now < self._due or work is None or work.is_saved:
            return
        self._due = now + LOOKS
        times = self._times()
        if times == self._seen:
            return
        self._seen, name = times, self._files[0].name
        try:
            scene = scene_of_now(work.training)
            unfit = "" if scene is None else why_not(work.training, scene)
        except EcsRlError as error:
            self.offers = False
            self.window.say(f"{name} was saved, and cannot be used: {error}", "warn")
            return
        self.offers = scene is not None and not unfit
        if self.offers:
            self.window.say(f"{name} was saved: Ctrl+R goes on with its rewards, looks and marks of now", "good")
        elif unfit:
            self.window.say(f"{name} was saved: {unfit}, so it is for a new run", "warn")

    def take(self) -> None:
        """Save, and go on with the scene as it is now."""
        work = self.window.background
        if not self.offers or work is None or work.is_saved:
            self.window.say("the scene's file is as it was, or cannot be gone on with", "warn")
        elif work.training.group is not None:
            self.window.say("several processes cannot change their scene: stop, and go on with --resume", "warn")
        else:
            work.training.reloads = True
            work.training.stop = work.training.stop or "its scene has changed"

    def _times(self) -> list[int]:
        return [_time(file) for file in self._files]


def _files(main: Path) -> list[Path]:
    """Return a scene's file and those that it imports from its folder; none where it cannot be read."""
    try:
        return read_sources(main).files
    except (OSError, SyntaxError, EcsRlError):
        return []


def _time(file: Path) -> int:
    """Return when a file was written last, 0 where it is not there: an editor may be at it."""
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return 0

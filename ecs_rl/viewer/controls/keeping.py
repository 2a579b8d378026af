"""A key keeps an episode of the stage as a file."""

from __future__ import annotations

import re
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pygame

from ecs_rl.errors import EcsRlError
from ecs_rl.runs.episode_file import FOLDER, Episode, write_episode
from ecs_rl.viewer.panel import App, Command, Control
from ecs_rl.viewer.replay import Replay


class Keeping(Control):
    """Writes episodes beside the frames: the disk may take its time, a frame may not."""

    name = "episodes"

    def __init__(self) -> None:
        self.waits = False
        """The running episode is to be kept once it ends."""
        self._writer: ThreadPoolExecutor | None = None
        self._writes: list[Future[Path]] = []

    def open(self, app: App) -> None:
        """Let the episodes of the stage say how far the training was."""
        if app.run.background is not None:
            session = app.run.background.training.session
            app.show.played.when = lambda: f"at step {session.total_steps:,}"

    def keep(self, app: App) -> None:
        """Write the episode that has just ended, or that is played again; one that still runs when it ends."""
        show = app.show
        if isinstance(show, Replay):
            self._write(app, show.episode_played)
        elif show.outcome is not None and show.rewind.at is None:
            self._write(app, show.played.newest(show.arena))
        elif not show.log.running[show.arena].is_whole:
            app.say("this episode's beginning is not known: the next one can be kept", "warn")
        else:
            self.waits = not self.waits
            app.say("this episode is kept once it ends" if self.waits else "this episode is not kept")

    def look(self, app: App, seconds: float) -> None:
        """Keep what has ended, and report what was written."""
        show = app.show
        if self.waits and show.outcome is not None and show.rewind.at is None:
            self.waits = False
            self._write(app, show.played.newest(show.arena))
        self._report(app, [write for write in self._writes if write.done()])

    def close(self, app: App) -> None:
        """Wait until all is written, and report it."""
        self._report(app, list(self._writes))
        if self._writer is not None:
            self._writer.shutdown()
            self._writer = None

    def _write(self, app: App, episode: Episode | None) -> None:
        if episode is None:
            app.say("this episode cannot be kept: its beginning is not known, or it exploded", "warn")
            return
        facts = episode.facts
        scene = re.sub(r"[^A-Za-z0-9.-]+", "_", app.show.scene.name or "scene")
        name = f"{scene}_{facts.seed}_{facts.number}_{facts.digest[:8]}"
        if self._writer is None:
            self._writer = ThreadPoolExecutor(1, "episodes")
        self._writes.append(self._writer.submit(write_episode, episode, app.run.folder / FOLDER, name))

    def _report(self, app: App, writes: list[Future[Path]]) -> None:
        for write in writes:
            self._writes.remove(write)
            try:
                app.say(f"kept: play.py {write.result()}", "good", aloud=True)
            except EcsRlError as error:
                app.say(str(error), "bad")

    keys = (Command("Policy", "K", "keep episode", "keep this episode as a file", keep, (pygame.K_k,)),)

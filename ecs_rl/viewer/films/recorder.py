"""The recorder: films and pictures of the window, written into the run's folder."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import pygame

from ecs_rl.errors import CommandError, StorageError
from ecs_rl.runs.layout import films_folder
from ecs_rl.viewer.films.encoder import Film, film_size

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window

FPS = 30.0
LONGEST = 0.5
"""Seconds of a film for which one picture of the window can stand."""


class Recorder:
    """Writes what the window shows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.film: Film | None = None
        self._began = 0.0

    def toggle(self, window: Window) -> None:
        """Begin a film, or end it."""
        if self.film is not None:
            self.end(window)
            return
        try:
            path = films_folder(self.folder) / f"window_{_stamp()}.mp4"
            self.film = Film(path, window.display.surface.get_size(), FPS)
        except (CommandError, StorageError) as error:
            window.say(str(error), "bad")
            return
        self._began = perf_counter()
        window.say("recording: V ends it")

    def add(self, window: Window) -> None:
        """Add the picture that was just drawn, as often as it was seen at the film's own rate."""
        film, picture = self.film, window.display.surface
        if film is None:
            return
        if film_size(picture.get_size()) != film.size:
            self.end(window)  # a film has one size
            return
        try:
            behind = perf_counter() - self._began - film.seconds
            self._began += max(0.0, behind - LONGEST)  # nobody wants to see for how long the window was out of sight
            while film.seconds <= perf_counter() - self._began:
                film.add(picture)
        except StorageError as error:
            self.film = None
            window.say(f"the film is lost: {error}", "bad")

    def end(self, window: Window) -> None:
        """End the film that is being recorded, if there is one."""
        film, self.film = self.film, None
        if film is None:
            return
        try:
            film.close()
        except StorageError as error:
            window.say(f"the film is lost: {error}", "bad")
        else:
            window.say(f"film written: {film.path}", "good", aloud=True)

    def take_picture(self, window: Window) -> None:
        """Write a picture of the window as it is."""
        path = self.folder / "pictures" / f"window_{_stamp()}.png"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            pygame.image.save(window.display.surface, path)
        except (OSError, pygame.error) as error:
            window.say(f"no picture could be written to {path}: {error}", "bad")
        else:
            window.say(f"picture written: {path}", "good", aloud=True)


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%d_%H%M%S_%f")[:-3]

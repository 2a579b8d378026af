"""The recorder: films and pictures of the window, written into the run's folder."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import pygame

from ecs_rl.console import tell
from ecs_rl.errors import CommandError, StorageError
from ecs_rl.runs.layout import films_folder
from ecs_rl.viewer.films.encoder import Film, film_size
from ecs_rl.viewer.frame import Painter

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window

FPS = 30.0
LONGEST = 0.5
"""Seconds of a film for which one picture of the window can stand."""


class Recorder:
    """Writes what the window shows."""

    def __init__(self, folder: Path, dpi_scale: float = 1.0) -> None:
        self.folder = folder
        self.film: Film | None = None
        self._began = 0.0
        self._painter, self._surface = Painter(dpi_scale), pygame.Surface((1, 1))

    def toggle(self, window: Window) -> None:
        """Begin a film, or end it."""
        if self.film is not None:
            self.end(window)
            return
        try:
            path = films_folder(self.folder) / f"window_{stamp()}.mp4"
            self.film = Film(path, window.screen.size, FPS)
        except (CommandError, StorageError) as error:
            window.say(str(error), "bad")
            return
        self._began = perf_counter()
        window.say("recording: V ends it")

    def add(self, window: Window) -> None:
        """Add the picture that was just drawn, as often as it was seen at the film's own rate."""
        film, size = self.film, window.screen.size
        if film is None:
            return
        if film_size(size) != film.size:
            self.end(window)  # a film has one size
            return
        if film.seconds > perf_counter() - self._began:
            return
        picture = self._picture(window, size)
        try:
            behind = perf_counter() - self._began - film.seconds
            self._began += max(0.0, behind - LONGEST)  # nobody wants to see for how long the window was out of sight
            due = perf_counter() - self._began  # looked at once: a slow encoder never catches up with the clock
            while film.seconds <= due:
                film.add(picture)
        except StorageError as error:
            self.film = None
            window.say(f"the film is lost: {error}", "bad")

    def _picture(self, window: Window, size: tuple[int, int]) -> pygame.Surface:
        """Return what a film shows: the window without the panels that no film shows."""
        if self._surface.get_size() != size:
            self._surface = pygame.Surface(size)
        views = {name: view for name, view in window.views.items() if window.panels[name].filmed}
        self._painter.draw(self._surface, views)
        return self._surface

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
            window.say(f"film written: {_short(film.path)}", "good")
            tell(f"film written: {film.path}", sys.stderr)

    def take_picture(self, window: Window) -> None:
        """Write a picture of the window as it is."""
        path = self.folder / "pictures" / f"window_{stamp()}.png"
        self.write(window.screen.picture(), path, "picture", window)

    def write(self, surface: pygame.Surface, path: Path, what: str, window: Window) -> None:
        """Write a picture, and say where it is."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            pygame.image.save(surface, path)
        except (OSError, pygame.error) as error:
            window.say(f"no {what} could be written to {path}: {error}", "bad")
        else:
            window.say(f"{what} written: {_short(path)}", "good")
            tell(f"{what} written: {path}", sys.stderr)


def _short(path: Path) -> str:
    """Return the end of a path, as far as it tells where in the run a file is; the terminal has all of it."""
    return "/".join(path.parts[-2:])


def stamp() -> str:
    """Return the present moment for the name of a file."""
    return datetime.now(UTC).strftime("%Y%m%d_%H%M%S_%f")[:-3]

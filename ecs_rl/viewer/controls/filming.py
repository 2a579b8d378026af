"""Films and pictures of the window, written into the run's folder."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from time import perf_counter

import pygame

from ecs_rl.console import tell
from ecs_rl.errors import StorageError
from ecs_rl.runs.layout import films_folder
from ecs_rl.viewer.films.encoder import Film, film_size, short_path, stamp, write_picture
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.frame_codec import Frame
from ecs_rl.viewer.palette import BAD
from ecs_rl.viewer.panel import App, Chip, Command, Control

FPS = 30.0
LONGEST = 0.5
"""Seconds of a film for which one picture of the window can stand."""


class Filming(Control):
    """Records what the window shows."""

    name = "film"

    def __init__(self) -> None:
        self.film: Film | None = None
        self._began = 0.0
        self._painter, self._surface = Painter(), pygame.Surface((1, 1))

    def toggle(self, app: App) -> None:
        """Begin a film, or end it."""
        if self.film is not None:
            self.close(app)
            return
        self.film = Film(films_folder(app.run.folder) / f"window_{stamp()}.mp4", app.screen.size, FPS)
        self._painter = Painter(app.screen.dpi_scale)
        self._began = perf_counter()
        app.say("recording: V ends it")

    def after_draw(self, app: App, frame: Frame) -> None:
        """Add the picture that was just drawn, as often as it was seen at the film's own rate."""
        film = self.film
        if film is None:
            return
        if film_size(frame.size) != film.size:
            self.close(app)  # a film has one size
            return
        if film.seconds > perf_counter() - self._began:
            return
        picture = self._picture(app, frame)
        try:
            behind = perf_counter() - self._began - film.seconds
            self._began += max(0.0, behind - LONGEST)  # nobody wants to see for how long the window was out of sight
            due = perf_counter() - self._began  # looked at once: a slow encoder never catches up with the clock
            while film.seconds <= due:
                film.add(picture)
        except StorageError as error:
            self.film = None
            app.say(f"the film is lost: {error}", "bad")

    def _picture(self, app: App, frame: Frame) -> pygame.Surface:
        """Return what a film shows: the window without the panels that no film shows."""
        if self._surface.get_size() != frame.size:
            self._surface = pygame.Surface(frame.size)
        views = {name: view for name, view in frame.views.items() if app.panels[name].filmed}
        self._painter.draw(self._surface, views)
        return self._surface

    def close(self, app: App) -> None:
        """End the film that is being recorded, if there is one."""
        film, self.film = self.film, None
        if film is None:
            return
        try:
            film.close()
        except StorageError as error:
            app.say(f"the film is lost: {error}", "bad")
        else:
            app.say(f"film written: {short_path(film.path)}", "good")
            tell(f"film written: {film.path}", sys.stderr)

    def chips(self, app: App) -> Iterable[Chip]:
        """Return the chip of a film that is recorded."""
        return [] if self.film is None else [Chip("RECORDING", "V", BAD, dot=True, rank=8)]

    def take_picture(self, app: App) -> None:
        """Write a picture of the window as it is."""
        write_picture(app, app.screen.picture(), "window")

    keys = (
        Command("Window", "V", "record", "record a film", toggle, (pygame.K_v,)),
        Command("Window", "Ctrl+P", "picture", "picture of the window", take_picture, (pygame.K_p,)),
    )

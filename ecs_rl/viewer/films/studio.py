"""The studio: films of a show, picture by picture at a fixed rate: it needs no display, and no clock has a say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pygame

from ecs_rl.agents.base import Agent
from ecs_rl.scene.scene import Scene
from ecs_rl.viewer.canvas import LARGE, Canvas
from ecs_rl.viewer.films.encoder import Film, check_film
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.number_formats import signed
from ecs_rl.viewer.palette import DIM, MAIN_LINE, PANEL, RAISED, TEXT
from ecs_rl.viewer.panels.stage import StagesView, pane_of
from ecs_rl.viewer.panels.status import StatusView
from ecs_rl.viewer.played_episodes import Ended
from ecs_rl.viewer.stage import TONES, draw_stage, fitting
from ecs_rl.viewer.view import PaneView

ENDING = 1.2
"""Seconds that the picture of an ending stays."""
CLIP_SIZE, CLIP_FPS = (960, 540), 30.0
"""Of every clip, so that clips can be joined."""
FORMATS = {".mp4": ((1280, 720), 30.0), ".gif": ((800, 450), 20.0)}
"""Size in pixels and pictures a second. A gif counts hundredths of a second: 20 are exact, and it must stay small."""

Draw = Callable[[pygame.Surface], None]


def record_play(shows: Sequence[LiveEpisode], path: Path, *, speed: float = 1.0) -> Iterator[list[Ended]]:
    """Film all episodes of these shows, side by side if there are several, and yield how each one ended on each.

    A film that is not played to its end is thrown away.
    """
    check_film(path)
    painter = Painter()

    def draw(picture: pygame.Surface) -> None:
        painter.draw(picture, plain_views(shows))

    with Film(path, *FORMATS[path.suffix.lower()]) as film:
        for arena in range(shows[0].episodes):
            for show in shows:
                show.go_to(arena)
                show.stays, show.paused, show.speed = True, False, speed
            for part in (film_episode(shows, film, draw), film_still(film, draw, ENDING)):
                for _ in part:
                    pass
            yield [show.ended[0] for show in shows]


def plain_views(shows: Sequence[LiveEpisode]) -> dict[str, Any]:
    """Return what the panels of a film show: the stage and the mind, or several stages, nothing of a window."""
    show = shows[0]
    status = StatusView(show.scene.name, state="playing", steps=None, speed_asked=show.speed, hint="")
    if len(shows) > 1:
        return {"status": status, "stage": StagesView(tuple(map(pane_of, shows)))}
    return {"status": status, "stage": StagesView((PaneView("", show.stage()),)), "mind": show.mind.view()}


def shoot_clip(
    scene: Scene,
    agents: Mapping[str, Agent],
    seeds: Sequence[int],
    path: Path,
    *,
    text: str,
    share: float,
    longest: Callable[[], float],
) -> Iterator[None]:
    """Film the first of these episodes, played greedily in a world of its own, a picture at a time.

    `text` and a bar of `share` tell how far training is. `longest` says, ever again, how many seconds it may take.
    """
    show = LiveEpisode(scene, agents, seeds=seeds)
    try:
        yield
        with Film(path, CLIP_SIZE, CLIP_FPS) as film:
            yield
            title = Title(scene.name, text, share)
            yield from film_episode([show], film, lambda picture: title.draw(picture, show), longest)
            title.stopped_after = None if show.ended else film.seconds
            rest = longest() + ENDING - film.seconds  # nothing is left of it when all of a sudden there is no time
            yield from film_still(film, lambda picture: title.draw(picture, show), min(ENDING, rest))
            yield from film.finishing()
    finally:
        show.close()


def film_episode(
    shows: Sequence[LiveEpisode], film: Film, draw: Draw, longest: Callable[[], float] = lambda: math.inf
) -> Iterator[None]:
    """Film the episode that the shows are at until all have ended it, or the film is this long."""
    picture = pygame.Surface(film.size)
    for show in shows:
        show.ended.clear()
    while not all(show.ended for show in shows) and film.seconds < longest():
        draw(picture)
        film.add(picture)
        yield
        for show in shows:
            show.advance(1 / film.fps)


def film_still(film: Film, draw: Draw, seconds: float) -> Iterator[None]:
    """Film one picture for a while."""
    picture = pygame.Surface(film.size)
    draw(picture)
    for _ in range(max(1, round(seconds * film.fps))):
        film.add(picture)
        yield


class Title:
    """Draws one arena with a line above it: the scene, how far training is, and the return as it grows."""

    def __init__(self, scene: str, text: str, share: float) -> None:
        self.scene, self.text, self.share = scene, text, share
        self.stopped_after: float | None = None
        """Seconds after which the film stops in the middle of the episode."""
        self.canvas = Canvas(1.25)

    def draw(self, surface: pygame.Surface, show: LiveEpisode) -> None:
        """Draw the show's picture of this moment."""
        ended = show.ended[0] if show.ended else None
        stage = replace(show.stage(), caption="")
        canvas, (w, h) = self.canvas, surface.get_size()
        bar, edge, thin = canvas.px(42), canvas.px(16), canvas.px(3)
        area = pygame.Rect(0, bar, w, h - bar)
        draw_stage(surface, area, stage, fitting(stage, area, canvas), canvas)
        surface.fill(PANEL, (0, 0, w, bar))
        y = (bar - thin) / 2
        x = edge + canvas.write(surface, self.scene, (edge, y), size=LARGE + 2).w + edge
        canvas.write(surface, self.text, (x, y), size=LARGE, colour=DIM)
        total, colour = (show.total, TEXT) if ended is None else (ended.total, TONES[ended.tone])
        at = (w - edge, y)
        number = canvas.write(surface, signed(total), at, size=LARGE + 1, colour=colour, face="numbers", anchor="right")
        text = show.counted + ("" if self.stopped_after is None else f" after {self.stopped_after:.0f} s")
        canvas.write(surface, text, (number.x - canvas.px(8), y), size=LARGE, colour=DIM, anchor="right")
        surface.fill(RAISED, (0, bar - thin, w, thin))
        surface.fill(MAIN_LINE, (0, bar - thin, round(w * self.share), thin))

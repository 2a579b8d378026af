"""The mouse beside the panels: bodies, the camera, and what is not a panel yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pygame

from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.live.commands import Call, press_at
from ecs_rl.viewer.panel import Gesture
from ecs_rl.viewer.picking import pick
from ecs_rl.viewer.things import Chosen
from ecs_rl.viewer.view import Point

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window

Pixel = tuple[float, float]
REACH = 10
"""Pixels from a body within which the mouse still takes hold of it."""


class StageMouse:
    """Answers gestures by their pixels."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.held = 0
        """The number of the show whose body the mouse holds."""

    def calls(self, gesture: Gesture) -> list[Call]:
        """Return the commands that a gesture asks for."""
        at = gesture.hit.at
        asked: dict[str, tuple[Any, ...]] = {
            "click": ("click", at),
            "grab": ("grab", at),
            "drag": ("drag", at),
            "drop": ("let go",),
            "zoom": ("zoom", gesture.factor, at),
            "pan": ("pan", gesture.by),
        }
        return [asked[gesture.kind]] if gesture.kind in asked else []

    def show_at(self, pixel: Pixel) -> int | None:
        """Return the number of the show under a pixel."""
        if self.window.grid is not None:
            return None
        number = (
            self.window.painter.cell_at(self.window.seen, self.window.layout, pixel) if self.window.seen.panes else 0
        )
        inside = number is not None and self._area(number).collidepoint(pixel)
        return number if inside else None

    def _area(self, number: int) -> pygame.Rect:
        return self.window.painter.stage_at(self.window.seen, self.window.layout, number)

    def metres(self, pixel: Pixel, number: int) -> Point:
        """Return the point of an arena that a pixel shows."""
        x, y = self._area(number).topleft
        stage = self.window.seen.panes[number].stage if self.window.seen.panes else self.window.seen.stage
        return self._camera().onto(stage.focus if stage else (0.0, 0.0)).metres((pixel[0] - x, pixel[1] - y))

    def _camera(self) -> Camera:
        camera = self.window.camera or self.window.painter.home(self.window.seen, self.window.layout)
        return camera or Camera((0.0, 0.0), 50.0, (0.0, 0.0))

    def bounds(self) -> tuple[Point, Point] | None:
        """Return what the stage shows of the arena, metres; None where that is a picture."""
        stage, area = self.window.seen.stage, self._area(0)
        camera = self.window.camera or self.window.painter.home(self.window.seen, self.window.layout)
        if stage is None or stage.drawn is not None or camera is None:
            return None
        camera = camera.onto(stage.focus)
        (x0, y1), (x1, y0) = camera.metres((0, 0)), camera.metres((area.w, area.h))
        return (x0, y0), (x1, y1)

    def body_at(self, pixel: Pixel) -> tuple[int, Chosen | None]:
        """Return the show and the body under a pixel."""
        number = self.show_at(pixel)
        if number is None:
            return 0, None
        stage = self.window.seen.panes[number].stage if self.window.seen.panes else self.window.seen.stage
        reach = REACH * self.window.layout.scale / self._camera().zoom
        return number, pick(stage, self.metres(pixel, number), reach) if stage is not None else None

    def grab(self, pixel: Pixel) -> None:
        """Take hold of the body under a pixel."""
        self.held, role = self.body_at(pixel)
        if role is not None:
            self.window.shows[self.held].grab(role, self.metres(pixel, self.held))

    def drag(self, pixel: Pixel) -> None:
        """Move the hand."""
        self.window.shows[self.held].drag(self.metres(pixel, self.held))

    def let_go(self) -> None:
        """Hold nothing."""
        for show in self.window.shows:
            show.let_go()

    def click(self, pixel: Pixel) -> None:
        """Choose what is under a pixel."""
        if press_at(self.window, pixel):
            return
        if self.window.grid is None:
            if self.show_at(pixel) is not None:
                self.window.selected = self.body_at(pixel)[1]
                self.window.show.mind.turn_to(self.window.selected)
            return
        arena = self.window.painter.cell_at(self.window.seen, self.window.layout, pixel)
        if arena is not None:
            self.window.grid.selected = arena
            self.window.show_chosen_arena()

    def zoom(self, factor: float, pixel: Pixel) -> None:
        """Show everything larger, what is under the pixel stays there."""
        number = self.show_at(pixel)
        if number is not None:
            x, y = self._area(number).topleft
            self.window.camera = self._camera().zoomed(factor, (pixel[0] - x, pixel[1] - y))

    def pan(self, by: Point) -> None:
        """Move the picture by so many pixels."""
        if self.window.grid is None:
            self.window.camera = self._camera().panned(*by)

"""What a screen lays over a painted frame: the part under the mouse lit, a ring around the focus, and the tip."""

from __future__ import annotations

from collections.abc import Callable

import pygame

from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import MAIN_LINE, TEXT

LIGHT = 22
"""How strongly the part under the mouse is lit, of 255."""


class TopLayer:
    """Lays pictures over a surface, and takes them away again without anything painted anew."""

    def __init__(self) -> None:
        self._covered: list[tuple[pygame.Rect, pygame.Surface]] = []
        """The pixels below, the topmost last."""

    def lay(self, surface: pygame.Surface, place: pygame.Rect, draw: Callable[[], object]) -> None:
        """Draw something that stays within a place."""
        place = place.clip(surface.get_rect())
        if place.w > 0 and place.h > 0:
            self._covered.append((place, surface.subsurface(place).copy()))
            draw()

    def lift(self, surface: pygame.Surface) -> None:
        """Take everything away from the surface that it was laid on."""
        while self._covered:
            place, pixels = self._covered.pop()
            surface.blit(pixels, place)

    def forget(self) -> None:
        """Leave everything where it is, on a surface that is gone."""
        self._covered.clear()


def light(surface: pygame.Surface, place: pygame.Rect, canvas: Canvas) -> None:
    """Light a place up."""
    rounded(surface, place, TEXT, radius=canvas.px(4), alpha=LIGHT)


def ring(surface: pygame.Surface, place: pygame.Rect, canvas: Canvas) -> None:
    """Draw a ring within a place."""
    pygame.draw.rect(surface, MAIN_LINE, place, canvas.px(1.5), border_radius=canvas.px(4))

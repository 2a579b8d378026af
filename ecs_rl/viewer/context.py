"""What everything that draws is handed: the scale of the screen, the text, and pictures kept from earlier frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pygame

from ecs_rl.viewer.text import Text

T = TypeVar("T")
Paint = Callable[[pygame.Surface, T, "DrawContext"], object]


def part_of(surface: pygame.Surface, area: pygame.Rect) -> pygame.Surface | None:
    """Return the part of a surface that an area covers, whose origin is the area's corner; None if there is none."""
    seen = area.clip(surface.get_rect())
    return surface.subsurface(seen) if seen.w > 0 and seen.h > 0 else None


class DrawContext:
    """The tools of one window: its scale, text and kept pictures; a new scale takes new ones."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self.text = Text(scale)
        self.painted = 0
        """How many pictures had to be painted so far."""
        self._kept: dict[str, tuple[object, pygame.Surface]] = {}

    def px(self, size: float) -> int:
        """Return a size in pixels on this screen, at least one."""
        return max(1, round(size * self.scale))

    def kept(
        self, name: str, size: tuple[int, int], shows: object, paint: Callable[[pygame.Surface], object], clear: bool
    ) -> pygame.Surface:
        """Return a picture, painted anew only where `shows` or its size has changed. A clear one begins transparent."""
        before, picture = self._kept.get(name, (None, None))
        if picture is None or picture.get_size() != size:
            picture = pygame.Surface(size, pygame.SRCALPHA if clear else 0)
        elif before == shows:
            return picture
        if clear:
            picture.fill((0, 0, 0, 0))
        self.painted += 1
        paint(picture)
        self._kept[name] = (shows, picture)
        return picture

    def lay(
        self, surface: pygame.Surface, area: pygame.Rect, name: str, shows: T, paint: Paint[T], *, clear: bool = False
    ) -> None:
        """Lay a kept picture over an area, if it has one; `shows` is all that the picture depends on."""
        if area.w > 0 and area.h > 0:
            surface.blit(self.kept(name, area.size, shows, lambda it: paint(it, shows, self), clear), area)

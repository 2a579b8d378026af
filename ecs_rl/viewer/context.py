"""What everything that draws is handed: the scale of the screen, the text, and pictures kept from earlier frames."""

from __future__ import annotations

from collections.abc import Callable

import pygame

from ecs_rl.viewer.text import Text

Paint = Callable[[pygame.Surface], object]


def part_of(surface: pygame.Surface, area: pygame.Rect) -> pygame.Surface | None:
    """Return the part of a surface that an area covers, whose origin is the area's corner; None if there is none."""
    seen = area.clip(surface.get_rect())
    return surface.subsurface(seen) if seen.w > 0 and seen.h > 0 else None


class Layers:
    """Pictures by name; each is painted anew only when what it shows has changed."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[object, pygame.Surface]] = {}
        self.painted = 0
        """How many pictures had to be painted so far."""

    def get(
        self, name: str, size: tuple[int, int], shows: object, paint: Paint, *, clear: bool = False
    ) -> pygame.Surface:
        """Return the picture; `shows` is all that it depends on besides its size. A clear one begins transparent."""
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

    def draw(
        self, surface: pygame.Surface, area: pygame.Rect, name: str, shows: object, paint: Paint, *, clear: bool = False
    ) -> None:
        """Lay the picture over an area, which it is as large as."""
        surface.blit(self.get(name, area.size, shows, paint, clear=clear), area)


class DrawContext:
    """The tools of one window; make a new one when the scale of the screen changes."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self.text = Text(scale)
        self.layers = Layers()

    def px(self, size: float) -> int:
        """Return a size in pixels on this screen, at least one."""
        return max(1, round(size * self.scale))

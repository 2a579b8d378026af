"""Text: crisp because it is rendered at its final size on whole pixels, cheap because every string is kept a while."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import Literal

import pygame

from ecs_rl.shipped import ASSETS
from ecs_rl.viewer.palette import TEXT, Colour

FONTS = ASSETS / "fonts"
Face = Literal["words", "numbers"]
FILES: dict[Face, str] = {"words": "Inter-Medium.otf", "numbers": "JetBrainsMono-Medium.ttf"}
KEPT = 1500
"""Strings that are remembered; a full window has about 200, and some of them change in every frame."""
SMALL, NORMAL, LARGE = 11.0, 12.5, 15.0
"""Sizes before the scale of the screen."""
FARTHEST = 100_000
"""Pixels; what stands further away than this is left out."""
Anchor = Literal["left", "middle", "right"]
WIDEST = str.maketrans("123456789", "000000000")
"""No digit is wider than a nought."""


@lru_cache(maxsize=64)
def font(face: Face, pixels: int) -> pygame.Font:
    """Return a face at a size; pygame's own font where the assets are missing."""
    pygame.font.init()
    path = FONTS / FILES[face]
    return pygame.Font(path if path.is_file() else None, pixels)


@lru_cache(maxsize=KEPT)
def _picture(text: str, pixels: int, colour: Colour, face: Face) -> pygame.Surface:
    return font(face, pixels).render(text, True, colour)


@lru_cache(maxsize=KEPT)
def _width(text: str, pixels: int, face: Face) -> int:
    return font(face, pixels).size(text)[0]


@lru_cache(maxsize=KEPT)
def _cut(text: str, width: int, pixels: int, face: Face) -> str:
    if _width(text, pixels, face) <= width:
        return text
    # The longest beginning that fits.
    fits = bisect_right(range(1, len(text) + 1), width, key=lambda n: _width(text[:n].rstrip() + "…", pixels, face))
    return text[:fits].rstrip() + "…" if fits else ""


class Text:
    """Draws strings at the scale of the screen."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def pixels(self, size: float) -> int:
        """Return the height in pixels that a size has on this screen."""
        return max(6, round(size * self.scale))

    def picture(self, text: str, size: float, colour: Colour, face: Face) -> pygame.Surface:
        """Return a string as a picture with transparent ground; do not draw on it."""
        return _picture(_clean(text), self.pixels(size), colour, face)

    def draw(
        self,
        surface: pygame.Surface,
        text: str,
        at: tuple[float, float],
        *,
        size: float = NORMAL,
        colour: Colour = TEXT,
        face: Face = "words",
        anchor: Anchor = "left",
        width: float | None = None,
    ) -> pygame.Rect:
        """Draw a line of text, its vertical middle at `at`, cut with an ellipsis to `width`; return where it stands."""
        if width is not None:
            text = self.cut(text, int(width), size, face)
        if not (abs(at[0]) < FARTHEST and abs(at[1]) < FARTHEST):  # also where it is not a number
            return pygame.Rect(0, 0, 0, 0)
        if not text:
            return pygame.Rect(round(at[0]), round(at[1]), 0, 0)
        picture = self.picture(text, size, colour, face)
        wide, high = picture.get_size()
        x = round(at[0]) - (0 if anchor == "left" else wide if anchor == "right" else wide // 2)
        return surface.blit(picture, (x, round(at[1]) - high // 2))

    def width(self, text: str, size: float = NORMAL, face: Face = "words") -> int:
        """Return how many pixels a string takes."""
        return _width(_clean(text), self.pixels(size), face)

    def slot(self, text: str, size: float = NORMAL, face: Face = "words") -> int:
        """Return how many pixels to keep for a string whose digits change, so that what follows stands still."""
        return self.width(text.translate(WIDEST), size, face)

    def cut(self, text: str, width: int, size: float = NORMAL, face: Face = "words") -> str:
        """Return the string, or as much of its beginning as fits with an ellipsis, or nothing."""
        return _cut(_clean(text), width, self.pixels(size), face)


def _clean(text: str) -> str:
    """Return one printable line: names come from scenes, and a font refuses null characters."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)

"""Text: crisp because it is rendered at its final size on whole pixels, cheap because every string is kept a while."""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from typing import Literal

import pygame

from ecs_rl.shipped import ASSETS
from ecs_rl.viewer.palette import TEXT, Colour

FONTS = ASSETS / "fonts"
Face = Literal["words", "numbers"]
FILES: dict[Face, str] = {"words": "Inter-Medium.otf", "numbers": "JetBrainsMono-Medium.ttf"}
KEPT = 1500
"""Strings; a full window has about 200, and some of them change in every frame."""
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


class Text:
    """Draws strings at the scale of the screen and remembers them."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self._kept: OrderedDict[tuple[str, float, Colour, Face], pygame.Surface] = OrderedDict()
        self._widths: dict[tuple[str, float, Face], int] = {}
        self._cut: dict[tuple[str, int, float, Face], str] = {}
        self.rendered = 0
        """How many strings had to be rendered so far."""

    def font(self, size: float, face: Face = "words") -> pygame.Font:
        """Return the font of a size."""
        return font(face, max(6, round(size * self.scale)))

    def picture(self, text: str, size: float, colour: Colour, face: Face) -> pygame.Surface:
        """Return a string as a picture with transparent ground; do not draw on it."""
        key = (text, size, colour, face)
        found = self._kept.get(key)
        if found is None:
            self.rendered += 1
            found = self.font(size, face).render(_clean(text), True, colour)
            self._kept[key] = found
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return found

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
        key = (text, size, face)
        found = self._widths.get(key)
        if found is None:
            if len(self._widths) > KEPT:
                self._widths.clear()
            found = self._widths[key] = self.font(size, face).size(_clean(text))[0]
        return found

    def slot(self, text: str, size: float = NORMAL, face: Face = "words") -> int:
        """Return how many pixels to keep for a string whose digits change, so that what follows stands still."""
        return self.width(text.translate(WIDEST), size, face)

    def height(self, size: float = NORMAL) -> int:
        """Return how many pixels a line takes."""
        return self.font(size).get_linesize()

    def cut(self, text: str, width: int, size: float = NORMAL, face: Face = "words") -> str:
        """Return the string, or as much of its beginning as fits with an ellipsis, or nothing."""
        key = (text, width, size, face)
        found = self._cut.get(key)
        if found is None:
            if len(self._cut) > KEPT:
                self._cut.clear()
            found = self._cut[key] = self._fitting(_clean(text), width, size, face)
        return found

    def _fitting(self, text: str, width: int, size: float, face: Face) -> str:
        if self.width(text, size, face) <= width:
            return text
        low, high = 0, len(text)
        while low < high:  # the longest beginning that fits
            middle = (low + high + 1) // 2
            low, high = (
                (middle, high) if self.width(text[:middle].rstrip() + "…", size, face) <= width else (low, middle - 1)
            )
        return text[:low].rstrip() + "…" if low else ""


def _clean(text: str) -> str:
    """Return one printable line: names come from scenes, and a font refuses null characters."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)

"""The canvas that every drawing function takes: the screen's scale, text that is rendered once, kept pictures."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, TypeVar

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


def _clean(text: str) -> str:
    """Return one printable line: names come from scenes, and a font refuses null characters."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


T = TypeVar("T")


@lru_cache(maxsize=4096)
def _scaled(size: float, scale: float, least: int) -> int:
    """Return a size in pixels; a frame asks some hundred times for the same ones."""
    return max(least, round(size * scale))


Paint = Callable[[pygame.Surface, T, "Canvas"], object]


def part_of(surface: pygame.Surface, area: pygame.Rect) -> pygame.Surface | None:
    """Return the part of a surface that an area covers, whose origin is the area's corner; None if there is none."""
    seen = area.clip(surface.get_rect())
    return surface.subsurface(seen) if seen.w > 0 and seen.h > 0 else None


class Canvas:
    """Draws for one window at one scale; another scale takes another canvas."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self.painted = 0
        """How many pictures had to be painted so far."""
        self._kept: dict[str, tuple[object, pygame.Surface]] = {}
        self._layer = ""
        """The kept picture that is being painted."""
        self._words: dict[str, list[tuple[pygame.Rect, str]]] = {}
        """What is written in each kept picture, and where in it."""
        self._shown: dict[str, pygame.Rect] = {}
        """Where each of them is in this frame's window."""
        self._before: dict[str, pygame.Rect] = {}
        """Where they were in the one before."""

    def begin(self) -> None:
        """Begin a frame: nothing is known to stand on the screen yet."""
        self._before, self._shown = self._shown, {}

    def still(self, *names: str) -> None:
        """Note that these kept pictures stand where they were in the frame before."""
        self._shown |= {name: self._before[name] for name in names if name in self._before}

    def text_at(self, pixel: tuple[float, float]) -> str:
        """Return the whole text under a pixel of the window as far as it stands in a kept picture, '' if none does."""
        for name, area in reversed(self._shown.items()):
            if area.collidepoint(pixel):
                at = pixel[0] - area.x, pixel[1] - area.y
                found = (text for rect, text in self._words.get(name, ()) if rect.inflate(4, 4).collidepoint(at))
                if told := next(found, ""):
                    return told
        return ""

    def px(self, size: float) -> int:
        """Return a size in pixels on this screen, at least one."""
        return _scaled(size, self.scale, 1)

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
        outer, self._layer, self._words[name] = self._layer, name, []
        try:
            paint(picture)
        finally:
            self._layer = outer
        self._kept[name] = (shows, picture)
        return picture

    def lay(
        self, surface: pygame.Surface, area: pygame.Rect, name: str, shows: T, paint: Paint[T], *, clear: bool = False
    ) -> None:
        """Lay a kept picture over an area, if it has one; `shows` is all that the picture depends on.

        One that is laid onto another kept picture brings its words along.
        """
        if area.w > 0 and area.h > 0:
            surface.blit(self.kept(name, area.size, shows, lambda it: paint(it, shows, self), clear), area)
            if self._layer:
                words = [(rect.move(area.topleft), text) for rect, text in self._words[name]]
                self._words[self._layer] += words
            else:
                self._shown[name] = area.move(surface.get_abs_offset())

    # --- text ---------------------------------------------------------------------------------------------------------

    def _pixels(self, size: float) -> int:
        return _scaled(size, self.scale, 6)

    def picture(self, text: str, size: float, colour: Colour, face: Face) -> pygame.Surface:
        """Return a string as a picture with transparent ground; do not draw on it."""
        return _picture(_clean(text), self._pixels(size), colour, face)

    def write(
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
        whole = text
        if width is not None:
            text = self.cut(text, int(width), size, face)
        if not (abs(at[0]) < FARTHEST and abs(at[1]) < FARTHEST):  # also where it is not a number
            return pygame.Rect(0, 0, 0, 0)
        if not text:
            return pygame.Rect(round(at[0]), round(at[1]), 0, 0)
        picture = self.picture(text, size, colour, face)
        wide, high = picture.get_size()
        x = round(at[0]) - (0 if anchor == "left" else wide if anchor == "right" else wide // 2)
        rect = surface.blit(picture, (x, round(at[1]) - high // 2))
        if self._layer:
            self._words[self._layer].append((rect.move(surface.get_offset()), whole))
        return rect

    def width(self, text: str, size: float = NORMAL, face: Face = "words") -> int:
        """Return how many pixels a string takes."""
        return _width(_clean(text), self._pixels(size), face)

    def cut(self, text: str, width: int, size: float = NORMAL, face: Face = "words") -> str:
        """Return the string, or as much of its beginning as fits with an ellipsis, or nothing."""
        return _cut(_clean(text), width, self._pixels(size), face)

    def squeeze(self, text: str, width: int, size: float = NORMAL) -> str:
        """Return the string, or a beginning and an end that fit, as names of one kind differ at their ends."""
        text = _clean(text)
        if self.width(text, size) <= width:
            return text
        shorter = (f"{text[: n // 3].rstrip()}…{text[n // 3 - n :].lstrip()}" for n in range(len(text) - 1, 2, -1))
        return next((each for each in shorter if self.width(each, size) <= width), "")

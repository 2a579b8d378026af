"""Letters: the two faces at any size, and strings that are measured and rendered once."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import Literal

import pygame

from ecs_rl.shipped import ASSETS
from ecs_rl.viewer.palette import Colour

FONTS = ASSETS / "fonts"
Face = Literal["words", "numbers"]
FILES: dict[Face, str] = {"words": "Inter-Medium.otf", "numbers": "JetBrainsMono-Medium.ttf"}
KEPT = 1500
"""Strings that are remembered; a full window has about 200, and some of them change in every frame."""


@lru_cache(maxsize=64)
def font(face: Face, pixels: int) -> pygame.Font:
    """Return a face at a size; pygame's own font where the assets are missing."""
    pygame.font.init()
    path = FONTS / FILES[face]
    return pygame.Font(path if path.is_file() else None, pixels)


@lru_cache(maxsize=KEPT)
def picture(text: str, pixels: int, colour: Colour, face: Face) -> pygame.Surface:
    """Return a string as a picture with transparent ground."""
    return font(face, pixels).render(text, True, colour)


@lru_cache(maxsize=KEPT)
def width(text: str, pixels: int, face: Face) -> int:
    """Return how many pixels a string takes."""
    return font(face, pixels).size(text)[0]


@lru_cache(maxsize=KEPT)
def cut(text: str, room: int, pixels: int, face: Face) -> str:
    """Return a string, or as much of its beginning as fits with an ellipsis, or nothing."""
    if width(text, pixels, face) <= room:
        return text
    # The longest beginning that fits.
    fits = bisect_right(range(1, len(text) + 1), room, key=lambda n: width(text[:n].rstrip() + "…", pixels, face))
    return text[:fits].rstrip() + "…" if fits else ""


def clean(text: str) -> str:
    """Return one printable line: names come from scenes, and a font refuses null characters."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)

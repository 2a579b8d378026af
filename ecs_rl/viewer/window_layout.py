"""Where everything goes, for any size of window."""

from __future__ import annotations

from dataclasses import dataclass

import pygame

DESIGNED = (1280, 720)
"""The size that everything was drawn for; larger windows get larger letters, half as fast as they grow."""


@dataclass(frozen=True)
class Layout:
    """The rectangles of a window; a panel that is hidden has none."""

    scale: float
    status: pygame.Rect
    stage: pygame.Rect
    mind: pygame.Rect | None
    learning: pygame.Rect | None


def scale_for(size: tuple[int, int], dpi_scale: float = 1.0) -> float:
    """Return how much larger than designed letters are drawn, in quarters so that few fonts are needed."""
    room = min(size[0] / DESIGNED[0], size[1] / DESIGNED[1])
    wanted = max(1.0 + (room - 1.0) / 2, dpi_scale if room >= dpi_scale * 0.6 else 1.0)
    least = 1.0 if room >= 0.6 else 0.9
    return max(least, round(wanted * 4) / 4)


def arrange(size: tuple[int, int], *, mind: bool = True, learning: bool = True, dpi_scale: float = 1.0) -> Layout:
    """Return the layout of a window: status above, the mind to the right over the full height, learning below."""
    w, h = max(size[0], 320), max(size[1], 200)
    scale = scale_for((w, h), dpi_scale)
    bar = round(34 * scale)
    side = round(min(max(0.245 * w, 190 * scale), 330 * scale)) if mind else 0
    below = round(min(max(0.27 * h, 112 * scale), 240 * scale)) if learning else 0
    return Layout(
        scale,
        status=pygame.Rect(0, 0, w, bar),
        stage=pygame.Rect(0, bar, w - side, h - bar - below),
        mind=pygame.Rect(w - side, bar, side, h - bar) if mind else None,
        learning=pygame.Rect(0, h - below, w - side, below) if learning else None,
    )

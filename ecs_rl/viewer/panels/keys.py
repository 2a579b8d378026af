"""The strip of the most important keys."""

from __future__ import annotations

from functools import lru_cache

import pygame

from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.key_caps import cap_width, draw_cap
from ecs_rl.viewer.palette import FAINT

Hints = tuple[tuple[str, str], ...]


@lru_cache(maxsize=64)
def hints_width(hints: Hints, canvas: Canvas) -> int:
    """Return how many pixels some hints take side by side."""
    caps = sum(cap_width(key, canvas, SMALL - 1) + canvas.px(3) for keys, _ in hints for key in keys.split(" "))
    words = sum(canvas.px(3) + canvas.width(does, SMALL) + canvas.px(14) for _, does in hints)
    return caps + words - (canvas.px(14) if hints else 0)


def fitting_hints(hints: Hints, room: int, canvas: Canvas) -> Hints:
    """Return as many of the first hints as fit side by side."""
    while hints and hints_width(hints, canvas) > room:
        hints = hints[:-1]
    return hints


def hint_at(hints: Hints, area: pygame.Rect, pixel: tuple[float, float], canvas: Canvas) -> str:
    """Return the key under a pixel of the strip in which hints are painted, '' if there is none."""
    shown, x = fitting_hints(hints, area.w, canvas), 0.0
    x = area.right - hints_width(shown, canvas)
    for keys, does in shown if area.collidepoint(pixel) else ():
        for key in keys.split(" "):
            wide = cap_width(key, canvas, SMALL - 1)
            if x <= pixel[0] < x + wide + canvas.px(3):
                return key
            x += wide + canvas.px(3)
        end = x + canvas.px(3) + canvas.width(does, SMALL) + canvas.px(14)
        if x <= pixel[0] < end - canvas.px(8):  # the words are part of the last key's button
            return keys.split(" ")[-1]
        x = end
    return ""


def paint_hints(surface: pygame.Surface, hints: Hints, canvas: Canvas) -> None:
    """Paint as many hints as fit, ending at the right edge."""
    w, h = surface.get_size()
    shown = fitting_hints(hints, w, canvas)
    x, y = float(w - hints_width(shown, canvas)), h // 2
    for keys, does in shown:
        for key in keys.split(" "):
            x = draw_cap(surface, key, x, y, canvas, small=True) + canvas.px(3)
        x = canvas.write(surface, does, (x + canvas.px(3), y), size=SMALL, colour=FAINT).right + canvas.px(14)

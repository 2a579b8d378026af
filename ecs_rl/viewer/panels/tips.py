"""The tip beside the mouse: a few lines on what is under it."""

from __future__ import annotations

from functools import lru_cache

import pygame

from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import MAIN_LINE, PANEL, TEXT, mix
from ecs_rl.viewer.view_floating import TipView

WIDE, LINE, PAD = 300, 17, 9
"""The widest that a line may be, its height, and the space around the words."""


def wrapped(text: str, canvas: Canvas, room: int = 0, size: float = SMALL + 0.5) -> list[str]:
    """Return a text in lines that take no more than so many pixels, those of a tip unless told."""
    return list(_wrapped(text, room or canvas.px(WIDE), size, canvas))


@lru_cache(maxsize=64)
def _wrapped(text: str, room: int, size: float, canvas: Canvas) -> tuple[str, ...]:
    lines, line = list[str](), ""
    for word in text.split(" "):
        longer = f"{line} {word}".strip()
        if line and canvas.width(longer, size) > room:
            lines.append(line)
            longer = word
        line = longer
    return (*lines, line)


def draw_tip(surface: pygame.Surface, tip: TipView, canvas: Canvas) -> None:
    """Draw the tip where it hides as little as possible of what it tells about."""
    lines = [part for line in tip.lines for part in wrapped(line, canvas)]
    wide = max((canvas.width(line, SMALL + 0.5) for line in lines), default=0) + 2 * canvas.px(PAD)
    box = pygame.Rect(0, 0, wide, len(lines) * canvas.px(LINE) + canvas.px(PAD))
    box.topleft = round(tip.at[0]) + canvas.px(14), round(tip.at[1]) + canvas.px(16)
    w, h = surface.get_size()
    if box.bottom > h:
        box.bottom = round(tip.at[1]) - canvas.px(8)
    box.clamp_ip(pygame.Rect(0, 0, w, h))
    rounded(surface, box, PANEL, radius=canvas.px(6), edge=mix(PANEL, MAIN_LINE, 0.5), alpha=245)
    y = box.y + canvas.px(PAD) // 2 + canvas.px(LINE) // 2
    for line in lines:
        canvas.write(surface, line, (box.x + canvas.px(PAD), y), size=SMALL + 0.5, colour=TEXT)
        y += canvas.px(LINE)

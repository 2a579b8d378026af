"""Key caps: a key as it is drawn beside what it does."""

from __future__ import annotations

import pygame

from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import DIM, FAINT, RAISED, RULE, TEXT, mix


def cap_width(key: str, canvas: Canvas, size: float = SMALL) -> int:
    """Return how many pixels a key cap takes."""
    least, room = (20, 10) if size >= SMALL else (16, 8)
    return max(canvas.px(least), canvas.width(key, size) + canvas.px(room))


def draw_cap(
    surface: pygame.Surface, key: str, left: float, middle: float, canvas: Canvas, *, small: bool = False
) -> int:
    """Draw a key cap, a small one fainter; return where it ends to the right."""
    size = SMALL - 1 if small else SMALL
    cap = pygame.Rect(round(left), 0, cap_width(key, canvas, size), canvas.px(15 if small else 18))
    cap.centery = round(middle)
    rounded(surface, cap, RAISED, radius=canvas.px(4), edge=mix(RULE, FAINT, 0.4), alpha=225)
    canvas.write(surface, key, cap.center, size=size, colour=DIM if small else TEXT, anchor="middle")
    return cap.right


def draw_head_key(surface: pygame.Surface, key: str, right: int, middle: int, canvas: Canvas) -> int:
    """Draw the key that hides a panel, ending at `right`; return where it begins."""
    left = right - cap_width(key, canvas, SMALL - 1)
    draw_cap(surface, key, left, middle, canvas, small=True)
    return left

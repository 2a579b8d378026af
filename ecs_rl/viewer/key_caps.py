"""Key caps: a key as it is drawn beside what it does, and the head of a panel with the key that closes it."""

from __future__ import annotations

import pygame

from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import DIM, FAINT, PANEL, RAISED, RULE, TEXT, mix

HEAD, ROW, PAD = 30, 18, 12
"""Heights of the head of a floating panel and of its rows, and the space beside them."""


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
    """Draw the key that hides a panel, ending at `right`, as a button; return where it begins."""
    left = right - cap_width(key, canvas, SMALL - 1)
    draw_cap(surface, key, left, middle, canvas, small=True)
    button = pygame.Rect(left, 0, right - left, canvas.px(20))
    button.centery = middle
    canvas.hit(button, "key", key=key)
    return left


def fill_card(surface: pygame.Surface, key: str, title: str, canvas: Canvas) -> int:
    """Fill a floating panel, draw its title and the key that closes it; return where its first row begins."""
    surface.fill(PANEL)
    pygame.draw.rect(surface, RULE, surface.get_rect(), canvas.px(1))
    canvas.hit(surface.get_rect(), "panel")
    at = (canvas.px(PAD), canvas.px(HEAD) / 2 + canvas.px(1))
    left = draw_head_key(surface, key, surface.get_width() - canvas.px(PAD), round(at[1]), canvas)
    canvas.write(surface, title, at, width=left - canvas.px(PAD) - canvas.px(8))
    return canvas.px(HEAD)

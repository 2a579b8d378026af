"""What floats over the stage: mode chips, profiler, inspector and messages."""

from __future__ import annotations

import pygame

from ecs_rl.viewer.canvas import NORMAL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import (
    RAISED,
    mix,
)
from ecs_rl.viewer.stage import TONES
from ecs_rl.viewer.view import Toast


def draw_toasts(surface: pygame.Surface, area: pygame.Rect, toasts: tuple[Toast, ...], canvas: Canvas) -> None:
    """Draw messages below the caption to the left, the newest (last) on top: there is the sky and no landing pad."""
    y = area.y + canvas.px(52)
    for toast in reversed(toasts[-4:]):
        text = canvas.cut(toast.text, area.w - canvas.px(60), NORMAL)
        rect = pygame.Rect(0, 0, canvas.width(text, NORMAL) + canvas.px(28), canvas.px(28))
        rect.midleft = (area.x + canvas.px(12), y)
        strength = min(max(toast.strength, 0.0), 1.0)
        colour = TONES[toast.tone]
        alpha = round(16 * strength) * 15  # few different pictures
        rounded(surface, rect, RAISED, radius=canvas.px(7), edge=mix(RAISED, colour, 0.4), alpha=min(alpha, 240))
        picture = canvas.picture(text, NORMAL, colour, "words")
        picture.set_alpha(round(255 * strength))
        surface.blit(picture, picture.get_rect(center=rect.center))
        picture.set_alpha(255)
        y += canvas.px(34)

"""Sliders over the stage, each a name, a bar and what it is set to; the usual setting is marked on it."""

from __future__ import annotations

import pygame

from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import DIM, MAIN_LINE, NIGHT, PANEL, RAISED, RULE, TEXT, WARN, mix
from ecs_rl.viewer.view_floating import SliderView

ROW, NAME, BAR, TOLD, PAD = 26, 58, 150, 92, 10
"""Height of a row; widths of its name, of the bar, of what it is set to, and around them."""


def sliders_place(stage: pygame.Rect, count: int, canvas: Canvas) -> pygame.Rect | None:
    """Return where so many sliders are: to the right, below the chips; None where there is no room."""
    wide, high = canvas.px(NAME + BAR + TOLD + 2 * PAD), canvas.px(ROW) * count + canvas.px(PAD)
    if stage.w < wide + canvas.px(24) or stage.h < high + canvas.px(90):
        return None
    return pygame.Rect(stage.right - wide - canvas.px(12), stage.y + canvas.px(40), wide, high)


def slider_bars(stage: pygame.Rect, count: int, canvas: Canvas) -> list[pygame.Rect]:
    """Return where the bars are, none where there is no room."""
    place = sliders_place(stage, count, canvas)
    if place is None:
        return []
    x, y = place.x + canvas.px(PAD + NAME), place.y + canvas.px(PAD) // 2
    return [
        pygame.Rect(x, y + i * canvas.px(ROW) + canvas.px(ROW) // 2 - canvas.px(3), canvas.px(BAR), canvas.px(6))
        for i in range(count)
    ]


def slider_at(stage: pygame.Rect, count: int, pixel: tuple[float, float], canvas: Canvas) -> int | None:
    """Return the number of the slider under a pixel, None if there is none."""
    bars = slider_bars(stage, count, canvas)
    return next(
        (i for i, bar in enumerate(bars) if bar.inflate(canvas.px(14), canvas.px(ROW - 8)).collidepoint(pixel)), None
    )


def share_at(bar: pygame.Rect, x: float) -> float:
    """Return how far along its bar a slider is that is dragged to a pixel, 0 to 1."""
    return min(max((x - bar.x) / max(1, bar.w - 1), 0.0), 1.0)


def draw_sliders(surface: pygame.Surface, stage: pygame.Rect, sliders: tuple[SliderView, ...], canvas: Canvas) -> None:
    """Draw the sliders on a backing."""
    place = sliders_place(stage, len(sliders), canvas)
    if place is None:
        return
    rounded(surface, place, PANEL, radius=canvas.px(7), edge=RULE, alpha=225)
    for slider, bar in zip(sliders, slider_bars(stage, len(sliders), canvas), strict=True):
        y, radius = bar.centery, bar.h // 2
        canvas.write(surface, slider.name, (place.x + canvas.px(PAD), y), size=SMALL, colour=DIM)
        rounded(surface, bar, RAISED, radius=radius)
        usual, x = (bar.x + round(share * (bar.w - 1)) for share in (slider.usual, slider.share))
        changed = abs(slider.share - slider.usual) > 1e-9
        colour = WARN if changed else MAIN_LINE
        low, high = sorted((usual, x))
        rounded(surface, pygame.Rect(low, bar.y, max(1, high - low), bar.h), mix(PANEL, colour, 0.8), radius=radius)
        surface.fill(DIM, (usual, bar.y - canvas.px(3), canvas.px(1), bar.h + canvas.px(6)))
        pygame.draw.aacircle(surface, NIGHT, (x, y), canvas.px(7))
        pygame.draw.aacircle(surface, TEXT if changed else DIM, (x, y), canvas.px(5))
        at = (place.right - canvas.px(PAD), y)
        canvas.write(
            surface, slider.told, at, size=SMALL, colour=TEXT if changed else DIM, face="numbers", anchor="right"
        )

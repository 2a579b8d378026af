"""Sliders over the stage, each a name, a bar and what it is set to; the usual setting is marked on it."""

from __future__ import annotations

import pygame

from ecs_rl.viewer.context import SMALL, DrawContext
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import DIM, MAIN_LINE, NIGHT, PANEL, RAISED, RULE, TEXT, WARN, mix
from ecs_rl.viewer.view_floating import SliderView

ROW, NAME, BAR, TOLD, PAD = 26, 58, 150, 92, 10
"""Height of a row; widths of its name, of the bar, of what it is set to, and around them."""


def sliders_place(stage: pygame.Rect, count: int, kit: DrawContext) -> pygame.Rect | None:
    """Return where so many sliders are: to the right, below the chips; None where there is no room."""
    wide, high = kit.px(NAME + BAR + TOLD + 2 * PAD), kit.px(ROW) * count + kit.px(PAD)
    if stage.w < wide + kit.px(24) or stage.h < high + kit.px(90):
        return None
    return pygame.Rect(stage.right - wide - kit.px(12), stage.y + kit.px(40), wide, high)


def slider_bars(stage: pygame.Rect, count: int, kit: DrawContext) -> list[pygame.Rect]:
    """Return where the bars are, none where there is no room."""
    place = sliders_place(stage, count, kit)
    if place is None:
        return []
    x, y = place.x + kit.px(PAD + NAME), place.y + kit.px(PAD) // 2
    return [
        pygame.Rect(x, y + i * kit.px(ROW) + kit.px(ROW) // 2 - kit.px(3), kit.px(BAR), kit.px(6)) for i in range(count)
    ]


def slider_at(stage: pygame.Rect, count: int, pixel: tuple[float, float], kit: DrawContext) -> int | None:
    """Return the number of the slider under a pixel, None if there is none."""
    bars = slider_bars(stage, count, kit)
    return next((i for i, bar in enumerate(bars) if bar.inflate(kit.px(14), kit.px(ROW - 8)).collidepoint(pixel)), None)


def share_at(bar: pygame.Rect, x: float) -> float:
    """Return how far along its bar a slider is that is dragged to a pixel, 0 to 1."""
    return min(max((x - bar.x) / max(1, bar.w - 1), 0.0), 1.0)


def draw_sliders(
    surface: pygame.Surface, stage: pygame.Rect, sliders: tuple[SliderView, ...], kit: DrawContext
) -> None:
    """Draw the sliders on a backing."""
    place = sliders_place(stage, len(sliders), kit)
    if place is None:
        return
    rounded(surface, place, PANEL, radius=kit.px(7), edge=RULE, alpha=225)
    for slider, bar in zip(sliders, slider_bars(stage, len(sliders), kit), strict=True):
        y, radius = bar.centery, bar.h // 2
        kit.write(surface, slider.name, (place.x + kit.px(PAD), y), size=SMALL, colour=DIM)
        rounded(surface, bar, RAISED, radius=radius)
        usual, x = (bar.x + round(share * (bar.w - 1)) for share in (slider.usual, slider.share))
        changed = abs(slider.share - slider.usual) > 1e-9
        colour = WARN if changed else MAIN_LINE
        low, high = sorted((usual, x))
        rounded(surface, pygame.Rect(low, bar.y, max(1, high - low), bar.h), mix(PANEL, colour, 0.8), radius=radius)
        surface.fill(DIM, (usual, bar.y - kit.px(3), kit.px(1), bar.h + kit.px(6)))
        pygame.draw.aacircle(surface, NIGHT, (x, y), kit.px(7))
        pygame.draw.aacircle(surface, TEXT if changed else DIM, (x, y), kit.px(5))
        at = (place.right - kit.px(PAD), y)
        kit.write(surface, slider.told, at, size=SMALL, colour=TEXT if changed else DIM, face="numbers", anchor="right")

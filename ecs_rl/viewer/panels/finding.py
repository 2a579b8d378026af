"""The diagnosis line: what is wrong with the training and what to do about it, between the stage and the drawer."""

from __future__ import annotations

import pygame

from ecs_rl.session.diagnosis import Finding
from ecs_rl.viewer.context import SMALL, DrawContext
from ecs_rl.viewer.palette import DIM, PANEL, TEXT, WARN, mix

LINE, EDGE = 18, 14
HEIGHT = 2 * LINE + 8
SIGN = 16
"""Width of the sign before the words."""


def draw_finding(surface: pygame.Surface, area: pygame.Rect, finding: Finding, kit: DrawContext) -> None:
    """Draw what is wrong in one line, and what to do in another."""
    if area.w > kit.px(120):
        kit.lay(surface, area, "finding", finding, _paint)


def _paint(surface: pygame.Surface, finding: Finding, kit: DrawContext) -> None:
    w, h = surface.get_size()
    surface.fill(mix(PANEL, WARN, 0.14))
    surface.fill(mix(PANEL, WARN, 0.6), (0, 0, kit.px(3), h))
    left, right = kit.px(EDGE), w - kit.px(EDGE)
    first, second = h / 2 - kit.px(LINE) / 2, h / 2 + kit.px(LINE) / 2
    _sign(surface, (left + kit.px(6), first), kit)
    x = left + kit.px(SIGN) + kit.px(4)
    hide = kit.write(surface, "click hides it", (right, first), size=SMALL - 0.5, colour=DIM, anchor="right")
    x += kit.write(surface, f"{finding.name}:", (x, first), size=SMALL + 0.5, colour=WARN).w + kit.px(6)
    kit.write(surface, finding.told, (x, first), size=SMALL + 0.5, colour=TEXT, width=hide.left - kit.px(10) - x)
    x = left + kit.px(SIGN) + kit.px(4)
    cure, room = f"try: {finding.cure}", right - x
    link = kit.width(finding.link, SMALL - 0.5) + kit.px(16)
    if link + kit.width(cure, SMALL + 0.5) < room:  # what to do comes before where more is told
        kit.write(surface, finding.link, (right, second), size=SMALL - 0.5, colour=DIM, anchor="right")
    kit.write(surface, cure, (x, second), size=SMALL + 0.5, colour=mix(PANEL, TEXT, 0.8), width=room)


def _sign(surface: pygame.Surface, middle: tuple[float, float], kit: DrawContext) -> None:
    """Draw a triangle with a mark in it."""
    (x, y), r = middle, 7 * kit.scale
    corners = [(x, y - r), (x + r, y + r * 0.8), (x - r, y + r * 0.8)]
    pygame.draw.polygon(surface, WARN, corners)
    pygame.draw.aalines(surface, WARN, True, corners)
    dark, wide = mix(PANEL, WARN, 0.1), max(1, kit.px(1.6))
    surface.fill(dark, (round(x - wide / 2), round(y - r * 0.35), wide, round(r * 0.6)))
    surface.fill(dark, (round(x - wide / 2), round(y + r * 0.42), wide, wide))

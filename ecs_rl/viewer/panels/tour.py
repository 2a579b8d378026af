"""A sign of the tour: a frame around what it tells about, and the words in it."""

from __future__ import annotations

import pygame

from ecs_rl.viewer.context import NORMAL, SMALL, DrawContext
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import DIM, MAIN_LINE, PANEL, TEXT, mix
from ecs_rl.viewer.panels.keys import STRIP
from ecs_rl.viewer.panels.tips import wrapped
from ecs_rl.viewer.view_floating import TourView

LINE, PAD = 20, 14


def draw_tour(surface: pygame.Surface, place: pygame.Rect, tour: TourView, kit: DrawContext) -> None:
    """Draw the frame and the sign, in the middle of a place or above a low one."""
    pygame.draw.rect(surface, MAIN_LINE, place.inflate(-kit.px(4), -kit.px(4)), kit.px(2), border_radius=kit.px(8))
    room = max(kit.px(170), min(kit.px(420), place.w - 2 * kit.px(PAD + 12)))
    lines = wrapped(tour.text, kit, room, NORMAL)
    wide = max(kit.width(line, NORMAL) for line in lines) + 2 * kit.px(PAD)
    box = pygame.Rect(0, 0, wide, (len(lines) + 1) * kit.px(LINE) + kit.px(PAD))
    box.center = place.centerx, round(place.y + place.h * 0.62)
    if box.h > place.h:
        box.bottom = place.y - kit.px(8)
    box.clamp_ip(surface.get_rect())
    rounded(surface, box, PANEL, radius=kit.px(8), edge=mix(PANEL, MAIN_LINE, 0.7), alpha=245)
    y = box.y + kit.px(PAD) // 2 + kit.px(LINE) // 2
    for line in lines:
        kit.write(surface, line, (box.x + kit.px(PAD), y), size=NORMAL, colour=TEXT)
        y += kit.px(LINE)
    told = f"{tour.number} of {tour.count}   F2 goes on, Esc ends the tour"
    kit.write(surface, told, (box.right - kit.px(PAD), y), size=SMALL - 0.5, colour=DIM, anchor="right", width=wide)


def place_of(
    tour: TourView, stage: pygame.Rect, mind: pygame.Rect | None, learning: pygame.Rect | None, kit: DrawContext
) -> pygame.Rect:
    """Return what a sign tells about."""
    if tour.place == "hints":
        return pygame.Rect(stage.x, stage.bottom - kit.px(STRIP + 4), stage.w, kit.px(STRIP + 4))
    return {"mind": mind, "learning": learning}.get(tour.place) or stage

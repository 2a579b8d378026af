"""A sign of the tour: a frame around what it tells about, and the words in it."""

from __future__ import annotations

import pygame

from ecs_rl.viewer.canvas import NORMAL, SMALL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import DIM, MAIN_LINE, PANEL, TEXT, mix
from ecs_rl.viewer.panels.keys import STRIP
from ecs_rl.viewer.panels.tips import wrapped
from ecs_rl.viewer.view_floating import TourView

LINE, PAD = 20, 14


def draw_tour(surface: pygame.Surface, place: pygame.Rect, tour: TourView, canvas: Canvas) -> None:
    """Draw the frame and the sign, in the middle of a place or above a low one."""
    pygame.draw.rect(
        surface, MAIN_LINE, place.inflate(-canvas.px(4), -canvas.px(4)), canvas.px(2), border_radius=canvas.px(8)
    )
    room = max(canvas.px(170), min(canvas.px(420), place.w - 2 * canvas.px(PAD + 12)))
    lines = wrapped(tour.text, canvas, room, NORMAL)
    wide = max(canvas.width(line, NORMAL) for line in lines) + 2 * canvas.px(PAD)
    box = pygame.Rect(0, 0, wide, (len(lines) + 1) * canvas.px(LINE) + canvas.px(PAD))
    box.center = place.centerx, round(place.y + place.h * 0.62)
    if box.h > place.h:
        box.bottom = place.y - canvas.px(8)
    box.clamp_ip(surface.get_rect())
    rounded(surface, box, PANEL, radius=canvas.px(8), edge=mix(PANEL, MAIN_LINE, 0.7), alpha=245)
    y = box.y + canvas.px(PAD) // 2 + canvas.px(LINE) // 2
    for line in lines:
        canvas.write(surface, line, (box.x + canvas.px(PAD), y), size=NORMAL, colour=TEXT)
        y += canvas.px(LINE)
    told = f"{tour.number} of {tour.count}   F2 goes on, Esc ends the tour"
    canvas.write(
        surface, told, (box.right - canvas.px(PAD), y), size=SMALL - 0.5, colour=DIM, anchor="right", width=wide
    )


def place_of(
    tour: TourView, stage: pygame.Rect, mind: pygame.Rect | None, learning: pygame.Rect | None, canvas: Canvas
) -> pygame.Rect:
    """Return what a sign tells about."""
    if tour.place == "hints":
        return pygame.Rect(stage.x, stage.bottom - canvas.px(STRIP + 4), stage.w, canvas.px(STRIP + 4))
    return {"mind": mind, "learning": learning}.get(tour.place) or stage

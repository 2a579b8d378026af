"""The panel of settings that may change while it trains: a slider for each, in the upper right corner of the stage."""

from __future__ import annotations

import pygame

from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.palette import DIM, FAINT, MAIN_LINE, PANEL, RAISED, SECOND_LINE, TEXT, mix
from ecs_rl.viewer.panels.keys import draw_head_key
from ecs_rl.viewer.view_floating import SettingRow, SettingsView

WIDTH, HEAD, ROW, FOOT, PAD, TOP = 330, 30, 24, 24, 12, 38
FREE = 70
"""Pixels below the panel for messages and hints."""
NAME, VALUE = 0.36, 58
"""Share of the width that names take, and pixels that values take."""


def settings_place(area: pygame.Rect, view: SettingsView, canvas: Canvas) -> pygame.Rect | None:
    """Return where the panel is on a stage, None where there is no room for a row."""
    room = area.h - canvas.px(TOP + HEAD + FOOT + FREE)
    rows = min(len(view.rows), room // canvas.px(ROW))
    wide = min(canvas.px(WIDTH), area.w - 2 * canvas.px(PAD))
    if rows < 1 or wide < canvas.px(180):
        return None
    return pygame.Rect(
        area.right - wide - canvas.px(PAD),
        area.y + canvas.px(TOP),
        wide,
        canvas.px(HEAD) + rows * canvas.px(ROW) + canvas.px(FOOT),
    )


def shown_rows(place: pygame.Rect, view: SettingsView, canvas: Canvas) -> range:
    """Return which rows are shown: those around the chosen one, where not all fit."""
    fit = (place.h - canvas.px(HEAD) - canvas.px(FOOT)) // canvas.px(ROW)
    first = min(max(0, view.chosen - fit + 1), max(0, len(view.rows) - fit))
    return range(first, min(first + fit, len(view.rows)))


def row_at(place: pygame.Rect, view: SettingsView, pixel: tuple[float, float], canvas: Canvas) -> int | None:
    """Return which row is under a pixel."""
    rows, y = shown_rows(place, view, canvas), int(pixel[1]) - place.y - canvas.px(HEAD)
    if not place.collidepoint(pixel) or y < 0 or y // canvas.px(ROW) >= len(rows):
        return None
    return rows[y // canvas.px(ROW)]


def share_at(place: pygame.Rect, x: float, canvas: Canvas) -> float:
    """Return where on its slider an x is, 0 to 1."""
    track = track_of(place, canvas)
    return min(max((x - track.x) / track.w, 0.0), 1.0)


def track_of(place: pygame.Rect, canvas: Canvas) -> pygame.Rect:
    """Return the slider of the first row, as wide as all are."""
    left = place.x + canvas.px(PAD) + round(place.w * NAME)
    right = place.right - canvas.px(PAD) - canvas.px(VALUE)
    return pygame.Rect(left, place.y + canvas.px(HEAD), right - left, canvas.px(ROW))


def draw_settings(surface: pygame.Surface, area: pygame.Rect, view: SettingsView, canvas: Canvas) -> None:
    """Draw the panel over a stage."""
    place = settings_place(area, view, canvas)
    if place is not None:
        canvas.lay(surface, place, "settings", view, _paint)


def _paint(surface: pygame.Surface, view: SettingsView, canvas: Canvas) -> None:
    place = surface.get_rect()
    surface.fill(PANEL)
    pygame.draw.rect(surface, RAISED, place, canvas.px(1), border_radius=canvas.px(4))
    middle = canvas.px(HEAD) // 2
    canvas.write(surface, "SETTINGS, WHILE IT TRAINS", (canvas.px(PAD), middle), size=SMALL, colour=MAIN_LINE)
    draw_head_key(surface, "S", place.w - canvas.px(PAD), middle, canvas)
    y = canvas.px(HEAD)
    for number in shown_rows(place, view, canvas):
        _row(surface, pygame.Rect(0, y, place.w, canvas.px(ROW)), view.rows[number], number == view.chosen, canvas)
        y += canvas.px(ROW)
    told = "drag, or Up Down to choose, Ctrl+Up Ctrl+Down to change"
    at = (canvas.px(PAD), y + canvas.px(FOOT) // 2 - canvas.px(1))
    canvas.write(surface, told, at, size=SMALL - 0.5, colour=FAINT, width=place.w - 2 * canvas.px(PAD))


def _row(surface: pygame.Surface, rect: pygame.Rect, row: SettingRow, chosen: bool, canvas: Canvas) -> None:
    middle, track = rect.centery, track_of(surface.get_rect(), canvas)
    if chosen:
        surface.fill(mix(PANEL, MAIN_LINE, 0.16), rect.inflate(-2 * canvas.px(3), 0))
    name = round(rect.w * NAME) - canvas.px(8)
    colour = TEXT if chosen or row.changed else DIM
    canvas.write(surface, row.name, (canvas.px(PAD), middle), size=SMALL + 0.5, colour=colour, width=name)
    line = pygame.Rect(track.x, middle - canvas.px(1.5), track.w, canvas.px(3))
    surface.fill(RAISED, line)
    first, now = track.x + round(row.first * track.w), track.x + round(row.share * track.w)
    bright = SECOND_LINE if row.changed else MAIN_LINE
    surface.fill(mix(PANEL, bright, 0.7), (min(first, now), line.y, abs(now - first), line.h))
    surface.fill(FAINT, (first - canvas.px(0.5), middle - canvas.px(5), canvas.px(1), canvas.px(10)))
    pygame.draw.aacircle(surface, bright, (now, middle), canvas.px(5))
    right = rect.w - canvas.px(PAD)
    canvas.write(surface, row.value, (right, middle), size=SMALL + 0.5, face="numbers", anchor="right", colour=colour)

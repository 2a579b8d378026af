"""The panel of settings that may change while it trains: a slider for each, in the upper right corner of the stage."""

from __future__ import annotations

import pygame

from ecs_rl.viewer.context import SMALL, DrawContext
from ecs_rl.viewer.palette import DIM, FAINT, MAIN_LINE, PANEL, RAISED, SECOND_LINE, TEXT, mix
from ecs_rl.viewer.panels.keys import draw_head_key
from ecs_rl.viewer.view_floating import SettingRow, SettingsView

WIDTH, HEAD, ROW, FOOT, PAD, TOP = 330, 30, 24, 24, 12, 38
FREE = 70
"""Pixels below the panel for messages and hints."""
NAME, VALUE = 0.36, 58
"""Share of the width that names take, and pixels that values take."""


def settings_place(area: pygame.Rect, view: SettingsView, kit: DrawContext) -> pygame.Rect | None:
    """Return where the panel is on a stage, None where there is no room for a row."""
    room = area.h - kit.px(TOP + HEAD + FOOT + FREE)
    rows = min(len(view.rows), room // kit.px(ROW))
    wide = min(kit.px(WIDTH), area.w - 2 * kit.px(PAD))
    if rows < 1 or wide < kit.px(180):
        return None
    return pygame.Rect(
        area.right - wide - kit.px(PAD), area.y + kit.px(TOP), wide, kit.px(HEAD) + rows * kit.px(ROW) + kit.px(FOOT)
    )


def shown_rows(place: pygame.Rect, view: SettingsView, kit: DrawContext) -> range:
    """Return which rows are shown: those around the chosen one, where not all fit."""
    fit = (place.h - kit.px(HEAD) - kit.px(FOOT)) // kit.px(ROW)
    first = min(max(0, view.chosen - fit + 1), max(0, len(view.rows) - fit))
    return range(first, min(first + fit, len(view.rows)))


def row_at(place: pygame.Rect, view: SettingsView, pixel: tuple[float, float], kit: DrawContext) -> int | None:
    """Return which row is under a pixel."""
    rows, y = shown_rows(place, view, kit), int(pixel[1]) - place.y - kit.px(HEAD)
    if not place.collidepoint(pixel) or y < 0 or y // kit.px(ROW) >= len(rows):
        return None
    return rows[y // kit.px(ROW)]


def share_at(place: pygame.Rect, x: float, kit: DrawContext) -> float:
    """Return where on its slider an x is, 0 to 1."""
    track = track_of(place, kit)
    return min(max((x - track.x) / track.w, 0.0), 1.0)


def track_of(place: pygame.Rect, kit: DrawContext) -> pygame.Rect:
    """Return the slider of the first row, as wide as all are."""
    left = place.x + kit.px(PAD) + round(place.w * NAME)
    right = place.right - kit.px(PAD) - kit.px(VALUE)
    return pygame.Rect(left, place.y + kit.px(HEAD), right - left, kit.px(ROW))


def draw_settings(surface: pygame.Surface, area: pygame.Rect, view: SettingsView, kit: DrawContext) -> None:
    """Draw the panel over a stage."""
    place = settings_place(area, view, kit)
    if place is not None:
        kit.lay(surface, place, "settings", view, _paint)


def _paint(surface: pygame.Surface, view: SettingsView, kit: DrawContext) -> None:
    place = surface.get_rect()
    surface.fill(PANEL)
    pygame.draw.rect(surface, RAISED, place, kit.px(1), border_radius=kit.px(4))
    middle = kit.px(HEAD) // 2
    kit.write(surface, "SETTINGS, WHILE IT TRAINS", (kit.px(PAD), middle), size=SMALL, colour=MAIN_LINE)
    draw_head_key(surface, "S", place.w - kit.px(PAD), middle, kit)
    y = kit.px(HEAD)
    for number in shown_rows(place, view, kit):
        _row(surface, pygame.Rect(0, y, place.w, kit.px(ROW)), view.rows[number], number == view.chosen, kit)
        y += kit.px(ROW)
    told = "drag, or Up Down to choose, Ctrl+Up Ctrl+Down to change"
    at = (kit.px(PAD), y + kit.px(FOOT) // 2 - kit.px(1))
    kit.write(surface, told, at, size=SMALL - 0.5, colour=FAINT, width=place.w - 2 * kit.px(PAD))


def _row(surface: pygame.Surface, rect: pygame.Rect, row: SettingRow, chosen: bool, kit: DrawContext) -> None:
    middle, track = rect.centery, track_of(surface.get_rect(), kit)
    if chosen:
        surface.fill(mix(PANEL, MAIN_LINE, 0.16), rect.inflate(-2 * kit.px(3), 0))
    name = round(rect.w * NAME) - kit.px(8)
    colour = TEXT if chosen or row.changed else DIM
    kit.write(surface, row.name, (kit.px(PAD), middle), size=SMALL + 0.5, colour=colour, width=name)
    line = pygame.Rect(track.x, middle - kit.px(1.5), track.w, kit.px(3))
    surface.fill(RAISED, line)
    first, now = track.x + round(row.first * track.w), track.x + round(row.share * track.w)
    bright = SECOND_LINE if row.changed else MAIN_LINE
    surface.fill(mix(PANEL, bright, 0.7), (min(first, now), line.y, abs(now - first), line.h))
    surface.fill(FAINT, (first - kit.px(0.5), middle - kit.px(5), kit.px(1), kit.px(10)))
    pygame.draw.aacircle(surface, bright, (now, middle), kit.px(5))
    right = rect.w - kit.px(PAD)
    kit.write(surface, row.value, (right, middle), size=SMALL + 0.5, face="numbers", anchor="right", colour=colour)

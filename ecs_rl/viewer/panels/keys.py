"""Keys on the screen: key caps, the strip of the most important ones, and the help with every key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import pygame

from ecs_rl.viewer.canvas import LARGE, NORMAL, SMALL, Canvas
from ecs_rl.viewer.key_caps import cap_width, draw_cap
from ecs_rl.viewer.palette import DIM, FAINT, MAIN_LINE, NIGHT, PANEL, RULE, mix
from ecs_rl.viewer.view_floating import HelpGroup

STRIP = 26
"""Height of the strip of hints."""
Hints = tuple[tuple[str, str], ...]
EDGE, TOP, BETWEEN = 18, 48, 20
"""Space beside the columns, above them, and from one to the next."""
TITLE, ROW = 26, 21
MARGIN = 8
"""Pixels that the window shows around the help, at least."""
SHRINKS = tuple(1.0 - 0.04 * i for i in range(14))
MOST_COLUMNS = 4
HEADING, CLOSES = "Keys and mouse", "F1 or Esc closes this"
Columns = tuple[tuple[HelpGroup, ...], ...]


@lru_cache(maxsize=64)
def hints_width(hints: Hints, canvas: Canvas) -> int:
    """Return how many pixels some hints take side by side."""
    caps = sum(cap_width(key, canvas, SMALL - 1) + canvas.px(3) for keys, _ in hints for key in keys.split(" "))
    words = sum(canvas.px(3) + canvas.width(does, SMALL) + canvas.px(14) for _, does in hints)
    return caps + words - (canvas.px(14) if hints else 0)


def fitting_hints(hints: Hints, room: int, canvas: Canvas) -> Hints:
    """Return as many of the first hints as fit side by side."""
    while hints and hints_width(hints, canvas) > room:
        hints = hints[:-1]
    return hints


def hint_at(hints: Hints, area: pygame.Rect, pixel: tuple[float, float], canvas: Canvas) -> str:
    """Return the key under a pixel of the strip in which hints are painted, '' if there is none."""
    shown, x = fitting_hints(hints, area.w, canvas), 0.0
    x = area.right - hints_width(shown, canvas)
    for keys, does in shown if area.collidepoint(pixel) else ():
        for key in keys.split(" "):
            wide = cap_width(key, canvas, SMALL - 1)
            if x <= pixel[0] < x + wide + canvas.px(3):
                return key
            x += wide + canvas.px(3)
        end = x + canvas.px(3) + canvas.width(does, SMALL) + canvas.px(14)
        if x <= pixel[0] < end - canvas.px(8):  # the words are part of the last key's button
            return keys.split(" ")[-1]
        x = end
    return ""


def paint_hints(surface: pygame.Surface, hints: Hints, canvas: Canvas) -> None:
    """Paint as many hints as fit, ending at the right edge."""
    w, h = surface.get_size()
    shown = fitting_hints(hints, w, canvas)
    x, y = float(w - hints_width(shown, canvas)), h // 2
    for keys, does in shown:
        for key in keys.split(" "):
            x = draw_cap(surface, key, x, y, canvas, small=True) + canvas.px(3)
        x = canvas.write(surface, does, (x + canvas.px(3), y), size=SMALL, colour=FAINT).right + canvas.px(14)


@dataclass(frozen=True)
class Sheet:
    """The columns, how wide each is, where the words begin in it, and the tools that draw it."""

    columns: Columns
    widths: tuple[int, ...]
    words_at: tuple[int, ...]
    size: tuple[int, int]
    canvas: Canvas


def draw_help(surface: pygame.Surface, groups: tuple[HelpGroup, ...], canvas: Canvas) -> None:
    """Darken the whole window and show every key."""
    size = surface.get_size()
    sheet = sheet_for(groups, size, canvas.scale)
    card = pygame.Rect((0, 0), sheet.size)
    card.center = (size[0] // 2, size[1] // 2)
    shade = canvas.kept("shade", size, "shade", lambda picture: picture.fill(NIGHT), clear=False)
    shade.set_alpha(170)
    surface.blit(shade, (0, 0))
    canvas.lay(surface, card, "help", sheet, _paint)


@lru_cache(maxsize=8)
def sheet_for(groups: tuple[HelpGroup, ...], size: tuple[int, int], scale: float) -> Sheet:
    """Return the sheet with the largest letters that fits a window; among those the one with the fewest columns."""
    for shrink in SHRINKS:
        for count in range(1, min(MOST_COLUMNS, max(1, len(groups))) + 1):
            sheet = _sheet(_shared_out(groups, count), Canvas(scale * shrink))
            if sheet.size[0] <= size[0] - 2 * MARGIN and sheet.size[1] <= size[1] - 2 * MARGIN:
                return sheet
    return sheet


def _sheet(columns: Columns, canvas: Canvas) -> Sheet:
    rows = [[row for group in column for row in group.keys] for column in columns]
    words_at = [max((_caps(keys, canvas) for keys, _ in each), default=0) + canvas.px(10) for each in rows]
    words = [max((canvas.width(does, NORMAL - 0.5) for _, does in each), default=0) for each in rows]
    widths = [at + wide + canvas.px(2) for at, wide in zip(words_at, words, strict=True)]
    least = canvas.width(HEADING, LARGE + 1) + canvas.width(CLOSES, SMALL) + canvas.px(20)
    inner = max(sum(widths) + (len(columns) - 1) * canvas.px(BETWEEN), least)
    tall = max((_height(column) for column in columns), default=0)
    size = inner + 2 * canvas.px(EDGE), canvas.px(TOP) + round(tall * canvas.scale) + canvas.px(14)
    return Sheet(columns, tuple(widths), tuple(words_at), size, canvas)


def _caps(keys: str, canvas: Canvas) -> int:
    return sum(cap_width(key, canvas) + canvas.px(4) for key in keys.split(" ")) - canvas.px(4)


def _height(column: Sequence[HelpGroup]) -> int:
    return sum(TITLE + len(group.keys) * ROW for group in column)


def _shared_out(groups: tuple[HelpGroup, ...], count: int) -> Columns:
    """Return the groups, in order, in so many columns of which the longest is as short as can be."""
    if count <= 1 or len(groups) <= 1:
        return (groups,)
    ways = [(groups[:i], *_shared_out(groups[i:], count - 1)) for i in range(1, len(groups))]
    return min(ways, key=lambda columns: max(map(_height, columns)))


def _paint(surface: pygame.Surface, sheet: Sheet, _: Canvas) -> None:
    canvas, w = sheet.canvas, surface.get_width()
    surface.fill(PANEL)
    pygame.draw.rect(surface, RULE, surface.get_rect(), canvas.px(1))
    canvas.write(surface, HEADING, (canvas.px(EDGE), canvas.px(28)), size=LARGE + 1)
    canvas.write(surface, CLOSES, (w - canvas.px(EDGE), canvas.px(28)), size=SMALL, colour=FAINT, anchor="right")
    left = canvas.px(EDGE)
    for column, wide, words_at in zip(sheet.columns, sheet.widths, sheet.words_at, strict=True):
        y = float(canvas.px(TOP))
        for group in column:
            _paint_group(surface, group, (left, y), words_at, canvas)
            y += _height((group,)) * canvas.scale
        left += wide + canvas.px(BETWEEN)


def _paint_group(
    surface: pygame.Surface, group: HelpGroup, at: tuple[int, float], words_at: int, canvas: Canvas
) -> None:
    left, top = at
    title_at = (left, top + 18 * canvas.scale)
    canvas.write(surface, group.title.upper(), title_at, size=SMALL, colour=mix(MAIN_LINE, DIM, 0.3))
    for row, (keys, does) in enumerate(group.keys):
        x, y = float(left), top + (TITLE + ROW * (row + 0.5)) * canvas.scale
        for key in keys.split(" "):
            x = draw_cap(surface, key, x, y, canvas) + canvas.px(4)
        canvas.write(surface, does, (left + words_at, y), size=NORMAL - 0.5, colour=DIM)

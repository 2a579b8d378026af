"""The help: every key and what it does, over the whole window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import pygame

from ecs_rl.viewer.canvas import LARGE, NORMAL, SMALL, Canvas, cap_width, draw_cap
from ecs_rl.viewer.palette import DIM, FAINT, MAIN_LINE, NIGHT, PANEL, RULE, mix
from ecs_rl.viewer.panel import App, Command, Panel

EDGE, TOP, BETWEEN = 18, 48, 20
"""Space beside the columns, above them, and from one to the next."""
TITLE, ROW = 26, 21
MARGIN = 8
"""Pixels that the window shows around the help, at least."""
SHRINKS = tuple(1.0 - 0.04 * i for i in range(14))
MOST_COLUMNS = 4
HEADING, CLOSES = "Keys and mouse", "F1 or Esc closes this"


@dataclass(frozen=True)
class HelpGroup:
    """Keys that belong together: what is pressed, and what that does."""

    title: str
    keys: tuple[tuple[str, str], ...]


Columns = tuple[tuple[HelpGroup, ...], ...]


HelpView = tuple[HelpGroup, ...]
"""All keys."""


class Help(Panel[HelpView]):
    """Shows the keys of the window and of all panels."""

    name = "help"
    place = "over"
    filmed = False

    def view(self, app: App) -> HelpView | None:
        """Return the keys that do something now, None while the help is closed."""
        return help_groups(app.rows) if self.name in app.open_panels else None

    keys = (Command("Window", "F1", "help", "this help", Panel.toggle, (pygame.K_F1,)),)

    def paint(self, canvas: Canvas, view: HelpView, room: pygame.Rect) -> None:
        """Darken the whole window and paint every key."""
        sheet = sheet_for(view, room.size, canvas.scale)
        card = pygame.Rect((0, 0), sheet.size)
        card.center = (room.w // 2, room.h // 2)
        shade = canvas.kept("shade", room.size, "shade", lambda picture: picture.fill(NIGHT), clear=False)
        shade.set_alpha(170)
        canvas.surface.blit(shade, (0, 0))
        canvas.hit(room, "panel")
        canvas.lay(canvas.surface, card, self.name, sheet, _paint)


def help_groups(rows: Sequence[Command]) -> tuple[HelpGroup, ...]:
    """Return what the help says about these commands."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        if row.key and row.listed:
            keys = groups.setdefault(row.section, [])
            keys.append((row.key, row.help) if row.help else (f"{keys[-1][0]} {row.key}", keys.pop()[1]))
    return tuple(HelpGroup(title, tuple(keys)) for title, keys in groups.items())


@dataclass(frozen=True)
class Sheet:
    """The columns, how wide each is, where the words begin in it, and the tools that draw it."""

    columns: Columns
    widths: tuple[int, ...]
    words_at: tuple[int, ...]
    size: tuple[int, int]
    canvas: Canvas


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
    words_at = [max((_caps(keys, canvas) for keys, _ in row), default=0) + canvas.px(10) for row in rows]
    words = [max((canvas.width(does, NORMAL - 0.5) for _, does in row), default=0) for row in rows]
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

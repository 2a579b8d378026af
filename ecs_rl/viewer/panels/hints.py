"""Hints: the keys that matter most right now, in a line at the lower edge of the stage; a click does what they do."""

from __future__ import annotations

from functools import lru_cache

import pygame

from ecs_rl.viewer.canvas import SMALL, Canvas, cap_width, draw_cap
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import FAINT, NIGHT
from ecs_rl.viewer.panel import App, Panel

GAP = 14
"""Space between two hints."""


HintsView = tuple[tuple[str, str], ...]
"""Keys, several parted by a space, and what they do; the first stays longest where there is no room."""


class Hints(Panel[HintsView]):
    """Shows the hints of the mode that is on."""

    name, place = "hints", "ground"
    filmed = False

    def view(self, app: App) -> HintsView | None:
        """Return the hints of this moment."""
        of_modes = (panel.mode_hints(app) for panel in reversed(app.panels.values()))
        first, *rest = next(filter(None, of_modes))
        return (first, *(hint for panel in app.panels.values() for hint in panel.hints(app)), *rest)

    def arrange(self, canvas: Canvas, view: HintsView, room: pygame.Rect) -> None:
        """Take the right end of the line; what is left is for a legend."""
        strip = canvas.rooms["hints"]
        hints = fitting(view, strip.w, canvas)
        place = pygame.Rect(0, 0, width(hints, canvas), strip.h)
        place.midright = strip.midright
        canvas.rooms["legend"] = pygame.Rect(strip.x, strip.y, place.x - strip.x - canvas.px(20), strip.h)
        canvas.rooms["hints"] = place

    def paint(self, canvas: Canvas, view: HintsView, room: pygame.Rect) -> None:
        """Paint as many hints as fit, on a dark ground."""
        place = canvas.rooms["hints"]
        hints = fitting(view, place.w, canvas)
        canvas.hit(place, "panel")
        if hints:
            back = pygame.Rect(0, 0, place.w + canvas.px(10), place.h - canvas.px(4))
            back.midleft = place.x - canvas.px(8), place.centery
            rounded(canvas.surface, back, NIGHT, radius=canvas.px(6), alpha=170)
        canvas.lay(canvas.surface, place.clip(canvas.surface.get_rect()), self.name, hints, _paint, clear=True)


@lru_cache(maxsize=64)
def width(hints: HintsView, canvas: Canvas) -> int:
    """Return how many pixels some hints take side by side."""
    caps = sum(cap_width(key, canvas, SMALL - 1) + canvas.px(3) for keys, _ in hints for key in keys.split(" "))
    words = sum(canvas.px(3) + canvas.width(does, SMALL) + canvas.px(GAP) for _, does in hints)
    return caps + words - (canvas.px(GAP) if hints else 0)


def fitting(hints: HintsView, room: int, canvas: Canvas) -> HintsView:
    """Return as many of the first hints as fit side by side."""
    while hints and width(hints, canvas) > room:
        hints = hints[:-1]
    return hints


def _paint(surface: pygame.Surface, hints: HintsView, canvas: Canvas) -> None:
    x, y = 0.0, surface.get_height() // 2
    for keys, does in hints:
        for key in keys.split(" "):
            left, x = x, draw_cap(surface, key, x, y, canvas, small=True) + canvas.px(3)
            canvas.hit(pygame.Rect(left, 0, x - left, surface.get_height()), "hint", key=key)
        words = canvas.write(surface, does, (x + canvas.px(3), y), size=SMALL, colour=FAINT)
        last = keys.split(" ")[-1]  # the words are part of the last key's button
        canvas.hit(pygame.Rect(x, 0, words.right - x + canvas.px(6), surface.get_height()), "hint", key=last)
        x = words.right + canvas.px(GAP)

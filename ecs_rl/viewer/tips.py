"""Tips: a few lines beside the mouse on what is under it, which the screen paints over its frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import pygame

from ecs_rl.viewer.canvas import SMALL, Canvas, wrapped
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import MAIN_LINE, PANEL, TEXT, mix
from ecs_rl.viewer.panel import Command, Panel
from ecs_rl.viewer.pointer import Pixel, Pointer
from ecs_rl.viewer.top_layer import TopLayer
from ecs_rl.viewer.words import Words

STILL = 0.5
"""Seconds that the mouse must rest before words are explained; charts answer at once."""
WIDE, LINE, PAD = 300, 17, 9
"""The widest that a line may be, its height, and the space around the words."""
ASK = Command(
    *("Window", "?", "words", "what is this?"),
    lambda _, app: app.say("point at a word, a number or a curve: ? tells what it is", "warn"),
    characters="?",
)
"""Explains at once what the mouse rests on; the window gets this key where that is nothing."""


class Tips:
    """Remembers where the mouse rests, and since when."""

    def __init__(self, panels: Sequence[Panel[Any]]) -> None:
        self._panels, self._words = {panel.name: panel for panel in panels}, Words(panels)
        self._at: Pixel = (-1.0, -1.0)
        self._since = 0.0
        self._is_asked = False
        """Somebody wants to know without waiting."""

    def lines(self, pointer: Pointer, canvas: Canvas, views: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what to say about what is under the mouse in the newest frame, which shows these views."""
        hit, now = pointer.under(canvas), perf_counter()
        if pointer.at != self._at:
            self._at, self._since, self._is_asked = pointer.at, now, False
        if hit is None:
            return ()
        panel, view = self._panels.get(hit.panel), views.get(hit.panel)
        lines = () if panel is None or view is None else panel.tip(view, hit)
        if lines or (now - self._since < STILL and not self._is_asked):
            return lines
        sentence = "" if panel is None or view is None else panel.explain(view, hit)
        sentence = sentence or self._words.explained(canvas.text_at(hit.at))
        return (sentence,) if sentence else ()

    def ask(self, pointer: Pointer, canvas: Canvas, views: Mapping[str, Any]) -> bool:
        """Explain what is under the mouse at once, as long as the mouse stays there; return whether there is a tip."""
        self.lines(pointer, canvas, views)
        self._is_asked = True
        self._is_asked = bool(self.lines(pointer, canvas, views))
        return self._is_asked


def lay_tip(top: TopLayer, surface: pygame.Surface, at: Pixel, lines: Sequence[str], canvas: Canvas) -> None:
    """Lay a tip beside a pixel, where it hides as little as possible of what it explains."""
    lines = [part for line in lines for part in wrapped(line, canvas.px(WIDE), SMALL + 0.5, canvas)]
    wide = max((canvas.width(line, SMALL + 0.5) for line in lines), default=0) + 2 * canvas.px(PAD)
    box = pygame.Rect(0, 0, wide, len(lines) * canvas.px(LINE) + canvas.px(PAD))
    box.topleft = round(at[0]) + canvas.px(14), round(at[1]) + canvas.px(16)
    w, h = surface.get_size()
    if box.bottom > h:
        box.bottom = round(at[1]) - canvas.px(8)
    box.clamp_ip(pygame.Rect(0, 0, w, h))
    top.lay(surface, box, partial(_draw, surface, box, lines, canvas))


def _draw(surface: pygame.Surface, box: pygame.Rect, lines: Sequence[str], canvas: Canvas) -> None:
    rounded(surface, box, PANEL, radius=canvas.px(6), edge=mix(PANEL, MAIN_LINE, 0.5), alpha=245)
    y = box.y + canvas.px(PAD) // 2 + canvas.px(LINE) // 2
    for line in lines:
        canvas.write(surface, line, (box.x + canvas.px(PAD), y), size=SMALL + 0.5, colour=TEXT)
        y += canvas.px(LINE)

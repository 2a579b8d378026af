"""What the mouse points at, in words: a number of a chart, a number that is seen, or any word on the screen."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from ecs_rl.viewer.view_floating import TipView
from ecs_rl.viewer.words import explained

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window

STILL = 0.5
"""Seconds that the mouse must rest before words are explained; charts answer at once."""


class Hover:
    """Remembers where the mouse rests, and since when."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._at: tuple[float, float] = (-1.0, -1.0)
        self._since = 0.0
        self._asked = False
        """Somebody wants to know without waiting."""

    def ask(self) -> None:
        """Explain at once what the mouse points at, as long as it stays there."""
        self._asked = True
        if self.tip() is None:
            self._asked = False
            self.window.say("point at a word, a number or a curve: ? tells what it is", "warn")

    def tip(self) -> TipView | None:
        """Return what to say beside the mouse, None if there is nothing."""
        window, at, now = self.window, self.window.pointed.hit.at, perf_counter()
        if at != self._at:
            self._at, self._since, self._asked = at, now, False
        if window.pointed.kind != "point" or "help" in window.open_panels:
            return None
        hit, panel = window.pointed.hit, window.panels.get(window.pointed.hit.panel)
        lines = () if panel is None else panel.tip(window, hit)
        if lines:
            return TipView(at, lines)
        if not self._asked and now - self._since < STILL:
            return None
        told = ("" if panel is None else panel.explain(window, hit)) or explained(window.pointed.text)
        return TipView(at, (told,)) if told else None

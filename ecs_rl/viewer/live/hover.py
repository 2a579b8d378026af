"""What the mouse points at, in words: a number of a chart, a number that is seen, or any word on the screen."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from ecs_rl.scene.sensors import Sensor
from ecs_rl.viewer.panels.learning import readings
from ecs_rl.viewer.panels.mind_panel import spot_at
from ecs_rl.viewer.view_floating import TipView
from ecs_rl.viewer.words import about_seen, explained

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
        learning, area = window.seen.learning, window.layout.learning
        if learning is not None and area is not None:
            lines = readings(area, learning, window.painter.canvas, at)
            if lines:
                return TipView(at, tuple(lines))
        if not self._asked and now - self._since < STILL:
            return None
        told = self._seen(at) or explained(window.pointed.text)
        return TipView(at, (told,)) if told else None

    def _seen(self, at: tuple[float, float]) -> str:
        """Return what the number is whose row of the mind is under the mouse."""
        mind, area = self.window.seen.mind, self.window.layout.mind
        spot = spot_at(area, mind, self.window.painter.canvas, at) if mind is not None and area is not None else None
        if mind is None or spot is None or spot.section != "sees":
            return ""
        name, scales = mind.sees[spot.number].name, dict[str, float]()
        for sensor in self.window.show.mind.plan.sees:
            if isinstance(sensor, Sensor):
                scales |= dict.fromkeys(sensor.names, sensor.scale)
        return about_seen(name, scales.get(name))

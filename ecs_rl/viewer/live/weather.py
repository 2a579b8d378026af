"""Gravity and wind on the stage, by two sliders: whoever wants to know whether it still lands sets them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pygame

from ecs_rl.viewer.panels.sliders import share_at, slider_at, slider_bars
from ecs_rl.viewer.view_floating import SliderView

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window

MOST_GRAVITY = 3.0
"""Times the scene's own gravity."""
WITHOUT = 20.0
"""m/s² downwards where the scene has none."""
MOST_WIND = 10.0
"""m/s² to the left or to the right that wind adds to whatever moves freely."""
NEAR = 0.03
"""Of its bar: a slider that is dragged so close to its usual setting takes that."""


@dataclass
class Setting:
    """What one slider is set to, along its bar from 0 to 1."""

    name: str
    usual: float
    share: float


class Weather:
    """The two sliders of a window; what they do is a hand on the stage and reaches no training."""

    def __init__(self, window: Window) -> None:
        self.window, self.is_open = window, False
        self.held: int | None = None
        """The number of the slider that the mouse holds."""
        self.own = window.show.scene.gravity
        usual = 1 / MOST_GRAVITY if any(self.own) else 0.0
        self.settings = (Setting("gravity", usual, usual), Setting("wind", 0.5, 0.5))

    def toggle(self) -> None:
        """Show the sliders, or take them away with all that they did."""
        if self.window.show.world.engine.picture is not None:
            self.window.say("an environment has no weather of ours", "warn")
            return
        self.is_open = not self.is_open
        if not self.is_open:
            for setting in self.settings:
                setting.share = setting.usual

    @property
    def air(self) -> tuple[float, float]:
        """What is added to the acceleration of whatever moves freely, m/s²."""
        gravity, wind = self.settings
        across = MOST_WIND * (2.0 * wind.share - 1.0)
        if not any(self.own):
            return across, -WITHOUT * gravity.share
        more = MOST_GRAVITY * (gravity.share - gravity.usual)
        return across + more * self.own[0], more * self.own[1]

    def blow(self) -> None:
        """Let every show's coming ticks have this weather; an episode that had another than its own does not count."""
        air = self.air if any(setting.share != setting.usual for setting in self.settings) else (0.0, 0.0)
        for show in self.window.shows:
            show.hand.air = air
            show.touched = show.touched or (any(air) and not show.resting and not show.paused)

    @property
    def _room(self) -> pygame.Rect:
        return self.window.painter.room(self.window.seen, self.window.layout)

    # --- the mouse --------------------------------------------------------------------------------------------------

    def take(self, pixel: tuple[float, float]) -> bool:
        """Take hold of the slider under a pixel, and bring it there; tell whether there is one."""
        window = self.window
        self.held = slider_at(self._room, 2, pixel, window.painter.canvas) if self.is_open else None
        self.drag(pixel)
        return self.held is not None

    def drag(self, pixel: tuple[float, float]) -> None:
        """Bring the slider that is held to a pixel."""
        if self.held is not None:
            setting, window = self.settings[self.held], self.window
            share = share_at(slider_bars(self._room, 2, window.painter.canvas)[self.held], pixel[0])
            setting.share = setting.usual if abs(share - setting.usual) < NEAR else share

    def click(self, pixel: tuple[float, float]) -> bool:
        """Bring the slider under a pixel there and let it go; tell whether there is one."""
        taken = self.take(pixel)
        self.held = None
        return taken

    # --- telling ----------------------------------------------------------------------------------------------------

    def views(self) -> tuple[SliderView, ...]:
        """Return the sliders, none while they are not shown."""
        if not self.is_open or self.window.grid is not None:
            return ()
        gravity, wind = self.settings
        pull = math.hypot(*self.own) * MOST_GRAVITY * gravity.share if any(self.own) else WITHOUT * gravity.share
        arrow = "→ " if wind.share > 0.5 else "← " if wind.share < 0.5 else ""
        told = (f"{pull:.1f} m/s²", f"{arrow}{MOST_WIND * abs(2 * wind.share - 1):.1f} m/s²")
        return tuple(SliderView(s.name, text, s.share, s.usual) for s, text in zip(self.settings, told, strict=True))

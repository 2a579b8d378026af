"""Gravity and wind on the stage, by two sliders, to see whether the policy copes with another weather."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import pygame

from ecs_rl.viewer.canvas import Canvas, SliderView
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import PANEL, RULE
from ecs_rl.viewer.panel import App, Command, Gesture, Hit, Panel

MOST_GRAVITY = 3.0
"""Times the scene's own gravity."""
WITHOUT = 20.0
"""m/s² downwards where the scene has none."""
MOST_WIND = 10.0
"""m/s² to the left or to the right that wind adds to whatever moves freely."""
NEAR = 0.03
"""Of its bar: a slider that is dragged so close to its usual setting takes that."""
WIDTH, ROW, VALUE, PAD = 330, 26, 92, 10
"""Width of the panel, height of a row, width of what it is set to, and the space around them."""


WeatherView = tuple[SliderView, ...]
"""The sliders."""


class Weather(Panel[WeatherView]):
    """The two sliders; they move what is on the stage and reach no training."""

    name = "weather"
    words: ClassVar[Mapping[str, str]] = {
        "gravity": "How fast things fall on the stage; the mark is the scene's own, and training keeps that.",
        "wind": "An acceleration to the side of whatever moves freely, on the stage alone.",
    }

    def __init__(self) -> None:
        self.gravity: float | None = None
        """The shares of the sliders, None while they are at their usual place."""
        self.wind: float | None = None

    def view(self, app: App) -> WeatherView | None:
        """Return the sliders, None while they are not shown."""
        if self.name not in app.open_panels or app.stage.grid is not None:
            return None
        own = app.show.scene.gravity
        gravity, wind = self._shares(own)
        pull = gravity * (math.hypot(*own) * MOST_GRAVITY if any(own) else WITHOUT)
        arrow = "→ " if wind > 0.5 else "← " if wind < 0.5 else ""
        across = f"{arrow}{MOST_WIND * abs(2 * wind - 1):.1f} m/s²"
        return (
            SliderView("gravity", f"{pull:.1f} m/s²", gravity, _usual_gravity(own)),
            SliderView("wind", across, wind, 0.5),
        )

    def _shares(self, own: tuple[float, float]) -> tuple[float, float]:
        gravity = _usual_gravity(own) if self.gravity is None else self.gravity
        return gravity, 0.5 if self.wind is None else self.wind

    def air(self, own: tuple[float, float]) -> tuple[float, float]:
        """Return what is added to the acceleration of whatever moves freely, m/s²; `own` is the scene's gravity."""
        if self.gravity is None and self.wind is None:
            return 0.0, 0.0
        gravity, wind = self._shares(own)
        across = MOST_WIND * (2.0 * wind - 1.0)
        if not any(own):
            return across, -WITHOUT * gravity
        more = MOST_GRAVITY * (gravity - _usual_gravity(own))
        return across + more * own[0], more * own[1]

    def advance(self, app: App, seconds: float) -> None:
        """Give every show's coming ticks this weather; an episode that had another than its own does not count."""
        air = self.air(app.show.scene.gravity)
        for show in app.stage.shows:
            show.hand.air = air
            show.touched = show.touched or (any(air) and not show.resting and not show.paused)

    def toggle(self, app: App) -> None:
        """Show the sliders, or take them away with all that they did."""
        if app.show.world.engine.picture is not None:
            app.say("an environment has no weather of ours", "warn")
        elif self.name in app.open_panels:
            self.leave(app)
        else:
            app.open_panels |= {self.name}

    def leave(self, app: App) -> None:
        """Take the sliders away with all that they did."""
        app.open_panels -= {self.name}
        self.gravity = self.wind = None

    keys = (Command("Hands", "A", "weather", "gravity and wind: Up Down, Left Right", toggle, (pygame.K_a,)),)

    def act(self, app: App, hit: Hit, gesture: Gesture) -> None:
        """Move the slider under the mouse."""
        if hit.part != "slider" or gesture.kind not in ("click", "grab", "drag"):
            return
        share = hit.along
        usual = 0.5 if hit.index else _usual_gravity(app.show.scene.gravity)
        setting = None if abs(share - usual) < NEAR else share
        if hit.index:
            self.wind = setting
        else:
            self.gravity = setting

    def paint(self, canvas: Canvas, view: WeatherView, room: pygame.Rect) -> None:
        """Paint the sliders to the right, below the chips; nothing where there is no room."""
        tall, pad, numbers = canvas.px(ROW), canvas.px(PAD), range(len(view))
        size = canvas.px(WIDTH), tall * len(numbers) + pad
        place = canvas.place_in(canvas.free(room), "top right", size)
        if place is not None:
            rounded(canvas.surface, place, PANEL, radius=canvas.px(7), edge=RULE, alpha=225)
            canvas.hit(place, "panel")
            canvas.sliders(place.inflate(-2 * pad, -pad), view, numbers, tall=tall, value=canvas.px(VALUE))


def _usual_gravity(own: tuple[float, float]) -> float:
    return 1 / MOST_GRAVITY if any(own) else 0.0

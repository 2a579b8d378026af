"""A panel of somebody else's: a slider with a tip and a list, in one file."""

from __future__ import annotations

from dataclasses import dataclass

import pygame

from ecs_rl.viewer.canvas import Canvas, SliderView
from ecs_rl.viewer.palette import PANEL
from ecs_rl.viewer.panel import App, Command, Gesture, Hit, Panel

FRUITS = ("apple", "pear", "plum")


@dataclass(frozen=True)
class ToyView:
    """What the panel shows."""

    ripeness: float
    fruit: int


class Toy(Panel[ToyView]):
    """Sets how ripe a fruit is, and chooses which."""

    name = "toy"

    def __init__(self) -> None:
        self.ripeness, self.fruit = 0.5, 0

    def view(self, app: App) -> ToyView | None:
        return ToyView(self.ripeness, self.fruit) if self.name in app.open_panels else None

    def paint(self, canvas: Canvas, view: ToyView, room: pygame.Rect) -> None:
        place = canvas.place_in(room.inflate(-40, -100), "bottom left", (canvas.px(200), canvas.px(110)))
        if place is not None:
            canvas.surface.fill(PANEL, place)
            canvas.slider(
                pygame.Rect(place.x + 20, place.y + 12, 160, 6), SliderView("ripeness", "", view.ripeness, 0.5)
            )
            canvas.rows(pygame.Rect(place.x, place.y + 30, place.w, place.h - 30), FRUITS, view.fruit)

    def tip(self, view: ToyView, hit: Hit) -> tuple[str, ...]:
        return (f"{view.ripeness:.0%} ripe",) if hit.part == "slider" else ()

    def act(self, app: App, hit: Hit, gesture: Gesture) -> None:
        if hit.part == "slider":
            self.ripeness = hit.along
        elif hit.part == "row" and gesture.kind == "click":
            self.fruit = hit.index
            app.say(FRUITS[hit.index])

    keys = (Command("Window", "F9", "toy", "fruit", Panel.toggle, (pygame.K_F9,)),)

"""The agent's mind: what it sees, does, expects and earned, and what is asked about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pygame

from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.mind import SeldomRead
from ecs_rl.viewer.mind_sheet import KEY, paint_mind, plan_for, range_of
from ecs_rl.viewer.panel import App, Chip, Command, Gesture, Hit, Panel
from ecs_rl.viewer.view import MindView

UNITS = (
    ((" x", " y", " ahead", " aside"), "metres"),
    ((" vx", " vy", " velocity"), "metres per second"),
    ((" angle", " heading"), "radians"),
    ((" spin",), "radians per second"),
)
"""How the names of numbers end that are seen, and their unit."""
WORDS = {
    "sees": "The observation: the scaled numbers that the policy was given for the decision that led to this picture.",
    "does": "The action: what the policy decides in each tick, from nothing but what it sees.",
    "expects": "The value: how much reward the agent expects from here on, later reward counted less.",
    "earned": "The reward: what the scene pays or fines by name, in this tick and in this episode.",
    "probability": "How likely the policy is to choose each option; the arrow marks the one that it took.",
    "value": "The reward that the agent expects if it takes this option now, later reward counted less.",
    "lever": "A number from -1 to 1; the dot is what was set, the band how far it varies around its mean.",
    "expected": "What the agent expected to earn from that tick on.",
    "really came": "The reward that really followed, later reward counted less; unknown until the episode goes on.",
    "tick": "One decision; the numbers of this column are of the newest one.",
    "episode": "One play from a start to an end; the numbers of this column are its sum so far.",
    "total": "The sum of all rewards: the return, once the episode is over.",
    "reward to come; later counts less": "A reward n ticks from now counts discount to the power of n.",
}


def _key(key: str, name: str, text: str, run: Callable[[Any, App], None], code: int) -> Command:
    return Command("Policy", key, name, text, run, (code,))


class MindPanel(Panel[MindView]):
    """Shows the mind of the agent on the stage."""

    name = "mind"
    place = "right"
    words = WORDS

    def __init__(self) -> None:
        self._reading, self._view = SeldomRead(lambda mind: mind.view()), MindView()

    def view(self, app: App) -> MindView | None:
        """Return the mind, None while it is hidden or where there is no one agent to look into.

        It is that of the moment in the picture, but for a stage that moves beside a training that goes flat out: there
        it is up to a tenth of a second old.
        """
        if self.name not in app.open_panels or not app.stage.is_single:
            return None
        self._view = app.stage.questions.mind(app, self._reading.of(app))
        return self._view

    def advance(self, app: App, seconds: float) -> None:
        """Let what was read grow old, and go on with what is asked."""
        self._reading.age += seconds
        app.stage.questions.look(app)

    def thickness(self, scale: float, size: tuple[int, int]) -> int:
        """Return about a quarter of the window's width."""
        return round(min(max(0.245 * size[0], 190 * scale), 330 * scale))

    def turn(self, app: App) -> None:
        """Show the mind of the next agent, where there are several."""
        app.show.mind.turn()
        self._reading.forget()

    def turn_and_tell(self, app: App) -> None:
        """Show the mind of the next agent, and say whose it is."""
        self.turn(app)
        name = app.show.mind.name
        if name:
            app.say(f"this is the mind of {name}")
        else:
            app.say("there is one agent here, and this is its mind", "warn")

    def toggle_why(self, app: App) -> None:
        """Stop the stage and ask why, or leave it."""
        app.stage.questions.toggle_why(app)

    def toggle_map(self, app: App) -> None:
        """Tint the stage by what the agent expects elsewhere, or leave it."""
        app.stage.questions.toggle_map(app)

    keys = (
        _key("I", "why", "why did it do that?", toggle_why, pygame.K_i),
        _key("X", "value map", "what it expects elsewhere", toggle_map, pygame.K_x),
        _key("J", "next mind", "the next agent's mind", turn_and_tell, pygame.K_j),
        Command("Window", KEY, name, "the agent's mind", Panel.toggle, (pygame.K_TAB,)),
    )

    def chips(self, app: App) -> tuple[Chip, ...]:
        """Return a chip for each question that is asked."""
        if not app.stage.is_single:
            return ()
        why = (Chip("WHY?", "I", rank=2),) if app.stage.questions.asks_why else ()
        return (*why, Chip("VALUE MAP", "X")) if app.stage.questions.maps else why

    def hints(self, app: App) -> tuple[tuple[str, str], ...]:
        """Return the key that brings it back while it is hidden."""
        return () if self.name in app.open_panels or app.stage.grid is not None else ((KEY, self.name),)

    def act(self, app: App, hit: Hit, gesture: Gesture) -> None:
        """Turn a number by its bar, explain an option, choose an axis of the map, or show the next agent's mind."""
        ask, clicks = app.stage.questions, gesture.kind == "click"
        if ask.asks_why and hit.part == "bar" and gesture.kind in ("click", "grab", "drag"):
            if hit.index < len(self._view.sees):
                low, high = range_of(self._view.sees[hit.index])
                ask.turn(hit.index, low + (high - low) * hit.along)
        elif ask.asks_why and hit.part == "option" and clicks:
            ask.explain(hit.index)
        elif ask.maps and hit.part == "name" and clicks:
            ask.choose_axis(hit.index)
        elif clicks:
            self.turn(app)

    def explain(self, view: MindView, hit: Hit) -> str:
        """Return what the number is whose row is under the mouse."""
        if hit.part not in ("name", "bar") or hit.index >= len(view.sees):
            return ""
        seen = view.sees[hit.index]
        return about_seen(seen.name, seen.scale)

    def is_on(self, app: App) -> bool:
        """Return whether somebody asks why, or for the map."""
        return app.stage.questions.asks_why or app.stage.questions.maps

    def leave(self, app: App) -> None:
        """Leave one thing that is asked; the panel stays."""
        app.stage.questions.leave(app)

    def close(self, app: App) -> None:
        """Give the spare world back that questions needed."""
        app.stage.questions.close()

    def paint(self, canvas: Canvas, view: MindView, room: pygame.Rect) -> None:
        """Paint the mind, if there is room."""
        if min(room.size) >= canvas.px(60):
            canvas.lay(canvas.surface, room, "mind now", (view, plan_for(room, view, canvas)), paint_mind)


def about_seen(name: str, scale: float | None) -> str:
    """Return in a sentence what a number is that the agent sees; `scale` is what the scene multiplies it by."""
    if " touches " in name:
        return f"{name}: 1 while it does, else 0."
    unit = next((unit for ends, unit in UNITS if name.endswith(ends)), "")
    if not unit or scale is None:
        return f"{name}: a number as the scene makes it."
    if scale in (0.0, 1.0):
        return f"{name}, in {unit}."
    return f"{name}, in {unit} times {scale:.3g}: 1.00 stands for {1 / scale:.3g} {unit}."

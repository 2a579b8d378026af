"""A person at the controls of the agent that is watched."""

from __future__ import annotations

from collections.abc import Iterable

import pygame

from ecs_rl.viewer.live.hands import Hands
from ecs_rl.viewer.palette import GOOD
from ecs_rl.viewer.panel import App, Chip, Command, Control


class Driving(Control):
    """Takes the controls, and gives them back."""

    name = "driving"

    def __init__(self) -> None:
        self._has_pads = False
        """Whether the screen listens to gamepads."""

    def toggle(self, app: App) -> None:
        """Take the controls of the agent that is watched, or give them back."""
        stage = app.stage
        if stage.hands is not None:
            stage.leave_hands()
            app.say("the policy drives again")
        elif stage.grid is not None:
            app.say("choose an arena first: Enter brings it to the stage", "warn")
        elif not stage.show.go_on_from_here():
            app.say("an episode ended here: go further back", "warn")
        else:
            stage.hands = Hands(stage.show)
            stage.pause(False)  # who drives wants to see where
            keys = ", ".join(f"{key} {what}" for key, what in stage.hands.controls.legend)
            app.say(f"you drive: {keys}; H hands it back", "good")

    def is_on(self, app: App) -> bool:
        """Return whether a person drives, whose episode does not count of its own right."""
        return app.stage.hands is not None and not app.stage.hands.counts

    def chips(self, app: App) -> Iterable[Chip]:
        """Return the chip that hands the controls back."""
        return [Chip("YOU DRIVE", "H", GOOD, rank=5)] if self.is_on(app) else []

    def leave(self, app: App) -> None:
        """Give the controls back to the policy."""
        app.stage.leave_hands()

    def mode_hints(self, app: App) -> tuple[tuple[str, str], ...]:
        """Return the keys that matter to a person at the controls."""
        stage = app.stage
        if stage.hands is None:
            return ()
        last: tuple[tuple[str, str], ...] = (("H", "hand it back"),)
        if stage.aside is not None:
            last = (("Y", "back"),)
        elif stage.hands.counts:
            last = (("R", "again"), ("Backspace", "next"))
        first = (("Space", "go on"),) if stage.show.paused else ()
        return (*first, *stage.hands.controls.legend, *last, ("F1", "all keys"))

    def advance(self, app: App, seconds: float) -> None:
        """Let the coming ticks do what is pressed now."""
        hands = app.stage.hands
        if hands is None:
            return
        if not self._has_pads:
            app.screen.open_pads()
            self._has_pads = True
        if hands.show in app.stage.shows:
            hands.steer()

    keys = (Command("Hands", "H", "hands", "you drive, or hand it back", toggle, (pygame.K_h,)),)

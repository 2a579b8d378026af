"""A person at the controls of the agent that is watched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pygame

from ecs_rl.viewer.live.human import HumanPlaylist, leave_hands, toggle_hands
from ecs_rl.viewer.palette import GOOD
from ecs_rl.viewer.panel import Chip, Command, Control

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window


class Driving(Control):
    """Takes the controls, and gives them back."""

    name = "driving"

    def is_on(self, app: Window) -> bool:
        """Return whether a person drives, whose episode does not count of its own right."""
        return app.hands is not None and not app.hands.counts

    def chips(self, app: Window) -> Iterable[Chip]:
        """Return the chip that hands the controls back."""
        return [Chip("YOU DRIVE", "H", GOOD, rank=5)] if self.is_on(app) else []

    def leave(self, app: Window) -> bool:
        """Give the controls back to the policy."""
        was_on = self.is_on(app)
        if was_on:
            leave_hands(app)
        return was_on

    def mode_hints(self, app: Window) -> tuple[tuple[str, str], ...]:
        """Return the keys that matter to a person at the controls."""
        if app.hands is None:
            return ()
        last: tuple[tuple[str, str], ...] = (("H", "hand it back"),)
        if app.aside is not None:
            last = (("Y", "back"),)
        elif isinstance(app.playlist, HumanPlaylist):
            last = (("R", "again"), ("Backspace", "next"))
        first = (("Space", "go on"),) if app.show.paused else ()
        return (*first, *app.hands.controls.told, *last, ("F1", "all keys"))

    def advance(self, app: Window, seconds: float) -> None:
        """Let the coming ticks do what is pressed now."""
        if app.hands is not None and app.hands.show in app.shows:
            app.hands.steer()

    keys = (
        Command("Hands", "H", "hands", "you drive, or hand it back", lambda _, app: toggle_hands(app), (pygame.K_h,)),
    )

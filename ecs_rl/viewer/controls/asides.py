"""What takes the place of the stage for a while: before and after, a race, an episode played again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pygame

from ecs_rl.viewer.live.human import Race, toggle_race, verdict
from ecs_rl.viewer.panel import Chip, Command, Control
from ecs_rl.viewer.panels.joy import LASTS

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window


class Asides(Control):
    """Opens one at a time, and leads back to the stage."""

    name = "aside"

    def __init__(self) -> None:
        self._was_solved: bool | None = None
        """Whether the scene was solved when this looked last; None before the first look."""

    def is_on(self, app: Window) -> bool:
        """Return whether something stands in place of the stage."""
        return app.aside is not None

    def chips(self, app: Window) -> Iterable[Chip]:
        """Return the chip that leads back to the stage."""
        return [] if app.aside is None else [Chip(app.aside.title, app.aside.key, rank=4)]

    def leave(self, app: Window) -> bool:
        """Bring the stage back."""
        was_on = app.aside is not None
        if was_on:
            app.leave_aside()
        return was_on

    def look(self, app: Window, seconds: float) -> None:
        """Go on with what comes, leave what was seen to its end, and compare by itself once the scene is solved."""
        app.replays.look()
        solved = app.background is not None and app.background.training.solved
        if solved and self._was_solved is False:
            app.solved_for = 0.0
            app.say("solved!", "good")
        elif app.solved_for is not None:
            app.solved_for += seconds
        self._was_solved = solved
        if app.aside is not None and app.aside.is_over(seconds):
            if isinstance(app.aside, Race):
                app.say(*verdict([(show.label, show.total) for show in app.shows], app.show.counted))
            app.leave_aside()
        app.comparison.go_on(solved=app.solved_for is not None and app.solved_for >= LASTS)

    # fmt: off
    keys = (
        Command("Policy", "B", "before and after", "untrained and now, side by side",
                lambda _, app: app.comparison.toggle(), (pygame.K_b,)),
        Command("Policy", "W", "replay", "worst, best, most surprising",
                lambda _, app: app.replays.turn(), (pygame.K_w,)),
        Command("Policy", "K", "keep episode", "keep this episode as a file",
                lambda _, app: app.replays.keep(), (pygame.K_k,)),
        Command("Hands", "Y", "race", "race the policy", lambda _, app: toggle_race(app), (pygame.K_y,)),
    )
    # fmt: on

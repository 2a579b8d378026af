"""What takes the place of the stage for a while: before and after, a race, an episode played again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pygame

from ecs_rl.viewer.live.human import toggle_race
from ecs_rl.viewer.panel import Chip, Command, Control

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window


class Asides(Control):
    """Opens one at a time, and leads back to the stage."""

    name = "aside"

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

"""The window as a whole: full screen, films and pictures of it, leaving a mode, and the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pygame

from ecs_rl.viewer.focus import KEYS as FOCUS_KEYS
from ecs_rl.viewer.palette import BAD
from ecs_rl.viewer.panel import Chip, Command, Control
from ecs_rl.viewer.tips import ASK

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window


class WholeWindow(Control):
    """Fills the screen, records and closes."""

    name = "window"

    def is_on(self, app: Window) -> bool:
        """Return whether the window fills the screen."""
        return app.screen.is_full

    def leave(self, app: Window) -> bool:
        """Go back to the size from before."""
        was_full = app.screen.is_full
        if was_full:
            app.screen.toggle_full_screen()
        return was_full

    def chips(self, app: Window) -> Iterable[Chip]:
        """Return the chip of a film that is recorded."""
        return [] if app.recorder.film is None else [Chip("RECORDING", "V", BAD, dot=True, rank=8)]

    def advance(self, app: Window, seconds: float) -> None:
        """Go on with a card that is being made."""
        app.cards.go_on()

    # fmt: off
    keys = (
        ASK,
        *FOCUS_KEYS,
        Command("Window", "F11", "full screen", "full screen",
                lambda _, app: app.screen.toggle_full_screen(), (pygame.K_F11,)),
        Command("Window", "V", "record", "record a film", lambda _, app: app.recorder.toggle(app), (pygame.K_v,)),
        Command("Window", "C", "card", "a card to share", lambda _, app: app.cards.make(), (pygame.K_c,)),
        Command("Window", "Ctrl+P", "picture", "picture of the window",
                lambda _, app: app.recorder.take_picture(app), (pygame.K_p,)),
        Command("Window", "Esc", "leave mode", "leave a mode", lambda _, app: app.modes.leave(app), (pygame.K_ESCAPE,)),
        Command("Window", "Ctrl+Q", "quit", "save and quit",
                lambda _, app: setattr(app, "closing", True), (pygame.K_q,)),
    )
    # fmt: on

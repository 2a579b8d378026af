"""The window as a whole: full screen, leaving a mode, and the end."""

from __future__ import annotations

import pygame

from ecs_rl.viewer.panel import App, Command, Control
from ecs_rl.viewer.top_layer import ASK
from ecs_rl.viewer.top_layer import KEYS as FOCUS_KEYS


class WholeWindow(Control):
    """Fills the screen, and closes."""

    name = "window"

    def is_on(self, app: App) -> bool:
        """Return whether the window fills the screen."""
        return app.screen.is_full

    def leave(self, app: App) -> None:
        """Go back to the size from before."""
        app.screen.toggle_full_screen()

    # fmt: off
    keys = (
        ASK,
        *FOCUS_KEYS,
        Command("Window", "F11", "full screen", "full screen",
                lambda _, app: app.screen.toggle_full_screen(), (pygame.K_F11,)),
        Command("Window", "Esc", "leave mode", "leave a mode", lambda _, app: app.modes.leave(app), (pygame.K_ESCAPE,)),
        Command("Window", "Ctrl+Q", "quit", "save and quit",
                lambda _, app: setattr(app, "closing", True), (pygame.K_q,)),
    )
    # fmt: on

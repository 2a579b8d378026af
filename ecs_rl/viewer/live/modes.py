"""The modes of the window: each is entered by its key, and Esc leaves the one that was entered last."""

from __future__ import annotations

from ecs_rl.viewer.panel import App


class Modes:
    """Remembers in which order the panels and controls that are on were entered."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        """Their names, the newest last."""

    def note(self, app: App) -> None:
        """Take in what a command has entered or left."""
        on = [name for name, panel in app.panels.items() if panel.is_on(app)]
        self.entered = [name for name in self.entered if name in on]
        self.entered += [name for name in on if name not in self.entered]

    def leave(self, app: App) -> None:
        """Leave the newest mode, or one step of it; a window without any stays as it is."""
        self.note(app)
        if self.entered:
            app.panels[self.entered[-1]].leave(app)

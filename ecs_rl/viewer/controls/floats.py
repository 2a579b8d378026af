"""Floating panels without room for all: the oldest gives way to the newest, and the window says so."""

from __future__ import annotations

from ecs_rl.viewer.panel import App, Control
from ecs_rl.viewer.regions import Floats


class FloatingPanels(Control):
    """Reads which floating panels the screen could not place."""

    name = "floats"

    def __init__(self) -> None:
        self._before = Floats()
        self._newest = ""
        """The panel that was opened last, until all have a place."""

    def advance(self, app: App, seconds: float) -> None:
        """Close the oldest panel while there is no room beside the newest; else say which one has no room."""
        floats = app.reports.newest(Floats) or self._before
        before, self._before = self._before, floats
        if floats == before:
            return
        app.modes.note(app)
        names = [name for name in app.modes.entered if name in (*floats.placed, *floats.without_room)]
        if names and names[-1] not in (*before.placed, *before.without_room):
            self._newest = names[-1]
        if not floats.without_room:
            self._newest = ""
        elif self._newest in names[1:]:
            self._give_way(app, names[0])
        else:
            for name in floats.without_room:
                if name not in before.without_room:
                    app.say(f"no room for the {name} panel: close another one, or make the window larger", "warn")

    def _give_way(self, app: App, name: str) -> None:
        panel = app.panels[name]
        panel.leave(app)
        again = f", {panel.keys[0].key} opens it again" if panel.keys else ""
        app.say(f"no room for both: the {name} panel gives way to the {self._newest} panel{again}", "warn")

"""What the user asks of the watched agent by keys and in its panel; the answers are worked out between frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecs_rl.viewer.ghosts import Ghosts
from ecs_rl.viewer.reports import Sight
from ecs_rl.viewer.value_map import ValueMap
from ecs_rl.viewer.view import MindView
from ecs_rl.viewer.why import Why

if TYPE_CHECKING:
    from ecs_rl.viewer.live_episode import LiveEpisode
    from ecs_rl.viewer.panel import App

BUDGET = 0.004
"""Seconds of a frame that ways not gone may take."""


class Questions:
    """What somebody wants to know of the show on the stage."""

    def __init__(self) -> None:
        self.asks_why = self.maps = False
        self._show: LiveEpisode | None = None
        self._why: Why | None = None
        self._map: ValueMap | None = None
        self._ghosts: Ghosts | None = None

    # --- keys -------------------------------------------------------------------------------------------------------

    def toggle_why(self, app: App) -> None:
        """Stop the stage and ask why, or leave it."""
        self.asks_why = not self.asks_why
        if not self.asks_why:
            self._forget()
            return
        if self._nobody(app):
            self.asks_why = False
            return
        app.open_panels |= {"mind"}
        app.stage.pause(True)
        app.say("why: drag what it sees, click what it does")

    def toggle_map(self, app: App) -> None:
        """Tint the stage by what the agent expects elsewhere, or leave it."""
        self.maps = not self.maps
        if not self.maps:
            _clear(app.show)
        elif self._nobody(app):
            self.maps = False
        else:
            app.say("what it expects there: click the name of what it sees for another axis")

    def _nobody(self, app: App) -> bool:
        """Return whether there is no agent to ask, and say so."""
        nobody = not app.stage.is_single or app.show.mind.agent is None
        if nobody:
            app.say("there is no one agent here to ask", "warn")
        return nobody

    def leave(self, app: App) -> None:
        """Leave one thing: what was turned, then the question."""
        if self._why is not None and self._why.turned:
            self._why.turned = {}
        elif self.asks_why:
            self.toggle_why(app)
        elif self.maps:
            self.toggle_map(app)

    def _forget(self) -> None:
        if self._why is not None:
            self._why.row, self._why.turned = None, {}

    def close(self) -> None:
        """Give the spare world back."""
        if self._ghosts is not None:
            self._ghosts.close()
        self._show = self._why = self._map = self._ghosts = None

    # --- what the mind asks -----------------------------------------------------------------------------------------

    def turn(self, number: int, value: float) -> None:
        """Let the agent see another number."""
        if self._why is not None:
            self._why.turn(number, value)

    def explain(self, row: int) -> None:
        """Explain this row of what the agent does."""
        if self._why is not None:
            self._why.explain(row)

    def choose_axis(self, number: int) -> None:
        """Let the value map go over this number that is seen."""
        if self._map is not None:
            self._map.choose(number)

    # --- frame by frame ---------------------------------------------------------------------------------------------

    def look(self, app: App) -> None:
        """Go on with what takes longer than a frame."""
        show = app.show
        _clear(show)
        if not app.stage.is_single or not (self.asks_why or self.maps):
            return
        if show is not self._show:
            self.close()
            self._show, self._why, self._ghosts = show, Why(show), Ghosts(show)
            self._map = ValueMap(show, self._why)
        assert self._map is not None
        assert self._ghosts is not None
        if self.asks_why and show.paused:
            self._ghosts.look(BUDGET)
            show.overlay.ghosts = self._ghosts.paths
        if self.maps:
            sight = app.reports.newest(Sight)
            self._map.look(None if sight is None else (sight.low, sight.high))
            show.overlay.map = self._map.view

    def mind(self, app: App, plain: MindView) -> MindView:
        """Return the mind with what pulls, if somebody asks."""
        asked = self.asks_why and self._why is not None and self._show is app.show
        return self._why.view() if asked and self._why is not None else plain


def _clear(show: LiveEpisode) -> None:
    """Take away what lies over a stage for somebody who asked."""
    show.overlay.map, show.overlay.ghosts = None, ()

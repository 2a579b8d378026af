"""The window's hand on why: what is asked of the watched agent by keys and in its panel, worked out between frames."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ecs_rl.viewer.ghosts import Ghosts
from ecs_rl.viewer.panels.mind_panel import Spot, spot_at, value_at
from ecs_rl.viewer.value_map import ValueMap
from ecs_rl.viewer.view import MindView, Point, StageView
from ecs_rl.viewer.view_why import GhostView, MapView
from ecs_rl.viewer.why import Why

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window
    from ecs_rl.viewer.live_episode import LiveEpisode

BUDGET = 0.004
"""Seconds of a frame that ways not gone may take."""


class Questions:
    """What somebody wants to know of the show on the stage."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.asks_why = self.maps = False
        self.turns: int | None = None
        """The number that the mouse turns."""
        self._show: LiveEpisode | None = None
        self._why: Why | None = None
        self._map: ValueMap | None = None
        self._ghosts: Ghosts | None = None

    # --- keys -------------------------------------------------------------------------------------------------------

    def toggle_why(self) -> None:
        """Stop the stage and ask why, or leave it."""
        window = self.window
        self.asks_why = not self.asks_why
        if not self.asks_why:
            self._forget()
            return
        if self._nobody():
            self.asks_why = False
            return
        window.open_panels |= {"mind"}
        window.pause_stage(True)
        window.say("why: drag what it sees, click what it does")

    def toggle_map(self) -> None:
        """Tint the stage by what the agent expects elsewhere, or leave it."""
        window = self.window
        self.maps = not self.maps
        if self.maps and self._nobody():
            self.maps = False
        elif self.maps:
            window.say("what it expects there: click the name of what it sees for another axis")

    def _nobody(self) -> bool:
        """Return whether there is no agent to ask, and say so."""
        window = self.window
        nobody = window.grid is not None or len(window.shows) > 1 or window.show.mind.agent is None
        if nobody:
            window.say("there is no one agent here to ask", "warn")
        return nobody

    def leave(self) -> bool:
        """Leave one thing: what was turned, then the question; False where nothing is asked."""
        if self._why is not None and self._why.turned:
            self._why.turned = {}
        elif self.asks_why:
            self.toggle_why()
        elif self.maps:
            self.maps = False
        else:
            return False
        return True

    def _forget(self) -> None:
        if self._why is not None:
            self._why.row, self._why.turned = None, {}

    def close(self) -> None:
        """Give the spare world back."""
        if self._ghosts is not None:
            self._ghosts.close()
        self._show = self._why = self._map = self._ghosts = None

    # --- mouse ------------------------------------------------------------------------------------------------------

    def _spot(self, pixel: tuple[float, float]) -> Spot | None:
        window = self.window
        area, mind = window.layout.mind, window.seen.mind
        if area is None or mind is None or not (self.asks_why or self.maps):
            return None
        return spot_at(area, mind, window.painter.canvas, pixel)

    def take(self, pixel: tuple[float, float]) -> bool:
        """Take hold of what the agent sees; tell whether there is something."""
        spot = self._spot(pixel)
        if not self.asks_why or spot is None or spot.section != "sees" or not spot.on_track:
            return False
        self.turns = spot.number
        self.turn(pixel)
        return True

    def turn(self, pixel: tuple[float, float]) -> None:
        """Let the agent see another number: the one under the mouse."""
        area, mind = self.window.layout.mind, self.window.seen.mind
        if self.turns is None or self._why is None or area is None or mind is None or self.turns >= len(mind.sees):
            return
        self._why.turn(self.turns, value_at(area, mind, self.window.painter.canvas, self.turns, pixel[0]))

    def let_go(self) -> None:
        """Hold no number any more."""
        self.turns = None

    def click(self, pixel: tuple[float, float]) -> bool:
        """Answer a click in the agent's mind; tell whether that meant something."""
        spot = self._spot(pixel)
        if spot is None:
            return False
        if self.maps and self._map is not None and spot.section == "sees" and not spot.on_track:
            self._map.choose(spot.number)
            return True
        if self.asks_why and self._why is not None and spot.section == "does":
            self._why.explain(spot.number)
            return True
        if self.take(pixel):
            self.let_go()
            return True
        return False

    # --- frame by frame ---------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Go on with what takes longer than a frame."""
        window = self.window
        if len(window.shows) > 1 or window.grid is not None or not (self.asks_why or self.maps):
            return
        show = window.show
        if show is not self._show:
            self.close()
            self._show, self._why, self._ghosts = show, Why(show), Ghosts(show)
            self._map = ValueMap(show, self._why)
        assert self._map is not None
        assert self._ghosts is not None
        if self.asks_why and show.paused:
            self._ghosts.look(BUDGET)
        if self.maps:
            self._map.look(self._bounds())

    def _bounds(self) -> tuple[Point, Point] | None:
        """Return what the stage shows of the arena, metres; None where that is a picture."""
        window = self.window
        stage = window.seen.stage
        if stage is None or stage.drawn is not None:
            return None
        area = window.painter.stage_at(window.seen, window.layout)
        camera = window.camera or window.painter.home(window.seen, window.layout)
        if camera is None:
            return None
        camera = camera.onto(stage.focus)
        (x0, y1), (x1, y0) = camera.metres((0, 0)), camera.metres((area.w, area.h))
        return (x0, y0), (x1, y1)

    def mind(self, plain: MindView) -> MindView:
        """Return the mind with what pulls, if somebody asks."""
        asked = self.asks_why and self._why is not None and self._show is self.window.show
        return self._why.view() if asked and self._why is not None else plain

    def stage(self, stage: StageView) -> StageView:
        """Return the stage with the map on it."""
        found = self._found()
        return stage if found is None or not found.on_stage else replace(stage, field=found)

    @property
    def plot(self) -> MapView | None:
        """The map of two numbers that are no place."""
        found = self._found()
        return None if found is None or found.on_stage else found

    @property
    def ghosts(self) -> tuple[GhostView, ...]:
        """The ways not gone, as long as the stage rests."""
        show = self.window.show
        rests = self.asks_why and show.paused and self._show is show and self._ghosts is not None
        return self._ghosts.paths if rests and self._ghosts is not None else ()

    def _found(self) -> MapView | None:
        there = self.maps and self._map is not None and self._show is self.window.show
        return self._map.view if there and self._map is not None else None

"""The window: its controls and panels, which commands they have, and what they show in each frame."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

from ecs_rl.console import tell
from ecs_rl.errors import EcsRlError, SceneError
from ecs_rl.viewer.frame_codec import Frame
from ecs_rl.viewer.live.background import WatchedRun
from ecs_rl.viewer.live.commands import CONTROLS, Modes, bound, command_of, commands_of
from ecs_rl.viewer.live.live_stage import LiveStage
from ecs_rl.viewer.live.playlist import Playlist
from ecs_rl.viewer.live.screen_process import AnyScreen
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.mistakes import DisplayLost, Mistakes
from ecs_rl.viewer.panel import DOCKS, Command, Control, Gesture, Hit, Message, Panel, Panels
from ecs_rl.viewer.panels import PANELS
from ecs_rl.viewer.regions import Reports
from ecs_rl.viewer.view import Tone

SPOKEN = 3.5
"""Seconds for which a message stays."""
HOOKS = ("open", "advance", "look", "view", "after_draw", "close")
"""The methods of `Control` that are called for all controls and panels that have them."""
FAILED = object()
"""What stands for a view that could not be made."""


def has(panel: Control, hook: str) -> bool:
    """Return whether a control has more than the method of `Control`, which does nothing."""
    return getattr(type(panel), hook) is not getattr(Control, hook)


class Window:
    """A stage, the controls and panels around it, and the training behind it if there is one."""

    def __init__(
        self,
        screen: AnyScreen,
        shows: Sequence[LiveEpisode],
        run: WatchedRun,
        *,
        playlist: Playlist | None = None,
        panels: Panels = PANELS,
    ) -> None:
        self.screen, self.stage, self.run = screen, LiveStage(shows, playlist), run
        self.mistakes = Mistakes(lambda text: self.say(text, "warn"))
        self.panels: dict[str, Control] = {kind.name: kind() for kind in (*CONTROLS, *panels)}
        self._with_hook = {hook: [name for name, panel in self.panels.items() if has(panel, hook)] for hook in HOOKS}
        self.open_panels = {"mind", "learning"} if run.history is not None else {"mind"}
        self.commands = bound(commands_of(panels), self, self.panels)
        self.modes = Modes()
        self.messages: list[Message] = []
        self.reports = Reports()
        self.views: dict[str, Any] = {}
        """What each panel shows in the newest frame; None: a docked one whose view could not be made keeps its room."""
        self.frame_parts: dict[str, float] = {}
        self.down: set[int] = set()
        self.pointed = Gesture("point", Hit("", at=(-1.0, -1.0)))
        """The newest gesture of the mouse."""
        self.touched_at = perf_counter()
        """When the user last did something."""
        self.stale = True
        """Something has changed that should be seen at once."""
        self.closing = False
        self._call("open")

    @property
    def show(self) -> LiveEpisode:
        """The first show on the stage."""
        return self.stage.show

    @property
    def rows(self) -> Sequence[Command]:
        """The commands that there are now."""
        return [row for row in self.commands.values() if self.run.background is not None or not row.trains]

    # --- what the user asks for -------------------------------------------------------------------------------------

    def answer(self) -> None:
        """Carry out what the user has asked for since the last time."""
        attempt = self.mistakes.attempt
        for event in self.screen.inputs():
            if isinstance(event, Gesture) and event.kind != "point" and not event.hit.key:
                attempt(event.hit.panel or "the mouse", partial(self.act, event), None)
            name = attempt("an event", partial(command_of, self, event), None)
            if name is not None:
                attempt(name, partial(self.do, name), None)

    def act(self, gesture: Gesture) -> None:
        """Let the panel that a gesture hit answer it."""
        if (panel := self.panels.get(gesture.hit.panel)) is not None:
            self._try(partial(panel.act, self, gesture.hit, gesture))

    def do(self, name: str) -> None:
        """Carry out the command of this name; what it cannot do it says on the screen."""
        run = self.commands[name].run
        assert run is not None
        self._try(run)

    def _try(self, run: Callable[[], object]) -> None:
        try:
            run()
        except EcsRlError as error:
            self.say(str(error), "bad")
        self.modes.note(self)
        self.stale = True

    def say(self, text: str, tone: Tone = "plain", *, aloud: bool = False, seconds: float = SPOKEN) -> None:
        """Show a message for a while; what must not be missed goes to the terminal too."""
        if aloud or tone == "bad":
            tell(text, sys.stderr)
        self.messages = [*self.messages[-3:], Message(text, tone, perf_counter() + seconds)]

    # --- frame by frame ---------------------------------------------------------------------------------------------

    def _call(self, hook: str, *args: object) -> None:
        for name in self._with_hook[hook]:
            self.mistakes.attempt(name, partial(getattr(self.panels[name], hook), self, *args), None)

    def advance(self, seconds: float, budget: float) -> None:
        """Let time pass on every show."""
        self._call("advance", seconds)
        self.mistakes.attempt("stage", partial(self._advance_stage, seconds, budget), None)
        self._call("look", seconds)

    def _advance_stage(self, seconds: float, budget: float) -> None:
        try:
            self.stage.advance(seconds, budget)
        except SceneError as error:  # such as a rule that fails where only a kick can bring a body
            self.say(str(error), "bad")
            self.stage.new_episode()

    def draw(self, due: float = 0.0) -> None:
        """Draw a frame, to be shown when it is due."""
        views = dict[str, Any]()
        for name in self._with_hook["view"]:
            panel = self.panels[name]
            view = self.mistakes.attempt(name, partial(panel.view, self), FAILED)
            if view is FAILED:
                docks = isinstance(panel, Panel) and panel.place in DOCKS
                if docks and name in self.views:
                    views[name] = None
            elif view is not None:
                views[name] = view
        self.views = views
        frame = Frame(self.screen.size, due, self.stage.hands is not None, views)
        self.screen.show(frame)
        self._call("after_draw", frame)
        self.stale = False

    def close(self) -> None:
        """End what controls and panels have under way; what cannot be ended is said, and ends no training."""
        for name in self._with_hook["close"]:
            try:
                self.mistakes.attempt(name, partial(self.panels[name].close, self), None)
            except (EcsRlError, DisplayLost) as error:
                tell(str(error), sys.stderr)

"""The window: what is shown, what the user has switched on, which commands change, and what all of it looks like."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from ecs_rl.console import tell
from ecs_rl.errors import EcsRlError, SceneError
from ecs_rl.viewer.camera import Aim
from ecs_rl.viewer.films.recorder import Recorder
from ecs_rl.viewer.frame_codec import Frame
from ecs_rl.viewer.grid_watch import GridWatch
from ecs_rl.viewer.history import History
from ecs_rl.viewer.live.aside import Aside
from ecs_rl.viewer.live.background import BackgroundTraining
from ecs_rl.viewer.live.before_after import Comparison
from ecs_rl.viewer.live.cards import Cards
from ecs_rl.viewer.live.commands import CONTROLS, bound, commands_of
from ecs_rl.viewer.live.hands import Hands
from ecs_rl.viewer.live.human import HumanPlaylist
from ecs_rl.viewer.live.inputs import command_of
from ecs_rl.viewer.live.modes import Modes
from ecs_rl.viewer.live.playlist import CheckpointList, Playlist
from ecs_rl.viewer.live.replays import Replays
from ecs_rl.viewer.live.scene_watch import SceneWatch
from ecs_rl.viewer.live.screen_process import AnyScreen
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.mistakes import Mistakes
from ecs_rl.viewer.panel import Command, Control, Gesture, Hit, Message, Panels
from ecs_rl.viewer.panel_list import PANELS
from ecs_rl.viewer.profiler import Profiler
from ecs_rl.viewer.questions import Questions
from ecs_rl.viewer.reports import Reports
from ecs_rl.viewer.things import Chosen
from ecs_rl.viewer.view import Tone

SPOKEN = 3.5
"""Seconds for which a message stays."""


class Window:
    """One or several shows, the panels around them, and the training behind them if there is one."""

    def __init__(
        self,
        screen: AnyScreen,
        shows: Sequence[LiveEpisode],
        *,
        folder: Path,
        run: str = "",
        background: BackgroundTraining | None = None,
        checkpoints: CheckpointList | None = None,
        history: History | None = None,
        playlist: Playlist | None = None,
        panels: Panels = PANELS,
    ) -> None:
        self.screen, self.shows, self.run = screen, list(shows), run
        self.background, self.checkpoints, self.history, self.playlist = background, checkpoints, history, playlist
        self.panels: dict[str, Control] = {kind.name: kind() for kind in (*CONTROLS, *panels)}
        self.modes = Modes()
        self.commands = bound(commands_of(panels), self, self.panels)
        self.mistakes = Mistakes(lambda text: self.say(text, "warn"))
        self.profiler, self.recorder = Profiler(), Recorder(folder, screen.dpi_scale)
        self.pointed = Gesture("point", Hit("", at=(-1.0, -1.0)))
        """The newest gesture of the mouse."""
        self.open_panels = {"mind", "learning"} if history is not None else {"mind"}
        self.grid: GridWatch | None = None
        self.aim: Aim | None = None
        self.reports = Reports()
        self.selected: Chosen | None = None
        self.turbo: bool = False
        self.closing = False
        self.messages: list[Message] = []
        self.questions = Questions(self)
        self.cards = Cards(self)
        self.folder, self.replays = folder, Replays(self)
        self.aside: Aside | None = None
        self.comparison = Comparison(self)
        self._stage = self.shows
        """The shows that come back after it."""
        self.solved_for: float | None = None
        """Seconds since the window saw its training solve the scene; None before, or if it was solved already."""
        self.hands: Hands | None = None
        """The person at the controls, None while the policy drives."""
        self.scene_watch = SceneWatch(self)
        self.down = set[int]()
        """The keys that are held down."""
        self.touched_at = perf_counter()
        """When the user last did something."""
        self.stale = True
        """Something has changed that should be seen at once."""
        self.views: dict[str, Any] = {}
        """What each panel shows in the newest frame."""

    @property
    def show(self) -> LiveEpisode:
        """The first show."""
        return self.shows[0]

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

    @property
    def rows(self) -> Sequence[Command]:
        """The commands that there are now."""
        return [row for row in self.commands.values() if self.background is not None or not row.trains]

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

    def say(self, text: str, tone: Tone = "plain", *, aloud: bool = False) -> None:
        """Show a message for a while; what must not be missed goes to the terminal too."""
        if aloud or tone == "bad":
            tell(text, sys.stderr)
        self.messages = [*self.messages[-3:], Message(text, tone, perf_counter() + SPOKEN)]

    def set_speed(self, speed: float) -> None:
        """Play every show at this speed."""
        for show in self.shows:
            show.speed = speed

    def pause_stage(self, rest: bool) -> None:
        """Stop every show, or let it go on."""
        for show in self.shows:
            show.paused = rest

    def advance(self, seconds: float, budget: float) -> None:
        """Let time pass on every show."""
        for name, panel in self.panels.items():
            self.mistakes.attempt(name, partial(panel.advance, self, seconds), None)
        self.mistakes.attempt("stage", partial(self._advance_shows, seconds, budget), None)
        for name, panel in self.panels.items():
            self.mistakes.attempt(name, partial(panel.look, self, seconds), None)

    def _advance_shows(self, seconds: float, budget: float) -> None:
        waits = isinstance(self.playlist, HumanPlaylist) and self.playlist.waits and self.aside is None
        try:
            for show in self.shows if self.grid is None and not waits else ():  # nobody sees it behind the grid
                show.advance(seconds, budget / len(self.shows))
        except SceneError as error:  # such as a rule that fails where only a kick can bring a body
            self.say(str(error), "bad")
            self.new_episode()

    def take_aside(self, aside: Aside) -> None:
        """Let other shows take the place of the stage, at its speed."""
        self.leave_aside()
        self.grid = self.selected = None
        aside.set_speed(self.show.speed)
        self.aside, self._stage = aside, self.shows
        self._put(aside.shows)

    def _put(self, shows: list[LiveEpisode]) -> None:
        """Let these shows stand in the window: no hand holds what stood there, and the last frame shows it no more."""
        for show in self.shows:
            show.let_go()
        self.shows = shows

    def leave_aside(self) -> None:
        """Bring the stage back."""
        self.comparison.close()
        if self.aside is not None:
            if self.hands is not None and self.hands.show in self.shows:
                self.hands = None
            self.aside.close()
            self.aside, self.aim = None, None
            self._put(self._stage)

    def let_drive(self, hands: Hands) -> None:
        """Let a person take the controls."""
        self.hands = hands
        self.screen.open_pads()

    def new_episode(self) -> None:
        """Begin the next episode, on every show."""
        if self.playlist is not None and self.aside is None:
            self.playlist.go_on(self.shows)
            return
        for show in self.shows:
            show.new_episode()

    def draw(self, due: float = 0.0) -> None:
        """Draw a frame, to be shown when it is due."""
        attempt = self.mistakes.attempt
        views = {name: attempt(name, partial(panel.view, self), None) for name, panel in self.panels.items()}
        self.views = {name: view for name, view in views.items() if view is not None}
        self.screen.show(Frame(self.screen.size, due, self.hands is not None, self.views))
        self.stale = False

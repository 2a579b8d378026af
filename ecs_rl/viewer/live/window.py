"""The window: what is shown, what the user has switched on, which commands change, and what all of it looks like."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import pygame

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
from ecs_rl.viewer.live.commands import CONTROLS, bound, command_for, commands_of
from ecs_rl.viewer.live.hands import Hands
from ecs_rl.viewer.live.human import HumanPlaylist, Race, verdict
from ecs_rl.viewer.live.modes import Modes
from ecs_rl.viewer.live.playlist import CheckpointList, Playlist
from ecs_rl.viewer.live.replays import Replays
from ecs_rl.viewer.live.scene_watch import SceneWatch
from ecs_rl.viewer.live.screen import Input
from ecs_rl.viewer.live.screen_process import AnyScreen
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.mistakes import Mistakes
from ecs_rl.viewer.panel import Chip, Command, Control, Gesture, Hit, Message, Panel, Panels, Sight
from ecs_rl.viewer.panel_list import PANELS
from ecs_rl.viewer.panels.joy import LASTS
from ecs_rl.viewer.profiler import Profiler
from ecs_rl.viewer.questions import Questions
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
        kinds: tuple[type[Control] | type[Panel[Any]], ...] = (*CONTROLS, *panels)
        self.panels: dict[str, Control | Panel[Any]] = {kind.name: kind() for kind in kinds}
        self.modes = Modes()
        self.commands = bound(commands_of(panels), self, self.panels)
        self.mistakes = Mistakes(lambda text: self.say(text, "warn"))
        self.profiler, self.recorder = Profiler(), Recorder(folder, screen.dpi_scale)
        self.pointed = Gesture("point", Hit("", at=(-1.0, -1.0)))
        """The newest gesture of the mouse."""
        self.open_panels = {"mind", "learning"} if history is not None else {"mind"}
        self.grid: GridWatch | None = None
        self.aim: Aim | None = None
        self.sight: Sight | None = None
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
        self._was_solved = background is not None and background.training.solved
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
    def verdict(self) -> tuple[str, Tone] | None:
        """How the episode of a person came out, as long as that waits for a key."""
        return None if self.playlist is None or self.aside is not None else self.playlist.verdict

    @property
    def show(self) -> LiveEpisode:
        """The first show."""
        return self.shows[0]

    # --- events -----------------------------------------------------------------------------------------------------

    def answer(self) -> None:
        """Carry out what the user has asked for since the last time."""
        attempt = self.mistakes.attempt
        for found in self.screen.inputs():
            gesture = found if isinstance(found, Gesture) else None
            if gesture is not None and gesture.kind != "point" and not gesture.hit.key:
                attempt(gesture.hit.panel or "the mouse", partial(self.act, gesture), None)
            for name in attempt("an event", partial(self.calls, found), []):
                attempt(name, partial(self.do, name), None)

    def calls(self, found: Input) -> list[str]:
        """Return the names of the commands that an input asks for."""
        if isinstance(found, Gesture):
            return self._calls_of(found)
        if isinstance(found, Sight):
            self.sight = found
            return []
        event = found
        if event.type == pygame.QUIT:
            return ["quit"]
        if event.type == pygame.KEYDOWN:
            self.touched_at = perf_counter()
        if self.hands is not None and self.hands.take(event):
            goes_on = self.show.paused and event.type == pygame.KEYDOWN and event.key == pygame.K_SPACE
            return ["pause"] if goes_on else []  # Space may be one of the agent's keys
        if event.type == pygame.KEYUP:
            self.down.discard(event.key)
        elif event.type == pygame.WINDOWFOCUSLOST:
            self.down.clear()  # nobody will tell that a key was let go
        if event.type == pygame.KEYDOWN:
            self.down.add(event.key)
            name = command_for(event, self.rows)
            return [name] if name is not None else []
        if event.type in (pygame.WINDOWRESIZED, pygame.WINDOWSIZECHANGED, pygame.WINDOWEXPOSED):
            self.stale = True
        return []

    def _calls_of(self, gesture: Gesture) -> list[str]:
        """Return the command of the key that a gesture of the mouse has hit."""
        hit, before, self.pointed = gesture.hit, self.pointed, gesture
        if gesture.kind != "point" or hit.at != before.hit.at:
            self.touched_at = perf_counter()
        named = [row.name for row in self.rows if row.key == hit.key and hit.key]
        return named[:1] if gesture.kind == "click" else []

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

    # --- time and episodes ------------------------------------------------------------------------------------------

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
        parts: dict[str, Callable[[], object]] = {
            "card": self.cards.go_on,
            "hands": self._steer,
            "stage": partial(self._advance_shows, seconds, budget),
            "replay": self.replays.look,
            "playlist": self._look_at_playlist,
            "celebration": partial(self._look_at_solving, seconds),
        }
        for name, panel in self.panels.items():
            self.mistakes.attempt(name, partial(panel.advance, self, seconds), None)
        for part, go_on in parts.items():
            self.mistakes.attempt(part, go_on, None)

    def _steer(self) -> None:
        if self.hands is not None and self.hands.show in self.shows:
            self.hands.steer()

    def _advance_shows(self, seconds: float, budget: float) -> None:
        waits = isinstance(self.playlist, HumanPlaylist) and self.playlist.waits and self.aside is None
        try:
            for show in self.shows if self.grid is None and not waits else ():  # nobody sees it behind the grid
                show.advance(seconds, budget / len(self.shows))
        except SceneError as error:  # such as a rule that fails where only a kick can bring a body
            self.say(str(error), "bad")
            self.new_episode()

    def _look_at_playlist(self) -> None:
        if self.playlist is not None and self.aside is None:
            self.playlist.look(self.shows)
            if self.playlist.begins_again:
                self.playlist.begins_again = False
                self.say(f"all {self.playlist.episodes} episodes have been played: they begin again", "good")
        else:
            for show in self.shows:
                show.ended.clear()

    def _look_at_solving(self, seconds: float) -> None:
        """Celebrate once the scene is solved, then show what learning has changed; leave that once it was seen."""
        solved = self.background is not None and self.background.training.solved
        if solved and not self._was_solved:
            self.solved_for = 0.0
            self.say("solved!", "good")
        elif self.solved_for is not None:
            self.solved_for += seconds
        self._was_solved = solved
        if self.aside is not None and self.aside.is_over(seconds):
            if isinstance(self.aside, Race):
                self.say(*verdict([(show.label, show.total) for show in self.shows], self.show.counted))
            self.leave_aside()
        self.comparison.go_on(solved=self.solved_for is not None and self.solved_for >= LASTS)

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

    def chips(self) -> tuple[Chip, ...]:
        """Return a chip for each mode that is on, the most surprising one first."""
        chips = (chip for panel in self.panels.values() for chip in panel.chips(self))
        return tuple(sorted(chips, key=lambda chip: chip.rank))

    def hints(self) -> tuple[tuple[str, str], ...]:
        """Return the keys that matter most now, and what they do."""
        of_modes = (panel.mode_hints(self) for panel in reversed(self.panels.values()))
        first, *rest = next(filter(None, of_modes))
        if self.hands is not None:
            return (first, *rest)
        return (first, *(hint for panel in self.panels.values() for hint in panel.hints(self)), *rest)

    def open_grid(self) -> None:
        """Show all arenas of the training in place of the stage."""
        assert self.background is not None
        self.leave_aside()
        self.grid = GridWatch(self.background.training.world)

    def new_episode(self) -> None:
        """Begin the next episode, on every show."""
        if self.playlist is not None and self.aside is None:
            self.playlist.go_on(self.shows)
            return
        for show in self.shows:
            show.new_episode()

    def show_chosen_arena(self) -> None:
        """Bring the arena that is chosen in the grid to the stage."""
        if self.grid is None:
            return
        assert self.background is not None
        chosen = self.grid.selected
        self.show.adopt(self.background.training.world, chosen, f"training arena {chosen}")
        self.grid, self.selected = None, None

    # --- modes and pictures -----------------------------------------------------------------------------------------

    def draw(self, due: float = 0.0) -> None:
        """Draw a frame, to be shown when it is due."""
        if self.playlist is not None and self.aside is None:
            for number, show in enumerate(self.shows):
                show.note = self.playlist.note(number, self.shows)
        found = {
            name: self.mistakes.attempt(name, partial(panel.view, self), None) for name, panel in self.panels.items()
        }
        self.views = {name: view for name, view in found.items() if view is not None}
        self.screen.show(Frame(self.screen.size, due, self.views))
        self.stale = False

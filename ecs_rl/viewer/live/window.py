"""The window: what is shown, what the user has switched on, which commands change, and what all of it looks like."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import pygame

from ecs_rl.console import tell
from ecs_rl.errors import EcsRlError, SceneError
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.films.recorder import Recorder
from ecs_rl.viewer.frame import Layout, Painter
from ecs_rl.viewer.grid_watch import GridWatch
from ecs_rl.viewer.history import History
from ecs_rl.viewer.inspector import pick
from ecs_rl.viewer.live.aside import Aside
from ecs_rl.viewer.live.background import BackgroundTraining
from ecs_rl.viewer.live.before_after import Comparison
from ecs_rl.viewer.live.cards import Cards
from ecs_rl.viewer.live.commands import BY_NAME, Call, Mouse, command_for, press_at
from ecs_rl.viewer.live.hands import Hands
from ecs_rl.viewer.live.hover import Hover
from ecs_rl.viewer.live.human import HumanPlaylist, Race, verdict
from ecs_rl.viewer.live.looking_back import LookingBack
from ecs_rl.viewer.live.playlist import CheckpointList, Playlist
from ecs_rl.viewer.live.questions import Questions
from ecs_rl.viewer.live.replays import Replays
from ecs_rl.viewer.live.scene_watch import SceneWatch
from ecs_rl.viewer.live.screen_process import AnyDisplay
from ecs_rl.viewer.live.settings_panel import SettingsPanel
from ecs_rl.viewer.live.shown import JOY, SPOKEN, Message, Rates, hide_finding, status, view
from ecs_rl.viewer.live.tour import Tour
from ecs_rl.viewer.live.weather import Weather
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.mistakes import Mistakes
from ecs_rl.viewer.panels.timeline import curve_axes
from ecs_rl.viewer.profiler import Profiler
from ecs_rl.viewer.things import Chosen
from ecs_rl.viewer.view import Point, Tone, View

Pixel = tuple[float, float]
REACH = 10
"""Pixels from a body within which the mouse still takes hold of it."""


class Window:
    """One or several shows, the panels around them, and the training behind them if there is one."""

    def __init__(
        self,
        display: AnyDisplay,
        shows: Sequence[LiveEpisode],
        *,
        folder: Path,
        run: str = "",
        background: BackgroundTraining | None = None,
        checkpoints: CheckpointList | None = None,
        history: History | None = None,
        playlist: Playlist | None = None,
    ) -> None:
        self.display, self.shows, self.run = display, list(shows), run
        self.background, self.checkpoints, self.history, self.playlist = background, checkpoints, history, playlist
        self.painter = Painter(display.dpi_scale)
        self.mistakes = Mistakes(lambda text: self.say(text, "warn"))
        self.profiler, self.recorder, self.mouse = Profiler(), Recorder(folder, display.dpi_scale), Mouse()
        self.panels = {"mind", "learning"} if history is not None else {"mind"}
        self.grid: GridWatch | None = None
        self.camera: Camera | None = None
        self.selected: Chosen | None = None
        self.turbo = self.closing = False
        self.messages: list[Message] = []
        self.questions = Questions(self)
        self.weather, self.hover, self.cards, self.tour = Weather(self), Hover(self), Cards(self), Tour(self)
        self.folder, self.replays = folder, Replays(self)
        self.aside: Aside | None = None
        self.comparison = Comparison(self)
        self.hidden = set[str]()
        """The findings that the user has seen and clicked away."""
        self._stage = self.shows
        """The shows that come back after it."""
        self.solved_since: float | None = None
        """When the window saw its training solve the scene, by the clock; None before, or if it was solved already."""
        self._was_solved = background is not None and background.training.solved
        self.seeks = False
        """The mouse goes along the curve."""
        self.past = LookingBack(self)
        self.hands: Hands | None = None
        """The person at the controls, None while the policy drives."""
        self.tuning, self.scene_watch = SettingsPanel(self), SceneWatch(self)
        self.held = 0
        """The number of the show whose body the mouse holds."""
        self.down = set[int]()
        """The keys that are held down."""
        self.touched_at = perf_counter()
        """When the user last did something."""
        self.stale = True
        """Something has changed that should be seen at once."""
        self.rates = Rates()
        self.seen: View = View(status(self))
        self.layout: Layout = self.painter.layout(display.size)

    @property
    def show(self) -> LiveEpisode:
        """The first show."""
        return self.shows[0]

    # --- events -----------------------------------------------------------------------------------------------------

    def answer(self) -> None:
        """Carry out what the user has asked for since the last time."""
        attempt = self.mistakes.attempt
        for event in self.display.events():
            for name, *more in attempt("an event", partial(self.commands, event), []):
                attempt(name, partial(self.do, name, *more), None)

    def commands(self, event: pygame.event.Event) -> list[Call]:
        """Return what an event asks for."""
        if event.type == pygame.QUIT:
            return [("quit",)]
        if event.type in (pygame.KEYDOWN, pygame.MOUSEBUTTONDOWN, pygame.MOUSEMOTION, pygame.MOUSEWHEEL):
            self.touched_at = perf_counter()
        if self.hands is not None and self.hands.take(event):
            goes_on = self.show.paused and event.type == pygame.KEYDOWN and event.key == pygame.K_SPACE
            return [("pause",)] if goes_on else []  # Space may be one of the agent's keys
        if event.type == pygame.KEYUP:
            self.down.discard(event.key)
        elif event.type == pygame.WINDOWFOCUSLOST:
            self.down.clear()  # nobody will tell that a key was let go
        if event.type == pygame.KEYDOWN:
            self.down.add(event.key)
            found = command_for(event, trains=self.background is not None)
            return [(found,)] if found is not None else []
        if event.type in (pygame.WINDOWRESIZED, pygame.WINDOWSIZECHANGED, pygame.WINDOWEXPOSED):
            self.painter.forget()
            self.stale = True
        return list(self.mouse.commands(event))

    def do(self, name: str, *more: Any) -> None:
        """Carry out the command of this name; what it cannot do it says on the screen."""
        try:
            BY_NAME[name].run(self, *more)
        except EcsRlError as error:
            self.say(str(error), "bad")
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
            "rewind": partial(self.past.hold, seconds),
            "why": self.questions.look,
            "weather": self.weather.blow,
            "card": self.cards.go_on,
            "hands": self._steer,
            "stage": partial(self._advance_shows, seconds, budget),
            "replay": self.replays.look,
            "playlist": self._look_at_playlist,
            "celebration": partial(self._look_at_solving, seconds),
        }
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
        solved, now = self.background is not None and self.background.training.solved, perf_counter()
        if solved and not self._was_solved:
            self.solved_since = now
            self.say("solved!", "good")
        self._was_solved = solved
        if self.aside is not None and self.aside.is_over(seconds):
            if isinstance(self.aside, Race):
                self.say(*verdict([(show.label, show.total) for show in self.shows], self.show.counted))
            self.leave_aside()
        self.comparison.go_on(solved=self.solved_since is not None and now - self.solved_since >= JOY)

    def take_aside(self, aside: Aside) -> None:
        """Let other shows take the place of the stage, at its speed."""
        self.leave_aside()
        self.grid = self.selected = None
        aside.set_speed(self.show.speed)
        self.aside, self._stage = aside, self.shows
        self._put(aside.shows)

    def _put(self, shows: list[LiveEpisode]) -> None:
        """Let these shows stand in the window: no hand holds what stood there, and the last frame shows it no more."""
        self.let_go()
        self.held, self.shows, self.seen = 0, shows, View(status(self))

    def leave_aside(self) -> None:
        """Bring the stage back."""
        self.comparison.close()
        if self.aside is not None:
            if self.hands is not None and self.hands.show in self.shows:
                self.hands = None
            self.aside.close()
            self.aside, self.camera = None, None
            self._put(self._stage)

    def let_drive(self, hands: Hands) -> None:
        """Let a person take the controls."""
        self.hands = hands
        self.display.open_pads()

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

    # --- mouse ------------------------------------------------------------------------------------------------------

    def show_at(self, pixel: Pixel) -> int | None:
        """Return the number of the show under a pixel."""
        if self.grid is not None:
            return None
        number = self.painter.cell_at(self.seen, self.layout, pixel) if self.seen.panes else 0
        inside = number is not None and self._area(number).collidepoint(pixel)
        return number if inside else None

    def _area(self, number: int) -> pygame.Rect:
        return self.painter.stage_at(self.seen, self.layout, number)

    def metres(self, pixel: Pixel, number: int) -> Point:
        """Return the point of an arena that a pixel shows."""
        x, y = self._area(number).topleft
        stage = self.seen.panes[number].stage if self.seen.panes else self.seen.stage
        return self._camera().onto(stage.focus if stage else (0.0, 0.0)).metres((pixel[0] - x, pixel[1] - y))

    def _camera(self) -> Camera:
        camera = self.camera or self.painter.home(self.seen, self.layout)
        return camera or Camera((0.0, 0.0), 50.0, (0.0, 0.0))

    def body_at(self, pixel: Pixel) -> tuple[int, Chosen | None]:
        """Return the show and the body under a pixel."""
        number = self.show_at(pixel)
        if number is None:
            return 0, None
        stage = self.seen.panes[number].stage if self.seen.panes else self.seen.stage
        reach = REACH * self.layout.scale / self._camera().zoom
        return number, pick(stage, self.metres(pixel, number), reach) if stage is not None else None

    def grab(self, pixel: Pixel) -> None:
        """Take hold of the body under a pixel, or of the moment on the scrubber."""
        if self.tuning.grab(pixel):
            return
        self.past.scrubs = self.past.scrub(pixel)
        if self.past.scrubs or self.weather.take(pixel) or self.questions.take(pixel):
            return
        self.seeks = self.seek(pixel)
        self.held, role = self.body_at(pixel)
        if role is not None:
            self.shows[self.held].grab(role, self.metres(pixel, self.held))

    def drag(self, pixel: Pixel) -> None:
        """Move the hand."""
        if self.tuning.held is not None:
            self.tuning.drag(pixel)
        elif self.past.scrubs:
            self.past.scrub(pixel, beside=True)
        elif self.weather.held is not None:
            self.weather.drag(pixel)
        elif self.questions.turns is not None:
            self.questions.turn(pixel)
        elif self.seeks:
            self.seek(pixel, beside=True)
        else:
            self.shows[self.held].drag(self.metres(pixel, self.held))

    def let_go(self) -> None:
        """Hold nothing."""
        self.tuning.let_go()
        self.seeks, self.past.scrubs, self.weather.held = False, False, None
        self.questions.let_go()
        for show in self.shows:
            show.let_go()

    def seek(self, pixel: Pixel, *, beside: bool = False) -> bool:
        """Return whether a pixel is on the return curve, and play that step's policy; `beside` takes all pixels."""
        timeline, learning, area = self.seen.timeline, self.seen.learning, self.layout.learning
        if timeline is None or learning is None or area is None or self.checkpoints is None:
            return False
        axes = curve_axes(area, learning, self.painter.canvas)
        if not (beside or axes.area.collidepoint(pixel)):
            return False
        step = min(max(axes.x_at(pixel[0]), axes.x[0]), axes.x[1])
        self.checkpoints.seek(step, axes.x[1], self.shows)
        return True

    def click(self, pixel: Pixel) -> None:
        """Choose what is under a pixel; on the mind the next agent's, on the return curve the policy of that step."""
        if self.tuning.click(pixel) or self.weather.click(pixel) or self.past.scrub(pixel) or self.seek(pixel):
            return
        if self.questions.click(pixel) or press_at(self, pixel) or hide_finding(self, pixel):
            return
        mind = self.layout.mind if self.seen.mind is not None else None
        if mind is not None and mind.collidepoint(pixel):
            self.show.mind.turn()
            return
        if self.grid is None:
            if self.show_at(pixel) is not None:
                self.selected = self.body_at(pixel)[1]
                self.show.mind.turn_to(self.selected)
            return
        arena = self.painter.cell_at(self.seen, self.layout, pixel)
        if arena is not None:
            self.grid.selected = arena
            self.show_chosen_arena()

    def zoom(self, factor: float, pixel: Pixel) -> None:
        """Show everything larger, what is under the pixel stays there."""
        number = self.show_at(pixel)
        if number is not None:
            x, y = self._area(number).topleft
            self.camera = self._camera().zoomed(factor, (pixel[0] - x, pixel[1] - y))

    def pan(self, by: Point) -> None:
        """Move the picture by so many pixels."""
        if self.grid is None:
            self.camera = self._camera().panned(*by)

    # --- modes and pictures -----------------------------------------------------------------------------------------

    def draw(self, seconds: float) -> None:
        """Draw a frame, so many seconds after the last one."""
        self.seen = view(self, seconds)
        layout = self.painter.layout(
            self.display.size,
            mind="mind" in self.panels,
            learning="learning" in self.panels and bool(self.history),
            finding=self.seen.finding is not None,
        )
        readers = [show.reader for show in self.shows] + ([self.grid.reader] if self.grid is not None else [])
        for reader in readers:
            while reader.places.problems:
                self.say(reader.places.problems.pop(0), "warn")
        if self.camera is not None and layout != self.layout:
            home = self.painter.home(self.seen, layout)
            self.camera = replace(self.camera, middle=home.middle) if home is not None else None
        self.layout = layout
        self.display.draw(self.painter, self.seen, layout, self.camera)
        self.stale = False

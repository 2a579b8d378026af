"""The window: what is shown, what the user has switched on, which commands change, and what all of it looks like."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pygame

from ecs_rl.commands.pipes import tell
from ecs_rl.errors import EcsRlError, SceneError
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.films.recorder import Recorder
from ecs_rl.viewer.films.studio import pane_of
from ecs_rl.viewer.frame import Layout, Painter
from ecs_rl.viewer.grid_watch import GridWatch
from ecs_rl.viewer.history import History
from ecs_rl.viewer.inspector import inspect, pick
from ecs_rl.viewer.live.background import BackgroundTraining
from ecs_rl.viewer.live.commands import BY_NAME, Call, Mouse, command_for, help_groups, hints
from ecs_rl.viewer.live.display import Display
from ecs_rl.viewer.live.playlist import CheckpointList, Playlist
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.profiler import Profiler
from ecs_rl.viewer.things import Chosen
from ecs_rl.viewer.view import LearningView, Modes, Point, StatusView, Toast, Tone, View

if TYPE_CHECKING:
    from ecs_rl.viewer.live.background import BackgroundTraining

Pixel = tuple[float, float]
REACH = 10
"""Pixels from a body within which the mouse still takes hold of it."""
SPOKEN, FADES = 3.5, 0.6
"""Seconds for which a message stays, and the last of them in which it fades."""
READABLE = 0.2
"""Seconds for which the status line stays as it is."""
LEARNING_EVERY = 1.0
"""Seconds for which the curves stay as they are: painting them takes a while."""


@dataclass
class Message:
    """Something the window says for a while."""

    text: str
    tone: Tone
    until: float


class Window:
    """One or several shows, the panels around them, and the training behind them if there is one."""

    def __init__(
        self,
        display: Display,
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
        self.profiler, self.recorder, self.mouse = Profiler(), Recorder(folder), Mouse()
        self.panels = {"mind", "learning"} if history is not None else {"mind"}
        self.grid: GridWatch | None = None
        self.camera: Camera | None = None
        self.selected: Chosen | None = None
        self.turbo = self.closing = False
        self.messages: list[Message] = []
        self.held = 0
        """The number of the show whose body the mouse holds."""
        self.touched_at = perf_counter()
        """When the user last did something."""
        self.stale = True
        """Something has changed that should be seen at once."""
        self.rates = Rates()
        self.seen: View = View(status(self))
        self.layout: Layout = self.painter.layout(display.surface.get_size())

    @property
    def show(self) -> LiveEpisode:
        """The first show."""
        return self.shows[0]

    # --- events -----------------------------------------------------------------------------------------------------

    def answer(self) -> None:
        """Carry out what the user has asked for since the last time."""
        for event in self.display.events():
            for name, *more in self.commands(event):
                self.do(name, *more)

    def commands(self, event: pygame.event.Event) -> list[Call]:
        """Return what an event asks for."""
        if event.type == pygame.QUIT:
            return [("quit",)]
        if event.type in (pygame.KEYDOWN, pygame.MOUSEBUTTONDOWN, pygame.MOUSEMOTION, pygame.MOUSEWHEEL):
            self.touched_at = perf_counter()
        if event.type == pygame.KEYDOWN:
            found = command_for(event, trains=self.background is not None)
            return [(found,)] if found is not None else []
        if event.type in (pygame.WINDOWRESIZED, pygame.WINDOWSIZECHANGED, pygame.WINDOWEXPOSED):
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
        try:
            for show in self.shows if self.grid is None else ():  # nobody sees the stage behind the grid
                show.advance(seconds, budget / len(self.shows))
        except SceneError as error:  # such as a rule that fails where only a kick can bring a body
            self.say(str(error), "bad")
            self.new_episode()
        if self.playlist is not None:
            self.playlist.look(self.shows)
        else:
            for show in self.shows:
                show.ended.clear()

    def new_episode(self) -> None:
        """Begin the next episode, on every show."""
        if self.playlist is not None:
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
        """Take hold of the body under a pixel."""
        self.held, role = self.body_at(pixel)
        if role is not None:
            self.shows[self.held].grab(role, self.metres(pixel, self.held))

    def drag(self, pixel: Pixel) -> None:
        """Move the hand."""
        self.shows[self.held].drag(self.metres(pixel, self.held))

    def let_go(self) -> None:
        """Hold nothing."""
        for show in self.shows:
            show.let_go()

    def click(self, pixel: Pixel) -> None:
        """Choose what is under a pixel; on the mind, the next agent's."""
        mind = self.layout.mind if self.seen.mind is not None else None
        if mind is not None and mind.collidepoint(pixel):
            self.show.mind.turn()
            return
        if self.grid is None:
            if self.show_at(pixel) is not None:
                self.selected = self.body_at(pixel)[1]
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

    def leave_mode(self) -> None:
        """Leave what lies over everything first, then what changes the picture."""
        for panel in ("help", "profile"):
            if panel in self.panels:
                self.panels -= {panel}
                return
        if self.selected is not None:
            self.selected = None
        elif self.grid is not None:
            self.grid = None
        elif self.turbo:
            self.turbo = False
        elif self.display.is_full:
            self.display.toggle_full_screen()
        elif self.camera is not None:
            self.camera = None

    def draw(self, seconds: float) -> None:
        """Draw a frame, so many seconds after the last one."""
        surface = self.display.surface
        layout = self.painter.layout(
            surface.get_size(), mind="mind" in self.panels, learning="learning" in self.panels and bool(self.history)
        )
        self.seen = view(self, seconds)
        readers = [show.reader for show in self.shows] + ([self.grid.reader] if self.grid is not None else [])
        for reader in readers:
            while reader.places.problems:
                self.say(reader.places.problems.pop(0), "warn")
        if self.camera is not None and layout != self.layout:
            home = self.painter.home(self.seen, layout)
            self.camera = replace(self.camera, middle=home.middle) if home is not None else None
        self.layout = layout
        self.painter.draw(surface, self.seen, layout, self.camera)
        self.stale = False


class Rates:
    """Numbers that are measured over a while, and parts of the view that are not made anew in every frame."""

    def __init__(self) -> None:
        self.steps_per_second: float | None = None
        self.learning: LearningView | None = None
        self.status: StatusView | None = None
        self._steps, self._since = 0, perf_counter()
        self._status_due = self._learning_due = 0.0

    def look(self, window: Window) -> None:
        """Renew what is due."""
        now = perf_counter()
        if now >= self._status_due or window.stale:
            self._status_due = now + READABLE
            self.status = status(window)
        if now >= self._learning_due and window.history is not None:
            self._learning_due = now + LEARNING_EVERY
            self.learning = window.history.refresh()
            if window.background is not None:
                self._measure(window.background.training.session.total_steps, now)

    def _measure(self, steps: int, now: float) -> None:
        passed = now - self._since
        if self._steps and steps >= self._steps and passed > 0:
            self.steps_per_second = (steps - self._steps) / passed
        self._steps, self._since = steps, now


def view(window: Window, seconds: float) -> View:
    """Return what to show, so many seconds after the last frame."""
    rates, panels, shows, grid = window.rates, window.panels, window.shows, window.grid
    rates.look(window)
    if window.playlist is not None:
        for number, show in enumerate(shows):
            show.note = window.playlist.note(number, shows)
    trains, alone = window.background is not None, len(shows) == 1
    on_stage = window.show if grid is None and alone else None
    selected = window.selected if on_stage is not None else None
    return View(
        status=rates.status or status(window),
        modes=Modes(
            paused=window.show.paused,
            training_paused=window.background is not None and window.background.paused,
            turbo=window.turbo,
            sampled=window.show.sampled if grid is None else None,
            recording=window.recorder.film is not None,
        ),
        stage=on_stage.stage(selected=selected) if on_stage is not None else None,
        grid=grid.view(seconds) if grid is not None else None,
        mind=on_stage.mind.view() if on_stage is not None and "mind" in panels else None,
        learning=rates.learning if "learning" in panels else None,
        profile=window.profiler.view() if "profile" in panels else None,
        inspector=inspect(window.show.world, window.show.arena, selected) if selected is not None else None,
        help=help_groups(trains=trains) if "help" in panels else None,
        toasts=_toasts(window),
        hints=hints(
            trains=trains,
            grid=grid is not None,
            paused=window.show.paused,
            choice=window.checkpoints is not None and alone,
        ),
        panes=() if alone else tuple(pane_of(show) for show in shows),
    )


def status(window: Window) -> StatusView:
    """Return the line at the top."""
    show, work = window.show, window.background
    reached = None if show.paused else show.reached
    name, state = show.scene.name, "paused" if show.paused else "playing"
    if work is None:
        return StatusView(name, window.run, state, steps=None, speed_asked=show.speed, speed_reached=reached)
    session, total = work.training.session, work.training.steps_total
    rate = None if work.paused or work.is_saved else window.rates.steps_per_second
    return StatusView(
        name,
        window.run,
        *_state(work),
        steps=session.total_steps,
        steps_total=total,
        seconds_left=work.training.seconds_left(rate) if rate else None,
        steps_per_second=rate,
        speed_asked=show.speed,
        speed_reached=reached,
        best=session.best_eval,
        best_at=session.best_step,
        counted="score" if show.scene.score else "",
    )


def _state(work: BackgroundTraining) -> tuple[str, Tone]:
    """Return what the training does, and whether that is good news."""
    training = work.training
    if work.is_saved:
        return ("solved", "good") if training.solved else (training.status, "plain")
    if work.paused:
        return "training paused", "warn"
    if training.evaluation.trend.collapsed:
        return "collapsed, training", "warn"
    return ("solved, training", "good") if training.solved else ("training", "plain")


def _toasts(window: Window) -> tuple[Toast, ...]:
    now = perf_counter()
    window.messages = [message for message in window.messages if message.until > now]
    latest = {(m.text.split(" ")[0], m.tone): m for m in window.messages}  # of several about a speed the newest
    return tuple(Toast(m.text, m.tone, min(1.0, (m.until - now) / FADES)) for m in latest.values())

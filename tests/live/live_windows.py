"""Windows as tests open them: without a screen, driven by real events, one step at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import pygame
import pytest

from ecs_rl.cli.parse import parse_play
from ecs_rl.cli.plan import plan_of
from ecs_rl.cli.target import checkpoints_meant, run_of
from ecs_rl.ecs import entries as base
from ecs_rl.ecs.context import Columns
from ecs_rl.tasks import play_checkpoints
from ecs_rl.tasks.assemble import assemble, recorded
from ecs_rl.tasks.show import shows_of
from ecs_rl.training.training import Training
from ecs_rl.viewer import mistakes
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.frame import DESIGNED, Layout, Painter
from ecs_rl.viewer.history import History
from ecs_rl.viewer.live import screen_process
from ecs_rl.viewer.live import watch as loop_module
from ecs_rl.viewer.live.background import BackgroundTraining, WatchedRun
from ecs_rl.viewer.live.playlist import CheckpointList, Playlist
from ecs_rl.viewer.live.screen import Screen
from ecs_rl.viewer.live.watch import Loop, WatchWindow
from ecs_rl.viewer.live.window import Window
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.panel import Control
from ecs_rl.viewer.played_episodes import Ended
from ecs_rl.viewer.regions import Region
from ecs_rl.viewer.view import PaneView, StageView

SMALL = ("--arenas", "8", "--steps", "3k", "--eval-every", "1000", "--eval-episodes", "3", "--checkpoint-every", "1000")
PPO = ("--ppo.rollout", "16", "--ppo.minibatch", "64", "--ppo.epochs", "2", "--ppo.hidden", "16")
TINY = (*SMALL, *PPO)
C = TypeVar("C", bound=Control)
SLICES = 41
"""Slices of training between two frames, about three ticks, where a test wants the same frames on any machine."""


class Clock:
    """A clock that stands still unless somebody sleeps or a test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def hold(self, patch: pytest.MonkeyPatch, *modules: object) -> None:
        """Let these modules read this clock."""
        for module in modules:
            patch.setattr(module, "perf_counter", self)
            if module is loop_module:
                patch.setattr(module, "time", SimpleNamespace(sleep=self.sleep))


class Found(BaseException):
    """The window has made a mistake: it is no `Exception`, so that nothing in the program takes it for its own."""


def see_mistakes(patch: pytest.MonkeyPatch) -> None:
    """Let the test fail at the first mistake of a window that would only be reported."""

    def report(part: str, error: Exception, place: str) -> None:
        raise Found(f"'{part}' at {place}: {error!r}") from error

    patch.setattr(mistakes, "report", report)


def control(window: Window, kind: type[C]) -> C:
    """Return the control or panel of this kind."""
    found = window.panels[kind.name]
    assert isinstance(found, kind)
    return found


def layout_of(window: Window) -> Layout:
    """Return where everything is in the newest frame."""
    assert isinstance(window.screen, Screen)
    layout = window.screen.painter.newest
    assert layout is not None
    return layout


@dataclass
class Live:
    """An open window, and the training behind it if there is one."""

    window: Window
    loop: Loop
    training: Training | None = None

    @property
    def show(self) -> LiveEpisode:
        return self.window.show

    @property
    def trains(self) -> Training:
        assert self.training is not None
        return self.training

    @property
    def background(self) -> BackgroundTraining:
        assert self.window.run.background is not None
        return self.window.run.background

    def control(self, kind: type[C]) -> C:
        return control(self.window, kind)

    def frames(self, count: int = 1) -> None:
        for _ in range(count):
            self.loop.frame()

    def answer(self, *events: pygame.event.Event) -> None:
        """Let the window find these events in its queue."""
        post(*events)
        self.window.answer()

    def hit(self, *keys: str) -> None:
        for key in keys:
            self.answer(pressed(key), released(key))

    def open_aside(self) -> None:
        """Let other shows that were asked for take the place of the stage; no time passes."""
        for _ in range(3):
            self.window.advance(0.0, 0.0)

    def draw(self) -> None:
        self.window.draw()

    def slices(self, count: int = 1) -> None:
        for _ in range(count):
            if self.background.busy:
                self.background._slice()

    def finish_what_was_asked(self) -> None:
        """Let the training come to the end of all that somebody has asked for."""
        for _ in range(10_000):
            if not self.background._asked and self.background._slices is None:
                return
            self.background._slice()
        raise AssertionError("it never came to an end")

    def renew_curves(self) -> None:
        """Let the learning drawer show what there is now, and not only after its second."""
        for _ in range(2):
            self.hit("M")
            self.draw()

    def said(self) -> str:
        return " | ".join(message.text for message in self.window.messages)

    def state(self) -> Columns:
        """Return all that the stage's world is right now."""
        return self.show.world.save_columns()

    @property
    def stage(self) -> StageView:
        """The picture of the only show on the stage."""
        (pane,) = self.window.views["stage"].panes
        assert isinstance(pane.stage, StageView)
        return pane.stage

    @property
    def painter(self) -> Painter:
        assert isinstance(self.window.screen, Screen)
        return self.window.screen.painter

    @property
    def layout(self) -> Layout:
        return layout_of(self.window)

    @property
    def panes(self) -> tuple[PaneView, ...]:
        """The stages, where there are several; none where one has the room for itself."""
        view = self.window.views.get("stage")
        return view.panes if view is not None and len(view.panes) > 1 else ()

    @property
    def chips(self) -> list[str]:
        return [chip.text for chip in self.window.views["chips"]]

    @property
    def hints(self) -> tuple[tuple[str, str], ...]:
        hints: tuple[tuple[str, str], ...] = self.window.views["hints"]
        return hints

    def pixel(self, role: str, show: int = 0, member: int = 0) -> tuple[int, int]:
        """Return where a body was drawn, and no smaller one over it."""
        stage = self.window.views["stage"].panes[show].stage
        (found,) = [each for each in stage.objects if each.look.name == role]
        x, y = found.position[member].tolist()
        return self.pixel_of((x - 0.18 if role == "cart" else x, y), show)

    def pixel_of(self, point: tuple[float, float], show: int = 0) -> tuple[int, int]:
        region = self.stage_region(show)
        x, y = self.camera(show).onto(region.focus).pixel(point)
        return round(x + region.rect.x), round(y + region.rect.y)

    def metres(self, pixel: tuple[float, float], show: int = 0) -> tuple[float, float]:
        """Return the point of an arena that a pixel shows."""
        region = self.stage_region(show)
        at = pixel[0] - region.rect.x, pixel[1] - region.rect.y
        return self.camera(show).onto(region.focus).metres(at)

    def stage_region(self, show: int = 0) -> Region:
        """Return where a stage is in the newest frame."""
        (region,) = [each for each in self.regions("stage") if each.index == show]
        return region

    def camera(self, show: int = 0) -> Camera:
        """Return the camera of a stage, as the next frame has it."""
        region = self.stage_region(show)
        assert region.camera is not None
        return region.camera.aimed(self.window.stage.aim)

    def regions(self, panel: str) -> list[Region]:
        """Return what a panel has declared in the newest frame, the topmost first."""
        assert isinstance(self.window.screen, Screen)
        return [region for region in self.window.screen.painter.canvas.regions() if region.panel == panel]

    def at(self, panel: str, part: str, index: int = 0, share: float = 0.5) -> tuple[int, int]:
        """Return the pixel of a part of a panel, so far from its left."""
        (region,) = [each for each in self.regions(panel) if (each.part, each.index) == (part, index)]
        return round(region.rect.x + share * (region.rect.w - 1)), region.rect.centery

    def texts(self) -> dict[str, tuple[int, int]]:
        """Return the middle of each text that can be explained, by the text."""
        assert isinstance(self.window.screen, Screen)
        return {text: rect.center for rect, text in self.window.screen.painter.canvas.texts()}

    def tip(self) -> tuple[str, ...]:
        """Return what is said beside the mouse in the newest frame."""
        screen = self.window.screen
        assert isinstance(screen, Screen)
        return screen.tips.lines(screen.pointer, screen.painter.canvas, self.window.views)


# --- events -----------------------------------------------------------------------------------------------------------

CODES = {
    **{name: getattr(pygame, f"K_{name.upper()}") for name in ("Space", "Left", "Right", "Backspace", "Tab", "Home")},
    **{name: getattr(pygame, f"K_{name}") for name in ("F1", "F2", "F3", "F9", "F11")},
    **{name: getattr(pygame, f"K_{name.lower()}") for name in "RDPGTUMVLBNOWKHYXISAJCE"},
    **{"Up": pygame.K_UP, "Down": pygame.K_DOWN, "Ctrl+Up": pygame.K_UP, "Ctrl+Down": pygame.K_DOWN},
    **{"Enter": pygame.K_RETURN, "Esc": pygame.K_ESCAPE, "-": pygame.K_MINUS, "=": pygame.K_EQUALS, "0": pygame.K_0},
    **{
        "[": pygame.K_LEFTBRACKET,
        "]": pygame.K_RIGHTBRACKET,
        "?": pygame.K_QUESTION,
        ",": pygame.K_COMMA,
        ".": pygame.K_PERIOD,
    },
    **{f"Ctrl+{name}": getattr(pygame, f"K_{name.lower()}") for name in "SEPQRN"},
    "?": pygame.K_QUESTION,
    "PgUp": pygame.K_PAGEUP,
    "PgDn": pygame.K_PAGEDOWN,
}


def pressed(key: str) -> pygame.event.Event:
    """Return the event that a keyboard sends for a key."""
    ctrl = key.startswith("Ctrl+")
    text = "" if ctrl or len(key) > 1 else key.lower()
    return key_event(CODES[key], text, pygame.KMOD_LCTRL if ctrl else 0)


def released(key: str) -> pygame.event.Event:
    """Return the event that a keyboard sends when a key is let go."""
    return pygame.event.Event(pygame.KEYUP, key=CODES[key], mod=0, unicode="", scancode=0)


def key_event(code: int, text: str = "", mod: int = 0) -> pygame.event.Event:
    return pygame.event.Event(pygame.KEYDOWN, key=code, mod=mod, unicode=text, scancode=0)


def post(*events: pygame.event.Event) -> None:
    for event in events:
        pygame.event.post(event)


def down(at: tuple[int, int], button: int = 1) -> pygame.event.Event:
    return pygame.event.Event(pygame.MOUSEBUTTONDOWN, pos=at, button=button)


def up(at: tuple[int, int], button: int = 1) -> pygame.event.Event:
    return pygame.event.Event(pygame.MOUSEBUTTONUP, pos=at, button=button)


def moved(to: tuple[int, int], by: tuple[int, int] = (0, 0)) -> pygame.event.Event:
    return pygame.event.Event(pygame.MOUSEMOTION, pos=to, rel=by, buttons=(0, 0, 0))


def wheel(notches: int) -> pygame.event.Event:
    return pygame.event.Event(pygame.MOUSEWHEEL, x=0, y=notches, precise_x=0.0, precise_y=float(notches))


# --- windows ----------------------------------------------------------------------------------------------------------


@contextmanager
def watching(runs: Path, *args: str) -> Iterator[Live]:
    """Open the window of `train.py ... --watch`."""
    plan, training = assemble(plan_of([*(args or ("balance", *TINY)), "--watch", "--runs", str(runs)]))
    run = recorded(training, plan).path
    opened = WatchWindow.open(training, Screen.open("test", DESIGNED))
    pygame.event.clear()
    window = opened.window(training, run, lambda: None)
    live = Live(window, Loop(window), training)
    try:
        with pytest.MonkeyPatch.context() as patch:
            see_mistakes(patch)
            live.draw()
            yield live
    finally:
        window.close()
        training.stop = training.stop or "the test is over"
        live.background.finish_tick()
        training.close()
        opened.close()


@contextmanager
def seeing(*args: object, report: Callable[[int, Ended], None] = lambda number, ended: None) -> Iterator[Live]:
    """Open the window of `play.py`."""
    settings, paths = checkpoints_meant(parse_play([str(arg) for arg in args]))
    found = play_checkpoints.candidates(settings, paths)
    screen = Screen.open("test")
    pygame.event.clear()
    shows = shows_of(found, settings)
    run = run_of(found[0].path)
    assert run is not None
    checkpoints, history = CheckpointList(run, now=found[0].path), History(run)
    watched = WatchedRun(run, checkpoints=checkpoints, history=history)
    window = Window(screen, shows, watched, playlist=Playlist(shows, report))
    try:
        with pytest.MonkeyPatch.context() as patch:
            see_mistakes(patch)
            live = Live(window, Loop(window))
            live.draw()
            yield live
    finally:
        window.close()
        for show in shows:
            show.close()
        screen.close()


# --- windows that a command opens -------------------------------------------------------------------------------------

Script = Callable[[Window], Iterator[None]]


class Scripted:
    """Lets a script drive the window that a command opens; each `yield` of it is a frame.

    The training gets a fixed number of slices between two frames, so that the script meets it at the same places on
    any machine; when the script is over it gets many.
    """

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        script: Script,
        slices: int = SLICES,
        most_frames: int = 5000,
        *,
        mistakes_raise: bool = True,
    ) -> None:
        self.is_done, self._most = False, most_frames
        if mistakes_raise:
            see_mistakes(patch)
        self.frames = 0
        self._running: Iterator[None] | None = None
        self._answer = Window.answer
        patch.setattr(screen_process.ScreenProcess, "start", Screen.open)  # in this process: its events are posted here
        patch.setattr(Window, "answer", lambda window: self._frame(window, script))
        patch.setattr(loop_module, "FRAME", 1e-4)
        patch.setattr(base, "A_MOMENT", -1.0)  # every stage is a slice: frames fall into the middle of ticks

        def run(work: BackgroundTraining, until: float) -> None:
            for _ in range(5000 if self.is_done else slices):
                if work.busy:
                    work._slice()

        patch.setattr(BackgroundTraining, "run", run)

    def _frame(self, window: Window, script: Script) -> None:
        self.frames += 1
        assert self.frames < self._most, "this window never comes to an end"
        if self._running is None:
            self._running = script(window)
        self.is_done = next(self._running, self) is self
        self._answer(window)


def keys(*names: str) -> Script:
    """Return a script that presses keys, one in each frame."""

    def script(window: Window) -> Iterator[None]:
        for name in names:
            post(pressed(name), released(name))
            yield

    return script


def in_order(*scripts: Script) -> Script:
    def script(window: Window) -> Iterator[None]:
        for each in scripts:
            yield from each(window)

    return script


def wait(frames: int) -> Script:
    def script(window: Window) -> Iterator[None]:
        for _ in range(frames):
            yield

    return script


def same(ours: Columns, theirs: Columns) -> bool:
    """Return whether two worlds are in the same state, bit for bit."""
    return ours.keys() == theirs.keys() and all(ours[name].tobytes() == theirs[name].tobytes() for name in ours)


def runs_in(folder: Path) -> Sequence[Path]:
    return [path for path in folder.rglob("*") if path.name == "metadata.json"]

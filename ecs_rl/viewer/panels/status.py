"""The status line: scene, run and state to the left, progress in the middle, speed and best to the right."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

import pygame

from ecs_rl.viewer.canvas import LARGE, NORMAL, SMALL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.fonts import Face
from ecs_rl.viewer.number_formats import count, duration, short, speed, steady
from ecs_rl.viewer.palette import DIM, FAINT, MAIN_LINE, PANEL, RAISED, RULE, TEXT, Colour, mix
from ecs_rl.viewer.panel import App, Panel
from ecs_rl.viewer.stage import TONES
from ecs_rl.viewer.view import Tone

if TYPE_CHECKING:
    from ecs_rl.viewer.live.background import BackgroundTraining

HEIGHT = 34
READABLE = 0.2
"""Seconds for which the line stays as it is."""
MEASURED_EVERY, STEADY = 1.0, 10.0
"""Seconds between two measurements of the speed, and over which it is averaged."""


@dataclass(frozen=True)
class StatusView:
    """What the line says; None is what nobody knows yet."""

    scene: str
    run: str = ""
    state: str = "training"
    tone: Tone = "plain"
    steps: int | None = 0
    steps_total: int | None = None
    seconds_left: float | None = None
    steps_per_second: float | None = None
    speed_asked: float = 1.0
    """Times real time; infinity for as fast as possible."""
    speed_reached: float | None = None
    best: float | None = None
    """Mean score or return of the best evaluation, and the step it was at."""
    best_at: int | None = None
    hint: str = "F1 help"
    lessons: str = ""
    """Where the scene's lessons stand."""
    counted: str = ""
    """What `best` counts, `""` for the return."""


WORDS = {
    "lesson": "How far the task has grown that training plays; evaluations and the stage have the full one.",
    "best": "The best evaluation so far; its policy is kept as `best`.",
    "steps": "Decisions of one arena each: what training is measured in.",
    "steps/s": "Decisions of all arenas a second, over the last ten seconds.",
    "left": "How long it takes at this speed until all steps are done.",
    "stage speed": "How fast the stage plays: 1x is real time. The training does not care.",
    "TRAINING": "The policy learns in arenas of its own, behind the stage.",
    "TRAINING AT": "Training keeps to this pace so that there is something to see; O changes it.",
    "TRAINING PAUSED": "Nothing is learned until T lets the training go on; the stage plays.",
    "SOLVED": "An evaluation has reached the number at which the scene counts as solved.",
    "SOLVED, TRAINING": "An evaluation has reached the number at which the scene counts as solved; training goes on.",
    "COLLAPSED, TRAINING": "The newest evaluations are far below the best one, whose policy is kept as `best`.",
    "FINISHED": "All steps are done; the stage plays the policy as it is now.",
    "INTERRUPTED": "Training was stopped before all steps were done; --resume goes on.",
    "PLAYING": "A policy plays that was trained before; nothing learns.",
}


class Status(Panel[StatusView]):
    """Shows how far the training is and how fast it goes; measures its speed."""

    name = "status"
    place = "top"
    words = WORDS

    def __init__(self) -> None:
        self.steps_per_second: float | None = None
        self._counts: deque[tuple[float, int]] = deque(maxlen=round(STEADY / MEASURED_EVERY) + 1)
        """When, and how many steps there were then."""
        self._view: StatusView | None = None
        self._due = self._measure_due = 0.0

    def view(self, app: App) -> StatusView:
        """Return the line; while only its numbers change, it is the same one for a while."""
        now = perf_counter()
        if app.run.background is not None and now >= self._measure_due:
            self._measure_due = now + MEASURED_EVERY
            self._measure(app.run.background, now)
        made = self._made(app)
        if self._view is None or now >= self._due or _without_numbers(made) != _without_numbers(self._view):
            self._due, self._view = now + READABLE, made
        return self._view

    def thickness(self, scale: float, size: tuple[int, int]) -> int:
        """Return the height of the line."""
        return round(HEIGHT * scale)

    def paint(self, canvas: Canvas, view: StatusView, room: pygame.Rect) -> None:
        """Paint the line."""
        canvas.lay(canvas.surface, room, self.name, view, _paint)

    def _measure(self, work: BackgroundTraining, now: float) -> None:
        steps = work.training.session.total_steps
        if work.paused or (self._counts and steps < self._counts[-1][1]):
            self._counts.clear()
        if work.paused:
            return
        self._counts.append((now, steps))
        (first, before), passed = self._counts[0], now - self._counts[0][0]
        if passed > 0:
            self.steps_per_second = (steps - before) / (now - first)

    def _made(self, app: App) -> StatusView:
        show, work = app.show, app.run.background
        reached = None if show.paused else show.reached
        name, state = show.scene.name, "paused" if show.paused else "playing"
        if work is None:
            return StatusView(name, app.run.name, state, steps=None, speed_asked=show.speed, speed_reached=reached)
        training, session = work.training, work.training.session
        rate = None if work.paused or work.is_saved else self.steps_per_second
        return StatusView(
            name,
            app.run.name,
            *_state(work),
            steps=session.total_steps,
            steps_total=training.steps_total,
            seconds_left=training.seconds_left(rate) if rate else None,
            steps_per_second=rate,
            speed_asked=show.speed,
            speed_reached=reached,
            best=session.best_eval,
            best_at=session.best_step,
            counted="Elo" if hasattr(session.agent, "elo") else "score" if show.scene.score else "",
            lessons=str(training.lessons),
        )


def _without_numbers(view: StatusView) -> StatusView:
    return replace(view, steps=0, seconds_left=None, steps_per_second=None, speed_reached=None)


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


# --- painting ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Word:
    """A piece of the line; the smaller its rank, the longer it stays when there is no room."""

    text: str
    rank: int
    colour: Colour = TEXT
    face: Face = "words"
    gap: int = 5
    """Space before it."""


def _paint(surface: pygame.Surface, status: StatusView, canvas: Canvas) -> None:
    w, h = surface.get_size()
    surface.fill(PANEL)
    _progress(surface, status, canvas)
    middle, edge = (h - canvas.px(2)) / 2, canvas.px(14)
    left = _title(surface, status, canvas, (edge, middle))
    words = _words(status)
    while words and sum(_wide(word, canvas) for word in words) > w - left - edge - canvas.px(16):
        words = [word for word in words if word.rank != max(word.rank for word in words)]
    x = float(w - edge - sum(_wide(word, canvas) for word in words))
    for word in words:
        x += canvas.px(word.gap)
        x += canvas.write(surface, word.text, (x, middle), colour=word.colour, face=word.face).w


def _wide(word: Word, canvas: Canvas) -> int:
    return canvas.px(word.gap) + canvas.width(word.text, NORMAL, word.face)


def _title(surface: pygame.Surface, status: StatusView, canvas: Canvas, at: tuple[float, float]) -> int:
    """Draw scene, state and run; return where the rest may begin."""
    w = surface.get_width()
    x, y = at
    x += canvas.write(surface, status.scene, at, size=LARGE, width=w // 4).w + canvas.px(10)
    colour = TONES[status.tone] if status.tone != "plain" else MAIN_LINE
    state = status.state.upper()
    pill = pygame.Rect(round(x), 0, canvas.width(state, SMALL - 0.5) + canvas.px(16), canvas.px(18))
    pill.centery = round(y)
    rounded(surface, pill, mix(PANEL, colour, 0.22), radius=pill.h // 2)
    canvas.write(surface, state, pill.center, size=SMALL - 0.5, colour=mix(colour, TEXT, 0.35), anchor="middle")
    x = pill.right + canvas.px(10)
    if w > canvas.px(1080):
        x += canvas.write(surface, status.run, (x, y), size=SMALL, colour=FAINT, width=w // 6).w
    return round(x)


def _words(status: StatusView) -> list[Word]:
    number: Face = "numbers"
    total = f"/{count(status.steps_total)}" if status.steps_total else ""
    words = []
    if status.steps is not None:
        words += [Word(steady(status.steps) + total, 1, face=number, gap=0), Word("steps", 1, DIM)]
    if status.steps_per_second is not None:
        words += [Word(f"{steady(status.steps_per_second):>6}", 5, face=number, gap=18), Word("steps/s", 5, DIM)]
    if status.seconds_left is not None:
        words += [Word(duration(status.seconds_left), 4, face=number, gap=18), Word("left", 4, DIM)]
    if status.lessons:
        words += [Word("lesson", 3, DIM, gap=18), Word(status.lessons, 3)]
    if status.best is not None:
        at = f"at {count(status.best_at)}" if status.best_at is not None else ""
        words += [
            Word(f"best {status.counted}".rstrip(), 2, DIM, gap=18),
            Word(short(status.best), 2, face=number),
            Word(at, 6, DIM),
        ]
    words += [Word("stage speed", 3, DIM, gap=18), Word(speed(status.speed_asked), 3, face=number, gap=7)]
    reached = status.speed_reached
    if reached is not None and not 0.9 < reached / max(status.speed_asked, 1e-9) < 1.1:
        words.append(Word(f"(reaches {speed(reached)})".rjust(15), 5, DIM, number))
    return [*words, Word(status.hint, 0, MAIN_LINE, gap=20)] if status.hint else words


def _progress(surface: pygame.Surface, status: StatusView, canvas: Canvas) -> None:
    w, h = surface.get_size()
    tall = canvas.px(2)
    surface.fill(RAISED if status.steps_total else RULE, (0, h - tall, w, tall))
    if status.steps_total and status.steps is not None:
        share = min(max(status.steps / status.steps_total, 0.0), 1.0)
        surface.fill(MAIN_LINE, (0, h - tall, round(w * share), tall))

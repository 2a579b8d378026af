"""What the window shows, as a View: gathered anew for each frame, what few can read that fast more seldom."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from ecs_rl.viewer.inspector import inspect
from ecs_rl.viewer.live.keys import help_groups, hints
from ecs_rl.viewer.studio import pane_of
from ecs_rl.viewer.view import (
    InspectorView,
    LearningView,
    Modes,
    StageView,
    StatusView,
    Toast,
    Tone,
    View,
)

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window
    from ecs_rl.viewer.live.work import Work

READABLE = 0.2
"""Seconds for which the status line stays as it is."""
LEARNING_EVERY = 1.0
"""Seconds between two looks at the run's files."""
FADES = 0.6
"""Seconds that a message takes to fade."""


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
            self._measure(window, now)
        elif window.history is not None and window.history.behind:
            window.history.read()

    def _measure(self, window: Window, now: float) -> None:
        if window.work is None:
            return
        steps, passed = window.work.training.session.total_steps, now - self._since
        if self._steps and steps >= self._steps and passed > 0:
            self.steps_per_second = (steps - self._steps) / passed
        self._steps, self._since = steps, now


def view(window: Window, seconds: float) -> View:
    """Return what to show, so many seconds after the last frame."""
    rates, panels = window.rates, window.panels
    rates.look(window)
    several = len(window.shows) > 1
    stage = None
    if window.programme is not None:
        for number, show in enumerate(window.shows):
            show.note = window.programme.note(number, window.shows)
    if window.grid is None and not several:
        stage = window.show.stage(selected=window.selected)
    return View(
        status=rates.status or status(window),
        modes=_modes(window),
        stage=stage,
        grid=window.grid.view(seconds) if window.grid is not None else None,
        mind=window.show.mind.view() if "mind" in panels and not several and window.grid is None else None,
        learning=rates.learning if "learning" in panels else None,
        profile=window.profiler.view() if "profile" in panels else None,
        inspector=_inspector(window, stage),
        help=help_groups(trains=window.work is not None) if "help" in panels else None,
        toasts=_toasts(window),
        hints=hints(
            trains=window.work is not None,
            grid=window.grid is not None,
            paused=window.show.paused,
            choice=window.shelf is not None and not several,
        ),
        panes=tuple(pane_of(show) for show in window.shows) if several else (),
    )


def status(window: Window) -> StatusView:
    """Return the line at the top."""
    show, work = window.show, window.work
    reached = None if show.paused else show.reached
    if work is None:
        return StatusView(
            show.scene.name,
            window.run,
            "paused" if show.paused else "playing",
            steps=None,
            speed_asked=show.speed,
            speed_reached=reached,
        )
    session = work.training.session
    total = work.training.steps_total
    rate = None if work.paused or work.is_saved else window.rates.steps_per_second
    state, tone = _state(work)
    left = max(0, total - session.total_steps) / rate if rate else None
    return StatusView(
        show.scene.name,
        window.run,
        state,
        tone,
        steps=session.total_steps,
        steps_total=total,
        seconds_left=left,
        steps_per_second=rate,
        speed_asked=show.speed,
        speed_reached=reached,
        best=session.best_eval,
        best_at=session.best_step,
    )


def _state(work: Work) -> tuple[str, Tone]:
    """Return what the training does, and whether that is good news."""
    training = work.training
    if work.is_saved:
        return ("solved", "good") if training.solved else (training.status, "plain")
    if work.paused:
        return "training paused", "warn"
    return ("solved, training", "good") if training.solved else ("training", "plain")


def _modes(window: Window) -> Modes:
    return Modes(
        paused=window.show.paused,
        training_paused=window.work is not None and window.work.paused,
        turbo=window.turbo,
        sampled=window.show.sampled if window.grid is None else None,
        recording=window.recorder.film is not None,
    )


def _inspector(window: Window, stage: StageView | None) -> InspectorView | None:
    show = window.show
    if window.selected is None or stage is None:
        return None
    return inspect(show.world, show.arena, window.selected)


def _toasts(window: Window) -> tuple[Toast, ...]:
    now = perf_counter()
    window.messages = [message for message in window.messages if message.until > now]
    latest = {(m.text.split(" ")[0], m.tone): m for m in window.messages}  # of several about a speed the newest
    return tuple(Toast(m.text, m.tone, min(1.0, (m.until - now) / FADES)) for m in latest.values())

"""What a window shows at a moment, as the view model: from its shows, its training and its messages."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ecs_rl.session.diagnosis import Finding
from ecs_rl.viewer.films.studio import pane_of
from ecs_rl.viewer.live.commands import hints
from ecs_rl.viewer.live.human import HumanPlaylist
from ecs_rl.viewer.live.pace import OPENS
from ecs_rl.viewer.number_formats import speed
from ecs_rl.viewer.view import (
    LearningView,
    MindView,
    Modes,
    PaneView,
    StageView,
    StatusView,
    Toast,
    Tone,
    View,
)
from ecs_rl.viewer.view_floating import RewindView, RibbonView, TimelineView

if TYPE_CHECKING:
    from ecs_rl.viewer.live.background import BackgroundTraining
    from ecs_rl.viewer.live.window import Window
    from ecs_rl.viewer.live_episode import LiveEpisode
    from ecs_rl.viewer.mind import Mind

SPOKEN, FADES = 3.5, 0.6
"""Seconds for which a message stays, and the last of them in which it fades."""
READABLE = 0.2
"""Seconds for which the status line stays as it is."""
LEARNING_EVERY = 1.0
"""Seconds for which the curves stay as they are: painting them takes a while."""
READ_EVERY = 0.09
"""Seconds for which the mind and what each tick earned stay as they are while a training goes flat out."""
STEADY = 10.0
"""Seconds over which steps per second, and so the time left, are averaged."""
LEFT_OUT = object()
"""In place of a part of the view that made a mistake."""


@dataclass
class Message:
    """Something the window says for a while."""

    text: str
    tone: Tone
    until: float


class Rates:
    """Numbers that are measured over a while, and parts of the view that are not made anew in every frame."""

    def __init__(self) -> None:
        self.steps_per_second: float | None = None
        self.learning: LearningView | None = None
        self.status: StatusView | None = None
        self.kept: tuple[float, ...] = ()
        """The steps of the policies that can be put on the stage."""
        self._counts: deque[tuple[float, int]] = deque(maxlen=round(STEADY / LEARNING_EVERY) + 1)
        """When, and how many steps there were then."""
        self._status_due = self._learning_due = self._mind_age = 0.0
        self._mind: tuple[Mind, MindView, RibbonView] | None = None

    def look(self, window: Window) -> None:
        """Renew what is due."""
        now = perf_counter()
        if now >= self._status_due or window.stale:
            self._status_due = now + READABLE
            self.status = status(window)
        if now >= self._learning_due and window.history is not None:
            self._learning_due = now + LEARNING_EVERY
            self.learning = window.history.refresh()
            if window.checkpoints is not None:
                self.kept = tuple(choice.step for choice in window.checkpoints.choices())
            if window.background is not None and window.background.paused:
                self._counts.clear()
            elif window.background is not None:
                self._measure(window.background.training.session.total_steps, now)

    def mind(self, window: Window, mind: Mind, seconds: float) -> tuple[MindView, RibbonView]:
        """Return what an agent sees and expects, and what its last ticks have earned.

        Of the moment in the picture, but for a stage that moves beside a training that goes flat out: there of up to
        a tenth of a second before.
        """
        work = window.background
        wanted = work is not None and work.busy and math.isinf(work.times_real)
        moves = wanted and not (window.show.paused or window.stale)
        self._mind_age += seconds
        if not moves or self._mind_age >= READ_EVERY or self._mind is None or self._mind[0] is not mind:
            self._mind_age = 0.0
            self._mind = mind, mind.view(), mind.ribbon()
        return self._mind[1], self._mind[2]

    def _measure(self, steps: int, now: float) -> None:
        if self._counts and steps < self._counts[-1][1]:
            self._counts.clear()
        self._counts.append((now, steps))
        (first, before), passed = self._counts[0], now - self._counts[0][0]
        if passed > 0:
            self.steps_per_second = (steps - before) / (now - first)


def view(window: Window, seconds: float) -> View:
    """Return what to show, so many seconds after the last frame; a part that makes a mistake is left out."""
    attempt, found = window.mistakes.attempt, dict[str, Any]()
    attempt("numbers", partial(window.rates.look, window), None)
    look = partial(window.rates.mind, window, window.show.mind, seconds)
    mind = attempt("mind", look, None) if window.grid is None and len(window.shows) == 1 else None
    for name, part in _parts(window, seconds, mind).items():
        value = attempt(name, part, LEFT_OUT)
        if value is not LEFT_OUT:
            found[name] = value
    return View(**({"status": StatusView(window.show.scene.name)} | found))


def views(window: Window) -> dict[str, Any]:
    """Return what each panel shows; a panel that makes a mistake is left out."""
    found = {
        name: window.mistakes.attempt(name, partial(panel.view, window), None) for name, panel in window.panels.items()
    }
    return {name: view for name, view in found.items() if view is not None}


def _parts(window: Window, seconds: float, mind: tuple[MindView, RibbonView] | None) -> dict[str, Callable[[], Any]]:
    """Return what makes each part of the view, by its name there."""
    rates, panels, shows, grid = window.rates, window.open_panels, window.shows, window.grid
    alone, ask = len(shows) == 1, window.questions
    _note_playlist(window)
    on_stage = window.show if grid is None and alone else None
    selected = window.selected if on_stage is not None else None
    parts: dict[str, Callable[[], Any]] = {
        "status": lambda: rates.status or status(window),
        "modes": lambda: _modes(window, on_stage),
        "grid": lambda: None if grid is None else grid.view(seconds),
        "learning": lambda: rates.learning if "learning" in panels else None,
        "timeline": lambda: _timeline(window) if alone and window.aside is None else None,
        "rewind": lambda: _rewind(window),
        "tip": window.hover.tip,
        "finding": lambda: finding(window),
        "toasts": lambda: _toasts(window),
        "hints": lambda: _hints(window),
        "panes": lambda: () if alone else tuple(_pane(window, show) for show in shows),
    }
    if on_stage is not None:
        parts |= {
            "stage": lambda: ask.stage(prompted(window, marked(on_stage, on_stage.stage(selected=selected)))),
            "mind": lambda: ask.mind(mind[0]) if mind is not None and "mind" in panels else None,
            "ribbon": lambda: None if mind is None else mind[1],
            "ghosts": lambda: ask.ghosts,
        }
    return parts


def _note_playlist(window: Window) -> None:
    """Let each show say where the playlist is."""
    if window.playlist is not None and window.aside is None:
        for number, show in enumerate(window.shows):
            show.note = window.playlist.note(number, window.shows)


def _modes(window: Window, on_stage: LiveEpisode | None) -> Modes:
    """Return what is switched on."""
    work, grid, lead = window.background, window.grid, window.past.lead
    return Modes(
        paused=window.show.paused,
        training_paused=work is not None and work.paused,
        turbo=window.turbo,
        sampled=window.show.sampled if grid is None and not window.show.replays else None,
        recording=window.recorder.film is not None,
        pace=_pace(window),
        asks=window.questions.asks_why and on_stage is not None,
        maps=window.questions.maps and on_stage is not None,
        ago=lead.ago if grid is None and lead.at is not None else None,
        aside=("", "") if window.aside is None else (window.aside.title, window.aside.key),
        hands="H" if window.hands is not None and not window.hands.counts else "",
    )


def _hints(window: Window) -> tuple[tuple[str, str], ...]:
    """Return the keys that matter most now."""
    return human_hints(window) or hints(
        trains=window.background is not None,
        grid=window.grid is not None,
        paused=window.show.paused,
        choice=window.checkpoints is not None and len(window.shows) == 1,
        leads_back="" if window.aside is None else window.aside.key,
        back=window.past.lead.at is not None,
    )


def marked(show: LiveEpisode, stage: StageView) -> StageView:
    """Return the stage with a mark on the body of the agent whose mind is shown, where there are several agents."""
    name, body = show.mind.name, show.mind.body
    return replace(stage, watched=(body, name)) if name and body is not None else stage


def prompted(window: Window, stage: StageView) -> StageView:
    """Return the stage, with a sign that says what to press where an episode waits for the person."""
    playlist = window.playlist
    if not (isinstance(playlist, HumanPlaylist) and playlist.waits) or window.aside is not None:
        return stage
    keys = "  ".join(f"{key} {what}" for key, what in playlist.hands.controls.told)
    return replace(stage, ending=f"{keys}:  press one to start")


def _pane(window: Window, show: LiveEpisode) -> PaneView:
    pane = pane_of(show)
    drives = window.hands is not None and window.hands.show is show
    return replace(pane, stage=prompted(window, pane.stage)) if drives else pane


def human_hints(window: Window) -> tuple[tuple[str, str], ...]:
    """Return the keys that matter to a person at the controls, none while the policy drives."""
    hands, playlist = window.hands, window.playlist
    if hands is None:
        return ()
    last: tuple[tuple[str, str], ...] = (("H", "hand it back"),)
    if window.aside is not None:
        last = (("Y", "back"),)
    elif isinstance(playlist, HumanPlaylist):
        last = (("R", "again"), ("Backspace", "next"))
    first = (("Space", "go on"),) if window.show.paused else ()
    return (*first, *hands.controls.told, *last, ("F1", "all keys"))


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
        counted="Elo" if hasattr(session.agent, "elo") else "score" if show.scene.score else "",
        lessons=str(work.training.lessons),
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
    playlist = window.playlist
    if isinstance(playlist, HumanPlaylist) and playlist.verdict is not None and window.aside is None:
        text, tone = playlist.verdict
        return (Toast(f"{text}  ·  any of your keys: the next one", tone),)
    latest = {(m.text.split(" ")[0], m.tone): m for m in window.messages}  # of several about a speed the newest
    return tuple(Toast(m.text, m.tone, min(1.0, (m.until - now) / FADES)) for m in latest.values())


def _pace(window: Window) -> str:
    """Return how fast the training may go where that is not flat out, as a chip says it."""
    work = window.background
    if work is None or work.is_saved or math.isinf(work.times_real):
        return ""
    return f"TRAINING AT {speed(work.times_real)}{', OPENS UP' if work.pace.name == OPENS else ''}"


def finding(window: Window) -> Finding | None:
    """Return what is wrong with the training, unless the user has seen it."""
    found = None if window.background is None else window.background.training.finding
    return None if found is None or found.name in window.hidden else found


def hide_finding(window: Window, pixel: tuple[float, float]) -> bool:
    """Hide the finding that is under a pixel, until there is another one; tell whether there was any."""
    seen, place = window.seen.finding, window.layout.finding
    if seen is None or place is None or not place.collidepoint(pixel):
        return False
    window.hidden |= {seen.name}
    return True


def _timeline(window: Window) -> TimelineView | None:
    """Return where the policy on the stage stands among those of the run; None where there is no run."""
    if window.checkpoints is None:
        return None
    step, label = window.checkpoints.step, window.show.label
    return TimelineView(window.rates.kept, step, "now" if math.isinf(step) else label)


def _rewind(window: Window) -> RewindView | None:
    """Return the past of the stage while it rests or is to be seen."""
    past = window.past.lead
    rests = window.show.paused or past.at is not None
    return past.view() if window.grid is None and rests and past.seconds > 0 else None

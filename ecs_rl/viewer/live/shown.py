"""What a window shows at a moment, as the view model: from its shows, its training and its messages."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ecs_rl.viewer.live.commands import hints
from ecs_rl.viewer.live.human import HumanPlaylist
from ecs_rl.viewer.live.pace import OPENS
from ecs_rl.viewer.number_formats import speed
from ecs_rl.viewer.palette import BAD, DIM, GOOD, WARN
from ecs_rl.viewer.panel import Chip
from ecs_rl.viewer.panels.scrubber import lead_of
from ecs_rl.viewer.view import (
    Toast,
    Tone,
    View,
)

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window

SPOKEN, FADES = 3.5, 0.6
"""Seconds for which a message stays, and the last of them in which it fades."""
LEFT_OUT = object()
"""In place of a part of the view that made a mistake."""


@dataclass
class Message:
    """Something the window says for a while."""

    text: str
    tone: Tone
    until: float


def view(window: Window, seconds: float) -> View:
    """Return what to show, so many seconds after the last frame; a part that makes a mistake is left out."""
    attempt, found = window.mistakes.attempt, dict[str, Any]()
    for name, part in _parts(window, seconds).items():
        value = attempt(name, part, LEFT_OUT)
        if value is not LEFT_OUT:
            found[name] = value
    return View(**found)


def views(window: Window) -> dict[str, Any]:
    """Return what each panel shows; a panel that makes a mistake is left out."""
    found = {
        name: window.mistakes.attempt(name, partial(panel.view, window), None) for name, panel in window.panels.items()
    }
    return {name: view for name, view in found.items() if view is not None}


def _parts(window: Window, seconds: float) -> dict[str, Callable[[], Any]]:
    """Return what makes each part of the view, by its name there."""
    shows, grid = window.shows, window.grid
    alone = len(shows) == 1
    _note_playlist(window)
    on_stage = window.show if grid is None and alone else None
    parts: dict[str, Callable[[], Any]] = {
        "toasts": lambda: _toasts(window),
    }
    if on_stage is not None:
        parts |= {}
    return parts


def _note_playlist(window: Window) -> None:
    """Let each show say where the playlist is."""
    if window.playlist is not None and window.aside is None:
        for number, show in enumerate(window.shows):
            show.note = window.playlist.note(number, window.shows)


def chips(window: Window) -> tuple[Chip, ...]:
    """Return a chip for everything that is not as usual, the most surprising one first."""
    work, show, ask = window.background, window.show, window.questions
    alone, lead = window.grid is None and len(window.shows) == 1, lead_of(window.shows)
    sampled = "SAMPLED ACTIONS" if show.sampled else "BEST ACTIONS"
    rests = work is not None and work.paused
    found = (
        (show.paused, Chip("PAUSED", "Space", WARN)),
        (window.grid is None and lead.at is not None, Chip(f"{lead.ago:.1f} S AGO", "Esc")),
        (ask.asks_why and alone, Chip("WHY?", "I")),
        (ask.maps and alone, Chip("VALUE MAP", "X")),
        (
            window.aside is not None,
            Chip(*(("", "") if window.aside is None else (window.aside.title, window.aside.key))),
        ),
        (window.hands is not None and not window.hands.counts, Chip("YOU DRIVE", "H", GOOD)),
        (rests, Chip("TRAINING PAUSED", "T", WARN)),
        (bool(_pace(window)) and not rests, Chip(_pace(window), "O")),
        (window.recorder.film is not None, Chip("RECORDING", "V", BAD, dot=True)),
        (window.turbo, Chip("TURBO", "U", WARN)),
        (window.grid is None and not show.replays, Chip(sampled, "D", DIM)),
    )
    of_panels = (chip for panel in window.panels.values() for chip in panel.chips(window))
    return (*(chip for is_on, chip in found if is_on), *of_panels)


def hints_now(window: Window) -> tuple[tuple[str, str], ...]:
    """Return the keys that matter most now, after the first one those of panels."""
    human = human_hints(window)
    if human:
        return human
    found = hints(
        trains=window.background is not None,
        grid=window.grid is not None,
        paused=window.show.paused,
        choice=window.checkpoints is not None and len(window.shows) == 1,
        leads_back="" if window.aside is None else window.aside.key,
        back=lead_of(window.shows).at is not None,
    )
    of_panels = (hint for panel in window.panels.values() for hint in panel.hints(window))
    return (found[0], *of_panels, *found[1:])


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

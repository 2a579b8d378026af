"""What a window shows at a moment: the views of its panels, its chips and its hints."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from ecs_rl.viewer.live.commands import hints
from ecs_rl.viewer.live.human import HumanPlaylist
from ecs_rl.viewer.live.pace import OPENS
from ecs_rl.viewer.number_formats import speed
from ecs_rl.viewer.palette import BAD, DIM, GOOD, WARN
from ecs_rl.viewer.panel import Chip
from ecs_rl.viewer.panels.scrubber import lead_of

if TYPE_CHECKING:
    from ecs_rl.viewer.live.window import Window


def views(window: Window) -> dict[str, Any]:
    """Return what each panel shows; a panel that makes a mistake is left out."""
    _note_playlist(window)
    found = {
        name: window.mistakes.attempt(name, partial(panel.view, window), None) for name, panel in window.panels.items()
    }
    return {name: view for name, view in found.items() if view is not None}


def _note_playlist(window: Window) -> None:
    """Let each show say where the playlist is."""
    if window.playlist is not None and window.aside is None:
        for number, show in enumerate(window.shows):
            show.note = window.playlist.note(number, window.shows)


def chips(window: Window) -> tuple[Chip, ...]:
    """Return a chip for everything that is not as usual, the most surprising one first."""
    work, show, lead = window.background, window.show, lead_of(window.shows)
    sampled = "SAMPLED ACTIONS" if show.sampled else "BEST ACTIONS"
    rests = work is not None and work.paused
    of_panels = (chip for panel in window.panels.values() for chip in panel.chips(window))
    found = (
        (show.paused, Chip("PAUSED", "Space", WARN)),
        (window.grid is None and lead.at is not None, Chip(f"{lead.ago:.1f} S AGO", "Esc")),
        *((True, chip) for chip in of_panels),
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
    return tuple(chip for is_on, chip in found if is_on)


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


def _pace(window: Window) -> str:
    """Return how fast the training may go where that is not flat out, as a chip says it."""
    work = window.background
    if work is None or work.is_saved or math.isinf(work.times_real):
        return ""
    return f"TRAINING AT {speed(work.times_real)}{', OPENS UP' if work.pace.name == OPENS else ''}"

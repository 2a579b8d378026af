"""Keys: which key gives which command. The help and the hints on the screen are made from this table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pygame

from ecs_rl.viewer.live.commands import (
    ChangeSpeed,
    Command,
    EvaluateNow,
    LeaveMode,
    NewEpisode,
    Pause,
    PauseTraining,
    PickArena,
    PickCheckpoint,
    Poke,
    Quit,
    RealTime,
    ResetCamera,
    SameSeed,
    SaveCheckpoint,
    Screenshot,
    ShowArena,
    Step,
    ToggleFullScreen,
    ToggleGrid,
    TogglePanel,
    ToggleRecording,
    ToggleSampling,
    ToggleTurbo,
)
from ecs_rl.viewer.view import HelpGroup

CTRL = pygame.KMOD_CTRL | pygame.KMOD_META


@dataclass(frozen=True)
class Binding:
    """One key: by its code, or by the character it writes where keyboards differ."""

    label: str
    command: Command
    codes: tuple[int, ...] = ()
    characters: str = ""
    ctrl: bool = False
    trains: bool = False
    """Only while something trains."""


def _key(label: str, command: Command, *codes: int, ctrl: bool = False, trains: bool = False) -> Binding:
    return Binding(label, command, codes, "", ctrl, trains)


def _character(label: str, command: Command, characters: str, *codes: int) -> Binding:
    return Binding(label, command, codes, characters)


BINDINGS: tuple[Binding, ...] = (
    _key("Space", Pause(), pygame.K_SPACE),
    _key("Right", Step(), pygame.K_RIGHT),
    _character("-", ChangeSpeed(-1), "-", pygame.K_KP_MINUS),
    _character("=", ChangeSpeed(+1), "=+", pygame.K_KP_PLUS),
    _character("0", RealTime(), "0", pygame.K_KP0),
    _key("Backspace", NewEpisode(), pygame.K_BACKSPACE),
    _key("R", SameSeed(), pygame.K_r),
    _character("[", PickArena(-1), "["),
    _character("]", PickArena(+1), "]"),
    _character(",", PickCheckpoint(-1), ",<"),
    _character(".", PickCheckpoint(+1), ".>"),
    _key("D", ToggleSampling(), pygame.K_d),
    _key("P", Poke(), pygame.K_p),
    _key("G", ToggleGrid(), pygame.K_g, trains=True),
    _key("Enter", ShowArena(), pygame.K_RETURN, pygame.K_KP_ENTER, trains=True),
    _key("T", PauseTraining(), pygame.K_t, trains=True),
    _key("U", ToggleTurbo(), pygame.K_u, trains=True),
    _key("Ctrl+S", SaveCheckpoint(), pygame.K_s, ctrl=True, trains=True),
    _key("Ctrl+E", EvaluateNow(), pygame.K_e, ctrl=True, trains=True),
    _key("Tab", TogglePanel("mind"), pygame.K_TAB),
    _key("M", TogglePanel("learning"), pygame.K_m),
    _key("F1", TogglePanel("help"), pygame.K_F1),
    _key("F3", TogglePanel("profile"), pygame.K_F3),
    _key("F11", ToggleFullScreen(), pygame.K_F11),
    _key("V", ToggleRecording(), pygame.K_v),
    _key("Ctrl+P", Screenshot(), pygame.K_p, ctrl=True),
    _key("Home", ResetCamera(), pygame.K_HOME),
    _key("Esc", LeaveMode(), pygame.K_ESCAPE),
    _key("Ctrl+Q", Quit(), pygame.K_q, ctrl=True),
)

HELP: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Stage",
        (
            ("Space", "pause and go on"),
            ("Right", "one tick"),
            ("- =", "slower, faster: 1/16x to 64x, max"),
            ("0", "real time"),
            ("Backspace", "new episode"),
            ("R", "same seed again"),
            ("[ ]", "another arena"),
        ),
    ),
    (
        "Policy",
        (
            (", .", "earlier, later checkpoint"),
            ("D", "best action or drawn at random"),
        ),
    ),
    (
        "Training",
        (
            ("T", "pause training"),
            ("U", "turbo: 4 frames a second"),
            ("G", "grid of all training arenas"),
            ("Enter", "chosen arena to the stage"),
            ("Ctrl+S", "checkpoint now"),
            ("Ctrl+E", "evaluate now"),
        ),
    ),
    (
        "Hands",
        (
            ("Left-drag", "pull a body"),
            ("Click", "inspect a body"),
            ("P", "poke: a random kick"),
            ("Wheel", "zoom at the cursor"),
            ("Right-drag", "move the picture"),
            ("Home", "show the whole arena"),
        ),
    ),
    (
        "Window",
        (
            ("Tab", "the agent's mind"),
            ("M", "how learning goes"),
            ("F1", "this help"),
            ("F3", "where the time goes"),
            ("F11", "full screen"),
            ("V", "record a film"),
            ("Ctrl+P", "picture of the window"),
            ("Esc", "leave a mode"),
            ("Ctrl+Q", "save and quit"),
        ),
    ),
)


def command_for(event: pygame.event.Event, *, trains: bool) -> Command | None:
    """Return what a pressed key asks for."""
    ctrl = bool(event.mod & CTRL)
    character = getattr(event, "unicode", "")
    for binding in BINDINGS:
        hit = event.key in binding.codes or (character and character in binding.characters)
        # AltGr, with which some keyboards write brackets, says Ctrl as well.
        if hit and (binding.ctrl == ctrl or binding.characters) and (trains or not binding.trains):
            return binding.command
    return None


def help_groups(*, trains: bool) -> tuple[HelpGroup, ...]:
    """Return the help, without the keys that do nothing here."""
    without = set() if trains else {binding.label for binding in BINDINGS if binding.trains}
    groups = [(title, tuple(row for row in rows if row[0] not in without)) for title, rows in HELP]
    return tuple(HelpGroup(title, rows) for title, rows in groups if rows)


def hints(*, trains: bool, grid: bool, paused: bool, choice: bool) -> tuple[tuple[str, str], ...]:
    """Return the keys that matter most right now."""
    if grid:
        return (("[ ]", "choose"), ("Enter", "watch it"), ("G", "back to the stage"), ("F1", "all keys"))
    first = (("Space", "go on"), ("Right", "one tick")) if paused else (("Space", "pause"),)
    which = ((", .", "checkpoint"),) if choice else ()
    more: Iterable[tuple[str, str]] = (("- =", "speed"), *which, ("P", "poke"), ("Drag", "pull"))
    last = (("G", "all arenas"), ("U", "turbo")) if trains else (("R", "again"), ("Backspace", "next"))
    return (("F1", "help"), *first, *more, *last)


def keys_table() -> str:
    """Return the help as the README's table."""
    rows = ["| | keys |", "|---|---|"]
    for title, keys in HELP:
        told = "; ".join(f"{' '.join(f'`{key}`' for key in label.split(' '))} {does}" for label, does in keys)
        rows.append(f"| {title} | {told} |")
    return "\n".join(rows)

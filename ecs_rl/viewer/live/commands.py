"""The window's commands, a row for each key, and the mouse: help, hints and the README's table are made from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pygame

from ecs_rl.viewer.live.human import HumanPlaylist, toggle_hands, toggle_race
from ecs_rl.viewer.live.leaving import leave_mode
from ecs_rl.viewer.live.pace import PACES
from ecs_rl.viewer.live_episode import KICK
from ecs_rl.viewer.number_formats import speed
from ecs_rl.viewer.panel import Command, Panel, Panels
from ecs_rl.viewer.panel_list import PANELS
from ecs_rl.viewer.tips import ASK

if TYPE_CHECKING:
    from ecs_rl.viewer.live.background import BackgroundTraining
    from ecs_rl.viewer.live.playlist import CheckpointList
    from ecs_rl.viewer.live.window import Window

CTRL = pygame.KMOD_CTRL | pygame.KMOD_META
SPEEDS = (*(2.0**power for power in range(-4, 7)), math.inf)
"""1/16 to 64 times real time, then as fast as it goes."""
Call = tuple[Any, ...]
"""A command's name, and what it takes besides the window."""
ARROWS = "→↗↑↖←↙↓↘"


# --- what is more than a call -----------------------------------------------------------------------------------------


def _change_speed(window: Window, by: int) -> None:
    """Play the stage so many steps of the scale faster or slower."""
    nearest = min(range(len(SPEEDS)), key=lambda i: abs(math.log2(min(SPEEDS[i], 256) / min(window.show.speed, 256))))
    _set_speed(window, SPEEDS[min(max(nearest + by, 0), len(SPEEDS) - 1)])


def _set_speed(window: Window, times: float) -> None:
    window.set_speed(times)
    window.say(f"speed {speed(times)}")


def _restart(window: Window) -> None:
    for show in window.shows:
        show.restart()
    if isinstance(window.playlist, HumanPlaylist):
        window.playlist.wait()
    window.say(f"{window.show.names[window.show.arena]} again")


def _pick_arena(window: Window, by: int) -> None:
    if window.grid is not None:
        window.grid.selected = (window.grid.selected + by) % window.grid.arenas
        return
    for show in window.shows:
        show.go_to(show.arena + by)


def _choose(window: Window, choose: Callable[[CheckpointList], str]) -> None:
    """Put another policy on the stage, and say which one."""
    if window.checkpoints is None or len(window.shows) > 1 or window.aside is not None:
        window.say("there is nothing else to choose from here", "warn")
        return
    label = choose(window.checkpoints)
    window.say(f"on the stage: {label}" if label else "there is no checkpoint yet", "plain" if label else "warn")


def _turn(window: Window, by: int) -> None:
    _choose(window, lambda found: found.turn(by, window.shows))


def _turn_back(window: Window) -> None:
    _choose(window, lambda found: found.back(window.shows))


def _toggle_sampling(window: Window) -> None:
    if window.show.replays:
        window.say("this was played before: it goes as it went", "warn")
        return
    sampled = not window.show.sampled
    for show in window.shows:
        show.sample(sampled)
    window.say("actions are drawn at random, as in training" if sampled else "the best action every time")


def _poke(window: Window) -> None:
    if window.grid is None:
        kicked = [(name, show.hand.kick) for show in window.shows if (name := show.poke(window.selected))]
        told = [f"{name} {ARROWS[round(math.atan2(vy, vx) / (math.pi / 4)) % 8]}" for name, (vx, vy, _) in kicked]
        if told:
            window.say(f"kicked {', '.join(sorted(set(told)))} by {KICK:g} m/s")


def _when_training(window: Window, run: Callable[[BackgroundTraining], None]) -> None:
    """Do this to the training while it goes on; say so if it does not."""
    if window.background is None or window.background.is_saved:
        window.say("training is over", "warn")
    else:
        run(window.background)


def _change_pace(window: Window, work: BackgroundTraining) -> None:
    names = list(PACES)
    work.pace.name = names[(names.index(work.pace.name) + 1) % len(names)] if work.pace.name in names else names[0]
    told = {"slow": "a quarter of real time", "1x": "real time", "max": "flat out"}[work.pace.name]
    window.say(f"training goes at {told}".replace("at flat", "flat"))


# --- the table --------------------------------------------------------------------------------------------------------

SECTIONS = ("Stage", "Policy", "Training", "Hands", "Window")
_STAGE, _POLICY, _TRAINING, _HANDS, _WINDOW = SECTIONS
# fmt: off
OF_WINDOW: tuple[Command, ...] = (
    Command(_STAGE, "Space", "pause", "pause and go on", lambda w: w.pause_stage(not w.show.paused), (pygame.K_SPACE,)),
    Command(_STAGE, "-", "slower", "slower, faster: 1/16x to 64x, max", lambda w: _change_speed(w, -1),
            (pygame.K_KP_MINUS,), "-"),
    Command(_STAGE, "=", "faster", "", lambda w: _change_speed(w, +1), (pygame.K_KP_PLUS,), "=+"),
    Command(_STAGE, "0", "real time", "real time", lambda w: _set_speed(w, 1.0), (pygame.K_KP0,), "0"),
    Command(_STAGE, "Backspace", "new episode", "new episode", lambda w: w.new_episode(), (pygame.K_BACKSPACE,)),
    Command(_STAGE, "R", "same seed", "same seed again", _restart, (pygame.K_r,)),
    Command(_STAGE, "[", "previous arena", "another arena", lambda w: _pick_arena(w, -1), (), "["),
    Command(_STAGE, "]", "next arena", "", lambda w: _pick_arena(w, +1), (), "]"),
    Command(_POLICY, ",", "earlier checkpoint", "earlier, later policy of the run", lambda w: _turn(w, -1), (), ",<"),
    Command(_POLICY, ".", "later checkpoint", "", lambda w: _turn(w, +1), (), ".>"),
    Command(_POLICY, "L", "newest policy", "back to the newest, or the first one", _turn_back, (pygame.K_l,)),
    Command(_POLICY, "B", "before and after", "untrained and now, side by side", lambda w: w.comparison.toggle(),
            (pygame.K_b,)),
    Command(_POLICY, "W", "replay", "worst, best, most surprising", lambda w: w.replays.turn(), (pygame.K_w,)),
    Command(_POLICY, "K", "keep episode", "keep this episode as a file", lambda w: w.replays.keep(), (pygame.K_k,)),
    Command(_POLICY, "D", "sampling", "best action or drawn at random", _toggle_sampling, (pygame.K_d,)),
    Command(_TRAINING, "T", "pause training", "pause training",
            lambda w: _when_training(w, lambda work: work.pause(not work.paused)), (pygame.K_t,), trains=True),
    Command(_TRAINING, "N", "one update", "one update, then wait",
            lambda w: _when_training(w, lambda work: work.one_update()), (pygame.K_n,), trains=True),
    Command(_TRAINING, "O", "pace", "pace: slow, real time, flat out",
            lambda w: _when_training(w, lambda work: _change_pace(w, work)), (pygame.K_o,), trains=True),
    Command(_TRAINING, "U", "turbo", "turbo: 4 frames a second",
            lambda w: _when_training(w, lambda _: setattr(w, "turbo", not w.turbo)), (pygame.K_u,), trains=True),
    Command(_TRAINING, "Ctrl+R", "reload scene", "take over the scene's file",
            lambda w: w.scene_watch.take(), (pygame.K_r,), trains=True),
    Command(_TRAINING, "Ctrl+S", "save", "checkpoint now",
            lambda w: _when_training(w, lambda work: work.save(w.say)), (pygame.K_s,), trains=True),
    Command(_TRAINING, "Ctrl+E", "evaluate", "evaluate now",
            lambda w: _when_training(w, lambda work: work.evaluate(w.say)), (pygame.K_e,), trains=True),
    Command(_HANDS, "H", "hands", "you drive, or hand it back", toggle_hands,
            (pygame.K_h,)),
    Command(_HANDS, "Y", "race", "race the policy", toggle_race, (pygame.K_y,)),
    Command(_HANDS, "P", "poke", "poke: a random kick", _poke, (pygame.K_p,)),
    Command(_HANDS, "", "act", "", lambda w, gesture: w.act(gesture)),
    ASK,
    Command(_WINDOW, "F11", "full screen", "full screen", lambda w: w.screen.toggle_full_screen(), (pygame.K_F11,)),
    Command(_WINDOW, "V", "record", "record a film", lambda w: w.recorder.toggle(w), (pygame.K_v,)),
    Command(_WINDOW, "C", "card", "a card to share", lambda w: w.cards.make(), (pygame.K_c,)),
    Command(_WINDOW, "Ctrl+P", "picture", "picture of the window", lambda w: w.recorder.take_picture(w), (pygame.K_p,)),
    Command(_WINDOW, "Esc", "leave mode", "leave a mode", leave_mode, (pygame.K_ESCAPE,)),
    Command(_WINDOW, "Ctrl+Q", "quit", "save and quit", lambda w: setattr(w, "closing", True), (pygame.K_q,)),
)
# fmt: on


def commands_of(panels: Panels) -> tuple[Command, ...]:
    """Return the rows of the window and of its panels, section by section."""
    rows = (*OF_WINDOW, *(row for panel in panels for row in panel.keys))
    return tuple(row for section in SECTIONS for row in rows if row.section == section)


def bound(rows: Sequence[Command], window: Window, panels: Mapping[str, Panel[Any]]) -> dict[str, Command]:
    """Return rows by their names, each with the window that it works on, and the panel that declares it."""
    owner = {row.name: panel for panel in panels.values() for row in panel.keys}
    return {
        row.name: replace(row, run=partial(row.run, *([owner[row.name]] if row.name in owner else []), window))
        for row in rows
        if row.run is not None
    }


COMMANDS = commands_of(PANELS)

# --- what is told of it -----------------------------------------------------------------------------------------------


def command_for(event: pygame.event.Event, rows: Sequence[Command] = COMMANDS) -> str | None:
    """Return the name of the command that a pressed key gives."""
    return next((row.name for row in rows if row.is_given_by(event)), None)


def hints(
    *, trains: bool, grid: bool, paused: bool, choice: bool, leads_back: str = "", back: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return the keys that matter most right now."""
    if grid:
        return (("[ ]", "choose"), ("Enter", "watch it"), ("G", "back to the stage"), ("F1", "all keys"))
    first = (("Space", "go on"), ("Left Right", "one tick")) if paused else (("Space", "pause"),)
    if back:
        play = ("Space", "play" if paused else "pause")
        return (("F1", "help"), play, ("Left Right", "one tick"), ("Enter", "go on from here"), ("Esc", "back to now"))
    which = ((leads_back, "back"),) if leads_back else ((", .", "checkpoint"),) if choice else ()
    last = (("G", "all arenas"), ("U", "turbo")) if trains else (("R", "again"), ("Backspace", "next"))
    return (("F1", "help"), *first, ("- =", "speed"), *which, ("P", "poke"), ("Drag", "pull"), *last)

"""The commands of a window: the rows of its controls and panels, the inputs that give them, and the modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

import pygame

from ecs_rl.viewer.controls.asides import Asides
from ecs_rl.viewer.controls.cards import Cards
from ecs_rl.viewer.controls.driving import Driving
from ecs_rl.viewer.controls.filming import Filming
from ecs_rl.viewer.controls.floats import FloatingPanels
from ecs_rl.viewer.controls.keeping import Keeping
from ecs_rl.viewer.controls.learning_replay import LearningReplay
from ecs_rl.viewer.controls.playing import Playing
from ecs_rl.viewer.controls.policies import Policies
from ecs_rl.viewer.controls.scene_reload import SceneReload
from ecs_rl.viewer.controls.training import TrainingControls
from ecs_rl.viewer.controls.whole_window import WholeWindow
from ecs_rl.viewer.panel import App, Command, Control, Gesture, Panels
from ecs_rl.viewer.panels import PANELS
from ecs_rl.viewer.regions import Report

if TYPE_CHECKING:
    from ecs_rl.viewer.live.screen import Input
    from ecs_rl.viewer.live.window import Window

CONTROLS: tuple[type[Control], ...] = (
    *(WholeWindow, FloatingPanels, Filming, Cards),
    *(Playing, Policies, LearningReplay, TrainingControls, SceneReload),
    *(Asides, Keeping, Driving),
)
SECTIONS = ("Stage", "Policy", "Training", "Hands", "Window")
"""The sections of the help, in their order."""
RESIZED = (pygame.WINDOWRESIZED, pygame.WINDOWSIZECHANGED, pygame.WINDOWEXPOSED)


def commands_of(panels: Panels) -> tuple[Command, ...]:
    """Return the rows of the controls and of these panels, section by section."""
    rows = [row for control in (*CONTROLS, *panels) for row in control.keys]
    return tuple(row for section in SECTIONS for row in rows if row.section == section)


def bound(rows: Sequence[Command], app: App, panels: Mapping[str, Control]) -> dict[str, Command]:
    """Return rows by their names, each with the panel that declares it and the window."""
    owner = {row.name: panel for panel in panels.values() for row in panel.keys}
    return {
        row.name: row if row.run is None else replace(row, run=partial(row.run, owner[row.name], app)) for row in rows
    }


COMMANDS = commands_of(PANELS)


def command_for(event: pygame.event.Event, rows: Sequence[Command] = COMMANDS) -> str | None:
    """Return the name of the command that a pressed key gives."""
    return next((row.name for row in rows if row.is_given_by(event)), None)


class Modes:
    """Remembers in which order the panels and controls that are on were entered."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        """Their names, the newest last."""

    def note(self, app: App) -> None:
        """Take in what a command has entered or left."""
        on = [name for name, panel in app.panels.items() if panel.is_on(app)]
        self.entered = [name for name in self.entered if name in on]
        self.entered += [name for name in on if name not in self.entered]

    def leave(self, app: App) -> None:
        """Leave the newest mode, or one step of it; a window without any stays as it is."""
        self.note(app)
        if self.entered:
            app.panels[self.entered[-1]].leave(app)


def command_of(window: Window, event: Input) -> str | None:
    """Return the name of the command that an input gives, and note what else it says of the user."""
    if isinstance(event, Gesture):
        return _command_of_gesture(window, event)
    if isinstance(event, Report):
        window.reports.add(event)
        return None
    if event.type == pygame.QUIT:
        return "quit"
    if event.type == pygame.KEYDOWN:
        window.touched_at = perf_counter()
    if window.stage.hands is not None and window.stage.hands.take(event):
        goes_on = window.show.paused and event.type == pygame.KEYDOWN and event.key == pygame.K_SPACE
        return "pause" if goes_on else None  # Space may be one of the agent's keys
    return _command_of_key(window, event)


def _command_of_key(window: Window, event: pygame.event.Event) -> str | None:
    if event.type == pygame.KEYDOWN:
        window.down.add(event.key)
        return command_for(event, window.rows)
    if event.type == pygame.KEYUP:
        window.down.discard(event.key)
    elif event.type == pygame.WINDOWFOCUSLOST:
        window.down.clear()  # no event will say that a key was let go
    elif event.type in RESIZED:
        window.stale = True
    return None


def _command_of_gesture(window: Window, gesture: Gesture) -> str | None:
    """Return the command of the key that a click has hit."""
    hit, before, window.pointed = gesture.hit, window.pointed, gesture
    if gesture.kind != "point" or hit.at != before.hit.at:
        window.touched_at = perf_counter()
    if gesture.kind != "click" or not hit.key:
        return None
    return next((row.name for row in window.rows if row.key == hit.key), None)

"""The commands of a window: the rows of its controls and panels, by their names and by their keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import pygame

from ecs_rl.viewer.controls.asides import Asides
from ecs_rl.viewer.controls.cards import Cards
from ecs_rl.viewer.controls.driving import Driving
from ecs_rl.viewer.controls.filming import Filming
from ecs_rl.viewer.controls.floats import FloatingPanels
from ecs_rl.viewer.controls.keeping import Keeping
from ecs_rl.viewer.controls.playing import Playing
from ecs_rl.viewer.controls.policies import Policies
from ecs_rl.viewer.controls.scene_reload import SceneReload
from ecs_rl.viewer.controls.training import TrainingControls
from ecs_rl.viewer.controls.whole_window import WholeWindow
from ecs_rl.viewer.panel import App, Command, Control, Panels
from ecs_rl.viewer.panel_list import PANELS

CONTROLS: tuple[type[Control], ...] = (
    *(WholeWindow, FloatingPanels, Filming, Cards),
    *(Playing, Policies, TrainingControls, SceneReload),
    *(Asides, Keeping, Driving),
)
SECTIONS = ("Stage", "Policy", "Training", "Hands", "Window")
"""The sections of the help, in their order."""


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

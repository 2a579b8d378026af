"""What the user does, as commands of the window: keys, clicks on chips and hints, and a person at the controls."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import pygame

from ecs_rl.viewer.live.commands import command_for
from ecs_rl.viewer.panel import Gesture
from ecs_rl.viewer.regions import Report

if TYPE_CHECKING:
    from ecs_rl.viewer.live.screen import Input
    from ecs_rl.viewer.live.window import Window

RESIZED = (pygame.WINDOWRESIZED, pygame.WINDOWSIZECHANGED, pygame.WINDOWEXPOSED)


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

"""The window of the menu: frames with nothing but the menu, until a row is taken or the window is closed."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pygame

from ecs_rl.viewer.canvas import ListRow
from ecs_rl.viewer.frame_codec import Frame
from ecs_rl.viewer.live.screen_process import AnyScreen
from ecs_rl.viewer.mistakes import DisplayLost
from ecs_rl.viewer.panel import CTRL, Gesture
from ecs_rl.viewer.panels.menu import Menu

FRAME = 1 / 60
"""Seconds between two frames."""


def choose(screen: AnyScreen, rows: Sequence[ListRow]) -> str:
    """Return the scene that the user takes on a screen that shows the menu, '' where the window is closed."""
    menu = Menu(rows)
    try:
        while not menu.taken:
            if screen.ready:
                screen.show(Frame(screen.size, views={menu.name: menu.view(None)}))
            time.sleep(FRAME)
            for found in screen.inputs():
                if isinstance(found, Gesture):
                    menu.act(None, found.hit, found)
                elif isinstance(found, pygame.event.Event) and _closes(found):
                    return ""
    except DisplayLost:
        return ""
    return menu.taken


def _closes(event: pygame.event.Event) -> bool:
    """Return whether an event closes the window."""
    is_ctrl_q = event.type == pygame.KEYDOWN and event.key == pygame.K_q and event.mod & CTRL
    return bool(event.type == pygame.QUIT or is_ctrl_q)

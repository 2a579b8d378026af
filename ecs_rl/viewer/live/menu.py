"""The menu of `play.py` where there is no run yet: a list of scenes over the whole window, until a row is taken."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pygame

from ecs_rl.viewer.canvas import LARGE, LINE, NORMAL, SMALL, Canvas, ListRow
from ecs_rl.viewer.frame_codec import Frame
from ecs_rl.viewer.live.screen_process import AnyScreen
from ecs_rl.viewer.mistakes import DisplayLost
from ecs_rl.viewer.palette import DIM, FAINT, NIGHT
from ecs_rl.viewer.panel import CTRL, Gesture, Hit, Panel

HEAD, FOOT, TALL, WIDTH = 96, 48, 56, 760
"""Sizes before the scale of the screen: what stands above the rows and below, and the rows' own."""
TITLE, ASKS = "Which one shall play?", "These were trained before; your own begin with train.py SCENE --watch"
HELP = "Up, Down and Enter, or a click    Ctrl+Q closes"


MenuView = tuple[ListRow, ...]
"""All rows."""
FRAME = 1 / 60
"""Seconds between two frames."""


class Menu(Panel[MenuView]):
    """Lets the user take one of the scenes: each row has its name, what it is about, and how good its pilot is."""

    name = "menu"
    place = "over"

    def __init__(self, rows: Sequence[ListRow] = ()) -> None:
        self.rows, self.taken = tuple(rows), ""

    def view(self, app: object) -> MenuView | None:
        """Return what there is to choose from."""
        return self.rows

    def act(self, app: object, hit: Hit, gesture: Gesture) -> None:
        """Take the row that is clicked."""
        if gesture.kind == "click" and hit.part == "row":
            self.taken = self.rows[hit.index].text

    def paint(self, canvas: Canvas, view: MenuView, room: pygame.Rect) -> None:
        """Paint the whole window; where it is low, rows draw together and scroll."""
        surface, head, foot = canvas.surface, canvas.px(HEAD), canvas.px(FOOT)
        surface.fill(NIGHT, room)
        area = pygame.Rect(0, head, min(canvas.px(WIDTH), room.w - canvas.px(32)), room.h - head - foot)
        area.centerx = room.centerx
        canvas.write(surface, TITLE, (area.x, canvas.px(36)), size=LARGE * 1.5)
        canvas.write(surface, ASKS, (area.x, canvas.px(66)), size=NORMAL, colour=DIM)
        canvas.write(surface, HELP, (area.x, room.bottom - foot // 2), size=SMALL, colour=FAINT)
        tall = min(max(area.h // max(1, len(view)), canvas.px(LINE)), canvas.px(TALL))
        canvas.rows(area, view, tall=tall, size=LARGE, alone=True)


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

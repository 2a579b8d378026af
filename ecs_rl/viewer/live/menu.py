"""The menu of `play.py` where there is no run yet: one row for each scene, chosen by the keyboard or the mouse."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import pygame

from ecs_rl.viewer.canvas import LARGE, NORMAL, SMALL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.live.display import Display
from ecs_rl.viewer.mistakes import DisplayLost
from ecs_rl.viewer.palette import DIM, FAINT, MAIN_LINE, NIGHT, PANEL, RAISED, TEXT

HEAD, FOOT, ROW, WIDTH = 96, 48, 44, 760
"""Sizes before the scale of the screen: what stands above the rows and below, and the rows' own."""
FRAME = 1 / 60
"""Seconds between two looks."""
STEPS = {pygame.K_UP: -1, pygame.K_DOWN: 1, pygame.K_PAGEUP: -5, pygame.K_PAGEDOWN: 5}
TITLE, ASKS = "Which one shall play?", "These were trained before; your own begin with train.py SCENE --watch"
HELP = "Up, Down and Enter, or a click    Ctrl+Q closes"


@dataclass(frozen=True)
class Offer:
    """One row: the scene's name, what it is about, and how good its pilot is."""

    scene: str
    about: str
    told: str


class Menu:
    """The rows, which of them is marked, and which one was taken."""

    def __init__(self, offers: Sequence[Offer]) -> None:
        self.offers = list(offers)
        self.marked = 0
        self.taken = ""
        self.closing = False

    def ask(self, display: Display) -> str:
        """Return the scene that is taken, '' where the window is closed."""
        canvas = Canvas(display.dpi_scale)
        try:
            while not (self.taken or self.closing):
                for event in display.events():
                    self.answer(event, self.rows(display.surface, canvas))
                self.draw(display.surface, canvas)
                display.flip()
                time.sleep(FRAME)
        except DisplayLost:
            return ""
        return self.taken

    def answer(self, event: pygame.event.Event, rows: Sequence[pygame.Rect]) -> None:
        """Carry out what the user asks for; `rows` is where each row stands."""
        if event.type == pygame.QUIT:
            self.closing = True
        elif event.type == pygame.KEYDOWN:
            self._key(event)
        elif event.type in (pygame.MOUSEMOTION, pygame.MOUSEBUTTONDOWN):
            under = next((i for i, row in enumerate(rows) if row.collidepoint(event.pos)), None)
            if under is not None:
                self.marked = under
                if event.type == pygame.MOUSEBUTTONDOWN and event.button == 1:
                    self.taken = self.offers[under].scene

    def _key(self, event: pygame.event.Event) -> None:
        if event.key in STEPS:
            self.marked = min(max(self.marked + STEPS[event.key], 0), len(self.offers) - 1)
        elif event.key in (pygame.K_RETURN, pygame.K_KP_ENTER, pygame.K_SPACE):
            self.taken = self.offers[self.marked].scene
        elif event.key == pygame.K_q and event.mod & pygame.KMOD_CTRL:
            self.closing = True
        elif letter := event.unicode.lower():
            begins = [i for i, each in enumerate(self.offers) if each.scene.startswith(letter)]
            later = [i for i in begins if i > self.marked]
            self.marked = (later or begins or [self.marked])[0]

    def rows(self, surface: pygame.Surface, canvas: Canvas) -> list[pygame.Rect]:
        """Return where each row stands; they draw together where the window is low."""
        wide, high = surface.get_size()
        room = max(1, high - canvas.px(HEAD) - canvas.px(FOOT))
        each = max(1, min(canvas.px(ROW), room // max(1, len(self.offers))))
        across = min(canvas.px(WIDTH), wide - canvas.px(32))
        return [
            pygame.Rect((wide - across) // 2, canvas.px(HEAD) + i * each, across, each - min(canvas.px(4), each // 4))
            for i in range(len(self.offers))
        ]

    def draw(self, surface: pygame.Surface, canvas: Canvas) -> None:
        """Draw the whole window."""
        surface.fill(NIGHT)
        rows = self.rows(surface, canvas)
        left, high = rows[0].left if rows else canvas.px(16), surface.get_height()
        canvas.write(surface, TITLE, (left, canvas.px(36)), size=LARGE * 1.5)
        canvas.write(surface, ASKS, (left, canvas.px(66)), size=NORMAL, colour=DIM)
        canvas.write(surface, HELP, (left, high - canvas.px(FOOT) // 2), size=SMALL, colour=FAINT)
        for i, (row, each) in enumerate(zip(rows, self.offers, strict=True)):
            self._row(surface, row, each, canvas, marked=i == self.marked)

    def _row(self, surface: pygame.Surface, row: pygame.Rect, each: Offer, canvas: Canvas, *, marked: bool) -> None:
        rounded(surface, row, RAISED if marked else PANEL, radius=canvas.px(6), edge=MAIN_LINE if marked else None)
        pad, middle = canvas.px(14), row.centery
        name = canvas.write(surface, each.scene, (row.left + pad, middle), size=LARGE, colour=TEXT)
        right = canvas.write(surface, each.told, (row.right - pad, middle), face="numbers", colour=DIM, anchor="right")
        start = max(row.left + canvas.px(130), name.right + pad)
        canvas.write(surface, each.about, (start, middle), colour=DIM, width=max(0, right.left - pad - start))

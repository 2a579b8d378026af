"""The mouse: presses, moves and wheels become commands."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pygame

from ecs_rl.viewer.live.commands import Call

LEFT, RIGHT = 1, 3
STEADY = 4
"""Pixels that a click may move; more is a drag."""
NOTCH = 1.15
"""How much larger one notch of the wheel shows everything."""


class Mouse:
    """Remembers which button is down, and where it went down."""

    def __init__(self) -> None:
        self.pressed: tuple[int, int] | None = None
        """Where the left button went down, and has not moved since."""
        self.holds = False
        self.pans = False
        self.at = (0, 0)

    def commands(self, event: pygame.event.Event) -> Iterator[Call]:
        """Yield what an event of the mouse asks for."""
        self.at = getattr(event, "pos", self.at)
        if event.type == pygame.MOUSEBUTTONDOWN:
            if event.button == LEFT:
                self.pressed = event.pos
            self.pans = self.pans or event.button == RIGHT
        elif event.type == pygame.MOUSEMOTION:
            yield from self._move(event)
        elif event.type == pygame.MOUSEBUTTONUP:
            if event.button == RIGHT:
                self.pans = False
            elif event.button == LEFT:
                if self.pressed is not None:
                    yield "click", self.pressed
                yield from self._let_go()
        elif event.type == pygame.MOUSEWHEEL and event.y:
            yield "zoom", NOTCH ** getattr(event, "precise_y", event.y), self.at
        elif event.type == pygame.WINDOWFOCUSLOST:
            yield from self._let_go()

    def _move(self, event: pygame.event.Event) -> Iterator[Call]:
        if self.pans:
            yield "pan", event.rel
        if self.pressed is not None and math.dist(self.pressed, event.pos) > STEADY:
            yield "grab", self.pressed
            self.pressed, self.holds = None, True
        if self.holds:
            yield "drag", event.pos

    def _let_go(self) -> Iterator[Call]:
        if self.holds:
            yield ("let go",)
        self.pressed, self.holds, self.pans = None, False, False

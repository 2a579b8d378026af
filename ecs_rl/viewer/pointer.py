"""The mouse over a painted frame: from events of pygame to gestures at the parts that panels have declared."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pygame
from msgspec.structs import replace

from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.panel import Gesture, Hit
from ecs_rl.viewer.regions import Region

LEFT, RIGHT = 1, 3
STEADY = 4
"""Pixels that a click may move; more is a drag."""
NOTCH = 1.15
"""How much larger one notch of the wheel shows everything."""
OF_MOUSE = (pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP, pygame.MOUSEMOTION, pygame.MOUSEWHEEL)
Pixel = tuple[float, float]


class Pointer:
    """Remembers which button is down, and what it holds."""

    def __init__(self) -> None:
        self.at: Pixel = (-1.0, -1.0)
        self._pressed: Pixel | None = None
        """The pixel where the left button went down, as long as the mouse has not moved away."""
        self._held: Region | None = None
        """The region that is dragged."""
        self._drags = self._pans = False
        self._pointed: Hit | None = None

    def gestures(self, event: pygame.event.Event, canvas: Canvas) -> Iterator[Gesture]:
        """Yield what an event of the mouse asks for, by the newest frame of this canvas."""
        self.at = getattr(event, "pos", self.at)
        if event.type in OF_MOUSE:
            self._pointed = None
        if event.type == pygame.MOUSEBUTTONDOWN:
            if event.button == LEFT:
                self._pressed = event.pos
            self._pans = self._pans or event.button == RIGHT
        elif event.type == pygame.MOUSEMOTION:
            yield from self._move(event, canvas)
        elif event.type == pygame.MOUSEBUTTONUP:
            if event.button == RIGHT:
                self._pans = False
            elif event.button == LEFT:
                if self._pressed is not None:
                    yield Gesture("click", hit_of(canvas.region_at(self._pressed), self._pressed, finds=True))
                yield from self._drop(canvas)
        elif event.type == pygame.MOUSEWHEEL and event.y:
            factor = NOTCH ** getattr(event, "precise_y", event.y)
            yield Gesture("zoom", hit_of(canvas.region_at(self.at), self.at), factor=factor)
        elif event.type == pygame.WINDOWFOCUSLOST:
            yield from self._drop(canvas)

    def point(self, canvas: Canvas) -> Iterator[Gesture]:
        """Yield what is under the mouse, unless that is the same as before; nothing while something is dragged."""
        hit = self.under(canvas)
        if hit is not None and hit != self._pointed:
            self._pointed = hit
            yield Gesture("point", hit)

    def under(self, canvas: Canvas) -> Hit | None:
        """Return what is under the mouse; None while something is dragged."""
        return None if self._drags or self._pans else hit_of(canvas.region_at(self.at), self.at)

    def region(self, canvas: Canvas) -> Region | None:
        """Return the region under the mouse; None while something is dragged."""
        return None if self._drags or self._pans else canvas.region_at(self.at)

    def _move(self, event: pygame.event.Event, canvas: Canvas) -> Iterator[Gesture]:
        if self._pans:
            yield Gesture("pan", hit_of(canvas.region_at(event.pos), event.pos), by=event.rel)
        if self._pressed is not None and math.dist(self._pressed, event.pos) > STEADY:
            self._held, self._drags = canvas.region_at(self._pressed), True
            yield Gesture("grab", hit_of(self._held, self._pressed, finds=True))
            self._pressed = None
        if self._drags:
            yield Gesture("drag", hit_of(self._now(canvas), event.pos))

    def _drop(self, canvas: Canvas) -> Iterator[Gesture]:
        if self._drags:
            yield Gesture("drop", hit_of(self._now(canvas), self.at))
        self._pressed, self._held, self._drags, self._pans = None, None, False, False

    def _now(self, canvas: Canvas) -> Region | None:
        """Return the region that is dragged, where the newest frame has it."""
        held = self._held
        if held is None:
            return None
        return next((region for region in canvas.regions() if region.name == held.name), held)


def hit_of(region: Region | None, pixel: Pixel, *, finds: bool = False) -> Hit:
    """Return what is hit; `finds` looks within the region too."""
    if region is None:
        return Hit("", at=pixel)
    rect, camera, index = region.rect, region.camera, region.index
    at = pixel[0] - rect.x, pixel[1] - rect.y
    share = at[0] / max(1, rect.w - 1), at[1] / max(1, rect.h - 1)
    metres = None if camera is None else camera.onto(region.focus).metres(at)
    target = region.find(metres or at) if finds and region.find is not None else None
    hit = Hit(region.panel, region.part, target if isinstance(target, int) else index, share, pixel, region.key)
    if camera is None:
        return hit
    away = at[0] - camera.middle[0], at[1] - camera.middle[1]
    body = (target.role, target.member) if isinstance(target, BodyId) else None
    return replace(hit, metres=metres, body=body, aim=camera.aim, away=away)

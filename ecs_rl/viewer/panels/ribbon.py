"""The ribbon: what each of the newest ticks has earned, in a strip above the lower edge of the stage."""

from __future__ import annotations

import numpy as np
import pygame
from numpy.typing import NDArray

from ecs_rl.arrays import F64
from ecs_rl.viewer.canvas import RIBBON, SMALL, STRIP, Canvas
from ecs_rl.viewer.mind import RibbonView, SeldomRead
from ecs_rl.viewer.palette import FAINT, NIGHT, ROLES, TEXT, mix
from ecs_rl.viewer.panel import App, Panel

TICK, EDGE, LEAST = 2, 14, 160
"""Pixels that each tick is wide, those beside the strip, and the height of a stage that has one, at least."""


class Ribbon(Panel[RibbonView]):
    """Shows the rewards of the agent whose mind is shown."""

    name = "ribbon"

    def __init__(self) -> None:
        self._reading = SeldomRead(lambda mind: mind.ribbon())

    def view(self, app: App) -> RibbonView | None:
        """Return what the newest ticks have earned, as new as the mind is; None unless one show is on the stage."""
        if not app.stage.is_single:
            return None
        return self._reading.of(app)

    def advance(self, app: App, seconds: float) -> None:
        """Let what was read grow old."""
        self._reading.age += seconds

    def paint(self, canvas: Canvas, view: RibbonView, room: pygame.Rect) -> None:
        """Paint a bar for each of the newest ticks, the newest at the right: gains upwards, losses downwards, by term.

        Heights go by the square root, so that a landing hides no step on the way to it.
        """
        if room.h <= canvas.px(LEAST):
            return
        place = pygame.Rect(room.x + canvas.px(EDGE), 0, room.w - 2 * canvas.px(EDGE), canvas.px(RIBBON))
        place.bottom = room.bottom - canvas.px(STRIP + 2)
        canvas.take(place)
        canvas.lay(canvas.surface, place, self.name, view, _paint, clear=True)


def _paint(surface: pygame.Surface, view: RibbonView, canvas: Canvas) -> None:
    w, h = surface.get_size()
    wide, middle = canvas.px(TICK), h // 2
    surface.fill((*mix(NIGHT, TEXT, 0.35), 200), (0, middle, w, 1))
    canvas.write(surface, "earned", (0, canvas.px(6)), size=SMALL - 1, colour=FAINT)
    if not view.earned or not view.earned[0]:
        return
    rows = np.clip(np.nan_to_num(np.array(view.earned)), -1e300, 1e300)[-max(1, w // wide) :]
    first, left = len(view.earned) - len(rows), w - len(rows) * wide
    for begin in view.begins:
        if begin >= first:
            surface.fill((*FAINT, 220), (left + (begin - first) * wide, 0, canvas.px(1), h))
    terms = np.zeros((len(rows), h), np.int64)
    gains, losses = np.maximum(rows, 0.0), np.maximum(-rows, 0.0)
    most = max(float(gains.sum(axis=1).max()), float(losses.sum(axis=1).max()))
    if most > 0:
        terms[:, :middle] = _stacked(gains, most, middle)[:, ::-1]
        terms[:, middle + 1 :] = _stacked(losses, most, h - middle - 1)
    mapped = [surface.map_rgb((*colour, 235)) & 0xFFFFFFFF for colour in (NIGHT, *ROLES)]
    colours = np.array(mapped, np.uint32)[terms]
    pixels = pygame.surfarray.pixels2d(surface)
    for column in range(max(1, wide - 1)):
        np.copyto(pixels[left + column : left + column + len(rows) * wide : wide], colours, where=terms > 0)


def _stacked(values: F64, most: float, room: int) -> NDArray[np.int64]:
    """Return (ticks, room) which term is drawn at each pixel from the middle, counted from 1; 0 is none."""
    whole = values.sum(axis=1, keepdims=True)
    tall = np.where(whole > 0, np.maximum(1.0, np.sqrt(whole / most) * room), 0.0)
    ends = np.round(np.cumsum(values, axis=1) / np.where(whole > 0, whole, 1.0) * tall)
    term = (np.arange(room) >= ends[:, :, None]).sum(axis=1)  # how many terms end before a pixel
    return np.where(term < values.shape[1], term % len(ROLES) + 1, 0)

"""What is drawn over the stage: the ribbon of what each tick earned."""

from __future__ import annotations

import numpy as np
import pygame
from numpy.typing import NDArray

from ecs_rl.arrays import F64
from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.palette import FAINT, NIGHT, ROLES, TEXT, mix
from ecs_rl.viewer.view_floating import RibbonView

TICK = 2
"""Pixels that each tick is wide."""


def draw_ribbon(surface: pygame.Surface, area: pygame.Rect, ribbon: RibbonView, canvas: Canvas) -> None:
    """Draw a bar for each of the newest ticks, the newest at the right: gains upwards, losses downwards, by term.

    Heights go by the square root, so that a landing hides no step on the way to it.
    """
    canvas.lay(surface, area, "ribbon", ribbon, _paint_ribbon, clear=True)


def _paint_ribbon(surface: pygame.Surface, ribbon: RibbonView, canvas: Canvas) -> None:
    w, h = surface.get_size()
    wide, middle = canvas.px(TICK), h // 2
    surface.fill((*mix(NIGHT, TEXT, 0.35), 200), (0, middle, w, 1))
    canvas.write(surface, "earned", (0, canvas.px(6)), size=SMALL - 1, colour=FAINT)
    if not ribbon.earned or not ribbon.earned[0]:
        return
    rows = np.clip(np.nan_to_num(np.array(ribbon.earned)), -1e300, 1e300)[-max(1, w // wide) :]
    first, left = len(ribbon.earned) - len(rows), w - len(rows) * wide
    for begin in ribbon.begins:
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

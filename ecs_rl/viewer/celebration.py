"""What is drawn over the stage: the ribbon of what each tick earned, and a moment of joy when a scene is solved."""

from __future__ import annotations

import math

import numpy as np
import pygame
from numpy.typing import NDArray

from ecs_rl.arrays import F64
from ecs_rl.viewer.canvas import LARGE, SMALL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import BLUE, FAINT, GOOD, GREEN, NIGHT, ORANGE, PANEL, PURPLE, ROLES, SKY, TEXT, YELLOW, mix
from ecs_rl.viewer.view_floating import RibbonView

RIBBON, TICK = 30, 2
"""Height of the ribbon, and how wide each tick is."""
PIECES = 140
"""Of confetti."""
FALLS = 3.5
"""Seconds that it takes them to fall."""


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


def draw_joy(surface: pygame.Surface, area: pygame.Rect, seconds: float, canvas: Canvas) -> None:
    """Let confetti fall over the stage, so many seconds after the scene was solved, and say so."""
    chance = np.random.default_rng(7)  # always the same: it is a picture, and nothing that learns sees it
    x, late, sway, turn = (chance.random(PIECES) for _ in range(4))
    clip = surface.get_clip()
    surface.set_clip(area.clip(clip))
    colours = (SKY, ORANGE, GREEN, YELLOW, BLUE, PURPLE)
    for i in range(PIECES):
        done = (seconds - late[i]) / (FALLS - 1.0)
        if not 0.0 < done < 1.0:
            continue
        at_x = area.x + x[i] * area.w + math.sin(6.0 * (done + sway[i])) * 14 * canvas.scale
        at_y = area.y + done * area.h
        half_w, half_h = 4.0 * canvas.scale, 2.5 * canvas.scale * math.cos(14.0 * (done + turn[i]))
        angle = 5.0 * (done + turn[i])
        ux, uy = math.cos(angle), math.sin(angle)
        corners = [
            (at_x + a * half_w * ux - b * half_h * uy, at_y + a * half_w * uy + b * half_h * ux)
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))
        ]
        pygame.draw.polygon(surface, colours[i % len(colours)], corners)
    surface.set_clip(clip)
    if seconds < FALLS - 0.5 and area.w > canvas.px(160):
        box = pygame.Rect(0, 0, canvas.width("Solved!", LARGE + 10) + canvas.px(48), canvas.px(56))
        box.center = (area.centerx, area.y + round(area.h * 0.3))
        rounded(surface, box, PANEL, radius=canvas.px(12), edge=mix(PANEL, GOOD, 0.8), alpha=235)
        canvas.write(surface, "Solved!", box.center, size=LARGE + 10, colour=GOOD, anchor="middle")

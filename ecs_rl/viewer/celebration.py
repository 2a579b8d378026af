"""What is drawn over the stage: the ribbon of what each tick earned, and a moment of joy when a scene is solved."""

from __future__ import annotations

import math

import numpy as np
import pygame

from ecs_rl.viewer.context import LARGE, SMALL, DrawContext
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import BLUE, FAINT, GOOD, GREEN, NIGHT, ORANGE, PANEL, PURPLE, ROLES, SKY, TEXT, YELLOW, mix
from ecs_rl.viewer.view import RibbonView

RIBBON, TICK = 30, 2
"""Height of the ribbon, and how wide each tick is."""
PIECES = 140
"""Of confetti."""
FALLS = 3.5
"""Seconds that it takes them to fall."""


def draw_ribbon(surface: pygame.Surface, area: pygame.Rect, ribbon: RibbonView, kit: DrawContext) -> None:
    """Draw a bar for each of the newest ticks, the newest at the right: gains upwards, losses downwards, by term.

    Heights go by the square root, so that a landing hides no step on the way to it.
    """
    kit.lay(surface, area, "ribbon", ribbon, _paint_ribbon, clear=True)


def _paint_ribbon(surface: pygame.Surface, ribbon: RibbonView, kit: DrawContext) -> None:
    w, h = surface.get_size()
    wide, middle = kit.px(TICK), h // 2
    if not ribbon.earned:
        return
    rows = np.nan_to_num(np.array(ribbon.earned).reshape(len(ribbon.earned), -1))[-max(1, w // wide) :]
    first = len(ribbon.earned) - len(rows)
    surface.fill((*mix(NIGHT, TEXT, 0.35), 200), (0, middle, w, 1))
    kit.write(surface, "earned", (0, kit.px(6)), size=SMALL - 1, colour=FAINT)
    sums = [np.where(rows > 0, rows, 0).sum(axis=1), np.where(rows < 0, -rows, 0).sum(axis=1)]
    most = max((float(each.max()) for each in sums if len(each)), default=0.0)
    if most <= 0:
        return
    for number, row in enumerate(rows.tolist()):
        x = w - (len(rows) - number) * wide
        if first + number in ribbon.begins:
            surface.fill((*FAINT, 220), (x, 0, kit.px(1), h))
        for sign in (1, -1):
            _paint_tick(surface, (x, wide), [(i, v * sign) for i, v in enumerate(row) if v * sign > 0], sign, most)


def _paint_tick(
    surface: pygame.Surface, place: tuple[int, int], terms: list[tuple[int, float]], sign: int, most: float
) -> None:
    middle, (x, wide) = surface.get_height() // 2, place
    whole = sum(value for _, value in terms)
    tall = max(1.0, math.sqrt(whole / most) * (middle - 1)) if whole else 0.0
    done = 0.0
    for number, value in terms:
        start, done = done, done + value / whole * tall
        top = middle - round(done) if sign > 0 else middle + 1 + round(start)
        surface.fill((*ROLES[number % len(ROLES)], 235), (x, top, max(1, wide - 1), round(done) - round(start)))


def draw_joy(surface: pygame.Surface, area: pygame.Rect, seconds: float, kit: DrawContext) -> None:
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
        at_x = area.x + x[i] * area.w + math.sin(6.0 * (done + sway[i])) * 14 * kit.scale
        at_y = area.y + done * area.h
        half_w, half_h = 4.0 * kit.scale, 2.5 * kit.scale * math.cos(14.0 * (done + turn[i]))
        angle = 5.0 * (done + turn[i])
        ux, uy = math.cos(angle), math.sin(angle)
        corners = [
            (at_x + a * half_w * ux - b * half_h * uy, at_y + a * half_w * uy + b * half_h * ux)
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))
        ]
        pygame.draw.polygon(surface, colours[i % len(colours)], corners)
    surface.set_clip(clip)
    if seconds < FALLS - 0.5 and area.w > kit.px(160):
        box = pygame.Rect(0, 0, kit.width("Solved!", LARGE + 10) + kit.px(48), kit.px(56))
        box.center = (area.centerx, area.y + round(area.h * 0.3))
        rounded(surface, box, PANEL, radius=kit.px(12), edge=mix(PANEL, GOOD, 0.8), alpha=235)
        kit.write(surface, "Solved!", box.center, size=LARGE + 10, colour=GOOD, anchor="middle")

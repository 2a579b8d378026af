"""Numbers that are seen and belong together as small pictures: rays as bars, cells as a map, members side by side."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.palette import BAD, DIM, FAINT, MAIN_LINE, NIGHT, PANEL, RAISED, mix
from ecs_rl.viewer.view import MindView, SeenPicture

ROWS = 4
"""Rows of the panel that a picture takes, its name included."""
STEPS = 12
"""Shades of a number, so that few colours are made."""
MEMBER, FEW = re.compile(r"(.*?)(\d+)(\D*)"), 2
"""The number of a member in a name; a kind with fewer members has a row for each."""


def rows_of(mind: MindView) -> list[int]:
    """Return the numbers that have a row each: all but those in pictures, and where somebody asks why, all."""
    within = {i for p in mind.pictures for i in range(p.first, p.first + p.values.size)} if mind.why is None else set()
    return [number for number in range(len(mind.sees)) if number not in within]


@lru_cache(maxsize=16)
def folded(names: tuple[str, ...], rows: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of rows in which members of a kind share one, as their names differ in one number alone."""
    alike = dict[tuple[str | int, ...], list[int]]()
    for number in rows:
        before, member, after = _parts(names[number])
        alike.setdefault((before, after) if member else (number,), []).append(number)
    folds = list[tuple[int, ...]]()
    for numbers in alike.values():
        folds += [tuple(numbers)] if len(numbers) >= FEW else [(number,) for number in numbers]
    return tuple(folds)


def label_of(names: Sequence[str]) -> str:
    """Return what a row is called that these numbers share: `sheep 0 to 7 x`."""
    (before, first, after), (_, last, _) = _parts(names[0]), _parts(names[-1])
    kind = " ".join(before.split()[-1:])
    return f"{kind} {first} to {last}{after}".strip() if len(names) > 1 else names[0]


def _parts(name: str) -> tuple[str, str, str]:
    """Return what stands before the last number in a name, that number, and what stands after it."""
    parts = MEMBER.fullmatch(name)
    return ("", "", name) if parts is None else (parts[1], parts[2], parts[3])


def pictures_shown(mind: MindView, rows: int) -> int:
    """Return how many pictures there is room for in so many rows."""
    return 0 if mind.why is not None else min(len(mind.pictures), rows // ROWS)


def draw_seen_picture(surface: pygame.Surface, area: pygame.Rect, seen: SeenPicture, canvas: Canvas) -> None:
    """Draw the name and below it the numbers, layer beside layer; rays, one row of numbers, as bars."""
    line = canvas.px(14)
    layers, up, across = seen.values.shape
    size = f"{layers} x " if layers > 1 else ""
    size_text = f"{size}{across} rays" if up == 1 else f"{size}{across} x {up} cells"
    canvas.write(surface, size_text, (area.right, area.y + line // 2), size=SMALL - 0.5, colour=FAINT, anchor="right")
    room = area.w - canvas.width(size_text, SMALL - 0.5) - canvas.px(8)
    canvas.write(surface, seen.name, (area.x, area.y + line // 2), size=SMALL + 0.5, colour=DIM, width=room)
    below = pygame.Rect(area.x, area.y + line + canvas.px(2), area.w, area.h - line - canvas.px(5))
    if below.h < canvas.px(8):
        return
    if up == 1:
        _bars(surface, below, seen.values[:, 0], canvas)
    else:
        _cells(surface, below, seen.values, canvas)


def _bars(surface: pygame.Surface, area: pygame.Rect, rows: F64, canvas: Canvas) -> None:
    """Draw (layers, rays) as bars as high as objects are near, the layers one below the other."""
    surface.fill(NIGHT, area)
    tall, wide = area.h / len(rows), area.w / rows.shape[1]
    most = max(1.0, float(np.nanmax(np.abs(rows), initial=0.0)))
    for number, row in enumerate(rows.tolist()):
        foot = area.y + round((number + 1) * tall)
        for i, value in enumerate(row):
            if math.isfinite(value) and value:
                high = max(1, round(abs(value) / most * (tall - canvas.px(1))))
                left, right = area.x + round(i * wide), area.x + round((i + 1) * wide)
                surface.fill(_shade(value / most), (left, foot - high, max(1, right - left - canvas.px(1)), high))


def _cells(surface: pygame.Surface, area: pygame.Rect, values: F64, canvas: Canvas) -> None:
    """Draw (layers, up, across) as small maps, the lowest row below, each as large as all fit."""
    layers, up, across = values.shape
    gap = canvas.px(6)
    side = min((area.w - gap * (layers - 1)) / (layers * across), area.h / up)
    size = max(1, round(side * across)), max(1, round(side * up))
    most = max(1e-9, float(np.nanmax(np.abs(values), initial=0.0)))
    for number, layer in enumerate(values):
        place = pygame.Rect((area.x + number * (size[0] + gap), area.y + (area.h - size[1]) // 2), size)
        shares = np.nan_to_num(np.round(layer[::-1] / most * STEPS) / STEPS).clip(-1, 1)
        pixels = np.empty((across, up, 3), np.uint8)
        for share in np.unique(shares):
            pixels[(shares == share).T] = _shade(float(share))
        surface.blit(pygame.transform.scale(pygame.surfarray.make_surface(pixels), size), place)


def draw_members(surface: pygame.Surface, area: pygame.Rect, shares: Sequence[float], canvas: Canvas) -> None:
    """Draw a small upright bar for each member of a kind, -1 to 1 high, upwards from the middle where above zero."""
    surface.fill(PANEL, area)
    surface.fill(RAISED, (area.x, area.centery, area.w, 1))
    for member, share in enumerate(shares):
        if not math.isfinite(share):
            continue
        left, right = (area.x + area.w * at // len(shares) for at in (member, member + 1))
        tall = max(1, round(abs(share) * area.h / 2))
        top = area.centery - tall if share > 0 else area.centery
        surface.fill(_shade(share), (left, top, max(1, right - left - canvas.px(2)), tall))


def _shade(share: float) -> tuple[int, int, int]:
    share = round(share * STEPS) / STEPS
    return mix(mix(NIGHT, DIM, 0.12), MAIN_LINE if share > 0 else BAD, abs(share))

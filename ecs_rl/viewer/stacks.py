"""Stacked areas over training steps: shares of a whole, or sums whose negative parts are stacked downwards."""

from __future__ import annotations

import numpy as np
import pygame
from numpy.lib.stride_tricks import sliding_window_view

from ecs_rl.arrays import F64
from ecs_rl.records import TIME_UP
from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.palette import DIM, NIGHT, PANEL, ROLES, TEXT, Colour, mix
from ecs_rl.viewer.plots import Axes, decimate
from ecs_rl.viewer.view import Series, Stack

NAME = SMALL - 1
"""Size of the names that stand in areas."""


def colour_of(stack: Stack, number: int) -> Colour:
    """Return the colour of one of the parts."""
    return mix(PANEL, DIM, 0.7) if stack.parts[number].name == TIME_UP else ROLES[number % len(ROLES)]


def layers(stack: Stack) -> tuple[F64, list[tuple[F64, F64]]]:
    """Return the steps, and for each part the lower and upper edges of two areas: of its gains, and of its losses.

    Gains are stacked upwards and losses downwards, each in the order of the parts. A part has both where it changes.
    """
    x, values = _together(stack.parts)
    up, down, areas = np.zeros(len(x)), np.zeros(len(x)), []
    for row in values:
        above, below = up + np.maximum(row, 0.0), down + np.minimum(row, 0.0)
        areas += [(up, above), (below, down)]
        up, down = above, below
    return x, areas


def _together(parts: tuple[Series, ...]) -> tuple[F64, F64]:
    """Return the steps of the first part, and (parts, steps) numbers; zero where a part has no number."""
    x = parts[0].x if parts else np.zeros(0)
    rows = []
    for part in parts:
        good = np.isfinite(part.x) & np.isfinite(part.y)
        rows.append(np.interp(x, part.x[good], part.y[good]) if good.any() else np.zeros(len(x)))
    return x, np.array(rows).reshape(len(parts), len(x))


def reach_of(stack: Stack) -> tuple[float, float]:
    """Return the lowest and the highest number that is drawn; zero is always among them."""
    if stack.whole:
        return 0.0, 1.0
    edges = [edge for pair in layers(stack)[1] for edge in pair]
    low, high = (pick([0.0, *(float(pick(e)) for e in edges if len(e))]) for pick in (min, max))
    return (low, high) if high > low else (0.0, 1.0)


def by_area(stack: Stack) -> list[int]:
    """Return the numbers of the parts that cover anything, the one that covers most first."""
    x, values = _together(stack.parts)
    if len(x) < 2:
        return list(range(len(stack.parts)))
    covered = np.abs(values[:, 1:] + values[:, :-1]) @ np.diff(x)
    return [number for number in np.argsort(-covered, kind="stable").tolist() if covered[number] > 0]


def draw_names(surface: pygame.Surface, axes: Axes, stack: Stack, numbers: list[int], canvas: Canvas) -> None:
    """Write the names of parts into their areas: where one fits whole, else where its area is tallest.

    A name that would lie on another one, or in an area lower than its letters, is left out.
    """
    x, areas = layers(stack)
    area = axes.area
    if len(x) < 2 or area.w < 2:
        return
    steps, placed = np.linspace(axes.x[0], axes.x[1], area.w), list[pygame.Rect]()
    for number in numbers:
        name = stack.parts[number].name
        wide = canvas.width(name, NAME) + canvas.px(6)
        for low, high in areas[2 * number : 2 * number + 2] if wide <= area.w else ():
            edges = (np.interp(steps, x, edge, left=0.0, right=0.0) for edge in (high, low))
            tops, bases = (sliding_window_view(axes.at(steps, edge)[:, 1], wide) for edge in edges)
            top, base = tops.max(axis=1), bases.min(axis=1)  # of the room that the name has from each column on
            if (base - top).max() < canvas.px(NAME - 3):  # the letters without what hangs below them
                top, base = tops[:, wide // 2], bases[:, wide // 2]
            at = int(np.argmax(base - top))
            room = pygame.Rect(0, 0, wide, canvas.px(NAME))
            room.center = round(area.left + at + wide / 2), round((top[at] + base[at]) / 2)
            if base[at] - top[at] >= canvas.px(NAME - 3) and room.collidelist(placed) < 0:
                placed.append(room)
                canvas.write(surface, name, room.center, size=NAME, colour=NIGHT, anchor="middle")
                break


def draw_stack(surface: pygame.Surface, axes: Axes, stack: Stack) -> None:
    """Fill the area of each part."""
    x, areas = layers(stack)
    for number, (low, high) in enumerate(areas):
        if len(x) < 2 or not (high > low).any():
            continue
        top_x, top = decimate(x, high, axes.area.w)
        base_x, base = decimate(x, low, axes.area.w)
        points = np.concatenate((axes.at(top_x, top), axes.at(base_x, base)[::-1]))
        pygame.draw.polygon(surface, mix(PANEL, colour_of(stack, number // 2), 0.75), points.tolist())
    zero = round(axes.y_at(0.0))
    if not stack.whole:
        surface.fill(mix(PANEL, TEXT, 0.6), (axes.area.left, min(zero, axes.area.bottom - 1), axes.area.w, 1))

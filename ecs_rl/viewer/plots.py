"""Plots: axes with round numbers, lines with bands, points, a best mark; as many numbers as you like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.number_formats import count
from ecs_rl.viewer.palette import FAINT, PANEL, RULE, Colour, mix
from ecs_rl.viewer.view import Series

FEW = 12
"""Of fewer numbers all are shown."""
FLAT = 3.0
"""A range that is so many times as wide as that of nearly all numbers hides them."""


@dataclass(frozen=True)
class Axes:
    """Numbers to pixels."""

    area: pygame.Rect
    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: F64, y: F64) -> F64:
        """Return (numbers, 2) pixels."""
        (x0, x1), (y0, y1), area = self.x, self.y, self.area
        px = area.left + (x - x0) / (x1 - x0) * (area.w - 1)
        py = area.bottom - 1 - (y - y0) / (y1 - y0) * (area.h - 1)
        return np.stack((px, py), axis=-1)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixel of a point."""
        px, py = self.at(np.array(x), np.array(y)).tolist()
        return px, py

    def x_at(self, x: float) -> float:
        """Return how far right a number is, pixels."""
        return self.point(x, self.y[0])[0]

    def y_at(self, y: float) -> float:
        """Return how far down a number is, pixels."""
        return self.point(self.x[0], y)[1]


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return at most so many round numbers (1, 2 or 5 times a power of ten apart) between two numbers."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low or most < 1:
        return []
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 0.0
    if not power or math.isinf(power):
        return []
    step = next(power * m for m in (1, 2, 5, 10, 20) if (high - low) / (power * m) <= most)
    first = math.ceil(low / step - 1e-9)
    values = [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)][:most]
    return [0.0 if abs(value) < step * 1e-6 else value for value in values]


def tick_text(value: float, step: float) -> str:
    """Return a tick as short as its neighbours allow."""
    if abs(value) >= 1000 or value == 0:
        return count(value)
    if abs(value) < 1e-3:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


def reach(series: Sequence[F64], spare: float = 0.08) -> tuple[float, float]:
    """Return the range of all finite numbers with a little room; something sensible if there are none."""
    finite = [a[np.isfinite(a)] for a in series]
    joined = np.concatenate(finite) if finite else np.zeros(0)
    if not len(joined):
        return 0.0, 1.0
    low, high = float(joined.min()), float(joined.max())
    room = (high - low) * spare or max(abs(high) * 0.1, 1e-3)
    return low - room, high + room


def steady_reach(series: Sequence[F64]) -> tuple[float, float]:
    """Return the range in which all but a few numbers lie, if the few would flatten all others; else that of all."""
    low, high = reach(series)
    finite = [a[np.isfinite(a)] for a in series]
    ends = [np.quantile(a, (0.04, 0.96)) for a in finite if len(a) >= FEW]
    if not ends:
        return low, high
    inner = float(min(a for a, _ in ends)), float(max(b for _, b in ends))
    room = inner[1] - inner[0]
    if room <= 0 or high - low <= FLAT * room:
        return low, high
    return max(low, inner[0] - room / 4), min(high, inner[1] + room / 4)


def decimate(x: F64, y: F64, columns: int) -> tuple[F64, F64]:
    """Return the first, lowest, highest and last point of each of so many columns: it looks the same, and is short."""
    n = len(x)
    if n <= 4 * columns or columns < 1:
        return x, y
    edges = np.linspace(0, n, columns + 1).astype(np.int64)
    keep = np.zeros(n, dtype=bool)
    keep[edges[:-1]] = keep[edges[1:] - 1] = True
    for fill, pick in ((np.inf, np.minimum), (-np.inf, np.maximum)):
        filled = np.where(np.isfinite(y), y, fill)
        extreme = np.repeat(pick.reduceat(filled, edges[:-1]), np.diff(edges))
        hits = np.flatnonzero(filled == extreme)
        column = np.searchsorted(edges, hits, side="right")
        keep[hits[np.r_[True, column[1:] != column[:-1]]]] = True
    keep |= ~np.isfinite(y) & np.r_[True, np.isfinite(y[:-1])]  # a gap stays a gap
    return x[keep], y[keep]


def runs(x: F64, y: F64) -> list[tuple[F64, F64]]:
    """Return the stretches between gaps."""
    good = np.isfinite(x) & np.isfinite(y)
    edges = np.flatnonzero(np.diff(np.r_[False, good, False]))
    return [(x[a:b], y[a:b]) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def draw_line(surface: pygame.Surface, axes: Axes, series: Series, colour: Colour, width: int = 2) -> None:
    """Draw a line with gaps where numbers are missing; a lonely point becomes a dot."""
    x, y = decimate(series.x, series.y, max(1, axes.area.w))
    for part_x, part_y in runs(x, y):
        points = axes.at(part_x, part_y).tolist()
        if len(points) == 1:
            pygame.draw.aacircle(surface, colour, points[0], width)
            continue
        pygame.draw.aalines(surface, colour, False, points)
        for i in range(1, width):
            soft = colour if i < width - 1 else mix(PANEL, colour, 0.75)
            pygame.draw.aalines(surface, soft, False, [(px, py + i) for px, py in points])


def draw_band(surface: pygame.Surface, axes: Axes, series: Series, colour: Colour) -> None:
    """Fill the band around a line."""
    if series.spread is None or len(series.x) < 2:
        return
    step = max(1, len(series.x) // max(1, 2 * axes.area.w))
    x = series.x[::step]
    low, high = (series.y - series.spread)[::step], (series.y + series.spread)[::step]
    good = np.isfinite(x) & np.isfinite(low) & np.isfinite(high)
    if good.sum() > 1:
        up, down = axes.at(x[good], high[good]), axes.at(x[good], low[good])
        clip = surface.get_clip()
        surface.set_clip(axes.area.clip(clip))
        pygame.draw.polygon(surface, mix(PANEL, colour, 0.2), np.concatenate((up, down[::-1])).tolist())
        surface.set_clip(clip)


def draw_whiskers(surface: pygame.Surface, axes: Axes, series: Series, colour: Colour, width: int = 1) -> None:
    """Draw the spread of each point as an upright line; of many points, of so many that they stay apart."""
    if series.spread is None:
        return
    step = -(-len(series.x) // max(1, axes.area.w // 6)) or 1
    x, y, spread = series.x[::step], series.y[::step], series.spread[::step]
    good = np.isfinite(x) & np.isfinite(y) & np.isfinite(spread)
    high, low = axes.at(x[good], (y + spread)[good]), axes.at(x[good], (y - spread)[good])
    for (left, top), (_, bottom) in zip(high.tolist(), low.tolist(), strict=True):
        line = pygame.Rect(round(left) - width // 2, round(top), width, max(1, round(bottom - top)))
        surface.fill(colour, line.clip(axes.area))


def draw_points(surface: pygame.Surface, axes: Axes, series: Series, colour: Colour, radius: float) -> None:
    """Draw a dot for each number."""
    apart = 4 * (2 * radius + 2)  # of each column there are up to four
    x, y = decimate(series.x, series.y, max(1, int(axes.area.w / apart)))
    good = np.isfinite(x) & np.isfinite(y)
    for point in axes.at(x[good], y[good]).tolist():
        pygame.draw.aacircle(surface, PANEL, point, radius + 1.5)
        pygame.draw.aacircle(surface, colour, point, radius)


def draw_axes(
    surface: pygame.Surface, canvas: Canvas, axes: Axes, *, x_most: int, y_most: int, x_unit: str = ""
) -> None:
    """Draw hairlines and numbers: y to the left of the area, x below it (none where `x_most` is 0)."""
    area = axes.area
    tried = (ticks(*axes.y, most) for most in range(y_most, y_most + 4))
    values = next(
        (candidates for candidates in tried if len(candidates) > 1), []
    )  # one number alone says nothing about distances
    while len(values) > 2 and len(values) > area.h / canvas.px(14):
        values = values[::2]
    step = values[1] - values[0] if len(values) > 1 else 1.0
    for value in values:
        y = round(axes.y_at(value))
        surface.fill(RULE if value else mix(RULE, FAINT, 0.5), (area.left, y, area.w, 1))
        text, at = tick_text(value, step), (area.left - canvas.px(5), y)
        canvas.write(surface, text, at, size=SMALL - 1, colour=FAINT, face="numbers", anchor="right")
    values = ticks(*axes.x, x_most)
    for i, value in enumerate(values):
        write_below(surface, axes, value, count(value) + (x_unit if i == len(values) - 1 else ""), canvas)


def write_below(surface: pygame.Surface, axes: Axes, value: float, text: str, canvas: Canvas) -> None:
    """Write what a number is below its place, within the width of the area."""
    area, half = axes.area, canvas.width(text, SMALL - 1, "numbers") / 2
    x = min(max(axes.x_at(value), area.left + half), max(area.right - half, area.left + half))
    at = (x, area.bottom + canvas.px(8))
    canvas.write(surface, text, at, size=SMALL - 1, colour=FAINT, face="numbers", anchor="middle")

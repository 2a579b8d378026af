"""Plots over training steps: axes, lines and bands, and the plot of returns with its goal and its band."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.number_formats import count, result, short
from ecs_rl.viewer.palette import (
    DIM,
    FAINT,
    GOOD,
    MAIN_LINE,
    PANEL,
    PURPLE,
    RULE,
    SECOND_LINE,
    TEXT,
    YELLOW,
    Colour,
    mix,
)
from ecs_rl.viewer.view import LearningView, Series

FEW = 12
"""Of fewer numbers all are shown."""
FLAT = 3.0
"""A range that is so many times as wide as that of nearly all numbers hides them."""
BEST, RATED = "best", "Elo"
HEAD = 24
"""Height of a plot's head."""


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


def x_reach(learning: LearningView) -> tuple[float, float]:
    """Return the same steps for all plots: from zero to the newest number."""
    series = (learning.returns, learning.evaluations, *(line for lines in learning.others for line in lines))
    last = [float(np.nanmax(line.x)) for line in series if np.isfinite(line.x).any()]
    return 0.0, max([1.0, *last])


def plot_area(rect: pygame.Rect, canvas: Canvas, *, below: bool) -> pygame.Rect:
    """Return the part of a plot in which its curves are; `below` it there is room for numbers."""
    left, top, under = canvas.px(40), canvas.px(HEAD), canvas.px(18 if below else 8)
    return pygame.Rect(rect.x + left, rect.y + top, max(4, rect.w - left), max(4, rect.h - top - under))


def paint_returns(
    surface: pygame.Surface, rect: pygame.Rect, learning: LearningView, x: tuple[float, float], canvas: Canvas
) -> None:
    """Paint the large plot: returns in training, evaluations, the goal and the best."""
    area = plot_area(rect, canvas, below=True)
    returns, evaluations = learning.returns, learning.evaluations
    heads = [(returns.name[:1].upper() + returns.name[1:], TEXT)]
    if returns.name != RATED:
        heads += [("training", MAIN_LINE), ("evaluation", SECOND_LINE)]
    draw_head(
        surface, rect, [*heads, *([(BEST, YELLOW)] if learning.best else [])], _named(evaluations, returns), canvas
    )
    if not any(np.isfinite(line.y).any() for line in (returns, evaluations)):
        write_nothing(surface, area, learning.waiting, canvas)
        return
    band = [] if returns.spread is None else [returns.y - returns.spread, returns.y + returns.spread]
    ghost = _within(learning.ghost, x)
    axes = Axes(area, x, reach([returns.y, evaluations.y, ghost.y, goal_of(learning.solved_at), *band]))
    y_most = max(2, area.h // canvas.px(30))
    draw_axes(surface, canvas, axes, x_most=max(2, area.w // canvas.px(80)), y_most=y_most, x_unit=" steps")
    draw_band(surface, axes, returns, MAIN_LINE)
    _draw_ghost(surface, axes, ghost, canvas)
    draw_whiskers(surface, axes, evaluations, mix(PANEL, SECOND_LINE, 0.45), canvas.px(1))
    draw_line(surface, axes, returns, MAIN_LINE, canvas.px(2))
    draw_line(surface, axes, evaluations, mix(PANEL, SECOND_LINE, 0.6), 1)
    draw_points(surface, axes, evaluations, SECOND_LINE, 2.6 * canvas.scale)
    draw_goal(surface, axes, learning.solved_at, canvas)
    if learning.solved_step is not None and axes.x[0] <= learning.solved_step <= axes.x[1]:
        _flag(surface, axes, learning.solved_step, canvas)
    draw_changes(surface, axes, learning.changes, canvas)
    if learning.best is not None:
        at = axes.point(*learning.best)
        if np.isfinite(at).all():
            draw_star(surface, at, 6.5 * canvas.scale)


def _within(ghost: Series | None, x: tuple[float, float]) -> Series:
    """Return the part of a previous run's curve that lies within these steps."""
    if ghost is None:
        return Series("")
    there = (ghost.x >= x[0]) & (ghost.x <= x[1])
    return Series(ghost.name, ghost.x[there], ghost.y[there])


def _draw_ghost(surface: pygame.Surface, axes: Axes, ghost: Series, canvas: Canvas) -> None:
    """Draw a previous run's curve, and what it came to in words at the lower right."""
    if not len(ghost.x):
        return
    colour = mix(PANEL, FAINT, 0.75)
    draw_line(surface, axes, ghost, colour, canvas.px(1))
    at = (axes.area.right - canvas.px(4), axes.area.bottom - canvas.px(22))
    back = pygame.Rect(0, 0, canvas.width(ghost.name, SMALL - 1) + canvas.px(8), canvas.px(14))
    back.midright = (axes.area.right, at[1])
    rounded(surface, back.clip(axes.area), PANEL, radius=canvas.px(4), alpha=215)
    canvas.write(surface, ghost.name, at, size=SMALL - 1, colour=FAINT, anchor="right", width=axes.area.w)


def goal_of(solved_at: float | None) -> F64:
    """Return the number at which a scene counts as solved, none where it has no such number."""
    return np.array([]) if solved_at is None or not math.isfinite(solved_at) else np.array([solved_at])


def axes_over(area: pygame.Rect, lines: Sequence[Series], solved_at: float | None) -> Axes:
    """Return axes for all of these lines from step 0 on, and for the number at which the scene counts as solved."""
    last = max((float(line.x[-1]) for line in lines if len(line.x)), default=1.0)
    return Axes(area, (0.0, max(1.0, last)), reach([*(line.y for line in lines), goal_of(solved_at)]))


def draw_goal(surface: pygame.Surface, axes: Axes, value: float | None, canvas: Canvas) -> None:
    """Draw the dashed line at which the scene counts as solved."""
    if value is None or not math.isfinite(value):
        return
    y = round(axes.y_at(value))
    dash = canvas.px(5)
    for left in range(axes.area.left, axes.area.right, 2 * dash):
        surface.fill(mix(PANEL, GOOD, 0.75), (left, y, min(dash, axes.area.right - left), canvas.px(1)))
    above = axes.area.bottom - y < canvas.px(16)  # else below: curves that get there come from below, and do so late
    at = (axes.area.left + canvas.px(5), y + (-canvas.px(7) if above else canvas.px(8)))
    text = f"solved at {short(value)}"
    back = pygame.Rect(0, 0, canvas.width(text, SMALL - 1) + canvas.px(8), canvas.px(14))
    back.midleft = (at[0] - canvas.px(4), at[1])
    rounded(surface, back, PANEL, radius=canvas.px(4), alpha=215)
    canvas.write(surface, text, at, size=SMALL - 1, colour=mix(PANEL, GOOD, 0.9))


def draw_changes(surface: pygame.Surface, axes: Axes, changes: tuple[tuple[float, str], ...], canvas: Canvas) -> None:
    """Draw a dotted line where a setting was changed, and what to, as far as the words have room."""
    colour, free = mix(PANEL, PURPLE, 0.8), math.inf
    bottom = axes.area.bottom - canvas.px(8)
    for step, text in reversed(changes):  # the newest has the room first
        if not (math.isfinite(step) and axes.x[0] <= step <= axes.x[1]):
            continue
        x = round(axes.x_at(step))
        for y in range(axes.area.top, axes.area.bottom, canvas.px(5)):
            surface.fill(colour, (x, y, canvas.px(1), canvas.px(2)))
        wide = canvas.width(text, SMALL - 1)
        left = min(x + canvas.px(3), axes.area.right - wide)
        if left + wide <= free and left >= axes.area.left:
            surface.fill(mix(PANEL, PURPLE, 0.1), (left - 1, bottom - canvas.px(6), wide + 2, canvas.px(12)))
            canvas.write(surface, text, (left, bottom), size=SMALL - 1, colour=mix(PURPLE, TEXT, 0.3))
            free = min(left, x) - canvas.px(6)


def _flag(surface: pygame.Surface, axes: Axes, step: float, canvas: Canvas) -> None:
    """Draw a flag where the scene was solved."""
    x, top = round(axes.x_at(step)), axes.area.top
    for y in range(top, axes.area.bottom, canvas.px(6)):
        surface.fill(mix(PANEL, GOOD, 0.8), (x, y, canvas.px(1), canvas.px(3)))
    high, wide = canvas.px(9), canvas.px(10) if x + canvas.px(10) < axes.area.right else -canvas.px(10)
    pygame.draw.polygon(surface, GOOD, [(x, top), (x + wide, top + high // 2), (x, top + high)])


def draw_star(surface: pygame.Surface, at: tuple[float, float], radius: float, colour: Colour = YELLOW) -> None:
    """Draw a star, which marks the best."""
    turns = np.arange(10) * np.pi / 5 - np.pi / 2
    lengths = np.where(np.arange(10) % 2 == 0, radius, radius * 0.45)
    for grown, filled in ((1.45, PANEL), (1.0, colour)):
        points = np.stack((np.cos(turns), np.sin(turns)), axis=1) * (lengths * grown)[:, None] + at
        pygame.draw.polygon(surface, filled, points.tolist())
        pygame.draw.aalines(surface, filled, True, points.tolist())


def write_nothing(surface: pygame.Surface, area: pygame.Rect, text: str, canvas: Canvas) -> None:
    """Write why a plot has no curve."""
    canvas.write(surface, text, area.center, size=SMALL, colour=DIM, anchor="middle", width=area.w)


def draw_head(
    surface: pygame.Surface,
    rect: pygame.Rect,
    heads: list[tuple[str, Colour]],
    newest: str,
    canvas: Canvas,
    *,
    least: int = 1,
) -> int:
    """Draw names, which are the legend too, and the newest number; return how many names there is room for.

    The first ones, `least`, are cut where they do not fit.
    """
    y = rect.y + canvas.px(HEAD) // 2
    number = canvas.write(surface, newest, (rect.right, y), size=SMALL, face="numbers", anchor="right")
    x, end = rect.x, number.left - canvas.px(8)
    for i, (name, colour) in enumerate(heads):
        if x >= end or (i >= least and canvas.width(name, SMALL) + canvas.px(13 if name == BEST else 0) > end - x):
            return i
        if name == BEST:
            draw_star(surface, (x + 5 * canvas.scale, y), 5.0 * canvas.scale)
            x += canvas.px(13)
        x += canvas.write(surface, name, (x, y), size=SMALL, colour=colour, width=end - x).w + canvas.px(10)
    return len(heads)


def _named(evaluations: Series, returns: Series) -> str:
    """Return the newest number of the large plot, and what it is."""
    curve = evaluations if np.isfinite(evaluations.y).any() else returns
    newest = newest_of(curve)
    if returns.name == RATED:
        return newest
    return f"{'evaluation' if curve is evaluations else 'training'} {newest}" if newest else ""


def newest_of(series: Series) -> str:
    """Return the newest number of a series, `""` if it has none."""
    good = series.y[np.isfinite(series.y)]
    return result(float(good[-1])) if len(good) else ""

"""The return over training steps as a large plot, and what it shares with small ones: for the window and pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.number_formats import result, short
from ecs_rl.viewer.palette import DIM, GOOD, MAIN_LINE, PANEL, PURPLE, SECOND_LINE, TEXT, YELLOW, Colour, mix
from ecs_rl.viewer.plots import Axes, draw_axes, draw_band, draw_line, draw_points, draw_whiskers, reach
from ecs_rl.viewer.view import LearningView, Series

BEST, RATED = "best", "Elo"
HEAD = 24
"""Height of a plot's head."""


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
    axes = Axes(area, x, reach([returns.y, evaluations.y, goal_of(learning.solved_at), *band]))
    y_most = max(2, area.h // canvas.px(30))
    draw_axes(surface, canvas, axes, x_most=max(2, area.w // canvas.px(80)), y_most=y_most, x_unit=" steps")
    draw_band(surface, axes, returns, MAIN_LINE)
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

"""The learning drawer: the return as a large plot, all else as small ones; painted only when there are new numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pygame

from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.key_caps import draw_head_key
from ecs_rl.viewer.number_formats import count, short
from ecs_rl.viewer.palette import DIM, GOOD, MAIN_LINE, NIGHT, PANEL, PURPLE, SECOND_LINE, TEXT, YELLOW, Colour, mix
from ecs_rl.viewer.panels.stacks import by_area, colour_of, draw_names, draw_stack, reach_of
from ecs_rl.viewer.plots import Axes, draw_axes, draw_band, draw_line, draw_points, draw_whiskers, reach, steady_reach
from ecs_rl.viewer.view import LearningView, Series, Stack

BEST, RATED = "best", "Elo"
LINES: tuple[Colour, ...] = (MAIN_LINE, SECOND_LINE, PURPLE)
EDGE, HEAD = 14, 24
KEY, KEY_ROOM, KEYED = "M", 22, 420
"""The key that hides the drawer takes a little room to the right of one that is so wide."""


def draw_learning(surface: pygame.Surface, area: pygame.Rect, learning: LearningView, canvas: Canvas) -> None:
    """Draw the drawer."""
    if area.w > canvas.px(80) and area.h > canvas.px(60):
        canvas.lay(surface, area, "learning", learning, _paint)


def places(
    size: tuple[int, int], others: int, canvas: Canvas, stacks: int = 0
) -> tuple[pygame.Rect, list[pygame.Rect]]:
    """Return the rectangle of the large plot, and as many small ones as there is room for, in two rows.

    With stacks the small ones are narrower, so that there are two more; and with many, where the window is wide.
    """
    w, h = size
    edge, gap = canvas.px(EDGE), canvas.px(18)
    key = canvas.px(KEY_ROOM) if w >= canvas.px(KEYED) else 0
    inner = pygame.Rect(edge, canvas.px(4), w - 2 * edge - key, h - canvas.px(8))
    rows = 2 if h >= canvas.px(150) else 1
    others += stacks
    needed, room = max(1, -(-others // rows)), int(inner.w * 0.62)
    wide = max(canvas.px(132), min(round(inner.w * (0.18 if stacks else 0.235)), room // needed - gap))
    columns = min(needed if others else 0, room // (wide + gap))
    if not columns:
        return inner, []
    large = pygame.Rect(inner.x, inner.y, inner.w - columns * (wide + gap), inner.h)
    tall = inner.h // rows
    small = [
        pygame.Rect(large.right + gap + (i // rows) * (wide + gap), inner.y + (i % rows) * tall, wide, tall)
        for i in range(min(others, rows * columns))
    ]
    return large, small


def _paint(surface: pygame.Surface, learning: LearningView, canvas: Canvas) -> None:
    surface.fill(PANEL)
    surface.fill(NIGHT, (0, 0, surface.get_width(), canvas.px(1)))
    if surface.get_width() >= canvas.px(KEYED):
        draw_head_key(surface, KEY, surface.get_width() - canvas.px(7), canvas.px(4 + HEAD / 2), canvas)
    large, small = places(surface.get_size(), len(learning.others), canvas, len(learning.stacks))
    x = x_reach(learning)
    paint_returns(surface, large, learning, x, canvas)
    for rect, stack in zip(small, learning.stacks, strict=False):
        _paint_stack(surface, rect, stack, x, canvas)
    for rect, lines in zip(small[len(learning.stacks) :], learning.others, strict=False):
        _paint_small(surface, rect, lines, learning, canvas)


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
    _head(surface, rect, [*heads, *([(BEST, YELLOW)] if learning.best else [])], _named(evaluations, returns), canvas)
    seen = [returns.y, evaluations.y]
    goal = learning.solved_at if learning.solved_at is not None and math.isfinite(learning.solved_at) else None
    if goal is not None and any(np.isfinite(part).any() for part in seen):
        seen.append(np.array([goal]))
    if not any(np.isfinite(part).any() for part in seen):
        _nothing(surface, area, learning.waiting, canvas)
        return
    band = [] if returns.spread is None else [returns.y - returns.spread, returns.y + returns.spread]
    axes = Axes(area, x, reach([*seen, *band]))
    y_most = max(2, area.h // canvas.px(30))
    draw_axes(surface, canvas, axes, x_most=max(2, area.w // canvas.px(80)), y_most=y_most, x_unit=" steps")
    draw_band(surface, axes, returns, MAIN_LINE)
    draw_whiskers(surface, axes, evaluations, mix(PANEL, SECOND_LINE, 0.45), canvas.px(1))
    draw_line(surface, axes, returns, MAIN_LINE, canvas.px(2))
    draw_line(surface, axes, evaluations, mix(PANEL, SECOND_LINE, 0.6), 1)
    draw_points(surface, axes, evaluations, SECOND_LINE, 2.6 * canvas.scale)
    if goal is not None:
        draw_goal(surface, axes, goal, canvas)
    if learning.solved_step is not None and axes.x[0] <= learning.solved_step <= axes.x[1]:
        _flag(surface, axes, learning.solved_step, canvas)
    draw_changes(surface, axes, learning.changes, canvas)
    if learning.best is not None:
        at = axes.at(np.array(learning.best[0]), np.array(learning.best[1]))
        if np.isfinite(at).all():
            _star(surface, (float(at[0]), float(at[1])), 6.5 * canvas.scale)


def draw_goal(surface: pygame.Surface, axes: Axes, value: float, canvas: Canvas) -> None:
    """Draw the dashed line at which the scene counts as solved."""
    y = round(axes.at(np.array(0.0), np.array(value))[1])
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
    for step, told in reversed(changes):  # the newest is told first
        if not (math.isfinite(step) and axes.x[0] <= step <= axes.x[1]):
            continue
        x = round(float(axes.at(np.array(step), np.array(axes.y[0]))[0]))
        for y in range(axes.area.top, axes.area.bottom, canvas.px(5)):
            surface.fill(colour, (x, y, canvas.px(1), canvas.px(2)))
        wide = canvas.width(told, SMALL - 1)
        left = min(x + canvas.px(3), axes.area.right - wide)
        if left + wide <= free and left >= axes.area.left:
            surface.fill(mix(PANEL, PURPLE, 0.1), (left - 1, bottom - canvas.px(6), wide + 2, canvas.px(12)))
            canvas.write(surface, told, (left, bottom), size=SMALL - 1, colour=mix(PURPLE, TEXT, 0.3))
            free = min(left, x) - canvas.px(6)


def _flag(surface: pygame.Surface, axes: Axes, step: float, canvas: Canvas) -> None:
    """Draw a flag where the scene was solved."""
    x, top = round(float(axes.at(np.array(step), np.array(axes.y[0]))[0])), axes.area.top
    for y in range(top, axes.area.bottom, canvas.px(6)):
        surface.fill(mix(PANEL, GOOD, 0.8), (x, y, canvas.px(1), canvas.px(3)))
    high, wide = canvas.px(9), canvas.px(10) if x + canvas.px(10) < axes.area.right else -canvas.px(10)
    pygame.draw.polygon(surface, GOOD, [(x, top), (x + wide, top + high // 2), (x, top + high)])


def _star(surface: pygame.Surface, at: tuple[float, float], radius: float, colour: Colour = YELLOW) -> None:
    turns = np.arange(10) * np.pi / 5 - np.pi / 2
    lengths = np.where(np.arange(10) % 2 == 0, radius, radius * 0.45)
    for grown, filled in ((1.45, PANEL), (1.0, colour)):
        points = np.stack((np.cos(turns), np.sin(turns)), axis=1) * (lengths * grown)[:, None] + at
        pygame.draw.polygon(surface, filled, points.tolist())
        pygame.draw.aalines(surface, filled, True, points.tolist())


def _paint_small(
    surface: pygame.Surface,
    rect: pygame.Rect,
    lines: tuple[Series, ...],
    learning: LearningView,
    canvas: Canvas,
) -> None:
    """Paint a small plot, with a star in the colour of its line where an agent was at its best."""
    area = plot_area(rect, canvas, below=False)
    if len(lines) == 1:
        heads, newest = [(lines[0].name, TEXT)], _newest(lines[0])
    else:
        heads, newest = [(line.name, LINES[i % len(LINES)]) for i, line in enumerate(lines)], ""
    _head(surface, rect, heads, newest, canvas)
    if not any(np.isfinite(line.y).any() for line in lines):
        _nothing(surface, area, "nothing yet", canvas)
        return
    bests = dict(learning.bests)
    stars = [bests.get(line.name) for line in lines]
    shown = [*(line.y for line in lines), *(np.array(star[1:]) for star in stars if star is not None)]
    axes = Axes(area, x_reach(learning), steady_reach(shown))
    draw_axes(surface, canvas, axes, x_most=0, y_most=max(3, area.h // canvas.px(22)))
    clip = surface.get_clip()
    surface.set_clip(area.inflate(0, canvas.px(4)).clip(clip))  # what flattened all others leaves the plot
    for i, line in enumerate(lines):
        draw_band(surface, axes, line, LINES[i % len(LINES)])
        draw_line(surface, axes, line, LINES[i % len(LINES)], canvas.px(1))
    surface.set_clip(clip)
    for i, star in enumerate(stars):
        if star is not None and axes.x[0] <= star[0] <= axes.x[1]:
            at = axes.at(np.array(star[0]), np.array(star[1]))
            _star(surface, (float(at[0]), float(at[1])), 4.5 * canvas.scale, LINES[i % len(LINES)])


def _paint_stack(
    surface: pygame.Surface, rect: pygame.Rect, stack: Stack, x: tuple[float, float], canvas: Canvas
) -> None:
    area = plot_area(rect, canvas, below=False)
    largest = by_area(stack)
    heads = [(stack.parts[number].name, colour_of(stack, number)) for number in largest]
    named = _head(surface, rect, [(stack.name, TEXT), *heads], "", canvas, least=2) - 1
    axes = Axes(area, x, reach_of(stack))
    draw_axes(surface, canvas, axes, x_most=0, y_most=max(3, area.h // canvas.px(22)))
    draw_stack(surface, axes, stack)
    draw_names(surface, axes, stack, largest[max(0, named) :], canvas)


def readings(area: pygame.Rect, learning: LearningView, canvas: Canvas, pixel: tuple[float, float]) -> list[str]:
    """Return the step and the values of the curves of the plot under a pixel of the window, nothing beside plots."""
    if not area.collidepoint(pixel):
        return []
    at, x = (pixel[0] - area.x, pixel[1] - area.y), x_reach(learning)
    large, small = places(area.size, len(learning.others), canvas, len(learning.stacks))
    lines: list[tuple[pygame.Rect, tuple[Series, ...]]] = [(plot_area(large, canvas, below=True), _returns(learning))]
    parts = [*(stack.parts for stack in learning.stacks), *learning.others]
    lines += [(plot_area(rect, canvas, below=False), series) for rect, series in zip(small, parts, strict=False)]
    for plot, series in lines:
        if plot.collidepoint(at):
            step = x[0] + (at[0] - plot.left) / max(1, plot.w - 1) * (x[1] - x[0])
            values = [f"{line.name}  {told}" for line in series if (told := _value_at(line, step))]
            return [f"step {step:,.0f}", *values] if values else []
    return []


def _returns(learning: LearningView) -> tuple[Series, ...]:
    names = f"{learning.returns.name} in training", "evaluation"
    lines = (learning.returns, learning.evaluations)
    return tuple(replace(line, name=name) for line, name in zip(lines, names, strict=True))


def _value_at(line: Series, step: float) -> str:
    """Return the value of a curve that is nearest to a step, '' where it has none."""
    good = np.isfinite(line.x) & np.isfinite(line.y)
    if not good.any():
        return ""
    value = float(line.y[good][np.abs(line.x[good] - step).argmin()])
    return count(value) if abs(value) >= 1000 else short(value)


def _nothing(surface: pygame.Surface, area: pygame.Rect, text: str, canvas: Canvas) -> None:
    canvas.write(surface, text, area.center, size=SMALL, colour=DIM, anchor="middle", width=area.w)


def _head(
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
    shown = canvas.write(surface, newest, (rect.right, y), size=SMALL, face="numbers", anchor="right")
    x, end = rect.x, shown.left - canvas.px(8)
    for i, (name, colour) in enumerate(heads):
        if x >= end or (i >= least and canvas.width(name, SMALL) + canvas.px(13 if name == BEST else 0) > end - x):
            return i
        if name == BEST:
            _star(surface, (x + 5 * canvas.scale, y), 5.0 * canvas.scale)
            x += canvas.px(13)
        x += canvas.write(surface, name, (x, y), size=SMALL, colour=colour, width=end - x).w + canvas.px(10)
    return len(heads)


def _named(evaluations: Series, returns: Series) -> str:
    """Return the newest number of the large plot, and what it is."""
    shown = evaluations if np.isfinite(evaluations.y).any() else returns
    newest = _newest(shown)
    if returns.name == RATED:
        return newest
    return f"{'evaluation' if shown is evaluations else 'training'} {newest}" if newest else ""


def _newest(*choices: Series) -> str:
    for series in choices:
        good = series.y[np.isfinite(series.y)]
        if len(good):
            value = float(good[-1])
            return count(value) if abs(value) >= 1000 else short(value)
    return ""

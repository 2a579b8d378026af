"""Pictures that compare runs: the curves of several seeds, and the trials and settings of a sweep.

They are drawn on surfaces of their own and need no display.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.session.bootstrap import interval, iqm
from ecs_rl.viewer.canvas import LARGE, SMALL, Canvas
from ecs_rl.viewer.films.encoder import save_png
from ecs_rl.viewer.history import History
from ecs_rl.viewer.number_formats import short
from ecs_rl.viewer.palette import DIM, MAIN_LINE, PANEL, RULE, SECOND_LINE, mix
from ecs_rl.viewer.plots import Axes, axes_over, draw_axes, draw_band, draw_goal, draw_line, reach, write_below
from ecs_rl.viewer.view import Series

SIZE, SCALE = (1280, 720), 1.5
REPETITIONS = 2_000
"""Resampled sets of runs for each point of the band: it is drawn, not read off."""
NO_EVALUATION = "no evaluation yet"
MOST_PANELS = 6
"""Settings that have a panel of their own; more would be too small to read."""


def draw_seeds(
    runs: Mapping[int, Path], path: Path, *, title: str, solved_at: float | None = None, score: str = ""
) -> None:
    """Draw the evaluations of runs, by their seed, into a PNG; StorageError if it cannot be written."""
    curves = {seed: evaluations(run, score) for seed, run in runs.items()}
    surface = pygame.Surface(SIZE)
    paint_seeds(surface, {seed: curve for seed, curve in curves.items() if len(curve.x)}, title, solved_at, score)
    save_png(surface, path)


def evaluations(run: Path, score: str) -> Series:
    """Return the mean of each evaluation of a run over the steps, as far as it was a number."""
    history = History(run, score=score)
    while history.behind:
        history.read()
    series = history.refresh().evaluations
    good = np.isfinite(series.x) & np.isfinite(series.y)
    return Series(series.name, series.x[good], series.y[good])


def together(curves: Mapping[int, Series]) -> tuple[Series, F64]:
    """Return the interquartile mean over all steps that any run was evaluated at with its band, and (steps, runs).

    A run that has ended stays at its last evaluation: it was solved, or its policy is what it is.
    """
    x = np.unique(np.concatenate([curve.x for curve in curves.values()]))
    y = np.stack([np.interp(x, curve.x, curve.y) for curve in curves.values()], axis=1)
    low, high = interval(y, REPETITIONS)
    return Series("IQM", x, iqm(y), None), np.stack((low, high), axis=1)


def paint_seeds(
    surface: pygame.Surface, curves: Mapping[int, Series], title: str, solved_at: float | None, score: str
) -> None:
    """Paint the whole picture."""
    canvas, (w, h) = Canvas(SCALE), surface.get_size()
    surface.fill(PANEL)
    edge, head = canvas.px(20), canvas.px(22)
    canvas.write(surface, title, (edge, head), size=LARGE)
    area = pygame.Rect(edge + canvas.px(40), canvas.px(66), w - 2 * edge - canvas.px(40), h - canvas.px(66 + 40))
    if not curves:
        canvas.write(surface, NO_EVALUATION, area.center, colour=DIM, anchor="middle")
        return
    middle, band = together(curves)
    ended = len({float(curve.x[-1]) for curve in curves.values()}) > 1
    legend = [
        ("interquartile mean", MAIN_LINE),
        ("95 % bootstrap interval", mix(PANEL, MAIN_LINE, 0.6)),
        (f"{len(curves)} {'seed' if len(curves) == 1 else 'seeds'}", mix(PANEL, SECOND_LINE, 0.8)),
        *([("a run that has ended stays where it was", DIM)] if ended else []),
    ]
    x = edge
    for text, colour in legend:
        x += canvas.write(surface, text, (x, head + canvas.px(22)), size=SMALL, colour=colour).w + canvas.px(16)
    what = f"evaluation, {score}" if score else "evaluation, mean return"
    canvas.write(surface, what, (w - edge, head), size=SMALL, colour=DIM, anchor="right")

    axes = axes_over(area, list(curves.values()), solved_at)
    draw_axes(surface, canvas, axes, x_most=10, y_most=8, x_unit=" steps")
    low, high = band.T
    draw_band(surface, axes, Series("band", middle.x, (low + high) / 2, (high - low) / 2), MAIN_LINE)
    draw_goal(surface, axes, solved_at, canvas)
    for curve in curves.values():
        draw_line(surface, axes, curve, mix(PANEL, SECOND_LINE, 0.55), 1)
    draw_line(surface, axes, middle, MAIN_LINE, canvas.px(2))


@dataclass(frozen=True)
class TrialCurve:
    """What is drawn of one trial."""

    steps: Sequence[float]
    best: Sequence[float]
    """The best evaluation by then, the mean over the seeds."""
    value: float | None
    """What it is judged by, None where it could not be."""
    places: Sequence[float]
    """Where its settings lie on their axes, each from 0 to 1."""


@dataclass(frozen=True)
class SettingAxis:
    """One setting that varied."""

    name: str
    marks: Sequence[tuple[float, str]]
    """Places from 0 to 1, and what is written there."""


@dataclass(frozen=True)
class SweepView:
    """All that the picture shows; `best` is the number of a trial in `trials`."""

    title: str
    measure: str
    """What `value` is, in words."""
    trials: Sequence[TrialCurve]
    axes: Sequence[SettingAxis]
    best: int
    solved_at: float | None = None
    score: str = ""


def draw_sweep(view: SweepView, path: Path) -> None:
    """Draw a sweep into a PNG; StorageError if it cannot be written."""
    surface = pygame.Surface(SIZE)
    paint_sweep(surface, view)
    save_png(surface, path)


def paint_sweep(surface: pygame.Surface, view: SweepView) -> None:
    """Paint the whole picture: curves to the left, a panel for each setting to the right."""
    canvas, (w, h) = Canvas(SCALE), surface.get_size()
    surface.fill(PANEL)
    edge, head = canvas.px(20), canvas.px(22)
    canvas.write(surface, view.title, (edge, head), size=LARGE)
    what = f"best evaluation, {view.score}" if view.score else "best evaluation, mean return"
    x = edge
    for text, colour in ((what, DIM), ("the best", SECOND_LINE), ("the others", mix(PANEL, MAIN_LINE, 0.8))):
        x += canvas.write(surface, text, (x, head + canvas.px(22)), size=SMALL, colour=colour).w + canvas.px(16)
    left = round(w * 0.52)
    top, bottom = canvas.px(66), h - canvas.px(36)
    paint_curves(
        surface, canvas, pygame.Rect(edge + canvas.px(40), top, left - edge - canvas.px(40), bottom - top), view
    )
    settings = view.axes[:MOST_PANELS]
    canvas.write(surface, view.measure, (left + canvas.px(24), head + canvas.px(22)), size=SMALL, colour=DIM)
    columns = 1 if len(settings) <= 2 else 2
    rows = math.ceil(len(settings) / columns)
    wide, high = (w - left - edge) // columns, (bottom - top + canvas.px(20)) // max(1, rows)
    for i in range(len(settings)):
        corner = (left + (i % columns) * wide + canvas.px(58), top + (i // columns) * high)
        area = pygame.Rect(*corner, wide - canvas.px(66), high - canvas.px(42))
        paint_setting(surface, canvas, area, view, i)


def paint_curves(surface: pygame.Surface, canvas: Canvas, area: pygame.Rect, view: SweepView) -> None:
    """Paint the best evaluation of every trial over its steps, that of the best trial last."""
    series = [Series("", np.asarray(trial.steps, float), np.asarray(trial.best, float)) for trial in view.trials]
    axes = axes_over(area, series, view.solved_at)
    draw_axes(surface, canvas, axes, x_most=6, y_most=8, x_unit=" steps")
    draw_goal(surface, axes, view.solved_at, canvas)
    order = [i for i in range(len(series)) if i != view.best] + [view.best]
    for i in order:
        best = i == view.best
        draw_line(
            surface, axes, series[i], SECOND_LINE if best else mix(PANEL, MAIN_LINE, 0.5), canvas.px(2) if best else 1
        )
        if len(series[i].x) == 1:  # a line of one point cannot be seen
            dot(surface, axes, float(series[i].x[0]), float(series[i].y[0]), canvas, best=best)


def paint_setting(surface: pygame.Surface, canvas: Canvas, area: pygame.Rect, view: SweepView, number: int) -> None:
    """Paint a dot for each trial that was judged: its setting to the right, how well it did upwards."""
    setting = view.axes[number]
    values = np.array([trial.value for trial in view.trials if trial.value is not None], float)
    axes = Axes(area, (-0.04, 1.04), reach([values]))
    draw_axes(surface, canvas, axes, x_most=0, y_most=4)
    surface.fill(RULE, (area.left, area.bottom, area.w, 1))
    for place, text in setting.marks:
        write_below(surface, axes, place, text, canvas)
    at = (area.centerx, area.bottom + canvas.px(21))
    canvas.write(surface, setting.name, at, size=SMALL, colour=DIM, anchor="middle", width=area.w)
    order = [i for i in range(len(view.trials)) if i != view.best] + [view.best]
    for i in order:
        trial = view.trials[i]
        if trial.value is not None:
            dot(surface, axes, trial.places[number], trial.value, canvas, best=i == view.best)


def dot(surface: pygame.Surface, axes: Axes, x: float, y: float, canvas: Canvas, *, best: bool) -> None:
    """Draw one trial as a dot; the best one is larger, and says its value."""
    point = axes.point(x, y)
    radius = canvas.px(4) if best else canvas.px(2.5)
    pygame.draw.aacircle(surface, PANEL, point, radius + 1.5)
    pygame.draw.aacircle(surface, SECOND_LINE if best else mix(PANEL, MAIN_LINE, 0.8), point, radius)
    if best:
        above = point[1] - axes.area.top > canvas.px(16)
        at = (point[0], point[1] + (-canvas.px(11) if above else canvas.px(11)))
        canvas.write(surface, short(y), at, size=SMALL - 1, colour=SECOND_LINE, face="numbers", anchor="middle")

"""The picture of several seeds: each one's evaluations, their interquartile mean and its bootstrap band.

It is drawn on a surface of its own and needs no display.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.session.bootstrap import interval, iqm
from ecs_rl.viewer.canvas import LARGE, SMALL, Canvas
from ecs_rl.viewer.films.picture_files import save_png
from ecs_rl.viewer.history import History
from ecs_rl.viewer.palette import DIM, MAIN_LINE, PANEL, SECOND_LINE, mix
from ecs_rl.viewer.plots import draw_axes, draw_band, draw_line
from ecs_rl.viewer.return_plot import axes_over, draw_goal
from ecs_rl.viewer.view import Series

SIZE, SCALE = (1280, 720), 1.5
REPETITIONS = 2_000
"""Resampled sets of runs for each point of the band: it is drawn, not read off."""
NO_EVALUATION = "no evaluation yet"


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

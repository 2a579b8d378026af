"""The timeline: along the return curve, the policies of the run and where the one on the stage stands."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pygame

from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import DIM, PANEL, TEXT, mix
from ecs_rl.viewer.panels.learning import places, plot_area, x_reach
from ecs_rl.viewer.plots import Axes
from ecs_rl.viewer.view import LearningView
from ecs_rl.viewer.view_floating import TimelineView

NOTCH = 6
"""Pixels that the notch of a policy is high."""


def curve_axes(area: pygame.Rect, learning: LearningView, canvas: Canvas) -> Axes:
    """Return where the return curve is in a window whose learning drawer is there, and which steps it shows."""
    large, _ = places(area.size, len(learning.others), canvas, len(learning.stacks))
    return Axes(plot_area(large, canvas, below=True).move(area.topleft), x_reach(learning), (0.0, 1.0))


def draw_timeline(
    surface: pygame.Surface, area: pygame.Rect, learning: LearningView, timeline: TimelineView, canvas: Canvas
) -> None:
    """Draw a notch for each policy that can be put on the stage, and the mark of the one that is there."""
    axes = curve_axes(area, learning, canvas)
    place = axes.area.inflate(2 * canvas.px(NOTCH), 2 * canvas.px(NOTCH))
    canvas.lay(surface, place, "timeline", (learning, timeline, place.topleft), partial(_paint, axes), clear=True)


def _paint(
    axes: Axes, surface: pygame.Surface, shows: tuple[LearningView, TimelineView, tuple[int, int]], canvas: Canvas
) -> None:
    _, timeline, (left, top) = shows
    axes = replace(axes, area=axes.area.move(-left, -top))
    bottom, high = axes.area.bottom, canvas.px(NOTCH)
    for step in timeline.steps:
        if step <= axes.x[1]:
            x = round(_x(axes, step))
            surface.fill(mix(PANEL, DIM, 0.7), (x, bottom - high, canvas.px(1), high))
    x = round(_x(axes, min(timeline.shown, axes.x[1])))
    surface.fill(TEXT, (x, axes.area.top, canvas.px(1), axes.area.h))
    tip = [
        (x - canvas.px(4), bottom + canvas.px(5)),
        (x + canvas.px(4), bottom + canvas.px(5)),
        (x, bottom - canvas.px(2)),
    ]
    pygame.draw.polygon(surface, TEXT, tip)
    wide = canvas.width(timeline.label, SMALL - 0.5) + canvas.px(10)
    label = pygame.Rect(0, axes.area.top, min(wide, axes.area.w), canvas.px(16))
    label.centerx = x
    label.clamp_ip(axes.area)
    rounded(surface, label, PANEL, radius=canvas.px(4), edge=mix(PANEL, TEXT, 0.5), alpha=225)
    canvas.write(surface, timeline.label, label.center, size=SMALL - 0.5, anchor="middle", width=label.w - canvas.px(4))


def _x(axes: Axes, step: float) -> float:
    at = axes.at(np.array(step), np.array(0.0))
    return float(at[0]) if math.isfinite(at[0]) else float(axes.area.left)

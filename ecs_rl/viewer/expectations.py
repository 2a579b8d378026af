"""What an agent expected to earn and what really came, as two lines over its last ticks."""

from __future__ import annotations

import numpy as np
import pygame

from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import FAINT, MAIN_LINE, NIGHT, RULE, SECOND_LINE, mix
from ecs_rl.viewer.plots import Axes, decimate, reach, runs
from ecs_rl.viewer.view import MindView

TALL = 74
"""Height of a plot that has room for words."""


def paint_ground(surface: pygame.Surface, area: pygame.Rect, canvas: Canvas) -> None:
    """Paint the plot's ground, and what its numbers are where there is room for words."""
    rounded(surface, area, NIGHT, radius=canvas.px(4))
    if area.h >= canvas.px(TALL):
        at = (area.left + canvas.px(7), area.bottom - canvas.px(9))
        text, colour = "reward to come; later counts less", mix(NIGHT, FAINT, 0.8)
        canvas.write(surface, text, at, size=SMALL - 1.5, colour=colour, width=area.w - canvas.px(14))


def draw_expectations(surface: pygame.Surface, area: pygame.Rect, mind: MindView, canvas: Canvas) -> None:
    """Draw the two lines, which are cut where another episode began."""
    words = canvas.px(10) if area.h >= canvas.px(TALL) else 0
    area = area.inflate(-canvas.px(12), -canvas.px(12))
    area.h -= words
    length = max(len(mind.expected), len(mind.came), 2)
    axes = Axes(area, (0.0, length - 1.0), reach((mind.expected, mind.came)))
    if axes.y[0] < 0 < axes.y[1]:
        zero = round(axes.y_at(0.0))
        surface.fill(RULE, (area.left, zero, area.w, 1))
    begins = [i for i in mind.begins if 0 < i < length]
    for i in begins:
        x = round(axes.x_at(i - 0.5))
        surface.fill(mix(RULE, FAINT, 0.3), (x, area.top, 1, area.h))
    for values, colour in ((mind.came, SECOND_LINE), (mind.expected, MAIN_LINE)):
        first = length - len(values)
        cuts = [i - first for i in begins if i > first]
        ticks = np.insert(np.arange(first, length, dtype=np.float64), cuts, np.nan)
        for part in runs(*decimate(ticks, np.insert(values, cuts, np.nan), area.w // 2)):
            if len(part[0]) > 1:
                pygame.draw.aalines(surface, colour, False, axes.at(*part).tolist())

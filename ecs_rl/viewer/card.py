"""A card to share: how several policies of a run fared on one seed, as paths over each other, and the curve beside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import line, rounded
from ecs_rl.viewer.number_formats import count, signed
from ecs_rl.viewer.palette import DIM, FAINT, NIGHT, ORANGE, PANEL, RULE, SKY, VERMILION, YELLOW, Colour, mix
from ecs_rl.viewer.return_plot import paint_returns, x_reach
from ecs_rl.viewer.stage import draw_stage, fitting
from ecs_rl.viewer.text_lines import wrapped
from ecs_rl.viewer.view import LearningView, StageView

SIZE, SIDE, SCALE = (1280, 720), 400, 1.25
COLOURS: tuple[Colour, ...] = (VERMILION, ORANGE, YELLOW, SKY)
"""Of the policies, the earliest first; the last one is solved."""


@dataclass(frozen=True, eq=False)
class Path:
    """How one policy fared."""

    label: str
    """Such as `5 %, step 12,288`."""
    points: F64
    """(ticks, points, 2) Where what leads was after each tick."""
    total: float
    ending: str


def paint_card(
    surface: pygame.Surface,
    stage: StageView,
    paths: Sequence[Path],
    learning: LearningView | None,
    *,
    title: str,
    caption: str,
) -> None:
    """Paint the card: the stage with all paths to the left, who they are, the curve and the words to the right."""
    canvas, (w, h) = Canvas(SCALE), surface.get_size()
    surface.fill(PANEL)
    area = pygame.Rect(0, 0, w - SIDE, h)
    whole = np.concatenate([path.points.reshape(-1, 2) for path in paths])
    bare = replace(_holding(stage, whole), caption="", ending="", forces=(), contacts=(), particles=None)
    bare = replace(bare, objects=tuple(replace(objects, trails=()) for objects in bare.objects))
    camera = fitting(bare, area, canvas)
    draw_stage(surface, area, bare, camera, canvas)
    target = surface.subsurface(area)
    for path, colour in zip(paths, _colours(len(paths)), strict=True):
        _draw_path(target, path.points, camera.onto(bare.focus), colour, canvas)
    side = pygame.Rect(area.right, 0, SIDE, h).inflate(-2 * canvas.px(18), -2 * canvas.px(20))
    y = side.y + canvas.px(12)
    canvas.write(surface, title, (side.x, y), size=26.0, width=side.w)
    y += canvas.px(26)
    for words in wrapped(caption, side.w, SMALL + 0.5, canvas):
        canvas.write(surface, words, (side.x, y), size=SMALL + 0.5, colour=DIM)
        y += canvas.px(17)
    y += canvas.px(12)
    for path, colour in zip(paths, _colours(len(paths)), strict=True):
        rounded(
            surface, pygame.Rect(side.x, y - canvas.px(3), canvas.px(18), canvas.px(6)), colour, radius=canvas.px(3)
        )
        right = canvas.write(
            surface, signed(path.total), (side.right, y), face="numbers", anchor="right", colour=colour
        )
        canvas.write(surface, path.label, (side.x + canvas.px(26), y), width=right.left - side.x - canvas.px(34))
        canvas.write(
            surface, path.ending, (side.x + canvas.px(26), y + canvas.px(16)), size=11.0, colour=FAINT, width=side.w
        )
        y += canvas.px(40)
    if learning is not None:
        surface.fill(RULE, (side.x, y, side.w, 1))
        plot = pygame.Rect(side.x, y + canvas.px(8), side.w, side.bottom - y - canvas.px(30))
        paint_returns(surface, plot, learning, x_reach(learning), canvas)
    canvas.write(
        surface, "made with ecs_rl", (side.right, side.bottom - canvas.px(4)), size=11.0, colour=FAINT, anchor="right"
    )


def _colours(number: int) -> tuple[Colour, ...]:
    """Return a colour for each policy, the last one that of what is solved."""
    return COLOURS[len(COLOURS) - number :]


def _holding(stage: StageView, points: F64) -> StageView:
    """Return the stage with bounds that hold all points, unless the scene wants its own."""
    good = points[np.isfinite(points).all(axis=1)]
    if stage.exact or not len(good):
        return stage
    (x0, y0), (x1, y1) = stage.bounds
    low, high = good.min(axis=0) - stage.focus, good.max(axis=0) - stage.focus
    bounds = (min(x0, float(low[0])), min(y0, float(low[1]))), (max(x1, float(high[0])), max(y1, float(high[1])))
    return replace(stage, bounds=bounds)


def _draw_path(surface: pygame.Surface, points: F64, camera: Camera, colour: Colour, canvas: Canvas) -> None:
    """Draw where each point went, and a dot where it came to its end."""
    for number in range(points.shape[1]):
        way = points[:, number]
        way = way[np.isfinite(way).all(axis=1)]
        at = [(x, y) for x, y in camera.pixels(way).tolist() if math.isfinite(x) and max(abs(x), abs(y)) < 1e5]
        if len(at) < 2:
            continue
        for wide, shade in ((canvas.px(5), mix(NIGHT, colour, 0.35)), (canvas.px(3), colour)):
            line(surface, at, shade, wide)
        pygame.draw.aacircle(surface, NIGHT, at[-1], canvas.px(7))
        pygame.draw.aacircle(surface, colour, at[-1], canvas.px(5))


def step_label(share: float, step: int) -> str:
    """Return how a policy is called by how far learning was."""
    return f"{share:.0%} of the way, step {count(step)}" if step else "at the start"

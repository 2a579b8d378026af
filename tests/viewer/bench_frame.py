"""What a frame costs: `python tests/viewer/bench_frame.py` prints milliseconds for the full HUD and its parts."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import pygame
from viewer_views import (
    GROUND,
    LEARNING,
    MESSAGES,
    STATUS,
    a_field,
    a_grid,
    a_learning,
    a_stage,
    compared,
    docked,
    ground,
    some_floats,
    without,
)

from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.panels.learning import DrawerView
from ecs_rl.viewer.panels.stage import StagesView
from ecs_rl.viewer.scenery import paint_backdrop
from ecs_rl.viewer.stage import draw_stage

SIZE = (1280, 720)
FRAMES = 240


def median(draw: Callable[[int], object], frames: int = FRAMES) -> tuple[float, float]:
    """Return median and 99th percentile in milliseconds; the first frames fill the caches."""
    taken = []
    for tick in range(frames + 10):
        began = perf_counter()
        draw(tick)
        taken.append((perf_counter() - began) * 1e3)
    kept = sorted(taken[10:])
    return statistics.median(kept), kept[int(len(kept) * 0.99)]


def parts() -> dict[str, tuple[float, float]]:
    """Return what each part of a frame costs, every frame showing something new."""
    surface, painter = pygame.Surface(SIZE), Painter()
    panels = [MESSAGES | docked(tick) | ground(tick) for tick in range(FRAMES + 10)]
    layout = painter.layout(SIZE, panels[0])
    painter.draw(surface, panels[0])
    camera = next(region.camera for region in painter.canvas.regions() if region.panel == "stage")
    assert camera is not None
    canvas = painter.canvas
    grids = [a_grid() for _ in range(4)]
    beside = compared(3)

    def panes(t: int) -> None:
        moving = tuple(replace(pane, stage=a_stage(t / 50, t)) for pane in beside["stage"].panes)
        painter.draw(surface, beside | {"stage": StagesView(moving)})

    back = pygame.Surface(layout.stage.size)
    newer = [DrawerView(a_learning(10_000)) for _ in range(24)]

    def panel(name: str, views: Sequence[Any]) -> tuple[float, float]:
        part, room = next(panel for panel in painter.panels if panel.name == name), layout.rooms[name]
        canvas.begin(surface)

        def paint(t: int) -> None:
            with canvas.painting(name):
                part.paint(canvas, views[t % len(views)], room)

        return median(paint)

    def stage(t: int) -> None:
        draw_stage(surface, layout.stage, panels[t]["stage"].panes[0].stage, camera, canvas)

    coins = [
        docked(t) | ground(stage=replace(a_stage(t / 50, t), objects=(*a_field(t), *a_stage(t / 50, t).objects)))
        for t in range(FRAMES + 10)
    ]

    floats = some_floats("profile")
    return {
        "whole frame": median(lambda t: painter.draw(surface, panels[t] | floats)),
        "  stage": median(stage),
        "frame with 43 coins, 12 rocks": median(lambda t: painter.draw(surface, coins[t])),
        "  mind": panel("mind", [each["mind"] for each in panels]),
        "  learning, unchanged": panel("learning", [LEARNING]),
        "  status": panel("status", [replace(STATUS, steps=t * 512) for t in range(FRAMES)]),
        "backdrop anew (camera moves)": median(
            lambda t: paint_backdrop(back, (GROUND, camera.aimed(camera.aim.panned((t, 0)))), canvas)
        ),
        "learning, 10,000 new points": panel("learning", newer),
        "frame with help and inspector": median(
            lambda t: painter.draw(surface, panels[t] | some_floats("inspector", "help"))
        ),
        "frame with three panes": median(panes),
        "frame with a grid of 128": median(
            lambda t: painter.draw(surface, without(panels[0], "stage") | {"grid": grids[t % 4]})
        ),
    }


if __name__ == "__main__":
    print(f"full HUD at {SIZE[0]}x{SIZE[1]}, milliseconds: median, 99th percentile")
    for name, (middle, worst) in parts().items():
        print(f"{name:32} {middle:6.2f} {worst:6.2f}")

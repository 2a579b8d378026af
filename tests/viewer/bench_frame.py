"""What a frame costs: `python tests/viewer/bench_frame.py` prints milliseconds for the full HUD and its parts."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent))

import pygame
from viewer_views import (
    GROUND,
    a_comparison,
    a_field,
    a_grid,
    a_learning,
    a_stage,
    a_view,
    some_floats,
)

from ecs_rl.viewer.backdrop import paint_backdrop
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.panels.floating import draw_modes, draw_toasts
from ecs_rl.viewer.panels.learning import draw_learning
from ecs_rl.viewer.panels.mind_panel import draw_mind
from ecs_rl.viewer.panels.status import paint_status
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
    views = [a_view(tick) for tick in range(FRAMES + 10)]
    learning = views[0].learning
    views = [replace(view, learning=learning) for view in views]
    layout = painter.layout(SIZE)
    camera = painter.home(views[0], layout)
    assert camera is not None
    assert layout.mind is not None
    assert layout.learning is not None
    canvas, mind, below = painter.canvas, layout.mind, layout.learning
    grids = [replace(views[0], grid=a_grid()) for _ in range(4)]
    compared = a_comparison(3)
    near = painter.home(compared, layout)

    def panes(t: int) -> None:
        moving = tuple(replace(pane, stage=a_stage(t / 50, t)) for pane in compared.panes)
        painter.draw(surface, replace(compared, panes=moving), layout, near)

    back = pygame.Surface(layout.stage.size)
    newer = [a_learning(10_000) for _ in range(24)]

    def stage(t: int) -> None:
        view = views[t].stage
        assert view is not None
        draw_stage(surface, layout.stage, view, camera, canvas)

    coins = [
        replace(views[t], stage=replace(a_stage(t / 50, t), things=(*a_field(t), *a_stage(t / 50, t).things)))
        for t in range(FRAMES + 10)
    ]

    def floating(t: int) -> None:
        draw_modes(surface, layout.stage, views[t].modes, canvas)
        draw_toasts(surface, layout.stage, views[t].toasts, canvas)

    floats = some_floats("profile")
    return {
        "whole frame": median(lambda t: painter.draw(surface, views[t], layout, camera, floats)),
        "  stage": median(stage),
        "frame with 43 coins, 12 rocks": median(lambda t: painter.draw(surface, coins[t], layout, camera)),
        "  mind": median(lambda t: draw_mind(surface, mind, views[t].mind or views[0].mind, canvas)),  # type: ignore[arg-type]
        "  learning, unchanged": median(lambda t: draw_learning(surface, below, learning, canvas)),  # type: ignore[arg-type]
        "  status": median(
            lambda t: canvas.lay(
                surface, layout.status, "status", replace(views[t].status, steps=t * 512), paint_status
            )
        ),
        "  chips, messages": median(floating),
        "backdrop anew (camera moves)": median(lambda t: paint_backdrop(back, (GROUND, camera.panned(t, 0)), canvas)),
        "learning, 10,000 new points": median(lambda t: draw_learning(surface, below, newer[t % 24], canvas)),
        "frame with help and inspector": median(
            lambda t: painter.draw(surface, views[t], layout, camera, some_floats("inspector", "help"))
        ),
        "frame with three panes": median(panes),
        "frame with a grid of 128": median(lambda t: painter.draw(surface, grids[t % 4], layout)),
    }


if __name__ == "__main__":
    print(f"full HUD at {SIZE[0]}x{SIZE[1]}, milliseconds: median, 99th percentile")
    for name, (middle, worst) in parts().items():
        print(f"{name:32} {middle:6.2f} {worst:6.2f}")

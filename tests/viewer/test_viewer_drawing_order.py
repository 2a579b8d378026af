"""What is spawned later lies on top, on the stage as in the grid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pygame
import pytest
from viewer_views import BOUNDS, SHAPE, body

from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.objects import LookView, Objects
from ecs_rl.viewer.palette import Colour
from ecs_rl.viewer.panels.grid import Grid
from ecs_rl.viewer.stage import draw_stage
from ecs_rl.viewer.view import GridView, StageView

SQUARE = np.array(((-2.0, -2.0), (2.0, -2.0), (2.0, 2.0), (-2.0, 2.0)))
RED, BLUE = (200, 0, 0), (0, 0, 200)
SIZE = (300, 200)


def on_the_stage(colours: tuple[Colour, Colour]) -> tuple[int, ...]:
    """Return the pixel where two bodies lie over each other."""
    surface, camera = pygame.Surface(SIZE), Camera((0.0, 3.0), 15.0, (150.0, 100.0))
    objects = tuple(body(str(i), (0.0, 3.0), 0.0, outlines=(SQUARE,), colour=c) for i, c in enumerate(colours))
    draw_stage(surface, surface.get_rect(), StageView(objects, bounds=BOUNDS), camera, Canvas())
    return tuple(surface.get_at((150, 100)))[:3]


def in_the_grid(colours: tuple[Colour, Colour]) -> tuple[int, ...]:
    surface = pygame.Surface(SIZE)
    at, angle, here = np.array((((0.0, 3.0),),)), np.zeros((1, 1)), np.ones((1, 1), bool)
    looks = [LookView(str(i), (SQUARE,), colour=colour) for i, colour in enumerate(colours)]
    view = GridView(
        tuple(Objects(look, at, angle, here) for look in looks),
        np.zeros((1, 0, 2, 2)),
        np.zeros(1),
        (0.0, 1.0),
        np.zeros(1),
        BOUNDS,
        SHAPE,
    )
    Grid().draw(surface, surface.get_rect(), view, Canvas())
    return tuple(surface.get_at((150, 100)))[:3]


@pytest.mark.parametrize("drawn", [on_the_stage, in_the_grid])
def test_what_is_spawned_later_lies_on_top(drawn: Callable[[tuple[Colour, Colour]], tuple[int, ...]]) -> None:
    red, _, blue = drawn((RED, BLUE))
    assert blue > 2 * red
    red, _, blue = drawn((BLUE, RED))
    assert red > 2 * blue

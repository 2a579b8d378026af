"""The grid of training arenas stays calm and readable, however fast they train."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pygame
import pytest
from viewer_views import a_grid

from ecs_rl.components import Clock
from ecs_rl.loading import load_scene
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.live.live_stage import BRIGHTEST, GridWatch
from ecs_rl.viewer.panels.grid import LEAST, Grid, _ends, _grown, _placed, draw_legend
from ecs_rl.world import World
from ecs_rl.worlds import make_world

FRAME = 1 / 60


@pytest.fixture
def world() -> Iterator[World]:
    made = make_world(load_scene("lander"), arenas=8, seed=4)
    yield made
    made.close()


def _flashes(world: World, every: int, frames: int = 600) -> float:
    """Return how brightly an arena flashes at last, if in each arena an episode ends every so many frames."""
    watch, clock, brightest = GridWatch(world), world.one(Clock), 0.0
    for frame in range(frames):
        clock.episode[(np.arange(8) + frame) % every == 0] += 1
        ended = watch.view(FRAME).ended
        if frame > frames - 2 * every - 2:
            brightest = max(brightest, float(ended.max()))
    return brightest


def test_an_ending_flashes_brightly_where_endings_are_rare(world: World) -> None:
    assert _flashes(world, every=240) == pytest.approx(BRIGHTEST, abs=0.05)


def test_the_more_episodes_end_the_calmer_they_flash(world: World) -> None:
    assert _flashes(world, every=10) < 0.12
    assert _flashes(world, every=2) < 0.03


def test_the_line_is_full_where_the_scene_is_solved(world: World) -> None:
    watch = GridWatch(world)
    watch.reader.terms.total[:] = 0.0
    assert watch.view(FRAME).scale == (0.0, 200.0)
    watch.reader.terms.total[0, 3] = -90.0
    assert watch.view(FRAME).scale == (-200.0, 200.0)


def test_small_bodies_are_drawn_larger_on_the_same_spot() -> None:
    view = a_grid(16)
    before = [_placed(objects, np.zeros((len(view.bars), 2))) for objects in view.objects]
    after = _grown(before, view, zoom=6.0, height=60)
    low, high = _ends(before)
    lower, higher = _ends(after)
    inside = high[:, 1] + (high - low)[:, 1] < view.bounds[1][1]
    np.testing.assert_allclose(lower[inside], low[inside])
    assert ((higher - lower)[:, 1] > 1.5 * (high - low)[:, 1]).all()
    assert (higher[:, 1] <= np.maximum(view.bounds[1][1], high[:, 1] * 2) + 1e-9).all()


def test_bodies_that_are_large_enough_and_those_on_rails_keep_their_size() -> None:
    view = a_grid(4)
    placed = [_placed(objects, np.zeros((len(view.bars), 2))) for objects in view.objects]
    assert _grown(placed, view, zoom=LEAST * 60, height=60) is placed
    assert _grown(placed, replace(view, rails=(((0.0, 0.0), (1.0, 0.0)),)), zoom=1.0, height=60) is placed


def test_the_legend_is_drawn_as_far_as_there_is_room() -> None:
    canvas, view = Canvas(), a_grid(4)
    inked = []
    for width in (10, 250, 900):
        surface = pygame.Surface((900, 26))
        draw_legend(surface, pygame.Rect(0, 0, width, 26), view, canvas)
        columns = np.flatnonzero(pygame.surfarray.array3d(surface).any(axis=(1, 2)))
        assert not len(columns) or columns.max() < width
        inked.append(len(columns))
    assert inked[0] == 0 < inked[1] < inked[2]


def test_a_grid_whose_bodies_are_lost_is_drawn() -> None:
    view = a_grid(4)
    surface = pygame.Surface((300, 200))
    lost = tuple(replace(objects, position=np.full((4, 1, 2), np.nan)) for objects in view.objects)
    Grid().draw(surface, surface.get_rect(), replace(view, objects=lost), Canvas())

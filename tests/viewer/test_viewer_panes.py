"""Panes lie side by side at one scale, and whoever clicks into one finds it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pygame
import pytest
from viewer_views import BOUNDS, a_grid, a_mind, a_stage, compared, ground, some_panes, without

from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.stage import pane_camera, pane_places, stage_of
from ecs_rl.viewer.view import PaneView

SIZES = [(640, 400), (1280, 720), (700, 1200), (1920, 600)]


@pytest.mark.parametrize("count", range(1, 7))
@pytest.mark.parametrize("size", SIZES)
def test_panes_stay_apart_inside_and_of_one_size(count: int, size: tuple[int, int]) -> None:
    area = pygame.Rect((0, 34), size)
    places = pane_places(area, some_panes(count), Canvas())
    assert len(places) == count
    assert len({place.size for place in places}) == 1
    assert all(area.contains(place) for place in places)
    for one, other in itertools.combinations(places, 2):
        assert not one.colliderect(other)
    assert sum(place.w * place.h for place in places) > 0.5 * area.w * area.h


def test_a_wide_window_puts_a_tall_arena_s_panes_in_one_row() -> None:
    tall = tuple(
        replace(pane, stage=replace(pane.stage, bounds=((-2, 0), (2, 9)), shape=4 / 9)) for pane in some_panes(4)
    )
    places = pane_places(pygame.Rect(0, 0, 1280, 600), tall, Canvas())
    assert len({place.y for place in places}) == 1
    wide = tuple(
        replace(pane, stage=replace(pane.stage, bounds=((-20, 0), (20, 2)), shape=20.0)) for pane in some_panes(4)
    )
    assert len({place.x for place in pane_places(pygame.Rect(0, 0, 1280, 600), wide, Canvas())}) == 1


def test_one_camera_shows_the_whole_arena_of_every_pane() -> None:
    area, canvas = pygame.Rect(0, 34, 1280, 600), Canvas()
    larger = replace(a_stage(), bounds=((-9.6, -4.0), (12.0, 7.5)))
    panes = (*some_panes(2), PaneView("other", larger))
    camera = pane_camera(area, panes, canvas)
    stage = stage_of(area, panes, 0, canvas)
    room = pygame.Rect((0, 0), stage.size)
    for corner in (*BOUNDS, *larger.bounds):
        assert room.inflate(2, 2).collidepoint(camera.pixel(corner))


def test_the_pane_under_the_mouse_is_found_and_so_is_the_arena_of_the_grid() -> None:
    surface, painter = pygame.Surface((1280, 720)), Painter()
    painter.draw(surface, compared(5))
    regions = [region for region in painter.canvas.regions() if region.panel == "stage"]
    assert sorted(region.index for region in regions) == [0, 1, 2, 3, 4]
    for region in regions:
        assert painter.canvas.region_at(region.rect.center) == region
    above = painter.canvas.region_at((5, 5))
    assert above is not None
    assert above.panel == "status"
    painter.draw(surface, without(ground(grid=a_grid(2)), "stage"))
    (region,) = [region for region in painter.canvas.regions() if region.panel == "grid"]
    assert region.find is not None
    assert {region.find((x, y)) for x in range(0, 1280, 20) for y in range(0, 720, 20)} == {None, 0, 1}


def test_panes_take_the_room_of_a_mind_that_nobody_looks_into() -> None:
    surface, painter = pygame.Surface((1280, 720)), Painter()

    def right() -> int:
        return max(region.rect.right for region in painter.canvas.regions() if region.panel == "stage")

    painter.draw(surface, compared(2))
    assert right() == 1280
    looked_into = compared(2) | {"mind": a_mind()}
    painter.draw(surface, looked_into)
    assert right() <= painter.layout((1280, 720), looked_into).rooms["mind"].x


@pytest.mark.parametrize("count", range(1, 7))
def test_only_what_moves_is_painted_again(count: int) -> None:
    surface, painter, views = pygame.Surface((900, 600)), Painter(), compared(count)
    painter.draw(surface, views)
    painted = painter.canvas.painted
    moved = tuple(replace(pane, stage=replace(a_stage(0.1), caption="")) for pane in views["stage"].panes)
    painter.draw(surface, views | {"stage": replace(views["stage"], panes=moved)})
    assert painter.canvas.painted == painted


@pytest.mark.parametrize("size", [(1, 1), (120, 90), (320, 200), (640, 400)])
def test_small_windows_with_panes_are_drawn(size: tuple[int, int]) -> None:
    surface, painter = pygame.Surface(size), Painter()
    painter.draw(surface, compared(6))

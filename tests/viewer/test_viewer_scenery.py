"""What lies behind an arena, roads and glow look alike on the stage and in the grid, and mistakes are told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import numpy as np
import pygame
import pytest

from ecs_rl.arrays import F64
from ecs_rl.components import Clock
from ecs_rl.errors import SceneError
from ecs_rl.scene import Arena, Body, Box, Disc, Levers, Look, Push, Scene, Start, View, Vx
from ecs_rl.scene.look import BACKDROPS
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.live.live_stage import GridWatch
from ecs_rl.viewer.panels.grid import Grid
from ecs_rl.viewer.scenery import ASPHALT, draw_road, scenery
from ecs_rl.viewer.stage import draw_stage, fitting
from ecs_rl.viewer.view import RoadView
from ecs_rl.world import World
from ecs_rl.worlds import make_world

SIZE = (400, 334)
Show = Callable[[World], pygame.Surface]


@pytest.fixture
def made() -> Iterator[Callable[..., World]]:
    worlds = []

    def make(build: Callable[[Arena], None], backdrop: str = "night") -> World:
        camera = View((-2.0, 2.0), (-1.5, 1.5))
        scene = Scene("a test", 500, gravity=(0, 0), camera=camera, backdrop=backdrop, name="t", build=build)
        still = np.zeros((1, 1), np.float32)
        worlds.append(make_world(scene, arenas=1, policies={"policy": lambda seen, state: still}))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def on_the_stage(world: World) -> pygame.Surface:
    surface, canvas = pygame.Surface(SIZE), Canvas()
    stage = Reader(world).stage(0)
    draw_stage(surface, surface.get_rect(), stage, fitting(stage, surface.get_rect(), canvas), canvas)
    return surface


def in_the_grid(world: World) -> pygame.Surface:
    surface = pygame.Surface(SIZE)
    Grid().draw(surface, surface.get_rect(), GridWatch(world).view(1 / 60), Canvas())
    return surface


def pixels(surface: pygame.Surface) -> F64:
    return np.asarray(pygame.surfarray.array3d(surface), np.float64)


def driver(arena: Arena, look: Look | None = None) -> None:
    car = arena.spawn("car", Body(), Disc(0.1), Start(y=-1.2), *([look] if look else []))
    arena.agent(sees=[Vx(car)], does=Levers(push=Push(car, x=1.0)), earns={"a": 0.0})


def straight(drawn: F64) -> F64:
    """Return a line from left to right, at a height that each episode draws anew."""
    x = np.broadcast_to(np.linspace(-1.8, 1.8, 5), (len(drawn), 5))
    return np.stack((x, np.broadcast_to(drawn - 0.5, x.shape)), axis=2)


def raced(arena: Arena, road: float = 0.8) -> None:
    driver(arena)
    arena.path(straight, points=5, draws=1, road=road)


@pytest.mark.parametrize("show", [on_the_stage, in_the_grid])
def test_every_backdrop_looks_otherwise(show: Show, made: Callable[..., World]) -> None:
    shown = [pixels(show(made(driver, name))) for name in BACKDROPS]
    for i, one in enumerate(shown):
        assert all(np.abs(one - other).mean() > 2.0 for other in shown[:i])


def test_a_backdrop_is_dark_where_words_stand() -> None:
    for name in BACKDROPS:
        top = pixels(scenery(name, (400, 300), land=True))[:, :40]
        assert np.median(top @ (0.299, 0.587, 0.114)) < 90


def test_a_backdrop_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(SceneError, match="a backdrop cannot be 'nigth': did you mean 'night'"):
        Scene("a test", 9, backdrop="nigth")


@pytest.mark.parametrize("show", [on_the_stage, in_the_grid])
def test_a_path_with_a_road_is_drawn_and_one_without_is_not(show: Show, made: Callable[..., World]) -> None:
    def plain(arena: Arena) -> None:
        raced(arena, road=0.0)

    def asphalt(world: World) -> float:
        return float((np.abs(pixels(show(world)) - ASPHALT).max(axis=2) < 4).mean())

    assert asphalt(made(plain)) < 0.01
    assert asphalt(made(raced)) > 0.1


def test_the_road_of_another_episode_is_drawn_where_that_one_lies(made: Callable[..., World]) -> None:
    world = made(raced)
    reader = Reader(world)
    first = reader.stage(0).ground
    assert reader.stage(0).ground is first
    world.one(Clock).episode[:] += 1
    world.start_over()
    second = reader.stage(0).ground
    assert (second.roads[0].points == world.arena.paths[0].points[0]).all()
    assert (second.roads[0].points != first.roads[0].points).any()


def test_a_negative_road_is_refused() -> None:
    with pytest.raises(SceneError, match="the width of a road"):
        Arena().path(straight, points=5, draws=1, road=-1.0)


def test_what_glows_lights_up_what_is_around_it(made: Callable[..., World]) -> None:
    dark = pixels(on_the_stage(made(driver)))
    bright = pixels(on_the_stage(made(lambda arena: driver(arena, Look("yellow", glow=0.5)))))
    more = (bright - dark).max(axis=2) > 8
    x, y = np.argwhere(more).T
    assert more.sum() > 400
    assert abs(x.mean() - SIZE[0] / 2) < 4
    assert y.mean() > 0.7 * SIZE[1]


def test_a_glow_that_is_no_length_is_refused() -> None:
    with pytest.raises(SceneError, match="glow"):
        Look("yellow", glow=-1.0)


@pytest.mark.parametrize("bad", [np.nan, 1e30])
def test_a_road_that_cannot_be_drawn_is_left_out(bad: float) -> None:
    surface = pygame.Surface((60, 60))
    draw_road(surface, RoadView(np.array(((0.0, 0.0), (bad, 1.0))), 1.0, False), Camera((0, 0), 10.0, (30, 30)))
    assert not pixels(surface).any()


def pipes(arena: Arena) -> None:
    """A driver below a bar that reaches far beyond what is shown."""
    driver(arena)
    bar = Box(0.2, 30.0)
    arena.spawn("bar", Body(solid=False, moves="never"), bar, Look("#ff0000"), Start(x=(-1.0, 1.0)), count=2)


@pytest.mark.parametrize("show", [on_the_stage, in_the_grid])
def test_what_reaches_beyond_the_picture_is_drawn_up_to_its_edges(show: Show, made: Callable[..., World]) -> None:
    red = (pixels(show(made(pipes))) @ (1.0, -1.0, -1.0) > 60).sum(axis=1)
    columns = np.flatnonzero(red > 0.6 * SIZE[1])
    assert 20 < len(columns) < 80
    assert np.ptp(columns) > 100

"""A picture that follows something is as wide as the scene says, comes after it calmly, and jumps only with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pygame
import pytest
from viewer_views import docked

from ecs_rl.arrays import F64
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import Arena, Body, Disc, Follow, Levers, Look, Push, Scene, Start, View, X, jitter
from ecs_rl.scene.camera import Camera as SceneCamera
from ecs_rl.viewer.camera import CALM, FLATTEST, Following
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.live.live_stage import GridWatch
from ecs_rl.viewer.panels.grid import Grid, cells
from ecs_rl.viewer.panels.stage import StagesView
from ecs_rl.viewer.stage import draw_panes, draw_stage, fitting, pane_camera, stage_of
from ecs_rl.viewer.view import PaneView, StageView
from ecs_rl.world import World
from ecs_rl.worlds import make_world

DT, WIDTH = 0.02, 16.0


def flying(arena: Arena) -> None:
    disc = arena.spawn("disc", Body(), Disc(0.5), Start(x=jitter(20.0), y=3.0), Look("yellow"))
    arena.spawn("other", Body(), Disc(0.5), Start(x=60.0))
    arena.mark("post", Disc(0.5), Look("vermilion"), at=(2.0, 0.0))
    arena.agent(sees=[X(disc)], does=Levers(push=Push(disc, 1.0)), earns={"x": 1.0})


@pytest.fixture
def made() -> Iterator[Callable[[SceneCamera | None, int], World]]:
    worlds = []

    def make(camera: SceneCamera | None, arenas: int) -> World:
        scene = Scene("a test", 500, dt=DT, gravity=(0.0, 0.0), extent=500.0, camera=camera, name="t", build=flying)
        still = np.zeros((arenas, 1), np.float32)
        worlds.append(make_world(scene, arenas=arenas, policies={"policy": lambda seen, state: still}))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


Make = Callable[[SceneCamera | None, int], World]


def followed(world: World, path: Sequence[tuple[float, float]], velocity: F64 | None = None) -> F64:
    """Return (ticks, 2) the middle of the picture while the disc goes along a path."""
    reader, state, seen = Reader(world), world.engine_as(Physics).state, []
    speeds = np.gradient(np.array(path), DT, axis=0) if velocity is None else velocity
    for at, speed in zip(path, speeds, strict=True):
        state[:2, 0, 0], state[3:5, 0, 0] = at, speed
        reader.follow(0)
        seen.append(reader.stage(0).focus)
    return np.array(seen)


@pytest.mark.parametrize("size", [(1280, 720), (640, 400), (500, 900), (1920, 600)])
def test_the_picture_is_as_wide_as_the_scene_says_in_any_window(made: Make, size: tuple[int, int]) -> None:
    reader, painter = Reader(made(Follow("disc", WIDTH), 1)), Painter()
    layout = painter.layout(size, docked())
    stage = StagesView((PaneView("", reader.stage(0)),))
    painter.draw(pygame.Surface(size), docked() | {"stage": stage, "chips": ()})
    (region,) = [region for region in painter.canvas.regions() if region.panel == "stage"]
    camera = region.camera
    assert camera is not None
    assert layout.stage.w / camera.zoom == pytest.approx(WIDTH)
    assert camera.middle[0] == layout.stage.w / 2
    assert camera.centre == (0.0, 0.0), "it counts from what is followed"


def test_a_very_flat_window_shows_more_than_the_width_rather_than_a_slit(made: Make) -> None:
    stage = Reader(made(Follow("disc", WIDTH), 1)).stage(0)
    camera = fitting(stage, pygame.Rect(0, 0, 2000, 234), Canvas())
    assert 200 / camera.zoom == pytest.approx(WIDTH / FLATTEST)


def test_a_small_movement_moves_no_picture(made: Make) -> None:
    ticks = np.arange(400)
    wobble = np.stack((0.9 * CALM * WIDTH * np.sin(ticks / 3), 0.9 * CALM * WIDTH * np.cos(ticks / 7)), axis=1)
    wobble -= wobble[0]
    wobble *= 0.5  # about where it began
    seen = followed(made(Follow("disc", WIDTH), 1), wobble.tolist())
    assert not np.diff(seen, axis=0).any()


@pytest.mark.parametrize("speed", [1.0, 5.0, 16.0])
def test_what_flies_on_stays_in_the_picture_which_comes_along_evenly(made: Make, speed: float) -> None:
    x = np.concatenate((np.zeros(50), speed * DT * np.arange(300)))
    seen = followed(made(Follow("disc", WIDTH), 1), np.stack((x, np.zeros(350)), axis=1).tolist())[:, 0]
    assert np.abs(seen - x).max() < 0.4 * WIDTH
    steps = np.diff(seen)
    assert (steps >= 0).all(), "it never goes back"
    assert steps[-50:] == pytest.approx(speed * DT, rel=0.01)
    assert np.abs(np.diff(steps)).max() < 0.15 * speed * DT, "nor does it jerk"


def test_it_comes_to_rest_without_swinging(made: Make) -> None:
    x = np.concatenate((5.0 * DT * np.arange(200), np.full(200, 5.0 * DT * 199)))
    seen = followed(made(Follow("disc", WIDTH), 1), np.stack((x, np.zeros(400)), axis=1).tolist())[:, 0]
    assert (np.diff(seen) >= -1e-9).all()
    assert np.abs(np.diff(seen[-50:])).max() < 1e-4


def test_the_picture_jumps_with_what_is_placed_far_away_and_glides_to_what_is_near(made: Make) -> None:
    path = [(0.0, 0.0)] * 5 + [(100.0, 50.0)] * 5 + [(103.0, 50.0)] * 200
    seen = followed(made(Follow("disc", WIDTH), 1), path, np.zeros((210, 2)))
    assert seen[4].tolist() == [0.0, 0.0]
    assert seen[5].tolist() == [100.0, 50.0]
    assert np.diff(seen[5:, 0]).max() < 0.5
    assert seen[-1, 0] == pytest.approx(103.0 - CALM * WIDTH, abs=0.01)


def test_an_episode_begins_where_its_body_does(made: Make) -> None:
    world = made(Follow("disc", WIDTH), 2)
    reader, disc = Reader(world), world.arena.roles[0]
    for arena in (0, 1, 0):
        reader.follow(arena)
        assert reader.stage(arena).focus == tuple(disc.position[arena].tolist())
    assert reader.stage(1).focus == tuple(disc.position[1].tolist()), "nobody looked there before"


def test_between_two_ticks_the_picture_is_between_its_places(made: Make) -> None:
    world = made(Follow("disc", WIDTH), 1)
    reader = Reader(world)
    for x in np.arange(0.0, 20.0, 0.2):
        world.engine_as(Physics).state[:2, 0, 0], world.engine_as(Physics).state[3, 0, 0] = (x, 0.0), 10.0
        reader.follow(0)
    before, half, now = (reader.stage(0, blend=b).focus[0] for b in (0.0, 0.5, 1.0))
    assert before < half < now
    assert half == pytest.approx((before + now) / 2)


def test_looking_ahead_shows_more_of_where_it_flies_but_keeps_it_in_the_picture(made: Make) -> None:
    path = np.stack((6.0 * DT * np.arange(300), np.zeros(300)), axis=1)
    behind = followed(made(Follow("disc", WIDTH), 1), path.tolist())
    ahead = followed(made(Follow("disc", WIDTH, ahead=0.5), 1), path.tolist())
    far = followed(made(Follow("disc", WIDTH, ahead=50.0), 1), path.tolist())
    assert ahead[-1, 0] == pytest.approx(behind[-1, 0] + 3.0, abs=0.01)
    assert far[-1, 0] - behind[-1, 0] == pytest.approx(WIDTH / 4, abs=0.01)


def test_while_a_hand_holds_a_body_the_picture_stays_and_a_lost_body_moves_none(made: Make) -> None:
    world = made(Follow("disc", WIDTH), 1)
    reader, state = Reader(world), world.engine_as(Physics).state
    reader.follow(0)
    before = reader.stage(0).focus
    state[:2, 0, 0] += 3.0
    reader.follow(0, held=True)
    assert reader.stage(0).focus == before
    state[:2, 0, 0] = math.nan
    reader.follow(0)
    assert reader.stage(0).focus == before
    assert Reader(world).stage(0).focus == (0.0, 0.0)


def test_a_view_is_shown_whole_and_never_changes(made: Make) -> None:
    world = made(View((-4.0, 4.0), (1.0, 7.0)), 1)
    reader = Reader(world)
    for x in (0.0, 50.0):
        world.engine_as(Physics).state[0, 0, 0] = x
        reader.follow(0)
        stage = reader.stage(0, blend=0.5)
        assert (stage.focus, stage.bounds) == ((0.0, 0.0), ((-4.0, 1.0), (4.0, 7.0)))
    assert stage.shape == pytest.approx(8 / 6)
    area = pygame.Rect(0, 0, 800, 634)
    camera = fitting(stage, area, Canvas())
    assert camera.pixel((-4.0, 1.0)) == (0.0, 634.0)
    assert camera.pixel((4.0, 7.0)) == (800.0, 34.0)


# --- pictures ---------------------------------------------------------------------------------------------------------


def colours(surface: pygame.Surface, area: pygame.Rect) -> F64:
    """Return (2,) the middle of the yellow pixels of an area, NaN without any."""
    pixels = pygame.surfarray.array3d(surface.subsurface(area)).astype(int)
    yellow = (pixels[..., 0] > 100) & (pixels[..., 1] > 90) & (pixels[..., 2] < 80)
    return np.argwhere(yellow).mean(axis=0) if yellow.any() else np.full(2, np.nan)


def stages(world: World) -> list[StageView]:
    readers = [Reader(world) for _ in range(world.arenas)]
    for arena, reader in enumerate(readers):
        reader.follow(arena)
    return [reader.stage(arena) for arena, reader in enumerate(readers)]


def test_every_pane_follows_its_own_body_at_one_scale(made: Make) -> None:
    world, canvas, area = made(Follow("disc", WIDTH), 3), Canvas(), pygame.Rect(0, 0, 900, 400)
    panes = [PaneView(str(i), stage) for i, stage in enumerate(stages(world))]
    assert len({pane.stage.focus for pane in panes}) == 3
    surface, camera = pygame.Surface(area.size), pane_camera(area, panes, canvas)
    assert stage_of(area, panes, 0, canvas).w / camera.zoom == pytest.approx(WIDTH)
    draw_panes(surface, area, panes, canvas)
    for i in range(3):
        assert colours(surface, stage_of(area, panes, i, canvas)) == pytest.approx(camera.middle, abs=2.0)


def test_in_the_grid_every_body_that_is_followed_is_in_the_middle_of_its_cell(made: Make) -> None:
    world, canvas = made(Follow("disc", WIDTH), 4), Canvas()
    surface = pygame.Surface((900, 600))
    watch, grid = GridWatch(world), Grid()
    for shift in (0.0, 30.0):
        world.engine_as(Physics).state[0, 0] += shift
        view = watch.view(1 / 60)
        assert view.focus is not None
        assert np.array_equal(view.focus, world.arena.roles[0].position)
        grid.draw(surface, surface.get_rect(), view, canvas)
        places = cells(surface.get_size(), 4, view.shape, canvas)
        for arena in range(4):
            area = places.rect(arena)
            low, high = np.array(area.topleft), np.array(area.bottomright)
            assert colours(surface, area) == pytest.approx(((high - low) / 2).tolist(), abs=5.0)


def test_the_ground_moves_past_what_is_followed(made: Make) -> None:
    world, canvas = made(Follow("disc", WIDTH), 1), Canvas()
    reader, surface, pictures = Reader(world), pygame.Surface((800, 434)), []
    for x in (0.0, -2.5):
        world.engine_as(Physics).state[:2, 0, 0] = x, 0.0
        reader.follow(0, anew=True)
        stage = reader.stage(0)
        draw_stage(surface, surface.get_rect(), stage, fitting(stage, surface.get_rect(), canvas), canvas)
        pictures.append(pygame.surfarray.array3d(surface).astype(int))
    red = [np.argwhere((p[..., 0] > 140) & (p[..., 1] < 100)) for p in pictures]
    assert red[1][:, 0].mean() - red[0][:, 0].mean() == pytest.approx(2.5 * 50, abs=2.0), "50 pixels are a metre"


def test_following_many_goes_by_those_that_are_here(made: Make) -> None:
    world = made(Follow("disc", WIDTH), 2)
    framing = Reader(world).framing
    assert isinstance(framing, Following)
    moment = Reader(world).places.at(slice(None))
    framing._objects = slice(0, 2)
    both = framing.targets(moment)
    assert both == pytest.approx(moment.position[:, :2].mean(axis=1))
    moment.here[0, 1] = False
    moment.here[1, :] = False
    targets = framing.targets(moment)
    assert targets[0] == pytest.approx(moment.position[0, 0])
    assert np.isnan(targets[1]).all()

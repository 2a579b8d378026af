"""Marks are drawn on the stage as in the grid and in films, in one order with the roles, and never stop a window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pygame
import pytest

from ecs_rl.agents.config import PPOConfig
from ecs_rl.loading import load_scene
from ecs_rl.scene import Arena, Body, Box, Disc, Levers, Look, Polygon, Push, Scene, Start, View, X, jitter
from ecs_rl.training.scene_agents import make_agents
from ecs_rl.viewer.camera import Framing
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.films.studio import Title
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.live.live_stage import GridWatch
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.panels.grid import Grid
from ecs_rl.viewer.stage import draw_stage, fitting
from ecs_rl.world import World
from ecs_rl.worlds import make_world

SIZE = (400, 334)
SQUARE = View((-2.0, 2.0), (-1.5, 1.5))
Build = Callable[[Arena], None]
Make = Callable[..., World]


@pytest.fixture
def made() -> Iterator[Make]:
    worlds = []

    def make(build: Build, arenas: int = 1, camera: View | None = SQUARE) -> World:
        scene = Scene("a test", 500, gravity=(0.0, 0.0), camera=camera, name="t", build=build)
        still = np.zeros((arenas, 1), np.float32)
        worlds.append(make_world(scene, arenas=arenas, policies={"policy": lambda seen, state: still}))
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


def in_a_film(world: World) -> pygame.Surface:
    show = LiveEpisode(
        world.scene, make_agents(world.scene, "ppo", PPOConfig(hidden=(8,)), arenas=1, seed=0), seeds=[0]
    )
    surface = pygame.Surface(SIZE)
    Title("t", "", 0.5).draw(surface, show)
    show.close()
    return surface


DRAWN = [on_the_stage, in_the_grid, in_a_film]


def middle(surface: pygame.Surface) -> str:
    """Return which of the two colours the middle of the picture has more of."""
    red, _, blue = np.mean(pygame.surfarray.array3d(surface)[185:215, 150:190], axis=(0, 1))
    assert abs(red - blue) > 4
    return "red" if red > blue else "blue"


def lying(*what: tuple[str, str, str, int]) -> Build:
    """Return a scene in which these lie over each other: mark or role, name, colour, layer."""

    def build(arena: Arena) -> None:
        for kind, name, colour, layer in what:
            if kind == "mark":
                arena.mark(name, Box(2.0, 2.0), Look(colour, layer=layer))
            else:
                arena.spawn(name, Body(), Box(2.0, 2.0), Look(colour, layer=layer))
        far = arena.spawn("far", Body(), Disc(0.1), Start(x=9.0))
        arena.agent(sees=[X(far)], does=Levers(push=Push(far, 1.0)), earns={"x": 1.0})

    return build


RED, BLUE = "#ff0000", "#0000ff"
ORDERS = [
    ([("mark", "a", RED, 0), ("role", "b", BLUE, 0)], "blue"),
    ([("role", "b", BLUE, 0), ("mark", "a", RED, 0)], "blue"),
    ([("role", "b", BLUE, 0), ("role", "c", RED, 0)], "red"),
    ([("role", "b", BLUE, 1), ("role", "c", RED, 0)], "blue"),
    ([("role", "b", BLUE, 0), ("role", "c", RED, -1)], "blue"),
    ([("mark", "a", BLUE, 0), ("role", "c", RED, -1)], "red"),
]


@pytest.mark.parametrize("drawn", DRAWN)
@pytest.mark.parametrize(("what", "seen"), ORDERS)
def test_marks_lie_below_roles_and_later_ones_above_unless_a_layer_says_otherwise(
    made: Make, drawn: Callable[[World], pygame.Surface], what: list[tuple[str, str, str, int]], seen: str
) -> None:
    assert middle(drawn(made(lying(*what)))) == seen


@pytest.mark.parametrize("drawn", DRAWN)
def test_a_mark_of_a_higher_layer_is_seen_on_a_role(made: Make, drawn: Callable[[World], pygame.Surface]) -> None:
    bare = pygame.surfarray.array3d(drawn(made(lying(("role", "b", BLUE, 0))))).astype(int)
    lies = pygame.surfarray.array3d(drawn(made(lying(("mark", "a", RED, 1), ("role", "b", BLUE, 0))))).astype(int)
    assert (lies - bare)[..., 0].max() > 60


def shaped(arena: Arena) -> None:
    x = arena.random("x", jitter(1.5))
    disc = arena.spawn("disc", Body(), Disc(0.1), Start(x=5.0), Look("blue"))
    arena.mark("ring", Disc(0.3), Look(RED), at=lambda: np.stack((x.value, 0 * disc.y), -1))
    arena.mark("line", ((-2.0, 1.0), (0.0, 1.2), (2.0, 1.0)), Look(RED), angle=lambda: 0.0)
    arena.mark("flag", Polygon(((0, 0), (0.4, 0.2), (0, 0.4))), Look(RED), at=(0, -1), where=lambda: x.value > 0)
    arena.agent(sees=[X(disc)], does=Levers(push=Push(disc, 1.0)), earns={"x": 1.0})


def reds(surface: pygame.Surface, area: pygame.Rect) -> int:
    pixels = pygame.surfarray.array3d(surface.subsurface(area)).astype(int)
    return int((pixels[..., 0] > 2 * pixels[..., 2] + 20).sum())


def test_a_mark_stands_where_its_rule_says_and_only_where_it_is_drawn_at_all(made: Make) -> None:
    world = made(shaped, arenas=12)
    xs, canvas, reader = world.arena.numbers[0].value, Canvas(), Reader(world)
    assert (xs > 0).any()
    assert (xs <= 0).any()
    for arena, x in enumerate(xs.tolist()):
        surface, stage = pygame.Surface(SIZE), reader.stage(arena)
        camera = fitting(stage, surface.get_rect(), canvas)
        draw_stage(surface, surface.get_rect(), stage, camera, canvas)
        across, down = (round(p) for p in camera.pixel((x, 0.0)))
        assert reds(surface, pygame.Rect(across - 35, down - 35, 70, 70).clip(surface.get_rect())) > 100
        flag = pygame.Rect(camera.pixel((0.0, -0.6)), (42, 42))
        assert (reds(surface, flag) > 50) == (x > 0)
        assert reds(surface, pygame.Rect(150, 40, 100, 60)) > 50, "the line"


def test_what_has_not_changed_is_not_painted_again(made: Make) -> None:
    world = made(shaped)
    reader, canvas, surface = Reader(world), Canvas(), pygame.Surface(SIZE)
    for _ in range(3):
        world.tick()
        reader.follow(0)
        stage = reader.stage(0, blend=0.5)
        draw_stage(surface, surface.get_rect(), stage, fitting(stage, surface.get_rect(), canvas), canvas)
    assert canvas.painted == 1, "the background with its marks"


def test_marks_that_stand_belong_to_the_picture_from_the_start_and_others_widen_it(made: Make) -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.5))
        arena.wall((-5, -1), (5, -1))
        arena.mark("goal", Box(2.0, 4.0), at=(14.0, 0.0))
        arena.mark("high", Disc(1.0), at=lambda: np.stack((disc.x, disc.y + 20.0), -1), where=lambda: disc.x < 1e9)
        arena.mark("hidden", Disc(1.0), at=(0.0, -40.0), where=lambda: disc.x > 1e9)
        arena.mark("endless", ((-1e6, 0.0), (0.0, 0.0)))
        arena.agent(sees=[X(disc)], does=Levers(push=Push(disc, 1.0)), earns={"x": 1.0})

    reader = Reader(made(build, camera=None))
    assert isinstance(reader.framing, Framing)
    left, down, right, up = reader.framing.home.tolist()
    assert (left, right) == (50.0, 15.0), "no further than the scene's extent"
    assert down < 3.0
    assert up < 10.0
    reader.follow(0)
    for _ in range(200):
        reader.follow(0)
    (_, lower), (_, higher) = reader.stage(0).bounds
    assert higher > 21.0
    assert lower > -3.0


FAILS = """
import numpy as np
from ecs_rl.scene import *
SCENE = Scene(about="a mark that fails later", max_ticks=99)
def build(arena):
    ticks = arena.number("ticks")
    disc = arena.spawn("disc", Body(), Disc(0.1))
    @arena.system(writes=(ticks,))
    def count():
        ticks.value += 1
    arena.mark("good", Disc(0.4))
    arena.mark("bad", Disc(0.4), at=lambda: disc.position if ticks.value[0] < 3 else disc.x)
    arena.agent(sees=[X(disc)], does=Levers(push=Push(disc, 1.0)), earns={"x": 1.0})
"""


def test_a_mark_that_fails_later_is_told_once_by_its_line_and_not_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fails.py").write_text(FAILS)
    scene = load_scene(str(tmp_path / "fails.py"))
    world = make_world(scene, arenas=2, policies={"policy": lambda seen, state: np.zeros((2, 1), np.float32)})
    reader, here = Reader(world), []
    for _ in range(6):
        world.tick()
        reader.follow(0)
        marks = [objects for objects in reader.stage(0).objects if objects.look.mark]
        here.append([bool(objects.here[0]) for objects in marks])
    world.close()
    assert here == [[True, True]] * 2 + [[True, False]] * 4
    told = capsys.readouterr().err.splitlines()
    (message,) = [line for line in told if "fails.py" in line]
    assert f"{tmp_path / 'fails.py'}, line 12: at of the mark 'bad' must give two numbers per arena" in message
    assert "'bad' is not drawn" in message
    assert reader.places.problems == [message]


def test_a_sprite_stands_for_a_mark_too(made: Make) -> None:
    def build(arena: Arena) -> None:
        lying()(arena)
        arena.mark("picture", Disc(1.0), Look(sprite="pictures/grid.png"))

    plain, drawn = on_the_stage(made(lying())), on_the_stage(made(build))
    away = np.abs(pygame.surfarray.array3d(drawn).astype(int) - pygame.surfarray.array3d(plain).astype(int))
    assert (away.max(axis=2) > 8).mean() > 0.05

"""Dust, smoke and sparks fly where something happens, are gone soon, and change nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import numpy as np
import pygame
import pytest

from ecs_rl.arrays import F64
from ecs_rl.scene import (
    Arena,
    Body,
    Box,
    Disc,
    Levers,
    Pose,
    Push,
    Scene,
    Start,
    Thrust,
    Touching,
    Vx,
)
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.particles import MOST, draw_particles
from ecs_rl.world import World
from ecs_rl.worlds import make_world

Build = Callable[[Arena], None]
Make = Callable[..., World]


@pytest.fixture
def made() -> Iterator[Make]:
    worlds = []

    def make(build: Build, act: float = 0.0, gravity: tuple[float, float] = (0.0, 0.0)) -> World:
        scene = Scene("a test", 500, gravity=gravity, name="t", build=build)
        does = np.full((1, 1), act, np.float32)
        worlds.append(make_world(scene, arenas=1, policies={"policy": lambda seen, state: does}))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def played(world: World, ticks: int) -> list[int]:
    """Return how many particles there are after each tick that a reader has followed."""
    reader, found = Reader(world), []
    reader.follow(0)
    for _ in range(ticks):
        world.tick()
        reader.follow(0)
        view = reader.stage(0).particles
        found.append(0 if view is None else len(view.radius))
    return found


def rocket(arena: Arena) -> None:
    ship = arena.spawn("ship", Body(), Box(1.0, 0.5))
    arena.agent(sees=[Vx(ship)], does=Levers(gas=Thrust(ship, x=1.0)), earns={"a": 0.0})


def car(arena: Arena) -> None:
    start = Start(vy=6.0)
    body = arena.spawn("car", Body(drag=(0.0, 1.0), grip=2.0), Box(1.0, 0.5), start)
    arena.agent(sees=[Vx(body)], does=Levers(gas=Thrust(body, x=1.0)), earns={"a": 0.0})


def drop(arena: Arena) -> None:
    stone = arena.spawn("stone", Body(), Disc(0.3), Start(y=1.0))
    arena.wall((-5.0, 0.0), (5.0, 0.0))
    Touching(stone, arena.ground)
    arena.agent(sees=[Vx(stone)], does=Levers(push=Push(stone, x=0.0)), earns={"a": 0.0})


def coins(arena: Arena) -> None:
    """A bug that eats the first of two coins, and a rock that comes round at the edge."""
    bug = arena.spawn("bug", Body(), Disc(0.3))
    coin = arena.spawn("coin", Body(solid=False, moves="never"), Disc(0.2), Start(x=(0.2, 4.0)), count=2)
    rock = arena.spawn("rock", Body(solid=False), Disc(0.5), Start(x=2.9, y=3.0, vx=2.0), count=1)
    eats = Touching(bug, coin)

    @arena.system(writes=(Pose,))
    def eat() -> None:
        coin.place(eats(), x=-4.0)
        rock.position[...] = (rock.position + 3.0) % 6.0 - 3.0

    arena.agent(sees=[Vx(bug)], does=Levers(push=Push(bug, x=0.0)), earns={"a": 0.0})


def test_an_engine_smokes_while_it_burns_and_not_otherwise(made: Make) -> None:
    assert played(made(rocket, 1.0), 5)[-1] >= 5
    assert played(made(rocket, 0.0), 5)[-1] == 0


def test_tyres_smoke_while_they_slide_and_burn_no_flame(made: Make) -> None:
    world = made(car, 1.0)
    found = played(world, 240)
    assert found[0] > 0
    assert found[-1] == 0  # it grips again
    assert not Reader(world).stage(0).forces


def test_a_hard_landing_throws_dust_and_lying_still_does_not(made: Make) -> None:
    found = played(made(drop, gravity=(0.0, -9.8)), 150)
    landed = next(i for i, count in enumerate(found) if count)
    assert 15 < landed < 30
    assert found[-1] == 0


def test_what_is_taken_flies_to_pieces_where_it_was_and_what_comes_round_does_not(made: Make) -> None:
    reader = Reader(world := made(coins))
    reader.follow(0)
    world.tick()
    reader.follow(0)
    view = reader.stage(0).particles
    assert view is not None
    assert np.abs(view.position - (0.2, 0.0)).max() < 1.0
    before = len(view.radius)
    for _ in range(4):
        world.tick()
        reader.follow(0)
    assert world.arena.roles[2].x[0, 0] < 0  # the rock has come round
    after = reader.stage(0).particles
    assert after is not None
    assert len(after.radius) <= before


def test_another_episode_begins_without_them(made: Make) -> None:
    reader = Reader(world := made(rocket, 1.0))
    reader.follow(0)
    world.tick()
    reader.follow(0)
    assert reader.stage(0).particles is not None
    reader.follow(0, anew=True)
    assert reader.stage(0).particles is None


def test_there_are_never_more_than_can_be_drawn(made: Make) -> None:
    reader = Reader(made(rocket))
    for _ in range(5):
        reader.particles.throw(MOST, (0.0, 0.0), (1.0, 0.0), spread=1.0, life=9.0, size=0.1, colour=(255, 0, 0))
    assert len(reader.particles.rows) == MOST


def test_the_same_ticks_throw_the_same(made: Make) -> None:
    def seen() -> F64:
        reader = Reader(world := made(rocket, 1.0))
        reader.follow(0)
        for _ in range(9):
            world.tick()
            reader.follow(0)
        return reader.particles.rows

    assert (seen() == seen()).all()


@pytest.mark.parametrize("glowing", [False, True])
def test_they_are_drawn_where_they_are(glowing: bool, made: Make) -> None:
    reader = Reader(made(rocket))
    reader.follow(0)
    reader.particles.throw(
        1, (1.0, 1.0), (0.0, 0.0), spread=0.0, life=1.0, size=0.3, colour=(200, 90, 30), glows=glowing
    )
    view = reader.particles.view(1.0)
    assert view is not None
    surface = pygame.Surface((100, 100))
    draw_particles(surface, view, Camera((0.0, 0.0), 20.0, (50.0, 50.0)), glowing=glowing)
    drawn = np.argwhere(pygame.surfarray.array3d(surface).any(axis=2))
    assert np.abs(drawn.mean(axis=0) - (70, 30)).max() < 2
    surface.fill((0, 0, 0))
    draw_particles(surface, view, Camera((0.0, 0.0), 20.0, (50.0, 50.0)), glowing=not glowing)
    assert not pygame.surfarray.array3d(surface).any()


def test_where_nothing_falls_the_strongest_engine_has_a_flame_as_long_as_its_body(made: Make) -> None:
    reader = Reader(made(rocket, 1.0))
    (thrust,) = reader.effects
    assert isinstance(thrust, Thrust)
    assert reader.flame(thrust) == pytest.approx(1.2 * np.hypot(0.5, 0.25))


@pytest.mark.parametrize("dt", [1 / 50, 1 / 10])
def test_blocks_at_rest_throw_nothing_and_falling_ones_do(dt: float) -> None:
    def tower(arena: Arena) -> None:
        blocks = [arena.spawn(f"block {i}", Body(), Box(1.0, 1.0), Start(y=0.52 + 1.0 * i)) for i in range(3)]
        stone = arena.spawn("stone", Body(), Disc(0.3), Start(x=3.0, y=4.0))
        arena.wall((-5.0, 0.0), (5.0, 0.0))
        for one in (*blocks, stone):
            arena.use(Touching(one))
        arena.agent(sees=[Vx(stone)], does=Levers(gas=Push(stone, x=1.0)), earns={"a": 0.0})

    scene = Scene("a test", 500, dt=dt, substeps=round(dt * 100), gravity=(0.0, -9.81), name="t", build=tower)
    world = make_world(scene, arenas=1, policies={"policy": lambda seen, state: np.zeros((1, 1), np.float32)})
    thrown = played(world, round(6 / dt))
    world.close()
    assert max(thrown) > 0  # as the stone falls down
    assert max(thrown[len(thrown) // 2 :]) == 0

"""Many of a kind, and what comes and goes: drawn where it is, and never between where it was and where it is put."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pygame
import pytest
from viewer_views import COIN, a_field, a_stage

from ecs_rl.arrays import F64
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import (
    Arena,
    Body,
    Box,
    Disc,
    Feel,
    Follow,
    Here,
    Levers,
    Look,
    Motion,
    Pivot,
    Pose,
    Push,
    Rod,
    Scene,
    Sensor,
    Start,
    Touching,
    X,
    Y,
    component,
)
from ecs_rl.shipped import ASSETS
from ecs_rl.viewer.bodies import _draw_many, draw_body, draw_objects
from ecs_rl.viewer.camera import Camera, Following, Framing
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.live.live_stage import GridWatch
from ecs_rl.viewer.objects import BodyId, LookView, Objects, SpriteView
from ecs_rl.viewer.panels.grid import Grid
from ecs_rl.viewer.panels.inspector import inspect
from ecs_rl.viewer.panels.stage import pick
from ecs_rl.viewer.stage import draw_stage, fitting
from ecs_rl.viewer.view import StageView
from ecs_rl.world import World
from ecs_rl.worlds import make_world

DT = 0.02


@component
class Health:
    points: float = 2.0


def field(arena: Arena) -> None:
    """Build three players, five coins of which two are not here at first, and two bases with arms."""
    ticks = arena.number("ticks")
    players = arena.spawn(
        "player", Body(mass=1.0), Disc(0.3), Start(x=(-4.0, 0.0, 4.0), y=1.0, vx=1.0), Look("sky"), count=3
    )
    coins = arena.spawn(
        "coin",
        *(Body(solid=False), Disc(0.2), Start(x=(-4, -2, 0, 2, 4), y=4.0), Look("yellow"), Health()),
        count=5,
        here=(True, True, True, False, False),
    )
    bases = arena.spawn("base", Body(), Disc(0.2), Start(x=(-7.0, 7.0)), Look("blue"), count=2)
    arms = arena.spawn("arm", Body(mass=0.2), Rod(1.0), Look("purple"), count=2)
    arena.join(Pivot(bases, arms, hinge=(0.0, 0.5)))
    arena.wall((-9, -2), (9, -2))

    @arena.system(writes=(Pose, Motion, Here, Health, ticks))
    def change() -> None:
        ticks.value += 1
        players.place(np.stack([ticks.value == 10, *[ticks.value < 0] * 2], -1), x=6.0, y=3.0)
        coins.leave(np.stack([ticks.value == 5, *[ticks.value < 0] * 4], -1))
        coins.place(np.stack([*[ticks.value < 0] * 3, ticks.value == 8, ticks.value < 0], -1), x=-6.0, y=-1.0)
        points: Any = coins[Health].points
        points[..., 1] -= 0.1

    got = Touching(players, coins)
    arena.agent(
        of=players,
        sees=[X(players), Y(players), Feel("got", lambda: got().sum(axis=-1))],
        does=Levers(push=Push(players, x=1.0)),
        earns={"x": 1.0},
    )


@pytest.fixture
def world() -> Iterator[World]:
    made = field_world()
    yield made
    made.close()


def field_world(arenas: int = 2, **more: object) -> World:
    scene = Scene("a field", 100, dt=DT, gravity=(0.0, 0.0), name="t", build=field, **more)  # type: ignore[arg-type]
    push = np.repeat((1.0, 0.0, -1.0), arenas)[:, None].astype(np.float32)
    return make_world(scene, arenas=arenas, policies={"policy": lambda seen, state: push})


def named(stage: StageView, name: str) -> Objects:
    (found,) = [objects for objects in stage.objects if objects.look.name == name]
    return found


def test_each_member_stands_where_it_is_and_only_those_that_are_here_are_seen(world: World) -> None:
    reader = Reader(world)
    stage = reader.stage(1)
    coins = named(stage, "coin")
    assert np.array_equal(coins.position, world.arena.roles[1].position[1])
    assert coins.here.tolist() == [True, True, True, False, False]
    assert [number for number, _, _ in coins.seen()] == [0, 1, 2]
    assert named(stage, "player").look.many
    assert [len(objects.position) for objects in stage.objects] == [3, 5, 2, 2]


def test_hinges_and_arrows_are_there_for_each_member(world: World) -> None:
    world.tick()
    stage = Reader(world).stage(0)
    players = world.arena.roles[0].position[0]
    assert np.array(stage.hinges) == pytest.approx(world.arena.roles[2].position[0])
    assert [(force.kind, force.force) for force in stage.forces] == [("push", (1.0, 0.0)), ("push", (-1.0, 0.0))]
    assert [force.at[0] for force in stage.forces] == pytest.approx([players[0, 0] + 0.3, players[2, 0] - 0.3])


def followed(reader: Reader, ticks: int) -> None:
    for _ in range(ticks):
        reader.world.tick()
        reader.follow(0)


def test_a_trail_is_not_drawn_across_a_place_and_only_agents_leave_one(world: World) -> None:
    reader = Reader(world)
    reader.follow(0)
    followed(reader, 15)
    stage = reader.stage(0)
    assert named(stage, "coin").trails == ()
    placed, stayed, _ = named(stage, "player").trails
    assert np.isfinite(stayed).all()
    gaps = np.flatnonzero(~np.isfinite(placed).all(axis=1))
    assert len(gaps) == 1, "where it was put elsewhere"
    steps = np.hypot(*np.diff(placed, axis=0).T)
    assert np.nanmax(steps) < 0.2
    assert np.hypot(*(placed[gaps[0] + 1] - placed[gaps[0] - 1])) > 5.0
    surface, canvas = pygame.Surface((900, 600)), Canvas()
    draw_stage(surface, surface.get_rect(), stage, fitting(stage, surface.get_rect(), canvas), canvas)


def test_between_two_ticks_what_was_placed_is_where_it_was_placed_and_the_others_are_on_their_way(world: World) -> None:
    reader = Reader(world)
    reader.follow(0)
    followed(reader, 9)
    before = named(reader.stage(0), "player").position.copy()
    followed(reader, 1)
    now, half = (named(reader.stage(0, blend=b), "player").position for b in (1.0, 0.5))
    assert half[0] == pytest.approx(now[0])
    assert np.hypot(*(now[0] - before[0])) > 5.0
    assert half[1:] == pytest.approx((before[1:] + now[1:]) / 2)


def test_what_comes_is_at_its_place_at_once_and_what_leaves_is_gone(world: World) -> None:
    reader = Reader(world)
    reader.follow(0)
    followed(reader, 5)
    coins = named(reader.stage(0, blend=0.5), "coin")
    assert not coins.here[0]
    followed(reader, 3)
    coins = named(reader.stage(0, blend=0.1), "coin")
    assert coins.here.tolist() == [False, True, True, True, False]
    assert coins.position[3] == pytest.approx((-6.0, -1.0))


def test_a_system_that_moves_things_by_arithmetic_is_no_place_in_every_tick(world: World) -> None:
    reader = Reader(world)
    reader.follow(0)
    row = world.arena.roles[1].rows.start
    shown = []
    for _ in range(6):
        world.tick()
        world.engine_as(Physics).state[0, row + 1, 0] += 0.3
        reader.follow(0)
        shown.append([float(named(reader.stage(0, blend=b), "coin").position[1, 0]) for b in (0.5, 1.0)])
    steps = np.diff(shown, axis=0)
    assert steps[2:] == pytest.approx(0.3), "it glides"


def test_what_is_not_here_does_not_widen_the_picture(world: World) -> None:
    reader = Reader(world)
    assert isinstance(reader.framing, Framing)
    outline = reader.framing.outline
    assert outline is not None
    world.engine_as(Physics).state[:2, world.arena.roles[1].rows.start + 4] = 40.0
    assert outline.reach(reader.places.at(0))[2] < 8.0
    world.engine_as(Physics).here[world.arena.roles[1].rows.start + 4] = True
    assert outline.reach(reader.places.at(0))[2] == pytest.approx(40.2)
    assert outline.reach(reader.places.at(slice(None)))[2] == pytest.approx(40.2)


def test_the_picture_follows_one_member_or_the_middle_of_those_that_are_here() -> None:
    for member, wanted in ((1, [-2.0, 4.0]), (None, [-2.0, 4.0]), (4, None)):
        world = field_world(camera=Follow("coin", width=8.0, member=member))
        reader = Reader(world)
        assert isinstance(reader.framing, Following)
        targets = reader.framing.targets(reader.places.at(slice(None)))
        assert targets.shape == (2, 2)
        assert np.isnan(targets).all() if wanted is None else targets.tolist() == [wanted] * 2
        reader.follow(0)
        assert reader.stage(0).focus == ((0.0, 0.0) if wanted is None else tuple(wanted))
        world.close()


# --- the mouse --------------------------------------------------------------------------------------------------------


def test_a_click_finds_the_member_that_is_here_and_the_inspector_shows_its_own_rows(world: World) -> None:
    for _ in range(3):
        world.tick()
    stage = Reader(world).stage(0)
    assert pick(stage, (-2.1, 4.05), 0.0) == BodyId("coin", 1)
    assert pick(stage, (2.0, 4.0), 0.3) is None, "that coin is not here"
    view = inspect(world, 0, BodyId("coin", 1))
    rows = {name: value for name, value, _ in view.rows}
    assert view.title == "coin 1"
    assert [float(part) for part in rows["Pose position"].split()] == pytest.approx([-2.0, 4.0])
    assert float(rows["Health points"]) == pytest.approx(1.7)
    assert rows["Here now"] == "yes"
    others = {name: value for name, value, _ in inspect(world, 0, BodyId("coin", 3)).rows}
    assert (others["Here now"], float(others["Health points"])) == ("no", 2.0)


def test_members_that_touch_throw_light_where_they_do() -> None:
    def build(arena: Arena) -> None:
        rocks = arena.spawn("rock", Body(), Disc(0.5), Start(x=(0.0, 0.95, 6.0), y=(0.45, 0.45, 5.0)), count=3)
        box = arena.spawn("box", Body(), Box(1.0, 1.0), Start(x=-0.95, y=0.45))
        arena.wall((-9, 0), (9, 0))
        touches = [Touching(rocks, arena.ground), Touching(rocks, box), Touching(rocks, rocks)]

        def touching(number: int, touch: Touching) -> Sensor:
            return Feel(str(number), lambda: touch().reshape(len(box.x), -1).any(axis=1))

        sums = [touching(i, touch) for i, touch in enumerate(touches)]
        arena.agent(sees=[X(box), *sums], does=Levers(push=Push(box, 1.0)), earns={"x": 1.0})

    scene = Scene("a test", 100, gravity=(0.0, -9.8), name="t", build=build)
    world = make_world(scene, arenas=1, policies={"policy": lambda seen, state: np.zeros((1, 1), np.float32)})
    world.tick()
    spots = np.array([contact.at for contact in Reader(world).stage(0).contacts])
    world.close()
    for wanted in ((0.0, 0.0), (0.95, 0.0), (0.475, 0.45)):
        assert np.hypot(*(spots - wanted).T).min() < 0.2, wanted
    assert (spots[:, 0] < 2.0).all(), "the third rock touches nothing"


# --- drawing ----------------------------------------------------------------------------------------------------------

CAMERA = Camera((0.0, 3.0), 40.0, (400.0, 250.0))


def drawn(objects: Objects, one_by_one: bool = False) -> F64:
    surface = pygame.Surface((800, 500))
    if one_by_one:
        for _, at, angle in objects.seen():
            draw_body(surface, objects.look, (at, angle), CAMERA, 1.0)
    else:
        draw_objects(surface, objects, CAMERA, 1.0, None)
    return np.asarray(pygame.surfarray.array3d(surface), dtype=float)


@pytest.mark.parametrize("number", [3, 4])
def test_many_look_as_if_each_were_drawn_alone(number: int) -> None:
    objects = a_field(7)[number]
    many, alone = drawn(objects), drawn(objects, one_by_one=True)
    assert alone.any()
    covered = (alone.max(axis=2) > 0) | (many.max(axis=2) > 0)
    assert np.abs(many - alone)[covered].mean() < 12.0, "a quarter of a pixel, and a step of a turn"


def test_many_that_are_large_far_off_or_lost_are_drawn_or_left_out() -> None:
    at = np.array(((0.0, 0.0), (1e9, 0.0), (np.nan, 0.0), (1.0, 1.0)))
    objects = Objects(COIN, at, np.array((0.0, 0.0, 0.0, np.inf)), np.ones(4, bool))
    surface = pygame.Surface((300, 300))
    for zoom in (1.0, 50.0, 4000.0):
        _draw_many(surface, objects, Camera((0.0, 0.0), zoom, (150.0, 150.0)), 1.0)
    assert surface.get_at((150, 150))[0] > 100


def test_a_member_that_is_chosen_stands_out_and_lies_on_top() -> None:
    look = LookView("coin", discs=(Disc(0.5),), colour=(60, 60, 200), many=True)
    objects = Objects(look, np.array(((0.0, 3.0), (0.1, 3.0))), np.zeros(2), np.ones(2, bool))
    pictures = []
    for chosen in (None, 0):
        surface = pygame.Surface((800, 500))
        draw_objects(surface, objects, CAMERA, 1.0, chosen)
        pictures.append(pygame.surfarray.array3d(surface).astype(int))
    yellow = [int(((p[..., 0] > 180) & (p[..., 2] < 130)).sum()) for p in pictures]
    assert not yellow[0]
    assert yellow[1] > 60


def test_only_what_is_here_is_drawn_in_the_grid_and_inside_its_cell(world: World) -> None:
    counts = []
    for here in (False, True):
        world.engine_as(Physics).here[world.arena.roles[1].rows] = here
        surface = pygame.Surface((600, 300))
        Grid().draw(surface, surface.get_rect(), GridWatch(world).view(1 / 60), Canvas())
        pixels = pygame.surfarray.array3d(surface).astype(int)
        counts.append(int(((pixels[..., 0] > 120) & (pixels[..., 1] > 110) & (pixels[..., 2] < 110)).sum()))
    assert counts[1] - counts[0] > 300, "ten coins"


def test_a_sprite_is_drawn_for_every_member() -> None:
    sprite = SpriteView(str(ASSETS / "pictures" / "grid.png"), 1.0)
    look = LookView("coin", discs=(Disc(0.5),), many=True, sprite=sprite)
    spots = np.array(((-4.0, 3.0), (0.0, 3.0), (4.0, 3.0)))
    bright = drawn(Objects(look, spots, np.array((0.0, 1.0, 2.0)), np.ones(3, bool))).max(axis=2)
    for x, _ in spots:
        column = round(CAMERA.pixel((x, 3.0))[0])
        assert (bright[column - 8 : column + 8, 240:260] > 0).mean() > 0.9


def test_a_stage_with_a_field_is_drawn_in_panes_of_any_size() -> None:
    canvas = Canvas()
    stage = StageView((*a_field(3), *a_stage().objects))
    for size in ((40, 30), (300, 200), (1600, 900)):
        surface = pygame.Surface(size)
        draw_stage(surface, surface.get_rect(), stage, fitting(stage, surface.get_rect(), canvas), canvas)

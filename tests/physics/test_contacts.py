"""Touch is true while two roles touch, only then, and only in their own arena."""

from __future__ import annotations

import numpy as np
import pytest
from physics_helpers import actions_of, driven, played, role_of, scene_of

from ecs_rl.components import Finished, Observation, Pose
from ecs_rl.loading import load_scene
from ecs_rl.physics import physics as physics_module
from ecs_rl.physics import touch
from ecs_rl.physics.physics import Physics
from ecs_rl.physics.touch import BodyNumbers
from ecs_rl.scene import Arena, Body, Box, Disc, Levers, Pivot, Push, Start, Touching, Y, jitter
from ecs_rl.world import World
from ecs_rl.worlds import make_world

LEVELS = (3.0, 0.0, 3.0, 0.4)


def balls(arena: Arena) -> None:
    """A ball over a floor, and a box far to its right that it can be put onto."""
    ball = arena.spawn("ball", Body(elasticity=0.0), Disc(0.5), Start(y=3.0))
    box = arena.spawn("box", Body(), Box(1.0, 1.0), Start(x=10.0, y=3.0))
    arena.wall((-5.0, -0.5), (15.0, -0.5))
    arena.agent(
        sees=[Y(ball), Touching(ball), Touching(ball, arena.ground), Touching(box, ball), Touching(box)],
        does=Levers(up=Push(ball, 0.0, 40.0)),
        earns={"y": Y(ball)},
    )


def ball_world(arenas: int = 4) -> tuple[World, np.ndarray]:
    action = np.zeros((arenas, 1), np.float32)
    return driven(scene_of(balls, gravity=(0.0, 0.0)), arenas, action), action


@pytest.fixture(params=["table", "search"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "search":
        monkeypatch.setattr(touch, "LARGEST_TABLE", 0)


@pytest.mark.usefixtures("path")
def test_touching_is_true_only_in_the_arena_that_touches() -> None:
    world, _ = ball_world()
    world.tick()
    assert not world.engine_as(Physics).contacts.touch.pairs.any()
    world.of("ball", Pose).position[2] = (1.0, -0.01)
    world.engine_as(Physics).put(np.array([2]))
    world.tick()
    assert world.of(world.batches[0].entity, Observation).value[:, 1:].tolist() == [
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [1, 1, 0, 0],
        [0, 0, 0, 0],
    ]


@pytest.mark.usefixtures("path")
def test_roles_that_touch_each_other_do_not_touch_the_ground() -> None:
    world, _ = ball_world()
    world.of("ball", Pose).position[1] = (9.05, 3.0)
    world.engine_as(Physics).put(np.array([1]))
    world.tick()
    pairs = world.engine_as(Physics).contacts.touch.pairs
    assert pairs[1].tolist() == [[False, True, False], [True, False, False], [False, False, False]]
    assert not pairs[[0, 2, 3]].any()


@pytest.mark.usefixtures("path")
def test_touching_ends_with_the_tick_in_which_they_part() -> None:
    world, action = ball_world(2)
    ball, touching = role_of(world, "ball"), []
    world.of("ball", Pose).position[0] = (0.0, -0.01)
    world.engine_as(Physics).put(np.array([0]))
    for tick in range(12):
        action[:] = 0.0 if tick < 4 else 1.0
        world.tick()
        apart = ball.y[0] - 0.5 > -0.5 + 0.03  # the radius of the ground and a little play
        touching.append(bool(world.engine_as(Physics).contacts.touch.pairs[0, 0, 2]))
        assert not (apart and touching[-1] and tick > 6)
    assert touching[:4] == [True] * 4
    assert touching[-3:] == [False] * 3


def test_touch_agrees_with_pymunks_own_arbiters_in_every_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(physics_module, "COLLIDING_SHARD", 40)
    scene = load_scene("lander")
    rows = iter(actions_of(scene, 200, 150))
    world = make_world(scene, arenas=150, policies={"policy": lambda seen, state: next(rows)})
    assert len(world.engine_as(Physics).shards) > 1
    honest, marked = world.stages["guard"].run, 0

    def compare() -> None:
        nonlocal marked
        expected = np.zeros_like(world.engine_as(Physics).contacts.touch.pairs)
        for shard in world.engine_as(Physics).shards:
            for i, built in enumerate(shard.built):
                for number, body in enumerate(built.bodies):
                    hit: list[bool] = []
                    body.each_arbiter(lambda arbiter, hit=hit: hit.append(True))
                    if hit:  # legs and hull are joined, so only the ground is left to touch
                        expected[shard.rows.start + i, [number, 3], [3, number]] = True
        assert (world.engine_as(Physics).contacts.touch.pairs == expected).all()
        marked += int(expected.any(axis=(1, 2)).sum())
        honest()

    world.stages["guard"].run = compare  # type: ignore[method-assign]
    for _ in range(200):
        world.tick()
    assert marked > 100


def test_a_new_episode_begins_without_the_contacts_of_the_last() -> None:
    world, _ = played("lander", actions_of(load_scene("lander"), 200, 60))
    seen = 0
    for _ in range(60):
        world.drive("policy", lambda rows, state: np.zeros(len(rows), int))
        world.tick()
        ended = world.one(Finished).rows
        seen += len(ended)
        assert not world.engine_as(Physics).contacts.touch.pairs[ended].any()
    assert seen > 5


def test_joined_roles_do_not_collide() -> None:
    def build(arena: Arena) -> None:
        one = arena.spawn("one", Body(), Disc(0.5))
        two = arena.spawn("two", Body(), Disc(0.5), Start(x=0.1))
        three = arena.spawn("three", Body(), Disc(0.5), Start(x=0.5))
        arena.join(Pivot(one, two))
        arena.agent(sees=[Touching(one, two), Touching(two, three)], does=Levers(p=Push(one, 1.0)), earns={"x": 1.0})

    world = driven(scene_of(build, gravity=(0.0, 0.0)), 2, np.zeros((2, 1), np.float32))
    world.tick()
    assert world.of(world.batches[0].entity, Observation).value.tolist() == [[0.0, 1.0]] * 2


@pytest.mark.usefixtures("path")
def test_numbers_of_bodies_by_id() -> None:
    ids = np.array([4096, 4112, 8192, 4160, 65536], dtype=np.int64)
    number_of = BodyNumbers(ids)
    assert number_of(ids).tolist() == [0, 1, 2, 3, 4]
    strangers = np.array([[0, 4096], [65552, 4128], [8192, 2**40], [-16, 65536]], dtype=np.int64)
    assert number_of(strangers).tolist() == [[-1, 0], [-1, -1], [2, -1], [-1, 4]]


def test_tables_are_as_small_as_the_bodies_are_few_however_wide_they_are_scattered() -> None:
    ids = np.random.default_rng(0).choice(1 << 25, 300, replace=False) << 4  # over half a gigabyte
    number_of = BodyNumbers(ids)
    assert number_of._table is not None
    assert number_of._table.nbytes + number_of._block.nbytes < 1 << 20
    assert np.array_equal(number_of(ids), np.arange(300))
    strangers = np.setdiff1d(np.concatenate([ids + 16, ids - 16, ids + 4096, ids - 4096]), ids)
    assert (number_of(strangers) == -1).all()


def test_ids_that_lie_far_apart_or_between_the_steps_are_searched() -> None:
    for ids in ([0, 1 << 40], [8, 13, 21]):
        number_of = BodyNumbers(np.array(ids, dtype=np.int64))
        assert number_of._table is None
        assert number_of(np.array([*ids, 7], dtype=np.int64)).tolist() == [*range(len(ids)), -1]


@pytest.mark.parametrize("substeps", [1, 4])
def test_a_bounce_within_a_tick_is_felt_however_many_substeps_it_has(substeps: int) -> None:
    def build(arena: Arena) -> None:
        ball = arena.spawn("ball", Body(elasticity=1.0), Disc(0.2), Start(y=jitter(0.5)))
        arena.wall((-5.0, -1.0), (5.0, -1.0), elasticity=1.0)
        arena.agent(sees=[Y(ball), Touching(ball, arena.ground)], does=Levers(p=Push(ball, 0.0)), earns={"y": Y(ball)})

    world = driven(scene_of(build, max_ticks=400, substeps=substeps, dt=0.02), 32, np.zeros((32, 1), np.float32))
    ball, bounces, felt = role_of(world, "ball"), 0, 0
    for _ in range(300):
        before = ball.vy.copy()
        world.tick()
        bounced = (before < -0.5) & (ball.vy > 0.5)
        bounces += int(bounced.sum())
        felt += int((bounced & world.engine_as(Physics).contacts.touch.pairs[:, 0, 1]).sum())
    assert bounces > 100
    assert felt == bounces

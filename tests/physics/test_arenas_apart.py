"""An arena does not know how many others there are, nor on which thread it is stepped."""

from __future__ import annotations

import os

import numpy as np
import pytest
from physics_helpers import actions_of, drive, driven, played, scene_of

from ecs_rl.components import Clock, Pose
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import Arena, Body, Box, Disc, Levers, Push, Start, Touching, X
from ecs_rl.worlds import make_world

SHIPPED = ("balance", "swingup", "lander")


@pytest.mark.parametrize("name", ["balance", "swingup"])
def test_the_first_arena_of_64_moves_bit_for_bit_as_it_does_alone(name: str) -> None:
    actions = actions_of(load_scene(name), 200, 64)
    many = played(name, actions)[1]
    alone = played(name, actions[:, :1])[1]
    assert (many[..., 0] == alone[..., 0]).all()


def test_any_arena_without_shapes_moves_bit_for_bit_as_it_does_alone() -> None:
    scene = load_scene("balance")
    actions = actions_of(scene, 100, 64)
    many = played(scene, actions)[1]
    some = played(scene, actions[:, :20])[1]
    assert (many[..., :20] == some).all()


def test_a_lander_moves_as_it_does_alone_until_it_touches_the_ground() -> None:
    """It stands elsewhere and is rounded otherwise; a contact then makes much of a last bit."""
    scene = load_scene("lander")
    actions = actions_of(scene, 120, 64)
    many, alone = played(scene, actions[:1])[0], played(scene, actions[:1, :1])[0]
    ticks = 0
    for row in actions[1:]:
        drive(many, row)
        drive(alone, row[:1])
        many.tick()
        alone.tick()
        if many.engine_as(Physics).contacts.touch.pairs[0].any() or many.one(Clock).episode[0]:
            break
        ticks += 1
        assert many.engine_as(Physics).state[..., 0] == pytest.approx(alone.engine_as(Physics).state[..., 0], abs=1e-6)
    assert ticks > 20


def test_landers_never_touch_those_of_other_arenas() -> None:
    scene = load_scene("lander")
    world, _ = played(scene, actions_of(scene, 1, 90))
    (shard,) = world.engine_as(Physics).shards
    assert (np.diff(np.sort(shard.origin)) > 2 * scene.extent).all()
    seen = 0
    for tick in range(150):
        drive(world, actions_of(scene, 1, 90, tick)[0])
        world.tick()
        ids = np.concatenate(shard.touched)
        arena = world.engine_as(Physics).contacts.number_of(ids) // 3
        assert ((arena[:, 0] == arena[:, 1]) | (arena == -1).any(axis=1)).all()
        seen += len(ids)
    assert seen > 50


def test_what_stands_at_the_edge_of_its_arena_touches_nobody_of_the_next() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(4.0))
        arena.spawn("box", Body(), Box(1.0, 1.0), Start(y=30.0))
        arena.agent(sees=[X(disc), Touching(disc)], does=Levers(push=Push(disc, 1.0)), earns={"x": 1.0})

    world = driven(scene_of(build, extent=40.0, gravity=(0.0, 0.0)), 3, np.zeros((3, 1), np.float32))
    world.of("disc", Pose).position[:, 0] = (39.0, -39.0, 39.0)
    world.engine_as(Physics).put(np.arange(3))
    world.tick()
    assert not world.engine_as(Physics).contacts.touch.pairs.any()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs a second core to get a second thread")
@pytest.mark.parametrize("name", SHIPPED)
def test_two_threads_give_the_same_bits_as_one(name: str) -> None:
    scene = load_scene(name)
    actions = actions_of(scene, 40, 300)
    one, states = played(scene, actions, threads=1)
    two, threaded = played(scene, actions, threads=2)
    assert one.engine_as(Physics).threads == 1
    assert two.engine_as(Physics).threads == 2
    assert len(two.engine_as(Physics).shards) > 1
    assert (states == threaded).all()
    assert (one.engine_as(Physics).contacts.touch.pairs == two.engine_as(Physics).contacts.touch.pairs).all()
    two.close()


@pytest.mark.parametrize("name", SHIPPED)
def test_putting_bodies_where_they_are_changes_nothing_that_follows(name: str) -> None:
    scene = load_scene(name)
    actions = actions_of(scene, 60, 20)
    _, left_alone = played(scene, actions)
    rows = iter(actions)
    world = make_world(scene, arenas=20, policies={"policy": lambda seen, state: next(rows)})
    for tick in range(60):
        world.engine_as(Physics).put(np.arange(20) if tick % 3 else np.array([1, 5, 19]))
        world.tick()
        assert (world.engine_as(Physics).state == left_alone[tick]).all()


@pytest.mark.parametrize("name", SHIPPED)
def test_two_worlds_rebuilt_from_the_same_columns_go_on_alike(name: str) -> None:
    scene = load_scene(name)
    actions = actions_of(scene, 80, 12)
    rows = iter(actions[:40])
    running = make_world(scene, arenas=12, policies={"policy": lambda seen, state: next(rows)})
    for _ in range(40):
        running.tick()
    running.rebuild()
    other = make_world(scene, arenas=12, seed=99, policies={"policy": lambda seen, state: np.zeros(12, int)})
    for mine, theirs in (
        (other.engine_as(Physics).state, running.engine_as(Physics).state),
        (other.engine_as(Physics).force, running.engine_as(Physics).force),
    ):
        mine[...] = theirs
    other.engine_as(Physics).ground.segments[...] = running.engine_as(Physics).ground.segments
    other.rebuild()
    for row in actions[40:60]:
        force = np.random.default_rng(int(np.sum(row) * 1000) % 1000).normal(
            size=running.engine_as(Physics).force.shape
        )
        for world in (running, other):
            world.engine_as(Physics).force[...] = force
            world.engine_as(Physics).step()
        assert (running.engine_as(Physics).state == other.engine_as(Physics).state).all()

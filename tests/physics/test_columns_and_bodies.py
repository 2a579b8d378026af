"""The columns and the bodies of the physics say the same, body by body, in every shard."""

from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pymunk
import pytest
from physics_helpers import actions_of, driven, played, role_of, scene_of

from ecs_rl.loading import load_scene
from ecs_rl.physics import physics as physics_module
from ecs_rl.physics.arena_space import Built
from ecs_rl.physics.physics import Physics
from ecs_rl.physics.shard import Shard, shard_slices
from ecs_rl.scene import Arena, Body, Disc, Levers, Push, X, jitter
from ecs_rl.scene.parts import Start
from ecs_rl.world import World
from ecs_rl.worlds import make_world

SHIPPED = ("balance", "swingup", "lander")


def bodies_say(world: World) -> np.ndarray:
    """Return (6, roles, arenas), asked of pymunk one attribute at a time."""
    told = np.full(world.engine_as(Physics).state.shape, np.nan)
    for shard in world.engine_as(Physics).shards:
        for i, built in enumerate(shard.built):
            for role, body in enumerate(built.bodies):
                (x, y), (vx, vy) = body.position, body.velocity
                row = (x - float(shard.origin[i]), y, body.angle, vx, vy, body.angular_velocity)
                told[:, role, shard.rows.start + i] = row
    return told


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("arenas", [1, 7, 200])
def test_columns_equal_the_bodies_attributes_after_every_tick(name: str, arenas: int) -> None:
    scene = load_scene(name)
    rows = iter(actions_of(scene, 30, arenas))
    world = make_world(scene, arenas=arenas, policies={"policy": lambda seen, state: next(rows)})
    assert world.engine_as(Physics).state == pytest.approx(
        bodies_say(world), abs=1e-9
    )  # far from zero a start is rounded
    for _ in range(30):
        world.tick()
        assert world.engine_as(Physics).state == pytest.approx(bodies_say(world), abs=1e-9)
    assert (world.engine_as(Physics).state[1:] == bodies_say(world)[1:]).all()


def test_rows_of_several_shards_belong_to_their_own_arenas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(physics_module, "COLLIDING_SHARD", 3)
    world = make_world(load_scene("lander"), arenas=10, policies={"policy": lambda seen, state: np.zeros(10, int)})
    assert [shard.rows for shard in world.engine_as(Physics).shards] == [slice(0, 3), slice(3, 6), slice(6, 10)]
    marked = np.arange(6 * 3 * 10, dtype=float).reshape(6, 3, 10) / 100
    world.engine_as(Physics).state[...] = marked
    rows = np.array([0, 2, 3, 8, 9])
    before = bodies_say(world)
    world.engine_as(Physics).put(rows)
    others = [row for row in range(10) if row not in rows]
    assert bodies_say(world)[..., rows] == pytest.approx(marked[..., rows], abs=1e-12)
    assert (bodies_say(world)[..., others] == before[..., others]).all()


def test_shards_cover_all_arenas_once_and_are_nearly_equal() -> None:
    for arenas in (1, 2, 95, 96, 97, 200, 1024, 4096):
        slices = shard_slices(arenas, 96)
        assert [row for part in slices for row in range(part.start, part.stop)] == list(range(arenas))
        sizes = [part.stop - part.start for part in slices]
        assert max(sizes) - min(sizes) <= 1
        assert max(sizes) <= 144


@pytest.mark.parametrize("name", SHIPPED)
def test_one_shard_or_many_make_no_difference_that_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = load_scene(name)
    actions = actions_of(scene, 20, 24)
    _, one = played(scene, actions)
    monkeypatch.setattr(physics_module, "COLLIDING_SHARD", 5)
    monkeypatch.setattr(physics_module, "JOINTED_SHARD", 5)
    world, many = played(scene, actions)
    assert len(world.engine_as(Physics).shards) == 5
    assert one == pytest.approx(many, abs=1e-6)


def pushed(arena: Arena) -> None:
    disc = arena.spawn("disc", Body(mass=2.0), Disc(0.1), Start(x=jitter(1.0)))
    arena.agent(sees=[X(disc)], does=Levers(x=Push(disc, 4.0), y=Push(disc, 0.0, 6.0)), earns={"x": 1.0})


@pytest.mark.parametrize("substeps", [1, 4])
def test_a_force_works_in_every_substep_and_gravity_too(substeps: int) -> None:
    action = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, -1.0]], np.float32)
    world = driven(scene_of(pushed, substeps=substeps, gravity=(0.0, -2.0)), 3, action)
    for _ in range(50):
        world.tick()
    disc = role_of(world, "disc")
    assert disc.vx == pytest.approx([0.0, 2.0, 1.0])  # 4 N on 2 kg for a second
    assert disc.vy == pytest.approx([-2.0, -2.0, -5.0])


def test_a_force_is_gone_in_the_next_tick() -> None:
    action = np.ones((1, 2), np.float32)
    world = driven(scene_of(pushed, gravity=(0.0, 0.0)), 1, action)
    world.tick()
    action[:] = 0.0
    speed = role_of(world, "disc").velocity.copy()
    world.tick()
    assert (role_of(world, "disc").velocity == speed).all()


def test_more_substeps_come_closer_to_the_true_way() -> None:
    off = []
    for substeps in (1, 8):
        world = driven(scene_of(pushed, substeps=substeps), 1, np.zeros((1, 2), np.float32))
        for _ in range(50):
            world.tick()
        off.append(abs(float(role_of(world, "disc").y[0]) + 9.81 / 2))
    assert off[1] < off[0] / 6


@pytest.mark.parametrize("spins", [True, False])
def test_a_body_has_the_mass_and_moment_it_was_given(spins: bool) -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(mass=3.0, spins=spins), Disc(0.5))
        arena.agent(sees=[X(disc)], does=Levers(push=Push(disc, 1.0)), earns={"x": 1.0})

    world = driven(scene_of(build), 2, np.zeros((2, 1), np.float32))
    body = world.engine_as(Physics).shards[0].built[1].bodies[0]
    assert body.mass == 3.0
    assert body.moment == (pytest.approx(3.0 * 0.25 / 2) if spins else math.inf)


def test_a_space_that_lists_its_bodies_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_another_order(space: pymunk.Space, arena: Arena, x: float) -> Built:
        built = Built(space, arena, x)
        built.bodies.reverse()
        return built

    monkeypatch.setattr("ecs_rl.physics.shard.Built", in_another_order)
    scene = load_scene("balance")
    with pytest.raises(RuntimeError, match="another order"):
        Shard(scene, scene.describe(), slice(0, 2))


@pytest.mark.parametrize("name", [*SHIPPED, "walker", "sheepdog"])
def test_a_physics_made_anew_leaves_nothing_for_a_look_for_garbage(name: str) -> None:
    world = make_world(load_scene(name), arenas=3, policies={})
    world.rebuild()
    shards = world.engine_as(Physics).shards
    built = [each for shard in shards for each in shard.built]
    shapes = [shape for shard in shards for shape in shard.space.shapes]
    joints = [joint for shard in shards for joint in shard.space.constraints]
    bodies = [body for each in built for body in (*each.bodies, each.still)]
    before = [weakref.ref(each) for each in (*shapes, *joints, *bodies, *(shard.space for shard in shards))]
    del shards, built, shapes, joints, bodies
    gc.disable()
    try:
        world.rebuild()
        assert len(before) > 6
        assert not [each() for each in before if each() is not None]
    finally:
        gc.enable()
    world.engine_as(Physics).step()

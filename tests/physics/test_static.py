"""What never moves costs the physics nothing, stands where it is put, and comes back to the last bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from physics_helpers import driven, role_of, scene_of
from pymunk import batch
from pymunk.batch import BodyFields

from ecs_rl.components import ActionLog, Explosion, Snapshots
from ecs_rl.physics.direct import OutBuffer
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import Arena, Body, Box, Disc, Levers, Motion, Pose, Push, Scene, Start, Touching, X, jitter
from ecs_rl.schedule import PLAYING
from ecs_rl.training.snapshots import restore_world, save_world
from ecs_rl.world import World
from ecs_rl.worlds import make_world

N = 4


def ball_and(add: Callable[[Arena], object], vx: float = 6.0, **more: object) -> Scene:
    """Return a scene of a ball that flies to the right, and of what is added."""

    def build(arena: Arena) -> None:
        ball = arena.spawn("ball", Body(), Disc(0.2), Start(vx=vx))
        add(arena)
        arena.agent(sees=[X(ball)], does=Levers(push=Push(ball, x=20.0, y=20.0)), earns={"x": X(ball)})

    return scene_of(build, **{"gravity": (0.0, 0.0), "max_ticks": 60, **more})


def still(scene: Scene, **more: object) -> World:
    return driven(scene, N, np.zeros((N, 1), np.float32), **more)


def tiles(arena: Arena) -> None:
    """Tiles that are moved and taken away while the game goes on, and begin elsewhere in each episode."""
    shapes = Body(moves="never", elasticity=0.5), Box(0.8, 0.8)
    tile = arena.spawn("tile", *shapes, Start(x=(1.0, 2.0, -1.0), y=jitter(0.5)), count=3)

    @arena.system(writes=(Pose,))
    def shuffle() -> None:
        tick = arena.placing.clock.tick[:, None]
        tile.leave((tick % 7 == 3) & (tile.x > 1.5))
        tile.place((tick % 9 == 5) & (tile.x < 1.5), x=jitter(2.0), y=jitter(1.0), angle=jitter(1.0))


def test_it_has_no_row_in_the_batch_calls() -> None:
    world = still(ball_and(lambda arena: arena.spawn("tile", Body(moves="never"), Box(1.0, 1.0), count=9, here=True)))
    (shard,) = world.engine_as(Physics).shards
    rows = OutBuffer()
    batch.get_space_bodies(shard.space, BodyFields.ANGLE, rows)
    assert len(rows.float_buf()) == 8 * (N + 1)  # a ball in each arena, and the ground's
    assert len(shard.space.shapes) == 10 * N


def test_a_ball_bounces_off_it_where_the_episode_put_it() -> None:
    touched = []

    def add(arena: Arena) -> None:
        tile = arena.spawn("tile", Body(moves="never"), Box(1.0, 1.0), Start(x=(2.0, -7.0)), count=2)
        touched.append(arena.use(Touching(arena.roles[0], tile)))

    world = still(ball_and(add))
    ball, tile, met = role_of(world, "ball"), role_of(world, "tile"), False
    for _ in range(50):
        world.tick()
        met |= bool(touched[-1]()[:, 0].all())
        assert not touched[-1]()[:, 1].any()
        assert (ball.x < 1.45).all()
    assert met
    assert (tile.x == (2.0, -7.0)).all()


def test_it_is_met_where_a_system_places_it_and_not_where_it_stood() -> None:
    def add(arena: Arena) -> None:
        tile = arena.spawn("tile", Body(moves="never"), Box(1.0, 1.0), Start(x=2.0), here=True)

        @arena.system(writes=(Pose,))
        def away() -> None:
            tile.place((arena.placing.clock.tick == 5) & (np.arange(N) == 0), x=5.0)
            tile.leave((arena.placing.clock.tick == 5) & (np.arange(N) == 1))
            tile.x = np.where((arena.placing.clock.tick == 5) & (np.arange(N) == 2), 4.0, tile.x)

    world = still(ball_and(add))
    for _ in range(55):
        world.tick()
    ball = role_of(world, "ball")
    assert ball.x[[0, 2, 3]].tolist() == pytest.approx([4.3, 3.3, 1.3], abs=0.1)
    assert ball.x[1] > 6.0


def test_a_speed_does_not_carry_it_away() -> None:
    def add(arena: Arena) -> None:
        tile = arena.spawn("tile", Body(moves="never"), Box(1.0, 1.0), Start(x=2.0))

        @arena.system(writes=(Motion,))
        def blow() -> None:
            tile.vx = 9.0

    world = still(ball_and(add))
    for _ in range(30):
        world.tick()
    assert (role_of(world, "tile").x == 2.0).all()
    assert (role_of(world, "ball").x < 1.45).all()


def test_without_anything_solid_that_moves_there_are_no_spaces() -> None:
    def build(arena: Arena) -> None:
        ball = arena.spawn("ball", Body(solid=False), Disc(0.2), Start(vx=1.0))
        tile = arena.spawn("tile", Body(moves="never"), Box(1.0, 1.0), Start(x=1.0))
        meets = Touching(ball, tile)
        arena.agent(sees=[X(ball), meets], does=Levers(push=Push(ball, x=1.0)), earns={"x": X(ball)})

    world = still(scene_of(build, gravity=(0.0, 0.0)))
    for _ in range(30):
        world.tick()
    assert not world.engine_as(Physics).shards
    assert world.arena.agents[0].sees[1]().all()


@pytest.mark.parametrize("threads", [1, 2])
def test_it_comes_back_to_the_last_bit(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecs_rl.physics.physics.WORTH_A_THREAD", 2)
    rng = np.random.default_rng(3)
    scene, actions = ball_and(tiles, vx=2.0), rng.uniform(-1.0, 1.0, (200, N, 1)).astype(np.float32)

    def world_from(first: int) -> World:
        row = iter(actions[first:])
        policies = {"policy": lambda seen, state: next(row)}
        return make_world(
            scene, arenas=N, threads=threads, policies=policies, stages=PLAYING, resources=(ActionLog(), Snapshots())
        )

    whole = world_from(0)
    for tick in range(200):
        if tick in (40, 70):
            whole.snapshot()
        if tick == 90:
            saved = save_world(whole)
        whole.tick()
    again = world_from(90)
    assert restore_world(again, saved)
    for _ in range(110):
        again.tick()
    assert again.engine_as(Physics).state.tobytes() == whole.engine_as(Physics).state.tobytes()
    assert again.digests() == whole.digests()


def test_an_explosion_leaves_it_standing() -> None:
    def add(arena: Arena) -> None:
        arena.spawn("tile", Body(moves="never"), Box(1.0, 1.0), Start(x=2.0, y=jitter(0.1)))

    world = still(ball_and(add, max_ticks=500))
    ball = role_of(world, "ball")
    with world.engine_as(Physics).moving():
        world.engine_as(Physics).state[0, ball.rows, 1] = np.nan
    world.tick()
    assert world.one(Explosion).count == 1
    for _ in range(60):
        world.tick()
    assert (ball.x < 1.5).all()
    assert (ball.vx <= 0.1).all()

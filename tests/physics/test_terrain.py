"""Ground that each episode shapes anew: really different, and the same for sensors and for collisions."""

from __future__ import annotations

import numpy as np
import pytest
from physics_helpers import driven, role_of, scene_of

from ecs_rl.components import Clock, EpisodeEnd, Ground
from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import Arena, Body, Disc, Levers, Push, Start, Touching, Y
from ecs_rl.world import World
from ecs_rl.worlds import make_world


def flat(drawn: np.ndarray) -> np.ndarray:
    """Return level ground at a height that is drawn."""
    x = np.broadcast_to(np.array([-4.0, 0.0, 4.0]), (len(drawn), 3))
    return np.stack((x, np.broadcast_to(drawn * 2.0, x.shape)), axis=2)


def landing(arena: Arena) -> None:
    ball = arena.spawn("ball", Body(), Disc(0.25), Start(y=3.0, x=1.0))
    arena.wall((-9.0, -1.0), (-8.0, -1.0))
    arena.terrain(flat, points=3, draws=1)
    arena.agent(sees=[Y(ball), Touching(ball)], does=Levers(p=Push(ball, 1.0)), earns={"y": Y(ball)})


def landings(arenas: int = 8, max_ticks: int = 150) -> World:
    return driven(scene_of(landing, max_ticks=max_ticks), arenas, np.zeros((arenas, 1), np.float32))


def in_the_space(world: World) -> np.ndarray:
    """Return (arenas, segments, 2, 2): the ends that pymunk's own segments have, from each arena's origin."""
    told = []
    for shard in world.engine_as(Physics).shards:
        for origin, built in zip(shard.origin, shard.built, strict=True):
            told.append([[segment.a - (origin, 0.0), segment.b - (origin, 0.0)] for segment in built.terrain])
    return np.array(told)


def test_terrain_differs_between_arenas_and_between_episodes() -> None:
    world = landings(max_ticks=2)
    ground, seen = world.one(Ground), []
    for _ in range(4):
        seen.append(ground.segments[:, 1:].copy())
        world.tick()
        world.tick()
    heights = np.array(seen)[:, :, 0, 0, 1]
    assert len(np.unique(heights)) == 4 * 8


def test_a_wall_is_the_same_everywhere_and_always() -> None:
    world = landings(max_ticks=2)
    for _ in range(5):
        assert (world.one(Ground).segments[:, 0] == [[-9.0, -1.0], [-8.0, -1.0]]).all()
        world.tick()


def test_only_the_ground_of_ended_arenas_changes() -> None:
    scene = load_scene("lander")
    rng = np.random.default_rng(0)
    world = make_world(scene, arenas=20, policies={"policy": lambda seen, state: rng.integers(0, 4, 20)})
    ground, changes = world.one(Ground), 0
    for _ in range(150):
        before = ground.segments.copy()
        world.tick()
        changed = (ground.segments != before).any(axis=(1, 2, 3))
        assert (changed == world.one(EpisodeEnd).ended).all()
        changes += int(changed.sum())
    assert changes > 10


def test_the_columns_show_what_the_space_collides_with() -> None:
    scene = load_scene("lander")
    rng = np.random.default_rng(0)
    world = make_world(scene, arenas=20, policies={"policy": lambda seen, state: rng.integers(0, 4, 20)})
    for tick in range(100):
        if tick % 20 == 0:
            assert in_the_space(world) == pytest.approx(world.one(Ground).segments, abs=1e-9)
        world.tick()
    assert world.one(Clock).episode.max() > 0
    world.rebuild()
    assert in_the_space(world) == pytest.approx(world.one(Ground).segments, abs=1e-9)


def test_a_ball_comes_to_rest_on_the_ground_that_its_own_episode_drew() -> None:
    world = landings()
    for _ in range(2):
        height = world.one(Ground).segments[:, 1, 0, 1].copy()
        for _ in range(149):
            world.tick()
        ball = role_of(world, "ball")
        assert ball.y == pytest.approx(height + 0.25 + 0.02, abs=0.12)  # its radius, and the ground's own
        assert np.ptp(ball.y) > 0.3
        assert world.engine_as(Physics).contacts.touch.pairs[:, 0, 1].all()
        world.tick()  # the next episode, and other ground
        assert (world.one(Ground).segments[:, 1, 0, 1] != height).all()


def test_terrain_does_not_depend_on_which_arenas_are_drawn_together() -> None:
    many, few = landings(8), landings(3)
    assert (many.one(Ground).segments[:3] == few.one(Ground).segments).all()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda drawn: np.full((len(drawn), 3, 2), np.where(drawn[:, :, None] > 0.5, np.nan, 1.0)), "finite"),
        (lambda drawn: np.full((3, 3, 2), 1.0), "for 8 arenas at once"),
    ],
)
def test_terrain_that_goes_wrong_in_a_later_episode_is_refused(rule: object, message: str) -> None:
    def build(arena: Arena) -> None:
        ball = arena.spawn("ball", Body(), Disc(0.25), Start(y=3.0))
        arena.terrain(rule, points=3, draws=1)  # type: ignore[arg-type]
        arena.agent(sees=[Y(ball)], does=Levers(p=Push(ball, 1.0)), earns={"y": Y(ball)})

    with pytest.raises(SceneError, match=message):
        driven(scene_of(build), 8, np.zeros((8, 1), np.float32))

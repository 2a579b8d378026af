"""Where an episode begins: what was declared, and what hangs starts at its Pivot and moves along with it."""

from __future__ import annotations

import numpy as np
import pytest
from physics_helpers import driven, role_of, scene_of

from ecs_rl.components import Chance, Clock, Pose
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import Arena, Body, Box, Disc, Levers, Pivot, Push, Role, Start, X, between, jitter
from ecs_rl.world import World

WILD = Start(x=jitter(3.0), y=jitter(2.0), angle=jitter(3.0), vx=jitter(5.0), vy=jitter(4.0), spin=jitter(6.0))


def chain(arena: Arena) -> None:
    """Three links, each hinged beside its middle to the one before; the first flies about freely."""
    one = arena.spawn("one", Body(), Box(1.0, 0.4), WILD)
    two = arena.spawn("two", Body(), Box(1.0, 0.2), Start(angle=jitter(1.0), spin=jitter(3.0)))
    three = arena.spawn("three", Body(), Disc(0.3), Start(angle=0.5, spin=-2.0))
    arena.join(Pivot(one, two, at=(0.4, 0.1), hinge=(-0.5, 0.05)), Pivot(two, three, at=(0.5, 0.0), hinge=(0.0, 0.3)))
    arena.agent(sees=[X(one)], does=Levers(p=Push(one, 1.0)), earns={"x": 1.0})


def joints(world: World) -> list[tuple[Role, tuple[float, float], Role, tuple[float, float]]]:
    pivots = [joint for joint in world.arena.joints if isinstance(joint, Pivot)]
    return [(joint.a, joint.at, joint.b, joint.hinge) for joint in pivots]


def speed_of(role: Role, at: tuple[float, float]) -> np.ndarray:
    """Return how fast a point of the body moves, worked out from where it is a moment later."""
    moment = 1e-6
    return np.asarray((placed(role, at, moment) - placed(role, at, -moment)) / (2 * moment))


def placed(role: Role, at: tuple[float, float], later: float = 0.0) -> np.ndarray:
    angle = role.angle + later * role.spin
    turned = np.stack((np.cos(angle) * at[0] - np.sin(angle) * at[1], np.sin(angle) * at[0] + np.cos(angle) * at[1]), 1)
    return np.asarray(role.position + later * role.velocity + turned)


def test_hanging_roles_start_exactly_at_their_pivot_and_move_along() -> None:
    world = driven(scene_of(chain), 50, np.zeros((50, 1), np.float32))
    for a, at, b, hinge in joints(world):
        assert placed(a, at) == pytest.approx(placed(b, hinge), abs=1e-12)
        assert speed_of(a, at) == pytest.approx(speed_of(b, hinge), abs=1e-6)
    one, two, three = (role_of(world, name) for name in ("one", "two", "three"))
    assert len(np.unique(two.angle - one.angle)) == 50
    assert three.angle - two.angle == pytest.approx(0.5)
    assert three.spin - two.spin == pytest.approx(-2.0)


def test_the_physics_has_no_jolt_to_give_in_the_first_tick() -> None:
    scene = scene_of(chain, gravity=(0.0, 0.0), dt=1 / 1000)
    world = driven(scene, 20, np.zeros((20, 1), np.float32))
    bodies = [role_of(world, name) for name in ("one", "two", "three")]
    before = sum(body.velocity.copy() for body in bodies)
    world.tick()
    assert sum(body.velocity for body in bodies) == pytest.approx(before, abs=1e-9)  # no force from outside
    for a, at, b, hinge in joints(world):
        assert placed(a, at) == pytest.approx(placed(b, hinge), abs=2e-4)


def test_what_hangs_on_the_ground_starts_there() -> None:
    def build(arena: Arena) -> None:
        arm = arena.spawn("arm", Body(), Box(1.0, 0.1), Start(angle=jitter(3.0), spin=jitter(2.0)))
        arena.join(Pivot(arena.ground, arm, at=(2.0, 1.0), hinge=(-0.5, 0.0)))
        arena.agent(sees=[X(arm)], does=Levers(p=Push(arm, 1.0)), earns={"x": 1.0})

    world = driven(scene_of(build), 9, np.zeros((9, 1), np.float32))
    arm = role_of(world, "arm")
    assert placed(arm, (-0.5, 0.0)) == pytest.approx(np.full((9, 2), (2.0, 1.0)), abs=1e-12)
    assert speed_of(arm, (-0.5, 0.0)) == pytest.approx(np.zeros((9, 2)), abs=1e-6)
    for _ in range(30):
        world.tick()
        assert placed(arm, (-0.5, 0.0)) == pytest.approx(np.full((9, 2), (2.0, 1.0)), abs=0.02)


def test_every_field_of_a_start_is_drawn_within_its_bounds_and_on_its_own() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.3), Start(x=between(1.0, 2.0), vy=between(-5.0, -4.0), angle=0.25))
        other = arena.spawn("other", Body(), Disc(0.3), Start(x=between(1.0, 2.0)))
        arena.agent(sees=[X(disc), X(other)], does=Levers(p=Push(disc, 1.0)), earns={"x": 1.0})

    world = driven(scene_of(build), 400, np.zeros((400, 1), np.float32))
    disc, other = role_of(world, "disc"), role_of(world, "other")
    for column, low, high in ((disc.x, 1.0, 2.0), (disc.vy, -5.0, -4.0), (other.x, 1.0, 2.0)):
        assert low <= column.min() < low + 0.05
        assert high - 0.05 < column.max() < high
    assert (disc.angle == 0.25).all()
    assert abs(np.corrcoef(disc.x, other.x)[0, 1]) < 0.2
    assert world.one(Chance).uniform.shape == (400, 3)


def test_a_random_number_of_the_scene_is_new_in_each_episode_and_arena() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.3))
        wind = arena.random("wind", between(2.0, 3.0))
        arena.agent(sees=[X(disc)], does=Levers(p=Push(disc, 1.0)), earns={"wind": lambda: wind.value})

    world = driven(scene_of(build, max_ticks=2), 5, np.zeros((5, 1), np.float32))
    (wind,) = world.arena.numbers
    seen = [wind.value.copy()]
    for _ in range(6):
        world.tick()
        seen.append(wind.value.copy())
    assert (seen[0] == seen[1]).all()
    values = np.concatenate(seen[::2])
    assert len(np.unique(values)) == 20
    assert ((values >= 2.0) & (values < 3.0)).all()


def sunk(arena: Arena) -> None:
    """A disc that begins afloat, and another that can be sent astray."""
    disc = arena.spawn("disc", Body(), Disc(0.5), Start(y=5.0))
    arena.spawn("other", Body(), Disc(0.5), Start(x=5.0, y=5.0))
    arena.wall((-9.0, 0.0), (9.0, 0.0))
    arena.agent(sees=[X(disc)], does=Levers(p=Push(disc, 1.0)), earns={"x": 1.0})


@pytest.mark.parametrize("astray", [False, True])
def test_a_new_episode_begins_without_the_push_that_the_ground_gave_in_the_last(astray: bool) -> None:
    world = driven(scene_of(sunk, max_ticks=6, gravity=(0.0, 0.0)), 3, np.zeros((3, 1), np.float32))
    for _ in range(5):
        world.tick()
    disc, other = world.of("disc", Pose), world.of("other", Pose)
    disc.position[1] = (0.0, 0.2)  # deep in the ground, which pushes it out from the next physics step on
    if astray:
        other.position[1] = np.nan
    world.engine_as(Physics).put(np.array([1]))
    world.tick()
    assert world.one(Clock).tick.tolist() == [0, 0, 0]
    world.tick()
    assert disc.position.tolist() == [[0.0, 5.0]] * 3

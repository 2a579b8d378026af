"""What effects do to a body: pushes, thrusts that turn with it, twists, motors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from physics_helpers import driven, role_of, scene_of

from ecs_rl.components import Explosion
from ecs_rl.errors import SceneError
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import (
    Arena,
    Body,
    Box,
    Choice,
    Disc,
    Effect,
    Levers,
    Motor,
    Pivot,
    Push,
    Role,
    Start,
    Thrust,
    Twist,
    X,
)
from ecs_rl.world import World

DT = 1 / 50


Make = Callable[[Role, Role], Effect]
HERE = Start()


def one_effect(make: Make, start: Start = HERE, substeps: int = 1) -> tuple[World, np.ndarray]:
    """Return a world of one disc of 2 kg and 0.25 kg m2 that floats, and the array that drives its only lever."""

    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(mass=2.0), Disc(0.5), start)
        arena.agent(sees=[X(disc)], does=Levers(lever=make(disc, arena.ground)), earns={"x": 1.0})

    action = np.zeros((1, 1), np.float32)
    return driven(scene_of(build, gravity=(0.0, 0.0), substeps=substeps), 1, action), action


def test_push_follows_the_arenas_axes_however_the_body_is_turned() -> None:
    world, action = one_effect(lambda disc, ground: Push(disc, 3.0, -4.0), Start(angle=1.0))
    action[:] = 0.5
    world.tick()
    disc = role_of(world, "disc")
    assert disc.velocity[0] == pytest.approx((0.75 * DT, -1.0 * DT))
    assert disc.spin[0] == 0.0


@pytest.mark.parametrize("angle", [0.0, 0.5, np.pi / 2, -2.0])
def test_thrust_turns_with_the_body(angle: float) -> None:
    world, action = one_effect(lambda disc, ground: Thrust(disc, x=3.0, y=4.0), Start(angle=angle))
    action[:] = 1.0
    world.tick()
    cos, sin = np.cos(angle), np.sin(angle)
    disc = role_of(world, "disc")
    assert disc.velocity[0] == pytest.approx(((3 * cos - 4 * sin) / 2 * DT, (3 * sin + 4 * cos) / 2 * DT))
    assert disc.spin[0] == 0.0


@pytest.mark.parametrize("angle", [0.0, 1.0])
def test_thrust_beside_the_centre_twists_the_body(angle: float) -> None:
    world, action = one_effect(lambda disc, ground: Thrust(disc, x=3.0, y=4.0, at=(0.2, -0.1)), Start(angle=angle))
    action[:] = 1.0
    world.tick()
    assert role_of(world, "disc").spin[0] == pytest.approx((0.2 * 4 - -0.1 * 3) / 0.25 * DT)


def test_twist_is_a_torque() -> None:
    world, action = one_effect(lambda disc, ground: Twist(disc, 0.5))
    action[:] = -1.0
    for _ in range(10):
        world.tick()
    disc = role_of(world, "disc")
    assert disc.spin[0] == pytest.approx(-0.5 / 0.25 * 10 * DT)
    assert disc.velocity[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("substeps", [1, 2, 5])
def test_a_motor_reaches_its_speed_and_stays_there(substeps: int) -> None:
    world, action = one_effect(lambda disc, ground: Motor(disc, ground, speed=6.0, strength=1.0), substeps=substeps)
    action[:] = 1.0
    spins = []
    for _ in range(120):
        world.tick()
        spins.append(float(role_of(world, "disc").spin[0]))
    assert spins[-1] == pytest.approx(6.0, abs=1e-6)
    assert max(spins) < 6.0 + 1e-6  # it never overshoots
    assert np.diff(spins) == pytest.approx(np.minimum(1.0 / 0.25 * DT, 6.0 - np.array(spins[:-1])), abs=1e-9)
    action[:] = -0.5
    for _ in range(240):
        world.tick()
    assert role_of(world, "disc").spin[0] == pytest.approx(-3.0, abs=1e-6)


def test_a_motor_is_never_stronger_than_its_strength() -> None:
    world, action = one_effect(lambda disc, ground: Motor(disc, ground, speed=1e6, strength=0.2))
    action[:] = 1.0
    world.tick()
    assert role_of(world, "disc").spin[0] == pytest.approx(0.2 / 0.25 * DT)


def pair(arena: Arena) -> None:
    one = arena.spawn("one", Body(mass=2.0), Disc(0.5))
    two = arena.spawn("two", Body(mass=1.0), Disc(0.5), Start(x=0.3))
    arena.join(Pivot(one, two))
    arena.agent(sees=[X(one)], does=Levers(m=Motor(two, one, speed=4.0, strength=50.0)), earns={"x": 1.0})


def test_a_motor_between_two_bodies_turns_both_and_keeps_their_momentum() -> None:
    world = driven(scene_of(pair, gravity=(0.0, 0.0)), 1, np.ones((1, 1), np.float32))
    for _ in range(20):
        world.tick()
    one, two = role_of(world, "one"), role_of(world, "two")
    assert two.spin[0] - one.spin[0] == pytest.approx(4.0, rel=0.01)
    momentum = one.moment * one.spin[0] + two.moment * two.spin[0]
    assert momentum == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("substeps", [1, 4])
def test_a_motor_keeps_its_speed_under_a_load_that_it_is_strong_enough_for(substeps: int) -> None:
    """An arm of 30 N m of weight, lifted by a motor of 500 N m at 2 radians per second."""

    def build(arena: Arena) -> None:
        arm = arena.spawn("arm", Body(mass=2.0), Box(3.0, 0.2), Start())
        arena.join(Pivot(arena.ground, arm, hinge=(-1.5, 0.0)))
        motor = Motor(arm, arena.ground, speed=2.0, strength=500.0)
        arena.agent(sees=[X(arm)], does=Levers(m=motor), earns={"x": 1.0})

    world = driven(scene_of(build, substeps=substeps), 1, np.ones((1, 1), np.float32))
    world.tick()  # the solver needs a step to find how hard to push
    for _ in range(30):
        world.tick()
        assert role_of(world, "arm").spin[0] == pytest.approx(2.0, abs=0.01)
    assert role_of(world, "arm").angle[0] == pytest.approx(30.2 * world.scene.dt * 2.0, rel=0.02)


def test_a_motor_that_is_too_weak_for_its_load_gives_way() -> None:
    def build(arena: Arena) -> None:
        arm = arena.spawn("arm", Body(mass=2.0), Box(3.0, 0.2), Start())
        arena.join(Pivot(arena.ground, arm, hinge=(-1.5, 0.0)))
        motor = Motor(arm, arena.ground, speed=2.0, strength=10.0)
        arena.agent(sees=[X(arm)], does=Levers(m=motor), earns={"x": 1.0})

    world = driven(scene_of(build), 1, np.ones((1, 1), np.float32))
    for _ in range(30):
        world.tick()
    assert role_of(world, "arm").spin[0] < -0.5


@pytest.mark.parametrize("spins", [(False, True), (True, False)])
def test_a_motor_works_where_only_one_side_can_spin(spins: tuple[bool, bool]) -> None:
    def build(arena: Arena) -> None:
        one = arena.spawn("one", Body(spins=spins[0]), Disc(0.5))
        two = arena.spawn("two", Body(spins=spins[1]), Disc(0.5))
        arena.join(Pivot(one, two))
        arena.agent(sees=[X(one)], does=Levers(m=Motor(two, one, speed=4.0, strength=50.0)), earns={"x": 1.0})

    world = driven(scene_of(build, gravity=(0.0, 0.0)), 1, np.ones((1, 1), np.float32))
    for _ in range(5):
        world.tick()
    assert role_of(world, "two").spin[0] - role_of(world, "one").spin[0] == pytest.approx(4.0)


def test_a_motor_stops_when_it_is_told_to_also_after_another_arena_went_astray() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.5))
        arena.agent(sees=[X(disc)], does=Levers(m=Motor(disc, arena.ground, speed=4.0, strength=50.0)), earns={"x": 1})

    action = np.ones((2, 1), np.float32)
    world = driven(scene_of(build, gravity=(0.0, 0.0)), 2, action)
    world.tick()
    assert role_of(world, "disc").spin == pytest.approx([4.0, 4.0])
    world.engine_as(Physics).state[0, 0, 0] = np.nan
    world.engine_as(Physics).put(np.array([0]))
    world.tick()
    assert world.one(Explosion).count == 1
    action[:] = 0.0
    world.tick()
    assert role_of(world, "disc").spin == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_motor_between_what_cannot_spin_is_refused() -> None:
    def build(arena: Arena) -> None:
        one = arena.spawn("one", Body(spins=False), Disc(0.5))
        arena.agent(sees=[X(one)], does=Levers(m=Motor(one, arena.ground)), earns={"x": 1.0})

    with pytest.raises(SceneError, match="can spin"):
        scene_of(build).describe()


@pytest.mark.parametrize("make", [lambda ground: Push(ground, 1.0), lambda ground: Twist(ground, 1.0)])
def test_an_effect_on_the_ground_is_refused(make: Callable[[Role], Effect]) -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.5))
        arena.agent(sees=[X(disc)], does=Levers(m=make(arena.ground)), earns={"x": 1.0})

    with pytest.raises(SceneError, match="the ground"):
        scene_of(build).describe()


def several(arena: Arena) -> None:
    disc = arena.spawn("disc", Body(), Disc(0.5))
    up, right = Push(disc, 0.0, 1.0), Push(disc, 1.0)
    arena.agent(sees=[X(disc)], does=Choice(rest=None, up=up, both=(up, right)), earns={"x": 1.0})


def test_an_option_works_all_of_its_effects_and_no_other() -> None:
    world = driven(scene_of(several, gravity=(0.0, 0.0)), 3, np.array([0, 1, 2]))
    world.tick()
    assert role_of(world, "disc").velocity == pytest.approx(np.array([(0, 0), (0, DT), (DT, DT)]))
    effects: tuple[Effect, ...] = world.arena.agents[0].does.effects
    assert [effect.amount.tolist() for effect in effects] == [[0, 1, 1], [0, 0, 1]]

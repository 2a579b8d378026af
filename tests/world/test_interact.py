"""A person's hand: a spring that brings a body to it soon and softly, and a kick. Nothing of it stays behind."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from world_helpers import SHIPPED, always, random_policies, scene_of, states

from ecs_rl.arrays import F64
from ecs_rl.components import UserInput
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.processors.interact import MOST_WEIGHTS
from ecs_rl.scene import Arena, Body, Box, Choice, Disc, Groove, Pivot, Push, Rod, X
from ecs_rl.scene.parts import Shape
from ecs_rl.scene.scene import Scene
from ecs_rl.schedule import ON_STAGE, PLAYING
from ecs_rl.world import World
from ecs_rl.worlds import make_world

TICK = 0.02
EARTH, NOWHERE = (0.0, -9.8), (0.0, 0.0)
CASES: dict[str, tuple[Shape, float, tuple[float, float]]] = {
    "disc by its centre": (Disc(0.3), 1.0, (0.0, 0.0)),
    "disc off its centre": (Disc(0.3), 1.0, (0.2, 0.1)),
    "light disc by its rim": (Disc(0.02), 1e-3, (0.02, 0.0)),
    "heavy box by its corner": (Box(1.0, 0.5), 500.0, (0.5, 0.25)),
    "long rod by its end": (Rod(4.0), 1.0, (0.0, 2.0)),
}


def free(shape: Shape, mass: float = 1.0, *, gravity: tuple[float, float] = EARTH, **more: int) -> Scene:
    """Return a scene in which one body flies freely for ever."""

    def build(arena: Arena) -> None:
        body = arena.spawn("body", Body(mass=mass), shape)
        arena.agent(sees=[X(body)], does=Choice(coast=None, push=Push(body, 1.0)), earns={"x": 1.0})

    return scene_of(build, gravity=gravity, max_ticks=100_000, dt=TICK, **more)


def cart_and_pole(arena: Arena) -> None:
    """Build what stands in `balance`, without an end."""
    cart = arena.spawn("cart", Body(mass=1.0, spins=False), Box(0.5, 0.3))
    pole = arena.spawn("pole", Body(mass=0.1), Rod(1.0))
    arena.join(Groove(arena.ground, cart, start=(-5.0, 0.0), end=(5.0, 0.0)), Pivot(cart, pole, hinge=(0.0, -0.5)))
    arena.agent(sees=[X(cart)], does=Choice(coast=None, push=Push(cart, 1.0)), earns={"x": 1.0})


def staged(scene: Scene, arenas: int = 1) -> tuple[World, UserInput]:
    hand = UserInput()
    resources = (hand,)
    still = always(np.zeros(arenas, int))
    return make_world(scene, arenas=arenas, policies=still, stages=ON_STAGE, resources=resources), hand


def grip(world: World, hand: UserInput) -> F64:
    assert hand.role is not None
    return np.array(world.arena.roles[hand.role].point(hand.at)[hand.arena])


def hold(world: World, hand: UserInput, role: int, at: tuple[float, float], away: tuple[float, float]) -> None:
    """Take a body and move the hand away."""
    hand.role, hand.at = role, at
    x, y = (grip(world, hand) + away).tolist()
    hand.to = (x, y)


def pulled(world: World, hand: UserInput, ticks: int) -> F64:
    """Return (ticks, 2) how far from the hand the held point is after each tick."""
    seen = []
    for _ in range(ticks):
        world.tick()
        seen.append(grip(world, hand) - hand.to)
    return np.array(seen)


@pytest.mark.parametrize("gravity", [EARTH, NOWHERE])
@pytest.mark.parametrize("metres", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("case", CASES)
def test_a_held_body_comes_to_the_hand_soon_and_does_not_swing_past_it(
    case: str, metres: float, gravity: tuple[float, float]
) -> None:
    shape, mass, at = CASES[case]
    for angle in np.linspace(0.1, 2 * math.pi, 7):
        world, hand = staged(free(shape, mass, gravity=gravity))
        way = np.array((math.cos(angle), math.sin(angle)))
        hold(world, hand, 0, at, (metres * way[0], metres * way[1]))
        off = pulled(world, hand, 100)
        assert np.hypot(*off[15]) < 0.07 * metres + 0.01  # 0.3 s; a pendulum's swing tugs by a centimetre
        assert (off @ way).max() < 0.03 * metres + 0.01
        assert np.hypot(*off[30:].T).max() < 0.03 * metres + 0.02
        world.close()


@pytest.mark.parametrize("metres", [3.0, 10.0])
def test_from_far_away_it_takes_longer_and_still_does_not_swing_past(metres: float) -> None:
    world, hand = staged(free(Disc(0.3)))
    hold(world, hand, 0, (0.0, 0.0), (metres, 0.0))
    off = pulled(world, hand, 100)
    assert off[:, 0].max() < 0.01
    assert np.hypot(*off[round(0.4 * math.sqrt(metres) / TICK)]) < 0.05 * metres
    world.close()


def test_a_held_body_hangs_a_few_millimetres_below_the_hand() -> None:
    world, hand = staged(free(Disc(0.3)))
    hold(world, hand, 0, (0.0, 0.0), (0.1, 0.1))
    assert pulled(world, hand, 100)[-1] == pytest.approx((0.0, -0.0044), abs=2e-4)


@pytest.mark.parametrize("substeps", [1, 2, 8])
@pytest.mark.parametrize("case", CASES)
def test_a_held_body_comes_to_rest_and_stays_so(case: str, substeps: int) -> None:
    shape, mass, at = CASES[case]
    world, hand = staged(free(shape, mass, substeps=substeps))
    hold(world, hand, 0, at, (0.7, 0.5))
    off = pulled(world, hand, 1000)
    assert np.hypot(*off[500:].T).max() < 0.006
    assert np.abs(world.engine_as(Physics).state[3:]).max() < 0.1


@pytest.mark.parametrize("height", [-0.3, 0.0, 0.5])
def test_a_pole_that_is_held_brings_its_cart_along_and_swings_less_and_less(height: float) -> None:
    world, hand = staged(scene_of(cart_and_pole, gravity=EARTH, max_ticks=100_000))
    hold(world, hand, 1, (0.0, height), (0.8, 0.0))
    off = np.hypot(*pulled(world, hand, 500).T)
    assert off.max() < 0.85
    assert off[:50].min() < 0.3
    assert off[-100:].max() < min(0.1, off[100:200].max() / 2)
    world.close()


def test_a_landers_leg_that_is_held_stays_at_its_hull() -> None:
    world, hand = staged(load_scene("lander"), arenas=2)
    hull, leg = world.arena.roles[:2]
    hold(world, hand, 1, (0.0, -0.2), (1.0, 1.0))
    for _ in range(200):
        world.tick()
        assert np.abs(hull.point((-0.5, -0.05)) - leg.point((0.0, 0.33))).max() < 0.05
        assert np.abs(world.engine_as(Physics).state[3:5]).max() < 20.0
        assert np.abs(leg.spin[0]) < 60.0
    world.close()


@pytest.mark.parametrize("gravity", [EARTH, NOWHERE])
@pytest.mark.parametrize("case", CASES)
def test_the_hand_never_pulls_harder_than_six_weights(case: str, gravity: tuple[float, float]) -> None:
    shape, mass, at = CASES[case]
    world, hand = staged(free(shape, mass, gravity=gravity))
    force, pulls, rng = world.engine_as(Physics).force, [], np.random.default_rng(1)
    hold(world, hand, 0, at, (0.0, 0.0))
    for tick in range(300):
        if tick % 10 == 0:
            hand.to = (float(rng.uniform(-20, 20)), float(rng.uniform(-20, 20)))
        world.tick()
        pulls.append(math.hypot(force[0, 0, 0], force[1, 0, 0]))
    weight = mass * (9.8 if gravity == EARTH else 9.81)
    assert MOST_WEIGHTS == 6.0
    assert max(pulls) == pytest.approx(6.0 * weight)  # it was asked for, and no more
    assert np.isfinite(world.engine_as(Physics).state).all()
    world.close()


def test_letting_go_stops_it_at_once() -> None:
    world, hand = staged(free(Disc(0.3), gravity=NOWHERE))
    hold(world, hand, 0, (0.2, 0.1), (2.0, 1.0))
    pulled(world, hand, 5)
    body = world.arena.roles[0]
    hand.role = None
    before = (*body.velocity[0].tolist(), float(body.spin[0]))
    assert math.hypot(*before[:2]) > 1.0
    for _ in range(3):
        world.tick()
        assert not world.engine_as(Physics).force.any()
        assert (*body.velocity[0].tolist(), float(body.spin[0])) == before


@pytest.mark.parametrize("substeps", [1, 4])
@pytest.mark.parametrize("mass", [1e-3, 1.0, 500.0])
def test_a_kick_changes_the_velocity_by_what_it_says_once(mass: float, substeps: int) -> None:
    world, hand = staged(free(Disc(0.3), mass, gravity=NOWHERE, substeps=substeps), arenas=3)
    hand.arena, hand.kicked, hand.kick = 1, 0, (1.5, -2.0, 3.0)
    for _ in range(3):
        world.tick()
        assert hand.kicked is None
        assert world.engine_as(Physics).state[3:, 0, 1] == pytest.approx((1.5, -2.0, 3.0))
        assert not world.engine_as(Physics).state[:, :, [0, 2]].any()


def test_a_body_that_does_not_turn_is_held_and_kicked_without_turning() -> None:
    world, hand = staged(scene_of(cart_and_pole, gravity=EARTH, max_ticks=100_000))
    hand.kicked, hand.kick = 0, (1.0, 0.0, 5.0)
    hold(world, hand, 0, (0.2, 0.1), (0.5, 0.0))
    off = pulled(world, hand, 200)
    cart = world.arena.roles[0]
    assert cart.angle[0] == cart.spin[0] == 0.0
    assert abs(off[-1, 0]) < 0.05


def played(name: str, stages: tuple[str, ...], touch: Callable[[UserInput], None] | None = None) -> F64:
    scene, hand = load_scene(name), UserInput(2)
    resources = (hand,)
    world = make_world(scene, arenas=4, seed=3, policies=random_policies(scene, 3), stages=stages, resources=resources)
    if touch is not None:
        touch(hand)
    seen = states(world, 150)
    world.close()
    return seen


@pytest.mark.parametrize("name", SHIPPED)
def test_without_a_hand_the_world_moves_bit_for_bit_as_without_the_stage(name: str) -> None:
    assert (played(name, ON_STAGE) == played(name, PLAYING)).all()


@pytest.mark.parametrize("name", ["balance", "swingup"])
def test_a_hand_moves_nothing_in_the_other_arenas(name: str) -> None:
    def touch(hand: UserInput) -> None:
        hand.role, hand.kicked, hand.kick = 1, 0, (1.0, 0.0, 0.0)

    held, alone = played(name, ON_STAGE, touch)[:10], played(name, PLAYING)[:10]
    assert (held[..., [0, 1, 3]] == alone[..., [0, 1, 3]]).all()
    assert (held[..., 2] != alone[..., 2]).any()

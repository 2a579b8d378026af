"""The stage is read from a world as it is, and reading changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ecs_rl.loading import load_scene
from ecs_rl.scene import (
    Arena,
    Body,
    Box,
    Disc,
    Feel,
    Levers,
    Motor,
    Pivot,
    Push,
    Rays,
    Role,
    Scene,
    Start,
    Twist,
    Vx,
    X,
    Y,
    above,
    below,
    beyond,
)
from ecs_rl.scene.sensors import Rule
from ecs_rl.viewer.gather import TRAIL, Reader, limits_of
from ecs_rl.viewer.live.live_stage import GridWatch
from ecs_rl.viewer.objects import Objects
from ecs_rl.viewer.shapes import exit_of
from ecs_rl.viewer.view import StageView
from ecs_rl.world import World
from ecs_rl.worlds import make_world

COAST, LEFT, MAIN, RIGHT = range(4)


@pytest.fixture
def lander() -> Iterator[World]:
    world = make_world(
        load_scene("lander"), arenas=3, seed=5, policies={"policy": lambda seen, state: np.full(3, MAIN)}
    )
    yield world
    world.close()


def bodies_of(stage: StageView) -> list[Objects]:
    """Return what is drawn of roles: flags and other marks left away."""
    return [objects for objects in stage.objects if not objects.look.mark]


def trail_of(stage: StageView) -> int:
    """Return how many points the trail of the first body has."""
    trails = bodies_of(stage)[0].trails
    return len(trails[0]) if trails else 0


def test_poses_shapes_and_names_are_the_scene_s_own(lander: World) -> None:
    reader = Reader(lander)
    lander.tick()
    stage = reader.stage(1)
    hull = lander.arena.roles[0]
    assert [objects.look.name for objects in bodies_of(stage)] == ["hull", "left leg", "right leg"]
    assert bodies_of(stage)[0].position[0].tolist() == hull.position[1].tolist()
    assert bodies_of(stage)[0].angle[0] == hull.angle[1]
    assert bodies_of(stage)[0].look.outlines[0].tolist() == [list(point) for point in hull.shapes[0].points]  # type: ignore[union-attr]
    assert bodies_of(stage)[1].look.colour == bodies_of(stage)[2].look.colour != bodies_of(stage)[0].look.colour
    assert [objects.look.leads for objects in bodies_of(stage)] == [True, False, False]


def test_a_firing_engine_is_a_flame_at_the_hull_s_underside(lander: World) -> None:
    reader = Reader(lander)
    lander.tick()
    stage = reader.stage(0)
    (flame,) = stage.forces
    x, y = bodies_of(stage)[0].position[0].tolist()
    assert flame.kind == "thrust"
    assert math.hypot(*flame.force) == pytest.approx(86.0)
    assert math.hypot(flame.at[0] - x, flame.at[1] - y) == pytest.approx(0.33)
    along = (x - flame.at[0]) * flame.force[0] + (y - flame.at[1]) * flame.force[1]
    assert along > 0, "it pushes from the nozzle towards the hull"


def test_reading_changes_nothing(lander: World) -> None:
    reader = Reader(lander)
    for _ in range(10):
        lander.tick()
        before = lander.save_columns()
        reader.follow(0)
        reader.stage(0, blend=0.3)
        GridWatch(lander).view(0.1)
        after = lander.save_columns()
        assert all(np.array_equal(before[name], after[name]) for name in before)


def test_the_ground_is_the_same_object_until_it_changes(lander: World) -> None:
    reader = Reader(lander)
    lander.tick()
    first = reader.stage(0).ground
    lander.tick()
    assert reader.stage(0).ground is first
    assert reader.stage(1).ground is not first
    assert first.lines[0].shape == (11, 2)


def test_contacts_lie_on_the_ground(lander: World) -> None:
    lander.drive("policy", lambda seen, state: np.full(3, COAST))
    reader = Reader(lander)
    for _ in range(300):
        lander.tick()
        touching = [contact for arena in range(3) for contact in reader.stage(arena).contacts]
        if touching:
            break
    assert touching
    assert all(-2.0 < contact.at[1] < 2.0 and contact.speed > 0 for contact in touching)


def test_a_trail_grows_and_begins_anew_with_the_episode(lander: World) -> None:
    lander.drive("policy", lambda seen, state: np.full(3, COAST))
    reader, longest, lengths = Reader(lander), 0, []
    for _ in range(150):
        lander.tick()
        reader.follow(0)
        lengths.append(trail_of(reader.stage(0)))
        longest = max(longest, lengths[-1])
    assert 30 < longest <= TRAIL
    assert 0 in lengths[40:], "an episode ended and its trail with it"
    assert not trail_of(reader.stage(1)), "only the followed arena leaves one"


def test_between_two_ticks_bodies_are_between_their_places(lander: World) -> None:
    reader = Reader(lander)
    for _ in range(2):
        lander.tick()
        reader.follow(0)
    now, half, before = (bodies_of(reader.stage(0, blend=b))[0].position[0, 1] for b in (1.0, 0.5, 0.0))
    assert half == pytest.approx((now + before) / 2)
    assert now != before


def test_the_cart_has_a_rail_and_the_pole_draws_its_tip() -> None:
    world = make_world(
        load_scene("swingup"), arenas=1, policies={"policy": lambda seen, state: np.ones((1, 1), np.float32)}
    )
    reader = Reader(world)
    for _ in range(5):
        world.tick()
        reader.follow(0)
    stage = reader.stage(0)
    world.close()
    assert stage.ground.rails == (((-5.0, 0.0), (5.0, 0.0)),)
    assert stage.forces[0].kind == "push"
    assert stage.forces[0].force == (10.0, 0.0)
    assert not trail_of(stage)
    pole = bodies_of(stage)[1]
    assert math.dist(pole.trails[0][-1], pole.position[0]) == pytest.approx(0.5)
    (x0, y0), (x1, y1) = stage.bounds
    assert (x0, x1, y0, y1) == pytest.approx((-x1, x1, y0, y1))
    assert y0 < -1.0
    assert y1 > 1.0


def _busy(arena: Arena) -> None:
    body = arena.spawn("body", Body(), Disc(0.5), Start(y=2.0))
    arm = arena.spawn("arm", Body(mass=0.2), Box(0.1, 0.8))
    arena.join(Pivot(body, arm, at=(0.5, 0.0), hinge=(0.0, 0.4)))
    arena.wall((-3, 0), (3, 0))
    arena.agent(
        sees=[X(body), Rays(body, (-1.5708, 0.0), reach=4.0)],
        does=Levers(twist=Twist(body, 2.0), motor=Motor(arm, body), push=Push(body, y=3.0)),
        earns={"alive": 1.0},
    )


def test_rays_twists_and_motors_are_shown() -> None:
    scene = Scene("busy", 50, gravity=(0.0, 0.0), name="busy", reference="busy", build=_busy)
    world = make_world(scene, arenas=1, policies={"policy": lambda seen, state: np.full((1, 3), 0.5, np.float32)})
    world.tick()
    stage = Reader(world).stage(0)
    world.close()
    assert [force.kind for force in stage.forces] == ["twist", "twist", "push"]
    down, aside = stage.rays
    assert down.end[1] == pytest.approx(0.0, abs=0.05)
    assert down.nearness == pytest.approx(0.5, abs=0.05)
    assert aside.end == pytest.approx((0.45, 2.0), abs=0.01), "the arm is in its way"
    assert stage.ground.walls == (((-3.0, 0.0), (3.0, 0.0)),)


@pytest.mark.parametrize(
    ("ends", "limits"),
    [
        (lambda disc: [], ()),
        (lambda disc: [beyond(X(disc), 2.5)], (-2.5, 2.5)),
        (lambda disc: [beyond(X(disc), 3), beyond(X(disc), 2)], (-2.0, 2.0)),
        (lambda disc: [beyond(Vx(disc), 2.5), beyond(Y(disc), 2.5)], ()),
        (lambda disc: [above(X(disc), 2.5), below(X(disc), 2.5)], ()),
        (lambda disc: [beyond(Feel("wind x", lambda: disc.x), 2.5), beyond(lambda: disc.x, 2.5)], ()),
        (lambda disc: [beyond(X(disc), 0.0), beyond(X(disc), -1.0)], ()),
    ],
)
def test_limits_are_those_that_a_rule_tells(ends: Callable[[Role], list[Rule]], limits: tuple[float, ...]) -> None:
    arena = Arena()
    disc = arena.spawn("disc", Body(), Disc(0.5))
    told = {str(i): rule for i, rule in enumerate(ends(disc))}
    arena.agent(sees=[X(disc)], does=Levers(push=Push(disc)), earns={"alive": 1.0}, ends=told)
    assert limits_of(arena) == limits


def test_the_limits_of_balance_are_where_its_cart_runs_off() -> None:
    assert limits_of(load_scene("balance").describe()) == (-2.4, 2.4)


def test_a_line_leaves_a_body_at_its_far_side() -> None:
    arena = Arena()
    box = arena.spawn("box", Body(), Box(2.0, 1.0))
    disc = arena.spawn("disc", Body(), Disc(0.5, at=(1.0, 0.0)))
    assert exit_of(box, (0.0, 0.0), (3.0, 0.0)) == pytest.approx((1.0, 0.0))
    assert exit_of(box, (0.0, 2.0), (0.0, 1.0)) == pytest.approx((0.0, 0.5))
    assert exit_of(disc, (1.0, 0.0), (0.0, -1.0)) == pytest.approx((1.0, -0.5))
    assert exit_of(box, (0.0, 0.0), (0.0, 0.0)) == (0.0, 0.0)


def test_a_force_that_changes_sides_in_every_tick_does_not_flicker() -> None:
    sides = [0]

    def zigzag(seen: object, state: object) -> np.ndarray[Any, Any]:
        sides[0] = 1 - sides[0]
        return np.full(1, sides[0])

    world = make_world(load_scene("balance"), arenas=1, seed=0, policies={"policy": zigzag})
    reader, shown, exact = Reader(world), [], []
    for _ in range(20):
        world.tick()
        reader.follow(0)
        shown.append(sum(force.force[0] for force in reader.stage(0, blend=0.5).forces))
        exact.append(sum(force.force[0] for force in reader.stage(0).forces))
    world.close()
    assert {abs(force) for force in exact} == {10.0}, "a stage that stands still tells what really pushes"
    assert max(map(abs, shown[10:])) < 4.0


def test_a_force_that_stays_is_soon_shown_whole(lander: World) -> None:
    lander.drive("policy", lambda seen, state: np.full(len(seen), 2))
    reader = Reader(lander)
    for _ in range(10):
        lander.tick()
        reader.follow(0)
    exact, shown = reader.stage(0).forces, reader.stage(0, blend=0.5).forces
    assert [force.kind for force in shown] == [force.kind for force in exact]
    assert shown[0].strength == pytest.approx(exact[0].strength, abs=0.02)

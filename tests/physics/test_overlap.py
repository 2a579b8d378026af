"""Overlaps by arithmetic agree with what the physics says of the same shapes, and Touching tells them by member."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from physics_helpers import role_of, scene_of

from ecs_rl.physics.overlap import SidePlace, near_segments, outline, overlap
from ecs_rl.scene import Arena, Body, Box, Disc, Levers, Polygon, Push, Role, Start, Touching, X, jitter
from ecs_rl.scene.parts import Shape
from ecs_rl.world import World
from ecs_rl.worlds import make_world

SHAPES: list[Shape] = [
    Disc(0.5),
    Disc(0.3, at=(0.4, -0.2)),
    Box(1.2, 0.3),
    Polygon(((0.0, 0.7), (-0.5, -0.4), (0.6, -0.3))),
    Polygon(((0.6, -0.3), (-0.5, -0.4), (-0.2, 0.5), (0.3, 0.6))),
]
PLACES = st.tuples(st.floats(-1.5, 1.5), st.floats(-1.5, 1.5), st.floats(-4.0, 4.0))
CLOSE = 1e-2
"""Shapes that touch within this are neither here nor there."""


def place(at: tuple[float, float, float]) -> SidePlace:
    return SidePlace(*(np.full((1, 1), number) for number in at))


def rim(shape: Shape) -> Any:
    """Return (points, 2) on the outline, close to each other, and the middle."""
    if isinstance(shape, Disc):
        angle = np.linspace(0.0, 2 * math.pi, 700)
        ring = shape.radius * np.stack((np.cos(angle), np.sin(angle)), axis=1) + shape.at
        return np.concatenate([ring, [shape.at]])
    corners = np.array(shape.points)
    sides = [np.linspace(a, b, 300) for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True)]
    return np.concatenate([*sides, [corners.mean(axis=0)]])


def depth(points: Any, shape: Shape) -> float:
    """Return how deep the deepest of some points lies in a shape, both in its own axes; negative for none within."""
    if isinstance(shape, Disc):
        return float((shape.radius - np.hypot(*(points - shape.at).T)).max())
    corners = np.array(outline(shape.points))
    sides = np.roll(corners, -1, axis=0) - corners
    normals = np.stack((sides[:, 1], -sides[:, 0]), axis=1) / np.hypot(*sides.T)[:, None]
    return float(((corners * normals).sum(axis=1) - points @ normals.T).min(axis=1).max())


def turned(points: Any, at: tuple[float, float, float], *, back: bool = False) -> Any:
    """Return points of a body's own axes in the arena's, or the other way."""
    cos, sin = math.cos(at[2]), math.sin(at[2])
    turn = np.array([[cos, -sin], [sin, cos]])
    return (points - at[:2]) @ turn if back else points @ turn.T + at[:2]


@settings(deadline=None)
@given(st.sampled_from(SHAPES), PLACES, st.sampled_from(SHAPES), PLACES)
def test_two_shapes_overlap_where_a_point_of_one_lies_in_the_other(
    one: Shape, here: Any, other: Shape, there: Any
) -> None:
    mine, theirs = turned(rim(one), here), turned(rim(other), there)
    deep = max(depth(turned(mine, there, back=True), other), depth(turned(theirs, here, back=True), one))
    assume(abs(deep) > CLOSE)
    assert bool(overlap(one, place(here), other, place(there))[0, 0]) == (deep > 0.0)


@settings(deadline=None)
@given(st.sampled_from(SHAPES), PLACES, st.tuples(*[st.floats(-2.0, 2.0)] * 4))
def test_a_shape_is_near_a_segment_where_a_point_of_that_lies_near_it(shape: Shape, at: Any, ends: Any) -> None:
    along = turned(np.linspace(ends[:2], ends[2:], 2000), at, back=True)
    points = rim(shape)
    nearest = min(float(np.hypot(*(points - each).T).min()) for each in along[::20])
    deep = max(depth(along, shape), 0.05 - nearest)
    assume(abs(deep) > 3 * CLOSE)
    segments = np.array(ends).reshape(1, 1, 2, 2)
    assert bool(near_segments(shape, place(at), segments, 0.05)[0, 0]) == (deep > 0.0)


def world_of(add: Callable[[Arena], Any], arenas: int = 6, **more: Any) -> World:
    def build(arena: Arena) -> None:
        ship = arena.spawn("ship", Body(), Disc(0.5))
        add(arena)
        arena.agent(sees=[X(ship)], does=Levers(push=Push(ship, x=1.0)), earns={"x": 0.0})

    scene = scene_of(build, **{"gravity": (0.0, 0.0), "max_ticks": 500, **more})
    return make_world(
        scene, arenas=arenas, policies={"policy": lambda seen, state: np.zeros((len(seen), 1), np.float32)}
    )


def discs_touch(one: Role, other: Role, reach: float) -> Any:
    """Return (arenas, members, members) the slow, obvious way."""
    a, b = (np.atleast_3d(role.position) if role.count else role.position[:, None] for role in (one, other))
    found = np.zeros((len(a), a.shape[1], b.shape[1]), bool)
    for arena in range(len(a)):
        for i in range(a.shape[1]):
            for j in range(b.shape[1]):
                found[arena, i, j] = math.dist(a[arena, i], b[arena, j]) < reach and not (one is other and i == j)
    return found


@pytest.mark.parametrize("solid", [True, False])
def test_touching_tells_every_pair_of_members(solid: bool) -> None:
    handles: list[Touching] = []

    def add(arena: Arena) -> None:
        spread = Start(x=jitter(2.0), y=jitter(2.0), vx=jitter(1.0), vy=jitter(1.0))
        coins = arena.spawn("coin", Body(solid=False), Disc(0.3), spread, count=4)
        rocks = arena.spawn("rock", Body(solid=solid), Disc(0.5), spread, count=5)
        handles.extend([Touching(coins, rocks), Touching(arena.roles[0], coins), Touching(coins, coins)])
        handles.append(Touching(coins))

    world = world_of(add)
    ship, coins, rocks = (role_of(world, name) for name in ("ship", "coin", "rock"))
    met, eaten, among, anything = world.arena.touchings
    some = False
    for _ in range(30):
        world.tick()
        assert (met() == discs_touch(coins, rocks, 0.8)).all()
        assert (eaten() == discs_touch(ship, coins, 0.8)[:, 0]).all()
        assert (among() == discs_touch(coins, coins, 0.6)).all()
        every = met().any(axis=2) | eaten() | among().any(axis=2)
        assert (anything() == every).all()
        some |= bool(every.any())
    assert some
    assert len(handles) >= 4
    world.close()


def test_two_solid_kinds_touch_by_member_as_the_contacts_of_the_physics_say() -> None:
    def add(arena: Arena) -> None:
        balls = arena.spawn("ball", Body(), Disc(0.3), Start(x=(-3.0, 1.0, 3.0), y=4.0, vy=-2.0), count=3)
        plates = arena.spawn("plate", Body(moves="never"), Box(1.0, 0.2), Start(x=(3.0, -3.0), y=2.0), count=2)
        Touching(balls, plates)
        Touching(balls, arena.ground)
        arena.wall((-9.0, -3.0), (9.0, -3.0))

    world = world_of(add)
    plates, ground = world.arena.touchings
    on_plate, on_ground = np.zeros((3, 2), bool), np.zeros(3, bool)
    for _ in range(200):
        world.tick()
        assert (plates() == plates()[:1]).all()
        on_plate |= plates()[0]
        on_ground |= ground()[0]
    assert on_plate.tolist() == [[False, True], [False, False], [True, False]]
    assert on_ground.tolist() == [False, True, False]


def test_a_touch_begins_and_ends_once_and_says_how_hard_it_was() -> None:
    rules: list[Any] = []

    def add(arena: Arena) -> None:
        ball = arena.spawn("ball", Body(mass=2.0, elasticity=1.0), Disc(0.3), Start(x=3.0, y=1.0, vy=-4.0))
        arena.wall((0.0, 0.0), (9.0, 0.0), elasticity=1.0)
        touch = Touching(ball, arena.ground)
        rules.extend([touch.began, touch.ended, touch.impulse])

    world = world_of(add, substeps=4)
    began, ended, impulse = rules[-3:]  # the world has described the scene anew
    ball = role_of(world, "ball")
    beginnings = endings = 0
    hardest = 0.0
    for _ in range(40):
        world.tick()
        beginnings += int(began()[0])
        endings += int(ended()[0])
        hardest += float(impulse()[0])
    assert (ball.vy > 3.5).all()
    assert (beginnings, endings) == (1, 1)
    assert hardest == pytest.approx(2.0 * (ball.vy[0] + 4.0), rel=0.02)


def test_what_is_not_here_overlaps_nothing() -> None:
    def add(arena: Arena) -> None:
        coins = arena.spawn("coin", Body(solid=False), Disc(0.3), count=3, here=(True, False, True))
        Touching(arena.roles[0], coins)

    world = world_of(add)
    world.tick()
    assert (world.arena.touchings[0]() == (True, False, True)).all()

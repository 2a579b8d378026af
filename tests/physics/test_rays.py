"""Rays, for all arenas at once, against a slow version and against pymunk's own queries."""

from __future__ import annotations

import math

import numpy as np
import pymunk
import pytest
from physics_helpers import driven, scene_of

from ecs_rl.components import Ground, Observation, Pose
from ecs_rl.physics.rays import hit_disc, hit_segments
from ecs_rl.scene import Arena, Body, Box, Disc, Levers, Polygon, Push, Rays, Start, jitter
from ecs_rl.world import World

ANGLES = tuple(np.linspace(-np.pi, np.pi, 13)[:-1].tolist())
REACH = 6.0
ARENAS = 40


def hilly(drawn: np.ndarray) -> np.ndarray:
    x = np.broadcast_to(np.linspace(-8.0, 8.0, 6), drawn.shape)
    return np.stack((x, -3.0 + drawn), axis=2)


def clutter(arena: Arena) -> None:
    eye = arena.spawn("eye", Body(), Disc(0.05), Start(x=jitter(0.5), y=jitter(0.5), angle=jitter(3.0)))
    arena.spawn("ball", Body(), Disc(0.4, at=(0.3, 0.1)), Start(x=2.5, y=jitter(3.0), angle=jitter(3.0)))
    arena.spawn("box", Body(), Box(1.0, 0.6), Start(x=-2.5, y=jitter(3.0), angle=jitter(3.0)))
    wedge = Polygon(((-0.5, -0.4), (0.7, -0.4), (-0.2, 0.8)))
    arena.spawn("wedge", Body(), wedge, Disc(0.2, at=(0.0, -0.8)), Start(y=2.5, x=jitter(2.0), angle=jitter(3.0)))
    arena.wall((-5.0, 4.5), (5.0, 4.0))
    arena.terrain(hilly, points=6, draws=6)
    arena.agent(sees=[Rays(eye, ANGLES, REACH)], does=Levers(p=Push(eye, 1.0)), earns={"x": 1.0})


def cluttered() -> World:
    return driven(scene_of(clutter, gravity=(0.0, 0.0)), ARENAS, np.zeros((ARENAS, 1), np.float32))


def asked_of_pymunk(world: World, arena: int) -> list[float]:
    """Put one arena into a Space of its own, with lines as thin as the rays take them, and ask ray by ray."""
    space = pymunk.Space()
    for role in world.arena.roles[1:]:
        body = pymunk.Body(1.0, 1.0)
        body.angle = float(role.angle[arena])
        body.position = tuple(role.position[arena].tolist())
        space.add(body)
        for shape in role.shapes:
            if isinstance(shape, Disc):
                space.add(pymunk.Circle(body, shape.radius, shape.at))
            else:
                space.add(pymunk.Poly(body, shape.points))
    for start, end in world.one(Ground).segments[arena].tolist():
        space.add(pymunk.Segment(space.static_body, tuple(start), tuple(end), 0.0))
    space.step(1e-12)
    eye, near = world.arena.roles[0], []
    for angle in ANGLES:
        (x, y), way = eye.position[arena].tolist(), float(eye.angle[arena]) + angle
        end = (x + REACH * math.cos(way), y + REACH * math.sin(way))
        hit = space.segment_query_first((x, y), end, 0.0, pymunk.ShapeFilter())
        near.append(0.0 if hit is None else 1.0 - hit.alpha)
    return near


def test_rays_see_what_pymunk_finds_ray_by_ray() -> None:
    world = cluttered()
    seen = world.of(world.batches[0].entity, Observation).value
    expected = np.array([asked_of_pymunk(world, arena) for arena in range(ARENAS)])
    assert seen == pytest.approx(expected, abs=1e-5)
    assert 0.2 < (expected > 0).mean() < 1.0  # some hit, some miss
    assert expected.max() > 0.5


def test_rays_follow_what_moves_and_turn_with_their_body() -> None:
    world = cluttered()
    eye = world.of("eye", Pose)
    eye.angle += ANGLES[1] - ANGLES[0]
    eye.position += 0.1
    world.physics.put(np.arange(ARENAS))
    world.tick()
    seen = world.of(world.batches[0].entity, Observation).value
    expected = np.array([asked_of_pymunk(world, arena) for arena in range(ARENAS)])
    assert seen == pytest.approx(expected, abs=1e-5)


def slow_hit(start: np.ndarray, way: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
    """Return the share of the way to a segment by solving two equations."""
    matrix = np.stack((way, one - other), axis=1)
    if abs(np.linalg.det(matrix)) < 1e-12:
        return 1.0
    along, across = np.linalg.solve(matrix, one - start)
    return float(along) if 0 <= along <= 1 and 0 <= across <= 1 else 1.0


def test_segments_are_hit_where_two_lines_cross() -> None:
    rng = np.random.default_rng(3)
    start, way = rng.normal(size=(7, 2)), rng.normal(size=(7, 5, 2)) * 4
    segments = rng.normal(size=(7, 6, 2, 2)) * 2
    found = hit_segments(start, way, segments)
    for arena in range(7):
        for ray in range(5):
            each = [slow_hit(start[arena], way[arena, ray], *segments[arena, i]) for i in range(6)]
            assert found[arena, ray] == pytest.approx(min(each))
    assert (found < 1).any()
    assert (found == 1).any()


def test_a_ray_along_a_segment_gives_a_finite_number_and_no_warning() -> None:
    with np.errstate(all="raise"):
        found = hit_segments(np.zeros((1, 2)), np.array([[[1.0, 0.0]]]), np.array([[[[2.0, 0.0], [3.0, 0.0]]]]))
    assert found.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("x", "share"), [(3.0, 0.25), (0.5, 0.0), (0.0, 0.0), (-3.0, 1.0), (5.5, 0.875 + 0.0), (6.0, 1.0), (9.0, 1.0)]
)
def test_discs_are_hit_at_their_edge(x: float, share: float) -> None:
    """A ray of 4 m along the axis against a disc of 2 m around x (0: from within)."""
    radius = 2.0
    found = hit_disc(np.zeros((1, 2)), np.array([[[4.0, 0.0]]]), np.array([[x, 0.0]]), radius)
    assert found[0, 0] == pytest.approx(share if x < 6.0 else 1.0)


def test_rays_see_no_farther_than_their_reach_and_nothing_gives_zero() -> None:
    def build(arena: Arena) -> None:
        eye = arena.spawn("eye", Body(), Disc(0.05))
        arena.wall((2.0, -1.0), (2.0, 1.0))
        arena.agent(
            sees=[Rays(eye, (0.0, math.pi), 4.0), Rays(eye, (0.0,), 1.9)],
            does=Levers(p=Push(eye, 1.0)),
            earns={"x": 1.0},
        )

    world = driven(scene_of(build), 1, np.zeros((1, 1), np.float32))
    assert world.of(world.batches[0].entity, Observation).value.tolist() == [[0.5, 0.0, 0.0]]

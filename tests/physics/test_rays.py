"""Rays, for all arenas at once, against a slow version and against pymunk's own queries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pymunk
import pytest
from bench_rays import hit_disc, hit_segments
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from physics_helpers import driven, scene_of

from ecs_rl.arrays import F64
from ecs_rl.components import Ground, NextObservation, Observation, Pose
from ecs_rl.errors import SceneError
from ecs_rl.geometry.ray_lengths import Fan, NearGround
from ecs_rl.physics.physics import Physics
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
    world.engine_as(Physics).put(np.arange(ARENAS))
    world.tick()
    seen = world.of(world.batches[0].entity, Observation).value
    expected = np.array([asked_of_pymunk(world, arena) for arena in range(ARENAS)])
    assert seen == pytest.approx(expected, abs=1e-5)


# --- against the obvious formula ------------------------------------------------------------------------------------

REST = np.array([[1.0, 0.0]])


def shares(start: F64, angles: F64, segments: F64, reach: float = 1.0, heading: F64 = REST) -> F64:
    """Return (viewers, rays): the share of the way, of viewers at (viewers, 2) on the ground of one arena each."""
    fan, near = Fan(angles, reach), NearGround(reach)
    fan.stand(start, np.broadcast_to(heading, start.shape))
    share = np.ones((len(angles), len(start)), np.float32)
    near.look(fan.start, segments, np.zeros(len(segments), np.int64))
    fan.hit_ground(share, near)
    return share.T.astype(np.float64)


def by_formula(start: F64, angles: F64, segments: F64) -> F64:
    ways = np.broadcast_to(np.stack((np.cos(angles), np.sin(angles)), axis=-1), (len(start), len(angles), 2))
    return hit_segments(start, ways, segments)


def test_the_formula_solves_two_equations() -> None:
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


def slow_hit(start: np.ndarray, way: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
    """Return the share of the way to a segment by solving two equations."""
    matrix = np.stack((way, one - other), axis=1)
    if abs(np.linalg.det(matrix)) < 1e-12:
        return 1.0
    along, across = np.linalg.solve(matrix, one - start)
    return float(along) if 0 <= along <= 1 and 0 <= across <= 1 else 1.0


def test_many_rays_among_many_walls_see_what_the_formula_finds() -> None:
    rng = np.random.default_rng(4)
    start, angles = rng.normal(scale=0.3, size=(20, 2)), rng.uniform(-4.0, 4.0, 300)
    middle, half = rng.normal(scale=0.7, size=(20, 30, 2)), rng.normal(scale=0.1, size=(20, 30, 2))
    segments = np.stack((middle - half, middle + half), axis=2)
    found, expected = shares(start, angles, segments), by_formula(start, angles, segments)
    assert (np.abs(found - expected) < 1e-5).mean() > 0.9999, "but for a ray or two that pass an end by a hair"
    assert 0.2 < (expected < 1).mean() < 0.99


NUMBER = st.floats(-1.5, 1.5, width=32) | st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0])
POINT = st.tuples(NUMBER, NUMBER)
ANGLE = st.floats(-7.0, 7.0) | st.sampled_from([i * math.pi / 4 for i in range(-4, 5)])
CLOSE = 2e-5


@settings(max_examples=300, deadline=None)
@given(POINT, st.lists(ANGLE, min_size=1, max_size=5), st.lists(st.tuples(POINT, POINT), min_size=1, max_size=4))
def test_a_ray_ends_between_what_a_hair_less_and_a_hair_more_of_each_wall_would_let_it(
    at: tuple[float, float], turns: list[float], walls: list[tuple[tuple[float, float], tuple[float, float]]]
) -> None:
    start, angles, segments = np.array([at]), np.array(turns), np.array([walls])
    found = shares(start, angles, segments)
    length = np.linalg.norm(segments[0, :, 1] - segments[0, :, 0], axis=1)
    real = length > 4 * CLOSE
    along = np.zeros_like(segments[0, :, 0])
    along[real] = (segments[0, :, 1] - segments[0, :, 0])[real] / length[real, None] * CLOSE
    aside = np.stack((-along[:, 1], along[:, 0]), axis=-1)
    one, other = segments[0, :, 0], segments[0, :, 1]
    heads, runs = np.stack((np.cos(angles), np.sin(angles)), axis=1), (other - one)[real] / length[real, None]
    turned = np.stack((-runs[:, 1], runs[:, 0]))
    assume((np.abs(heads @ turned) > 1e-6).all())  # along a wall the formula has no answer
    less = np.stack((one + along, other - along), axis=1)[real]
    corners = [one - along - aside, one - along + aside, other + along + aside, other + along - aside]
    more = [np.stack((corners[i], corners[(i + 1) % 4]), axis=1) for i in range(4)]
    most = by_formula(start, angles, less[None]) if real.any() else np.ones_like(found)
    least = by_formula(start, angles, np.concatenate(more)[None])
    share = np.clip(((at - one) * (other - one)).sum(axis=1) / np.maximum(length, 1e-30) ** 2, 0.0, 1.0)
    nearest = np.linalg.norm(one + share[:, None] * (other - one) - at, axis=1).min()
    if nearest > 1e-3 and real.all():  # else the ray may start in the hair
        assert (found >= least - 1e-4).all()
    if nearest > 1e-3 or nearest == 0.0:
        assert (found <= most + 1e-4).all()
    assert ((found >= 0) & (found <= 1)).all()


# --- edges ------------------------------------------------------------------------------------------------------------


def one_ray(wall: list[list[float]], angle: float = 0.0) -> float:
    with np.errstate(all="raise"):
        return float(shares(np.zeros((1, 2)), np.array([angle]), np.array([[wall]]))[0, 0])


def test_a_ray_along_a_wall_ends_where_the_wall_begins() -> None:
    assert one_ray([[0.25, 0.0], [0.75, 0.0]]) == pytest.approx(0.25)
    assert one_ray([[0.75, 0.0], [0.25, 0.0]]) == pytest.approx(0.25)
    assert one_ray([[-0.25, 0.0], [-0.75, 0.0]]) == 1.0
    assert one_ray([[0.25, 1e-3], [0.75, 1e-3]]) == 1.0


def test_a_ray_through_an_end_hits_and_one_beside_it_does_not() -> None:
    assert one_ray([[0.5, 0.0], [0.5, 1.0]]) == 0.5
    assert one_ray([[0.5, -1.0], [0.5, 0.0]]) == 0.5
    assert one_ray([[0.5, 1e-4], [0.5, 1.0]]) == 1.0


def test_nothing_is_seen_between_two_walls_that_share_a_corner() -> None:
    rng = np.random.default_rng(5)
    angles = np.sort(rng.uniform(-math.pi, math.pi, 2_000))
    corners = 0.5 * np.stack((np.cos(angles), np.sin(angles)), axis=-1)
    before, after = np.roll(corners, 1, axis=0), np.roll(corners, -1, axis=0)
    walls = np.stack((np.stack((before, corners), axis=1), np.stack((corners, after), axis=1)), axis=1)
    seen = [shares(np.zeros((1, 2)), angles[i : i + 1], walls[i : i + 1])[0, 0] for i in range(len(angles))]
    assert max(seen) < 1.0


def test_all_rays_end_at_once_where_they_start_on_a_wall() -> None:
    angles = np.linspace(-3.0, 3.0, 7)
    assert not shares(np.zeros((1, 2)), angles, np.array([[[[-0.3, -0.1], [0.6, 0.2]]]])).any()
    assert not shares(np.zeros((1, 2)), angles, np.array([[[[0.0, 0.0], [0.6, 0.2]]]])).any()
    beyond = shares(np.zeros((1, 2)), angles, np.array([[[[0.1, 0.0], [0.6, 0.0]]]]))
    assert (beyond >= 0.1).all()


def test_a_wall_without_length_is_not_seen() -> None:
    assert one_ray([[0.5, 0.0], [0.5, 0.0]]) in (0.5, 1.0)
    assert one_ray([[0.0, 0.0], [0.0, 0.0]]) in (0.0, 1.0)
    assert one_ray([[0.5, 0.1], [0.5, 0.1]]) == 1.0


@pytest.mark.parametrize("radius", [0.3, 2.0])
def test_discs_are_seen_as_the_formula_finds_them(radius: float) -> None:
    rng = np.random.default_rng(6)
    fan = Fan(rng.uniform(-4.0, 4.0, 40), 4.0)
    start, centre, turn = rng.normal(size=(30, 2)), rng.normal(scale=2.0, size=(30, 2)), rng.uniform(-4.0, 4.0, 30)
    fan.stand(start, np.stack((np.cos(turn), np.sin(turn)), axis=1))
    share = np.ones((40, 30), np.float32)
    viewer = np.arange(30)
    fan.hit_discs(share, viewer, *fan.own(viewer, *centre.T), radius)
    angle = turn[:, None] + np.arctan2(fan.ways[1], fan.ways[0])
    expected = hit_disc(start, 4.0 * np.stack((np.cos(angle), np.sin(angle)), axis=-1), centre, radius)
    near_edge = np.abs(share[fan.order].T - expected) > 1e-4
    assert near_edge.mean() < 0.005
    assert (expected < 1).any()


@pytest.mark.parametrize(
    ("x", "share"), [(3.0, 0.25), (0.5, 0.0), (0.0, 0.0), (-3.0, 1.0), (5.5, 0.875), (6.0, 1.0), (9.0, 1.0)]
)
def test_discs_are_hit_at_their_edge(x: float, share: float) -> None:
    """A ray of 4 m along the axis against a disc of 2 m around x (0: from within)."""
    fan, found = Fan(np.zeros(1), 4.0), np.ones((1, 1), np.float32)
    fan.stand(np.zeros((1, 2)), REST)
    fan.hit_discs(found, np.zeros(1, np.int64), *fan.own(np.zeros(1, np.int64), np.array([x]), np.zeros(1)), 2.0)
    assert found[0, 0] == pytest.approx(share)
    assert hit_disc(np.zeros((1, 2)), np.array([[[4.0, 0.0]]]), np.array([[x, 0.0]]), 2.0)[0, 0] == pytest.approx(share)


# --- what is within reach ---------------------------------------------------------------------------------------------


def test_what_is_remembered_of_the_ground_changes_no_bit() -> None:
    rng = np.random.default_rng(7)
    angles, viewers = rng.uniform(-3.0, 3.0, 9), 6
    middle, half = rng.normal(scale=3.0, size=(3, 60, 2)), rng.normal(scale=0.3, size=(3, 60, 2))
    segments, stamp = np.stack((middle - half, middle + half), axis=2), np.zeros(3, np.int64)
    fan, kept, start = Fan(angles, 1.5), NearGround(1.5), rng.normal(size=(viewers, 2))
    widths = set()
    for tick in range(60):
        start += rng.normal(scale=0.05, size=start.shape)
        if tick % 10 == 9:
            segments[tick % 3] += 0.5
            stamp[tick % 3] += 1
        fan.stand(start, np.broadcast_to(REST, start.shape))
        seen = np.ones((2, 9, viewers), np.float32)
        kept.look(fan.start, segments, stamp)
        anew = NearGround(1.5)
        anew.look(fan.start, segments, stamp)
        fan.hit_ground(seen[0], kept)
        fan.hit_ground(seen[1], anew)
        assert (seen[0] == seen[1]).all()
        widths.add(anew.ends.shape[3])
    assert max(widths) < 40, "most of the ground is out of reach"


def test_ground_that_a_saved_world_brings_back_or_another_arena_is_seen_at_once() -> None:
    world, other = cluttered(), cluttered()
    for _ in range(3):
        other.tick()
    saved, seen = other.save_columns(), other.of(other.batches[0].entity, NextObservation).value
    world.load_columns(saved | {"@arena/Ground/segments": saved["@arena/Ground/segments"][::-1].copy()})
    world.rebuild()
    world.stages["sense"].process()
    wrong = world.of(world.batches[0].entity, NextObservation).value.copy()
    world.load_columns(saved)
    world.rebuild()
    world.stages["sense"].process()
    assert (world.of(world.batches[0].entity, NextObservation).value == seen).all()
    assert (wrong != seen).any()
    world.copy_arena(other, 3, 4)
    world.rebuild()
    world.stages["sense"].process()
    assert (world.of(world.batches[0].entity, NextObservation).value[4] == seen[3]).all()


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


# --- what a scene may say ---------------------------------------------------------------------------------------------


def seen_in(**more: Any) -> tuple[list[float], tuple[str, ...]]:
    """Return what rays straight on and to the left see of a wall, a disc and a box, and their names."""

    def build(arena: Arena) -> None:
        eye = arena.spawn("eye", Body(), Box(0.2, 0.2))
        disc = arena.spawn("disc", Body(), Disc(0.5), Start(x=2.5))
        box = arena.spawn("box", Body(), Box(1.0, 1.0), Start(y=1.5))
        arena.wall((3.0, -2.0), (3.0, 2.0))
        arena.wall((-2.0, 3.0), (2.0, 3.0))
        known = {"ground": arena.ground, "disc": disc, "box": box}
        told = {key: eval(value, known) if key == "hits" else value for key, value in more.items()}
        arena.agent(
            sees=[Rays(eye, (0.0, math.pi / 2), 4.0, **told)],
            does=Levers(p=Push(eye, 1.0)),
            earns={"x": 1.0},
        )

    world = driven(scene_of(build, gravity=(0.0, 0.0)), 1, np.zeros((1, 1), np.float32))
    return world.of(world.batches[0].entity, Observation).value[0].tolist(), world.batches[0].spec.observations


def test_rays_hit_all_but_their_own_role_unless_told_otherwise() -> None:
    assert seen_in()[0] == pytest.approx([0.5, 0.75])
    assert seen_in(hits="ground")[0] == pytest.approx([0.25, 0.25])
    assert seen_in(hits="(disc, ground)")[0] == pytest.approx([0.5, 0.25])


def test_rays_begin_at_a_point_of_the_role_s_own_axes() -> None:
    assert seen_in(at=(0.0, 0.75), hits="(ground, disc, box)")[0] == pytest.approx([0.25, 0.9375])
    assert seen_in(at=(-1.0, 0.0))[0] == pytest.approx([0.25, 0.25])


def test_rays_tell_apart_what_is_named() -> None:
    seen, names = seen_in(hits="{'wall': ground, 'thing': (disc, box)}")
    assert seen == pytest.approx([0.25, 0.25, 0.5, 0.75])
    assert names == ("eye ray 0 wall", "eye ray 1 wall", "eye ray 0 thing", "eye ray 1 thing")


def test_rays_cannot_hit_a_role_of_another_arena() -> None:
    stranger = Arena().spawn("stranger", Body(), Disc(0.5))

    def build(arena: Arena) -> None:
        eye = arena.spawn("eye", Body(), Disc(0.1))
        arena.agent(sees=[Rays(eye, (0.0,), 4.0, hits=stranger)], does=Levers(p=Push(eye)), earns={"x": 1.0})

    with pytest.raises(SceneError, match="'eye ray 0' looks at 'stranger', a role of another arena"):
        scene_of(build).describe()

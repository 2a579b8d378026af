"""Ground and paths that rules read: heights, ways along a line, laps; and draws that several of them share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from physics_helpers import driven, role_of, scene_of

from ecs_rl.components import Chance, Ground
from ecs_rl.errors import SceneError
from ecs_rl.scene import Arena, Body, Disc, Earth, Feel, Levers, Line, Progress, Push, Role, Start, X, Y, jitter
from ecs_rl.world import World

STILL = (0.0, 0.0)
RAISED = np.array((0.0, 1.5))


def hills(drawn: np.ndarray) -> np.ndarray:
    """Return seven points from left to right, each as high as it was drawn."""
    x = np.broadcast_to(np.linspace(-3.0, 3.0, 7) ** 3 / 9.0, drawn.shape)
    return np.stack((x, 4.0 * drawn - 2.0), axis=2)


def level(drawn: np.ndarray) -> np.ndarray:
    """Return a floor far below."""
    return np.tile(np.array([(-9.0, -9.0), (9.0, -9.0)]), (len(drawn), 1, 1))


def ring(drawn: np.ndarray, points: int = 64) -> np.ndarray:
    """Return a round track, counter-clockwise, of a radius that is drawn."""
    turn = np.linspace(0.0, 2.0 * np.pi, points, endpoint=False)
    return np.asarray((4.0 + drawn[:, :1, None]) * np.stack((np.cos(turn), np.sin(turn)), axis=1))


def world_of(add: Callable[[Arena, Role], Any], start: Start, arenas: int = 6, **more: Any) -> tuple[World, Any]:
    """Return a world of one weightless ball that nobody moves, and what `add` returned."""
    made = []

    def build(arena: Arena) -> None:
        ball = arena.spawn("ball", Body(), Disc(0.1), start)
        made.append(add(arena, ball))
        arena.agent(sees=[X(ball)], does=Levers(p=Push(ball)), earns={"x": 1.0})

    world = driven(scene_of(build, gravity=STILL, **more), arenas, np.zeros((arenas, 1), np.float32))
    return world, made[-1]


# --- terrain ----------------------------------------------------------------------------------------------------------


def earthen(arena: Arena, ball: Role) -> tuple[Earth, Earth]:
    flat = arena.terrain(level, points=2, draws=0)
    earth = arena.terrain(hills, points=7, draws=7)
    arena.wall((-5.0, -5.0), (5.0, -5.0))
    arena.wall((-5.0, -6.0), (5.0, -6.0))
    return flat, earth


def test_a_terrains_points_are_those_of_the_ground_in_this_episode() -> None:
    world, (flat, earth) = world_of(earthen, Start(), max_ticks=2)
    for _ in range(3):
        drawn = world.one(Chance).uniform[:, -7:]
        assert earth.points == pytest.approx(hills(drawn))
        assert (flat.points == ((-9.0, -9.0), (9.0, -9.0))).all()
        assert (world.one(Ground).segments[:, 3:, 0] == earth.points[:, :-1]).all()
        world.tick()
        world.tick()


def test_height_and_slope_are_linear_between_points_and_level_beyond() -> None:
    _, (_, earth) = world_of(earthen, Start())
    xs = np.concatenate((np.linspace(-4.0, 4.0, 101), earth.points[0, :, 0]))
    wanted = np.array([np.interp(xs, line[:, 0], line[:, 1]) for line in earth.points])
    members = np.broadcast_to(xs, (6, len(xs)))
    assert earth.height(members) == pytest.approx(wanted)
    assert earth.height(members[:, 7]) == pytest.approx(wanted[:, 7])
    assert earth.height(0.5) == pytest.approx(earth.height(np.full(6, 0.5)))
    near = 1e-6
    rises = (earth.height(members[:, :101] + near) - earth.height(members[:, :101] - near)) / (2 * near)
    inner = np.abs(xs[:101, None] - earth.points[0, :, 0]).min(axis=1) > 2 * near
    assert earth.slope(members[:, :101])[:, inner] == pytest.approx(rises[:, inner], abs=1e-6)
    assert earth.slope(np.full(6, 3.5)).tolist() == [0.0] * 6


def test_a_step_of_the_ground_has_a_height_on_both_sides() -> None:
    def stairs(drawn: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.array([(-2.0, 0), (0, 0), (0, 1), (1, 1), (1, 5)]), (len(drawn), 5, 2))

    _, earth = world_of(lambda arena, ball: arena.terrain(stairs, points=5, draws=0), Start(), arenas=1)
    x = np.array([[-1.0, -1e-9, 0.0, 1e-9, 0.5, 1.0 + 1e-9, 2.0]])
    assert earth.height(x)[0] == pytest.approx([0, 0, 1, 1, 1, 5, 5])
    assert np.isfinite(earth.slope(x)).all()


def test_ground_that_turns_back_has_no_one_height() -> None:
    def cave(drawn: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.array([(0.0, 0), (2, 0), (1, 1)]), (len(drawn), 3, 2))

    _, earth = world_of(lambda arena, ball: arena.terrain(cave, points=3, draws=0), Start())
    assert earth.points.shape == (6, 3, 2)
    with pytest.raises(SceneError, match="only if its points go from left to right"):
        earth.height(1.0)


# --- draws ------------------------------------------------------------------------------------------------------------


def test_two_terrains_and_a_path_from_the_same_draws_fit_together() -> None:
    def above(drawn: np.ndarray) -> np.ndarray:
        return np.asarray(hills(drawn) + RAISED)

    def add(arena: Arena, ball: Role) -> tuple[Any, ...]:
        arena.random("other", jitter(1.0))
        shared = arena.draws("shape", 7)
        lines = [arena.terrain(rule, points=7, draws=shared) for rule in (hills, above)]
        arena.terrain(hills, points=7, draws=7)
        return (*lines, arena.path(hills, points=7, draws=shared), shared)

    world, (floor, roof, line, shared) = world_of(add, Start(), max_ticks=1)
    seen = []
    for _ in range(3):
        assert roof.points == pytest.approx(floor.points + RAISED)
        assert line.points == pytest.approx(floor.points)
        assert floor.points == pytest.approx(hills(shared.value))
        assert shared.value.shape == (6, 7)
        assert not shared.value.flags.writeable
        assert (shared.value >= 0.0).all()
        assert (shared.value < 1.0).all()
        seen.append(shared.value.copy())
        world.tick()
    assert len(np.unique(seen)) == 3 * 6 * 7
    assert not (world.one(Ground).segments[:, 12:, :, 1] == world.one(Ground).segments[:, :6, :, 1]).any()


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda arena, ball: arena.draws("", 3), "a draw needs a name"),
        (lambda arena, ball: arena.draws("a", 0), "the draws of 'a' must be a whole number of at least 1"),
        (lambda arena, ball: (arena.draws("a", 1), arena.draws("a", 1)), "there is a number 'a' already"),
        (lambda arena, ball: (arena.number("a"), arena.draws("a", 1)), "there is a number 'a' already"),
        (lambda arena, ball: (arena.draws("a", 1), arena.number("a")), "there is a number 'a' already"),
        (lambda arena, ball: arena.terrain(hills, points=7, draws=Arena().draws("a", 7)), "belong to another arena"),
        (lambda arena, ball: arena.draws("a", 2).value, "'a' has no numbers before the world runs"),
        (lambda arena, ball: arena.path(hills, points=7, draws=7).points, "'a path' has no numbers before"),
        (lambda arena, ball: arena.path(hills, points=7, draws=7).along(ball), "has no numbers before the world runs"),
        (lambda arena, ball: arena.terrain(hills, points=7, draws=7).height(0), "'a terrain' has no numbers before"),
        (lambda arena, ball: arena.path(hills, points=1, draws=7), "the points of a path must be a whole number"),
        (lambda arena, ball: arena.path(hills, points=7, draws=-1), "the draws of a path must be a whole number"),
        (
            lambda arena, ball: arena.path(hills, points=6, draws=7),
            "a path of 6 points must give finite (arenas, 6, 2)",
        ),
        (lambda arena, ball: arena.path(3, points=6, draws=7), "a path is shaped by a function of its draws, not by 3"),
        (lambda arena, ball: arena.path(ring, points=64, draws=1, closed=3), "a path is closed, True or False, not 3"),
        (
            lambda arena, ball: arena.path(lambda drawn: np.zeros((len(drawn), 3, 2)), points=3, draws=1),
            "two points of a path in a row must not be in one place",
        ),
        (
            lambda arena, ball: arena.path(
                lambda drawn: np.concatenate((ring(drawn), ring(drawn)[:, :1]), axis=1), points=65, draws=1, closed=True
            ),
            "a closed one leads from its last point to its first by itself",
        ),
        (lambda arena, ball: arena.path(ring, points=64, draws=1).laps("car"), "a lap is driven by a role"),
    ],
)
def test_a_line_or_draws_that_make_no_sense_are_refused(add: Callable[[Arena, Role], Any], message: str) -> None:
    with pytest.raises(SceneError, match=re.escape(message)):
        world_of(add, Start())


# --- paths ------------------------------------------------------------------------------------------------------------


def sampled(line: Line, role: Role, per_metre: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Return metres along and how far away the line is, found by trying very many points of it."""
    along, beside = [], []
    for points, at in zip(line.points, role.position, strict=True):
        ends = np.concatenate((points, points[:1])) if line.closed else points
        lengths = np.hypot(*np.diff(ends, axis=0).T)
        metres = np.concatenate(((0.0,), np.cumsum(lengths)))
        tried = np.linspace(0.0, metres[-1], int(metres[-1] * per_metre))
        away = np.hypot(np.interp(tried, metres, ends[:, 0]) - at[0], np.interp(tried, metres, ends[:, 1]) - at[1])
        along.append(tried[away.argmin()])
        beside.append(away.min())
    return np.array(along), np.array(beside)


@pytest.mark.parametrize("closed", [False, True])
def test_a_line_tells_where_the_nearest_point_of_it_is(closed: bool) -> None:
    start = Start(x=jitter(5.0), y=jitter(5.0))
    world, line = world_of(
        lambda arena, ball: arena.path(hills, points=7, draws=7, closed=closed), start, arenas=40, max_ticks=1
    )
    ball = role_of(world, "ball")
    for _ in range(2):
        along, beside = sampled(line, ball)
        assert np.abs(line.off(ball)) == pytest.approx(beside, abs=1e-3)
        assert line.along(ball) == pytest.approx(along, abs=1e-2)
        cos, sin = line.heading(ball).T
        assert np.hypot(cos, sin) == pytest.approx(np.ones(40))
        nearest = line.at(line.along(ball))
        way = ball.position - nearest
        assert np.sign(line.off(ball)) == pytest.approx(np.sign(cos * way[:, 1] - sin * way[:, 0]))
        assert np.hypot(*way.T) == pytest.approx(beside, abs=1e-3)
        world.tick()


def test_left_of_a_line_is_above_zero_and_right_of_it_below() -> None:
    def straight(drawn: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.array([(-9.0, 0.0), (9.0, 0.0)]), (len(drawn), 2, 2))

    for y in (-2.0, 0.0, 3.0):
        world, line = world_of(lambda arena, ball: arena.path(straight, points=2, draws=0), Start(x=1.0, y=y))
        ball = role_of(world, "ball")
        assert line.off(ball).tolist() == [y] * 6
        assert line.along(ball).tolist() == [10.0] * 6
        assert line.heading(ball).tolist() == [[1.0, 0.0]] * 6


def test_a_closed_line_goes_on_and_an_open_one_ends() -> None:
    def square(drawn: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.array([(0.0, 0), (2, 0), (2, 2), (0, 2)]), (len(drawn), 4, 2))

    def add(arena: Arena, ball: Role) -> tuple[Line, Line]:
        return tuple(arena.path(square, points=4, draws=0, closed=closed) for closed in (False, True))  # type: ignore[return-value]

    _, (open_, closed) = world_of(add, Start(), arenas=2)
    metres = np.broadcast_to([-1.0, 0.0, 1.0, 2.0, 5.0, 7.0, 9.0], (2, 7))
    assert open_.length.tolist() == [6.0, 6.0]
    assert closed.length.tolist() == [8.0, 8.0]
    assert open_.at(metres)[0].tolist() == [[0, 0], [0, 0], [1, 0], [2, 0], [1, 2], [0, 2], [0, 2]]
    assert closed.at(metres)[1].tolist() == [[0, 1], [0, 0], [1, 0], [2, 0], [1, 2], [0, 1], [1, 0]]
    assert closed.at(3.0).tolist() == [[2, 1], [2, 1]]


def track(arena: Arena, ball: Role) -> Line:
    return arena.path(ring, points=64, draws=1, closed=True)


def test_a_role_may_be_read_against_a_line_that_each_episode_lays_anew() -> None:
    world, line = world_of(track, Start(x=9.0), max_ticks=1)
    ball, seen = role_of(world, "ball"), []
    for _ in range(3):
        seen.append(line.off(ball).copy())
        assert line.off(ball) == pytest.approx(-(9.0 - line.points[:, 0, 0]))
        world.tick()
    assert len(np.unique(seen)) == 3 * 6


def test_what_a_line_tells_follows_the_columns_that_are_loaded() -> None:
    world, line = world_of(track, Start(x=9.0), max_ticks=1)
    ball, saved, told = role_of(world, "ball"), world.save_columns(), line.off(role_of(world, "ball")).copy()
    world.tick()
    assert not (line.off(ball) == told).any()
    world.load_columns(saved)
    assert (line.off(ball) == told).all()


def racing(forwards: float) -> tuple[World, Any, list[np.ndarray], list[np.ndarray]]:
    """Return a world of cars that are driven round a ring of 64 points, its line, and what they earned and drove."""
    made: list[Any] = []

    def build(arena: Arena) -> None:
        car = arena.spawn("car", Body(), Disc(0.1), Start(x=4.5, y=-0.3))
        line = arena.path(ring, points=64, draws=1, closed=True)
        laps = line.laps(car)
        made.append((line, laps))

        @arena.system(writes=(type(car.pose), type(car.motion)))
        def drive() -> None:
            angle = np.arctan2(car.y, car.x) + forwards * 0.05
            car.position[...] = 4.5 * np.stack((np.cos(angle), np.sin(angle)), axis=1)

        arena.agent(
            sees=[Y(car), Feel("laps", laps)],
            does=Levers(p=Push(car)),
            earns={"metres": Progress(lambda: laps() * line.length), "once more": Progress(laps)},
        )

    world = driven(scene_of(build, gravity=STILL, max_ticks=150), 5, np.zeros((5, 1), np.float32))
    line, laps = made[-1]
    earned, driven_ = [], []
    terms: Any = world.stages["judge"]
    for _ in range(149):
        world.tick()
        earned.append(terms.terms.now.copy())
        driven_.append(laps().copy())
    return world, line, earned, driven_


@pytest.mark.parametrize("forwards", [1.0, -1.0])
def test_progress_does_not_jump_when_a_lap_is_closed_in_either_direction(forwards: float) -> None:
    world, line, earned, laps = racing(forwards)
    by_tick = np.array(earned)[:, 0]
    once_round = 149 * 0.05 / (2 * np.pi)
    assert laps[-1] == pytest.approx(np.full(5, forwards * once_round), rel=0.01)  # more than one lap
    assert (np.sign(by_tick) == forwards).all()
    assert np.abs(by_tick).max() < 2 * 0.05 * 5.0  # never as long as the line
    assert by_tick.sum(axis=0) == pytest.approx(laps[-1] * line.length)
    assert np.array(earned)[:, 1].sum(axis=0) == pytest.approx(laps[-1])
    world.tick()  # the next episode
    for _ in range(3):
        world.tick()
    assert np.abs(world.arena.memories[0]()).max() < 0.05


def test_laps_of_an_open_line_are_the_share_of_it_that_was_gone() -> None:
    def straight(drawn: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.array([(0.0, 0.0), (4.0, 0.0), (8.0, 0.0)]), (len(drawn), 3, 2))

    world, laps = world_of(
        lambda arena, ball: arena.path(straight, points=3, draws=0).laps(ball), Start(x=2.0, vx=10.0), extent=100.0
    )
    for _ in range(20):
        world.tick()
    assert laps() == pytest.approx(np.full(6, 0.5))
    for _ in range(30):
        world.tick()
    assert laps() == pytest.approx(np.full(6, 0.75))  # its end is the nearest point from there on

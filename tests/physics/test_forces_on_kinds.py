"""Forces and lines work on every member of a kind as they do on a single body: solid or not, here or away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from physics_helpers import driven, scene_of

from ecs_rl.components import Motion, Pose
from ecs_rl.errors import SceneError
from ecs_rl.scene import (
    Arena,
    Body,
    Disc,
    Feel,
    Jump,
    Levers,
    Progress,
    Pull,
    Push,
    Role,
    Start,
    Thrust,
    Touching,
    Twist,
    Vx,
    X,
    jitter,
)
from ecs_rl.world import World

STILL = (0.0, 0.0)
COUNT = 4


def ring(drawn: np.ndarray) -> np.ndarray:
    turn = np.linspace(0.0, 2.0 * np.pi, 32, endpoint=False)
    return np.asarray((4.0 + drawn[:, :1, None]) * np.stack((np.cos(turn), np.sin(turn)), axis=1))


def both(add: Any, *parts: Any, **more: Any) -> tuple[World, list[Role], Role]:
    """Return a world of single bodies and of a kind of as many, spread alike; `add` does the same to each of them."""
    made: list[Any] = []

    def build(arena: Arena) -> None:
        here = [(2.0 * i, 0.5 * i, 0.3 * i, 1.0 + i) for i in range(COUNT)]
        ones = [
            arena.spawn(f"one {i}", *parts, Start(x=x, y=y, angle=a, vx=v, spin=0.5))
            for i, (x, y, a, v) in enumerate(here)
        ]
        xs, ys, angles, vxs = (tuple(each) for each in zip(*here, strict=True))
        kind = arena.spawn("kind", *parts, Start(x=xs, y=ys, angle=angles, vx=vxs, spin=0.5), count=COUNT)
        arena.through(*ones, kind)
        for i, role in enumerate((*ones, kind)):
            add(arena, role, i)
        made.append((ones, kind))
        arena.agent(sees=[X(ones[0])], does=Levers(p=Push(ones[0])), earns={"x": 1.0})

    world = driven(scene_of(build, gravity=(0.0, -2.0), extent=500.0, **more), 3, np.zeros((3, 1), np.float32))
    return (world, *made[-1])


def assert_alike(ones: list[Role], kind: Role) -> None:
    for name in ("position", "angle", "velocity", "spin"):
        singles = np.stack([getattr(role, name) for role in ones], axis=1)
        assert getattr(kind, name) == pytest.approx(singles, abs=1e-9), name


@pytest.mark.parametrize("solid", [True, False])
@pytest.mark.parametrize(
    "body", [{"drag": 0.7}, {"drag": (0.2, 9.0), "grip": 3.0, "spin_drag": 2.0}, {"spin_drag": 5.0}]
)
def test_drag_is_the_same_for_a_kind_and_for_what_is_not_solid(body: dict[str, Any], solid: bool) -> None:
    world, ones, kind = both(lambda arena, role, i: None, Body(mass=2.0, solid=solid, **body), Disc(0.3))
    for _ in range(60):
        world.tick()
    assert_alike(ones, kind)
    assert np.ptp(kind.vx[0]) > 1e-6


def test_a_shot_that_is_not_solid_keeps_the_closed_forms_share_of_its_speed() -> None:
    def build(arena: Arena) -> None:
        shots = arena.spawn("shot", Body(mass=0.1, solid=False, drag=1.5), Disc(0.1), Start(vx=jitter(9.0)), count=3)
        arena.agent(sees=[Feel("x", lambda: shots.x[:, 0])], does=Levers(p=Push(shots)), earns={"x": 1.0})

    world = driven(scene_of(build, gravity=STILL), 5, np.zeros((5, 1), np.float32))
    shots = world.arena.roles[0]
    first = shots.vx.copy()
    for _ in range(50):
        world.tick()
    assert shots.vx == pytest.approx(first * np.exp(-1.5), rel=1e-9)


@pytest.mark.parametrize("solid", [True, False])
def test_every_effect_works_on_each_member(solid: bool) -> None:
    def add(arena: Arena, role: Role, i: int) -> None:
        wind = arena.random(f"wind {i}", jitter(0.0))
        arena.always(Push(role, 1.0, 2.0), Twist(role, 0.1), amount=lambda: wind.value + 1.5)
        arena.always(Thrust(role, x=2.0, y=1.0, at=(0.1, 0.2)))
        arena.always(Pull(role, (1.0, 1.0), 5.0, 0.5), Pull(role, lambda: role.position[..., ::-1], 1.0))

    world, ones, kind = both(add, Body(mass=2.0, solid=solid), Disc(0.3))
    for _ in range(60):
        world.tick()
    assert_alike(ones, kind)


def test_an_amount_may_be_one_for_each_member_or_one_for_all() -> None:
    def build(arena: Arena) -> None:
        kind = arena.spawn("kind", Body(), Disc(0.1), Start(x=(0.0, 5.0, 10.0)), count=3)
        first, second = Push(kind, x=1.0), Push(kind, y=1.0)
        arena.always(first, amount=lambda: kind.x + 1.0)
        arena.always(second, amount=lambda: kind.x[:, 0] + 3.0)
        arena.agent(sees=[Feel("x", lambda: kind.x[:, 0])], does=Levers(p=Twist(kind)), earns={"x": 1.0})

    world = driven(scene_of(build, gravity=STILL), 3, np.zeros((3, 1), np.float32))
    world.tick()
    kind = world.arena.roles[0]
    first, second = (effect for forces in world.arena.forces for effect in forces.effects)
    assert first.amount.tolist() == [[1.0, 6.0, 11.0]] * 3
    assert second.amount.tolist() == [[3.0] * 3] * 3
    assert kind.vx == pytest.approx(first.amount / 50)
    assert kind.vy == pytest.approx(second.amount / 50)
    saved = world.save_columns()["@always/0/Amount/value"]
    assert saved.tolist() == [[1.0] * 3, [6.0] * 3, [11.0] * 3]


def test_members_are_pulled_each_to_its_own_or_all_to_one() -> None:
    def build(arena: Arena) -> None:
        homes = arena.spawn("home", Body(solid=False, moves="never"), Disc(0.1), Start(x=(-3.0, 0.0, 3.0)), count=3)
        one = arena.spawn("one", Body(solid=False, moves="never"), Disc(0.1), Start(y=4.0))
        kind = arena.spawn("kind", Body(solid=False), Disc(0.1), Start(x=jitter(5.0)), count=3)
        other = arena.spawn("other", Body(solid=False), Disc(0.1), Start(x=jitter(5.0)), count=2)
        arena.always(Pull(kind, homes, 30.0, 10.0), Pull(other, one, 30.0, 10.0))
        arena.agent(sees=[X(one)], does=Levers(p=Twist(kind)), earns={"x": 1.0})

    world = driven(scene_of(build, gravity=STILL), 3, np.zeros((3, 1), np.float32))
    for _ in range(400):
        world.tick()
    homes, one, kind, other = world.arena.roles
    assert kind.position == pytest.approx(homes.position, abs=1e-6)
    assert other.position == pytest.approx(np.stack([one.position] * 2, axis=1), abs=1e-6)


def test_a_pull_to_more_or_fewer_members_is_refused() -> None:
    def build(arena: Arena) -> None:
        kind = arena.spawn("kind", Body(), Disc(0.1), count=3)
        one = arena.spawn("one", Body(), Disc(0.1))
        Pull(one, kind, 1.0)

    with pytest.raises(SceneError, match="a pull to a kind wants as many members on both sides: 'kind' has 3"):
        scene_of(build).describe()


def heroes(arena: Arena) -> None:
    kind = arena.spawn("hero", Body(), Disc(0.25), Start(x=(-2.0, 0.0, 2.0), y=(0.25, 0.25, 2.5)), count=3)
    arena.wall((-9.0, 0.0), (9.0, 0.0))
    arena.agent(
        of=kind,
        sees=[X(kind), Vx(kind)],
        does=Levers(jump=Jump(kind, 4.0, off=Touching(kind, arena.ground)), go=Thrust(kind, x=3.0)),
        earns={"right": Progress(X(kind)), "all": Progress(lambda: kind.x.sum(axis=1))},
    )


def test_each_member_jumps_for_itself_and_only_off_the_ground() -> None:
    rows = np.zeros((3 * 2, 2), np.float32)
    world = driven(scene_of(heroes), 2, rows)
    for _ in range(10):
        world.tick()
    rows[:2, 0] = rows[4:, 0] = 1.0  # the first, and the last, which still falls
    falls = world.arena.roles[0].vy[:, 2].copy()
    world.tick()
    hero = world.arena.roles[0]
    assert hero.vy[:, 0] == pytest.approx([4.0, 4.0])
    assert np.abs(hero.vy[:, 1]).max() < 0.2
    assert (hero.vy[:, 2] < falls).all()


def test_progress_of_an_agent_of_a_kind_is_each_members_own() -> None:
    rows = np.zeros((3 * 2, 2), np.float32)
    rows[2:4, 1] = 1.0
    world = driven(scene_of(heroes, gravity=STILL), 2, rows)
    judge: Any = world.stages["judge"]
    hero = world.arena.roles[0]
    for _ in range(5):
        before = hero.x.copy()
        world.tick()
        by = hero.x - before
        assert pytest.approx(by) == judge.terms.now.reshape(2, 3, 2)[0].T
        assert pytest.approx(np.stack([by.sum(axis=1)] * 3, axis=1)) == judge.terms.now.reshape(2, 3, 2)[1].T
    assert (by[:, 1] > 0.0).all()


def test_a_line_and_ground_are_read_for_every_member() -> None:
    def floor(drawn: np.ndarray) -> np.ndarray:
        return np.stack((np.broadcast_to(np.linspace(-9, 9, 5), drawn.shape), drawn - 20.0), axis=2)

    made: list[Any] = []

    def build(arena: Arena) -> None:
        starts = Start(x=(4.5, 0.0, -4.5), y=(0.0, 4.5, 0.3))
        cars = arena.spawn("car", Body(solid=False), Disc(0.1), starts, count=3)
        line, earth = arena.path(ring, points=32, draws=1, closed=True), arena.terrain(floor, points=5, draws=5)
        laps = line.laps(cars)
        made.append((line, earth, laps))

        @arena.system(writes=(Pose, Motion))
        def drive() -> None:
            turned = np.arctan2(cars.y, cars.x) + np.array([0.1, -0.1, 0.05])
            cars.position[...] = 4.5 * np.stack((np.cos(turned), np.sin(turned)), axis=-1)

        arena.agent(
            of=cars,
            sees=[Feel("off", lambda: line.off(cars)), Feel("below", lambda: earth.height(cars.x))],
            does=Levers(p=Push(cars)),
            earns={"laps": Progress(laps), "metres": Progress(lambda: laps() * line.length[:, None])},
        )

    world = driven(scene_of(build, gravity=STILL), 4, np.zeros((12, 1), np.float32), debug=True)
    (line, earth, laps), cars = made[-1], world.arena.roles[0]
    for _ in range(90):
        world.tick()
    assert line.along(cars).shape == line.off(cars).shape == earth.height(cars.x).shape == (4, 3)
    assert line.heading(cars).shape == line.at(line.along(cars)).shape == (4, 3, 2)
    for member in range(3):
        at = np.hypot(*(cars.position - line.at(line.along(cars)))[:, member].T)
        assert np.abs(line.off(cars)[:, member]) == pytest.approx(at)
        points = earth.points
        wanted = [np.interp(x, p[:, 0], p[:, 1]) for x, p in zip(cars.x[:, member], points, strict=True)]
        assert earth.height(cars.x)[:, member] == pytest.approx(wanted)
    assert laps() == pytest.approx(np.tile(90 * np.array([0.1, -0.1, 0.05]) / (2 * np.pi), (4, 1)), abs=0.02)
    total = world.stages["judge"].terms.total  # type: ignore[attr-defined]
    assert pytest.approx(laps()) == total[:3].T


def test_a_start_may_lie_on_a_path_and_follow_shared_draws() -> None:
    made: list[Any] = []

    def build(arena: Arena) -> None:
        bends = arena.draws("bends", 3)
        line = arena.path(ring, points=32, draws=bends, closed=True)
        start = Start(x=lambda: line.at(1.0)[:, 0], y=lambda: line.at(1.0)[:, 1], vx=lambda: bends.value[:, 2])
        car = arena.spawn("car", Body(solid=False), Disc(0.1), start)
        made.append((line, bends, car))
        arena.agent(sees=[X(car)], does=Levers(p=Push(car)), earns={"x": 1.0})

    world = driven(scene_of(build, gravity=STILL, max_ticks=2), 6, np.zeros((6, 1), np.float32))
    line, bends, car = made[-1]
    for _ in range(3):
        assert line.along(car) == pytest.approx(np.ones(6))
        assert line.off(car) == pytest.approx(np.zeros(6), abs=1e-9)
        assert car.vx == pytest.approx(bends.value[:, 2])
        world.tick()
        world.tick()


@pytest.mark.parametrize("solid", [True, False])
def test_what_is_not_here_is_moved_by_no_force(solid: bool) -> None:
    def build(arena: Arena) -> None:
        body = Body(drag=0.5, solid=solid)
        kind = arena.spawn("kind", body, Disc(0.1), Start(x=(0.0, 5.0)), count=2, here=(True, False))
        arena.always(Push(kind, 3.0), Pull(kind, (9.0, 9.0), 2.0))
        arena.agent(sees=[Feel("x", lambda: kind.x[:, 0])], does=Levers(p=Twist(kind)), earns={"x": 1.0})

    world = driven(scene_of(build), 3, np.zeros((3, 1), np.float32))
    for _ in range(20):
        world.tick()
    kind = world.arena.roles[0]
    assert kind.position[:, 1].tolist() == [[5.0, 0.0]] * 3
    assert (kind.vx[:, 0] > 0.1).all()

"""What is placed or started anew within an episode begins as it does with an episode; so does what remembers."""

# mypy: disable-error-code="misc, comparison-overlap, call-arg, arg-type, index, attr-defined"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from world_helpers import always, role_of, scene_of

from ecs_rl.components import Done, Terms
from ecs_rl.scene import (
    Arena,
    Body,
    Closing,
    Disc,
    Lasting,
    Levers,
    Pose,
    Progress,
    Pull,
    Push,
    Start,
    Toward,
    X,
    above,
    column,
    component,
    jitter,
)
from ecs_rl.world import World
from ecs_rl.worlds import make_world

N = 5


@component
class Health:
    points: float = 2.0
    place: float = column((0.0, 0.0))


def world_of(add: Callable[[Arena], Any], **more: Any) -> World:
    """Return a world of a ship that does nothing, and of what is added; that may return what the agent earns."""

    def build(arena: Arena) -> None:
        ship = arena.spawn("ship", Body(), Disc(0.5), Start(y=20.0))
        earns = add(arena) or {"x": 0.0}
        arena.agent(sees=[X(ship)], does=Levers(push=Push(ship, x=1.0)), earns=earns)

    scene = scene_of(build, **{"gravity": (0.0, 0.0), "max_ticks": 1000, **more})
    return make_world(scene, arenas=N, policies=always(np.zeros((N, 1), np.float32)), debug=True)


def test_components_of_several_numbers_start_anew_as_they_do_with_an_episode() -> None:
    def add(arena: Arena) -> None:
        one, many = Start(y=9.0), Start(x=(1.0, 2.0, 3.0))
        drawn = [
            arena.spawn("one", Body(solid=False), Disc(0.3), one, Health(place=jitter(1.0))),
            arena.spawn("many", Body(solid=False), Disc(0.3), many, Health(place=jitter(1.0)), count=3),
        ]
        ruled = arena.spawn("ruled", Body(solid=False), Disc(0.3), Health(place=lambda: np.ones((N, 2, 2))), count=2)

        @arena.system(writes=(Pose, Health))
        def scatter() -> None:
            ruled[Health].place[...] = 0.0
            for role in (*drawn, ruled):
                role.place(arena.placing.clock.tick == 0)
            arena.restart(arena.placing.clock.tick == 1, *drawn, ruled)

    world = world_of(add)
    told = []
    for _ in range(2):
        world.tick()
        told.append([role_of(world, name)[Health].place.copy() for name in ("one", "many")])
        assert (role_of(world, "ruled")[Health].place == 1.0).all()
    for one, many in told:
        assert len(np.unique(one)) == N * 2
        assert len(np.unique(many)) == N * 3 * 2
    assert (told[0][0] != told[1][0]).all()


@pytest.mark.parametrize("after", ["guard", "sense", "judge"])
def test_a_kick_off_is_no_progress_and_what_lasted_begins_again(after: str) -> None:
    def add(arena: Arena) -> dict[str, Any]:
        ball = arena.spawn("ball", Body(solid=False), Disc(0.2), Start(x=1.0, vx=1.0))
        pair = arena.spawn("pair", Body(solid=False), Disc(0.2), Start(x=(1.0, 2.0), vx=1.0), count=2)
        number = arena.number("number")

        @arena.system(after=after, writes=(Pose, number))
        def kick_off() -> None:
            number.value += 1.0
            arena.restart((number.value == 6) & (np.arange(N) < 2), ball, pair)

        both = Progress(lambda: pair.x)
        arena.use(both)
        both.count = 2
        return {
            "way": Progress(X(ball)),
            "of a kind": lambda: both().sum(axis=1),
            "long": Lasting(above(X(ball), 0.5), ticks=4),
        }

    world = world_of(add)
    dt, terms, told = world.scene.dt, world.one(Terms), []
    for _ in range(12):
        world.tick()
        told.append(terms.now.copy())
    way, of_a_kind, long = np.array(told).transpose(1, 0, 2)
    jumps = 5 if after == "guard" else 6  # rules remember after `sense`, before what else stands there
    assert np.allclose(np.delete(way, jumps, axis=0), dt)
    assert np.allclose(way[jumps], [0.0, 0.0, dt, dt, dt])
    assert np.allclose(of_a_kind, 2 * way)
    assert long[:, 0].tolist() == [0.0] * 3 + [1.0] * (jumps - 3) + [0.0] * 4 + [1.0] * (12 - jumps - 4)
    assert long[:, -1].tolist() == [0.0] * 3 + [1.0] * 9
    state = world.save_columns()
    assert not state["@restarts/Restarted/now"].any()


def test_what_has_left_pulls_at_nothing_and_is_not_seen() -> None:
    told: dict[str, Any] = {}

    def add(arena: Arena) -> None:
        lamp = arena.spawn("lamp", Body(solid=False), Disc(0.1), Start(x=3.0, vy=0.5), here=False)
        moths = arena.spawn("moth", Body(solid=False), Disc(0.1), Start(y=(1.0, 2.0)), count=2)
        one = arena.spawn("one", Body(solid=False), Disc(0.1))
        arena.always(Pull(moths, to=lamp, stiffness=5.0), Pull(one, to=lamp, stiffness=5.0))
        told.update({"moths": Toward(moths, lamp), "one": Toward(one, lamp), "speed": Closing(one, lamp)})
        arena.system(lambda: lamp.place(arena.placing.clock.tick == 3), writes=(Pose,), name="light")

    world = world_of(add)
    for tick in range(8):
        world.tick()
        shines = tick >= 3
        assert all((each() != 0.0).any() == shines for each in told.values())
        assert (role_of(world, "moth").vx > 0.0).all() == (role_of(world, "one").vx > 0.0).all() == (tick > 3)


def test_members_that_an_end_takes_out_stand_still() -> None:
    def build(arena: Arena) -> None:
        balls = arena.spawn("ball", Body(solid=False), Disc(0.1), Start(vx=(1.0, -2.0)), count=2)
        ends = {"out": lambda: balls.x < -0.05}
        arena.agent(of=balls, sees=[X(balls)], does=Levers(push=Push(balls)), earns={"x": 1.0}, ends=ends)

    world = make_world(scene_of(build), arenas=N, policies=always(np.zeros((2 * N, 1), np.float32)), debug=True)
    for _ in range(10):
        world.tick()
    balls = role_of(world, "ball")
    assert (balls.here == (True, False)).all()
    assert (balls.vx == (1.0, 0.0)).all()


def test_what_is_remembered_of_a_member_begins_again_when_it_comes_back() -> None:
    def build(arena: Arena) -> None:
        balls = arena.spawn("ball", Body(solid=False), Disc(0.1), Start(x=(1.0, 2.0), vx=(0.0, 1.0)), count=2)
        arena.system(lambda: balls.place(~balls.here), writes=(Pose,), name="put")
        stuck = Lasting(lambda: np.abs(balls.vx) < 0.1, ticks=4)
        arena.agent(of=balls, sees=[X(balls)], does=Levers(a=Push(balls)), earns={"x": 1.0}, ends={"stuck": stuck})

    world = make_world(scene_of(build), arenas=N, policies=always(np.zeros((2 * N, 1), np.float32)), debug=True)
    done, ended = world.of(world.batches[0].entity, Done), []
    for tick in range(14):
        world.tick()
        if done.terminated.any():
            assert (done.terminated == (np.arange(2 * N) < N)).all()
            ended.append(tick)
    assert ended == [3, 8, 13]  # four ticks each time, and one in which it is put back

"""An agent of a kind: one agent for each member, one policy, and members that are out before the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from world_helpers import random_world, role_of, scene_of

from ecs_rl.arrays import F32
from ecs_rl.components import Acting, Action, Done, Finished, NextObservation, Observation, Reward
from ecs_rl.errors import SceneError
from ecs_rl.scene import (
    Arena,
    Body,
    Choice,
    Controls,
    Disc,
    Feel,
    Lasting,
    Levers,
    Pose,
    Progress,
    Push,
    Scene,
    Start,
    Trigger,
    X,
    Y,
)
from ecs_rl.training_stages.tally import records_of
from ecs_rl.world import World
from ecs_rl.worlds import make_world

N, M = 3, 4


def tag(*, back_at: int = 0, it: bool = False, **more: Any) -> Scene:
    """Return a scene of four runners: number i is out at tick 10 (i + 1), and comes back where `back_at` says."""

    def build(arena: Arena) -> None:
        start = Start(x=(1.0, 2.0, 3.0, 4.0))
        runners = arena.spawn("runner", Body(solid=False), Disc(0.2), start, count=M)
        judge = arena.spawn("judge", Body(), Disc(0.2), Start(y=30.0))
        ticks = arena.number("ticks")

        @arena.system(writes=(ticks, Pose))
        def count() -> None:
            ticks.value += 1
            if back_at:
                runners.place(ticks.value == back_at, x=9.0)

        arena.agent(
            of=runners,
            sees=[X(runners), Y(judge), Feel("number", lambda: np.arange(float(M)) * np.ones((N, 1)))],
            does=Levers(right=Push(runners, x=1.0), up=Push(runners, y=1.0)),
            earns={"x": lambda: runners.x, "all": lambda: ticks.value},
            ends={
                "caught": lambda: ticks.value[:, None] == 10 * np.arange(1, M + 1),
                "over": lambda: ticks.value >= 10_000,
            },
        )
        if it:
            does = Choice(stay=None, push=Push(judge, x=1.0))
            arena.agent(name="judge", policy="judge", sees=[X(judge)], does=does, earns={"one": 1.0})

    return scene_of(build, **{"gravity": (0.0, 0.0), "max_ticks": 100, **more})


def parts(world: World, kind: type) -> Any:
    return world.of(world.batches[0].entity, kind)


def by_member(rows: Any) -> Any:
    """Return (arenas, members) of (rows,)."""
    return rows.reshape(M, N, *rows.shape[1:]).swapaxes(0, 1)


def test_each_member_has_a_row_and_sees_earns_and_does_its_own() -> None:
    world = random_world(tag(), N, debug=True)
    runners = role_of(world, "runner")
    assert world.batches[0].rows == N * M
    x = runners.x.copy()
    world.tick()
    seen = by_member(parts(world, NextObservation).value)
    assert np.allclose(seen[..., 0], runners.x)
    assert (seen[..., 1] == 30.0).all()
    assert (seen[..., 2] == np.arange(M)).all()
    assert np.allclose(by_member(parts(world, Reward).value), runners.x + 1.0)
    assert (runners.x == x).all()  # places come before speeds
    levers = by_member(parts(world, Action).value).copy()
    world.tick()
    assert np.allclose(runners.x - x, world.scene.dt**2 * np.clip(levers[..., 0], -1.0, 1.0))  # each by its own


def test_a_member_is_out_alone_and_its_row_counts_no_more() -> None:
    world = random_world(tag(), N, debug=True)
    runners, done, acting = role_of(world, "runner"), parts(world, Done), parts(world, Acting)
    for tick in range(1, 31):
        world.tick()
        out = np.arange(10, 50, 10) < tick
        assert (by_member(acting.value) == ~out).all()
        assert (by_member(done.valid) == ~out).all()
        assert (by_member(done.terminated) == (np.arange(10, 50, 10) == tick)).all()
        assert not done.truncated.any()
        assert (by_member(parts(world, Reward).value)[:, out] == 0.0).all()
        assert (runners.here == (np.arange(10, 50, 10) > tick)).all()
        assert not len(world.one(Finished).arena)


def test_an_episode_ends_when_the_last_is_out_and_each_has_a_return_of_its_own() -> None:
    world = random_world(tag(), N)
    sums = np.zeros((N, M))
    for _ in range(40):
        world.tick()
        sums += by_member(parts(world, Reward).value)
    finished = world.one(Finished)
    assert finished.arena.tolist() == [0, 1, 2]
    assert finished.terminated.all()
    record = records_of(world, finished)[1]
    assert [name for name in record.extras if name.startswith("end/")] == ["end/caught", "end/all out"]
    assert [record.extras[f"return/runner {i}"] for i in range(M)] == pytest.approx(list(sums[1]), rel=1e-5)
    assert record.extras["return/runner"] == record.total_reward == pytest.approx(sums[1].mean(), rel=1e-5)
    assert record.extras["x"] + record.extras["all"] == pytest.approx(record.total_reward)
    assert role_of(world, "runner").here.all()  # the next episode has begun with all
    assert (by_member(parts(world, Observation).value)[..., 0] == (1.0, 2.0, 3.0, 4.0)).all()


def test_an_episode_goes_on_where_another_agent_does_and_is_cut_for_those_who_are_still_in() -> None:
    world = random_world(tag(it=True, max_ticks=35), N)
    for _ in range(35):
        world.tick()
    done = parts(world, Done)
    assert world.one(Finished).length.tolist() == [35] * N
    assert (by_member(done.truncated) == (False, False, False, True)).all()
    assert not done.terminated.any()
    assert (by_member(done.valid) == (False, False, False, True)).all()
    extras = records_of(world, world.one(Finished))[0].extras
    assert extras["return/judge"] == 35.0
    assert world.one(Finished).total[0] == pytest.approx((35.0 + M * extras["return/runner"]) / (M + 1))


def test_a_member_that_is_placed_again_acts_and_counts_again() -> None:
    world = random_world(tag(back_at=15), N, debug=True)
    for _ in range(15):
        world.tick()
    done, runners = parts(world, Done), role_of(world, "runner")
    assert runners.here[:, 0].all()
    assert (runners.x[:, 0] == 9.0).all()
    assert not by_member(done.valid)[:, 0].any()  # it was placed after it should have acted
    world.tick()
    assert by_member(done.valid)[:, 0].all()
    assert not done.terminated.any()
    assert np.allclose(by_member(parts(world, Reward).value)[:, 0], runners.x[:, 0] + 16.0)
    for _ in range(30):
        world.tick()
    assert not len(world.one(Finished).arena)  # the first is still in


@pytest.mark.parametrize("does", [lambda: Choice(stay=None, wait=None), lambda: Controls(fire=Trigger())])
def test_a_kind_may_decide_what_only_systems_read(does: Any) -> None:
    def build(arena: Arena) -> None:
        guns = arena.spawn("gun", Body(), Disc(0.2), Start(x=(1.0, 2.0, 3.0)), count=3)
        arena.agent(of=guns, sees=[X(guns)], does=does(), earns={"x": 1.0})

    action: F32
    world = make_world(scene_of(build), arenas=N, policies={"policy": lambda seen, state: action}, debug=True)
    action = np.ones_like(parts(world, Action).value)
    world.tick()
    assert parts(world, Acting).value.all()


def test_who_is_placed_where_an_end_holds_acts_once_before_it_is_judged() -> None:
    def build(arena: Arena) -> None:
        runners = arena.spawn("runner", Body(solid=False), Disc(0.2), Start(x=9.0), count=1, here=False)
        arena.system(lambda: runners.place(~runners.here), writes=(Pose,), name="put")
        ends = {"far": lambda: runners.x > 5.0, "near": lambda: runners.x < 0.0}
        arena.agent(of=runners, sees=[X(runners)], does=Levers(a=Push(runners)), earns={"x": 1.0}, ends=ends)

    world = random_world(scene_of(build), N, debug=True)
    world.tick()
    assert not len(world.one(Finished).arena)
    assert not parts(world, Done).valid.any()
    world.tick()
    assert parts(world, Done).valid.all()
    assert parts(world, Done).terminated.all()
    extras = records_of(world, world.one(Finished))[0].extras
    assert [name for name in extras if name.startswith("end/")] == ["end/far", "end/all out"]


REFUSED: list[tuple[Any, str]] = [
    (lambda a, runners, one: {"of": one, "does": Levers(x=Push(one))}, "'one' is one thing, not many of a kind"),
    (
        lambda a, runners, one: {"of": runners, "does": Levers(x=Push(one))},
        "each of which works on its own, but 'one' is",
    ),
    (lambda a, runners, one: {"of": "runner"}, "an agent is one of a role"),
    (lambda a, runners, one: {"of": runners, "earns": {"x": lambda: np.zeros((N, 7))}}, "and 4 members"),
    (lambda a, runners, one: {"of": runners, "ends": {"x": lambda: np.zeros((N, M))}}, "must give true or false"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_an_agent_of_a_kind_that_cannot_be_is_refused_in_words(change: Any, message: str) -> None:
    def build(arena: Arena) -> None:
        runners = arena.spawn("runner", Body(), Disc(0.2), Start(x=(1.0, 2.0, 3.0, 4.0)), count=M)
        one = arena.spawn("one", Disc(0.2))
        plan: Any = {"sees": [X(runners)], "does": Levers(x=Push(runners)), "earns": {"x": 1.0}}
        arena.agent(**{**plan, **change(arena, runners, one)})

    with pytest.raises(SceneError, match=message):
        random_world(scene_of(build), N).tick()


def remembering() -> Scene:
    """Return a scene of four runners that earn by their own progress, and are out once they are far for long."""

    def build(arena: Arena) -> None:
        start = Start(x=(1.0, 2.0, 3.0, 4.0), vx=(0.0, 1.0, 2.0, 3.0))
        runners = arena.spawn("runner", Body(solid=False), Disc(0.2), start, count=M)
        ball = arena.spawn("ball", Body(solid=False), Disc(0.2), Start(y=1.0, vy=5.0))
        arena.agent(
            of=runners,
            sees=[X(runners)],
            does=Levers(up=Push(runners)),
            earns={"own": Progress(lambda: runners.x), "team": Progress(lambda: ball.y)},
            ends={"far": Lasting(lambda: runners.x > 4.5, 3)},
        )

    return scene_of(build, gravity=(0.0, 0.0), max_ticks=100)


def test_what_remembers_does_so_for_each_member() -> None:
    world = random_world(remembering(), N, debug=True)
    runners, dt = role_of(world, "runner"), world.scene.dt
    world.tick()
    earned = by_member(parts(world, Reward).value)
    assert earned == pytest.approx(np.broadcast_to(dt * (np.arange(4.0) + 5.0), (N, M)), abs=1e-6)
    while runners.here.all():
        world.tick()
    assert (runners.here == [True, True, True, False]).all(), "it is out as it was far for three ticks"
    assert runners.x[0, 3] == pytest.approx(4.5 + 3 * 3.0 * dt, abs=3.0 * dt)

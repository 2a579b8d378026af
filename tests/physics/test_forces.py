"""Springs to a place, jumps, and forces that no agent drives."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from physics_helpers import driven, role_of, scene_of

from ecs_rl.components import Amount
from ecs_rl.errors import RuleError, SceneError
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import (
    Arena,
    Body,
    Choice,
    Disc,
    Effect,
    Jump,
    Levers,
    Motor,
    Progress,
    Pull,
    Push,
    Role,
    Start,
    Thrust,
    Touching,
    TurnLimit,
    Twist,
    X,
    jitter,
)
from ecs_rl.world import World

DT = 1 / 50
STILL = (0.0, 0.0)
WRONG: Any = 3
needy: Any = lambda asked: asked  # noqa: E731


def floating(make: Callable[[Arena, Role], Effect | None], body: Body, start: Start, **more: Any) -> World:
    """Return a world of one ball on which an effect always works, and an agent that does nothing."""

    def build(arena: Arena) -> None:
        ball = arena.spawn("ball", body, Disc(0.1), start)
        if (effect := make(arena, ball)) is not None:
            arena.always(effect)
        arena.agent(sees=[X(ball)], does=Levers(p=Push(ball)), earns={"x": 1.0})

    return driven(scene_of(build, **{"extent": 1e3, **more}), 1, np.zeros((1, 1), np.float32))


# --- Pull -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("substeps", [1, 4])
@pytest.mark.parametrize(("stiffness", "damping"), [(50.0, 5.0), (2e3, 0.0), (1e9, 0.0), (1e9, 1e6), (10.0, 1e9)])
def test_a_pull_of_any_stiffness_never_gains_energy(stiffness: float, damping: float, substeps: int) -> None:
    world = floating(
        lambda arena, ball: Pull(ball, (1.0, 2.0), stiffness, damping), Body(mass=0.5), Start(vx=3.0), substeps=substeps
    )
    ball, far = role_of(world, "ball"), []
    for _ in range(300):
        world.tick()
        far.append(float(np.hypot(*(ball.position[0] - (1.0, 2.0)))))
    assert max(far) < 2.6  # 2.24 at the start, and it moves away from there at first
    assert max(far[-50:]) < (2.3 if damping > 1e6 else 1.7)


def test_a_pull_comes_to_rest_where_it_carries_the_weight() -> None:
    world = floating(lambda arena, ball: Pull(ball, (1.0, 2.0), 80.0, 30.0), Body(mass=2.0), Start())
    for _ in range(400):
        world.tick()
    assert role_of(world, "ball").position[0] == pytest.approx((1.0, 2.0 - 2.0 * 9.81 / 80.0), abs=1e-6)


def test_a_soft_pull_swings_as_a_spring_does() -> None:
    world = floating(lambda arena, ball: Pull(ball, STILL, 8.0), Body(mass=2.0), Start(x=1.0), gravity=STILL)
    ball, xs = role_of(world, "ball"), []
    for _ in range(400):
        world.tick()
        xs.append(float(ball.x[0]))
    crossings = np.flatnonzero(np.diff(np.sign(xs)))
    assert np.diff(crossings).mean() * DT == pytest.approx(np.pi / 2.0, rel=0.02)  # half of 2 pi sqrt(m / k)


def test_several_stiff_pulls_on_one_body_are_as_stable_as_one() -> None:
    def build(arena: Arena) -> None:
        one = arena.spawn("one", Body(), Disc(0.1), Start(x=1.0))
        two = arena.spawn("two", Body(mass=0.2), Disc(0.1), Start(x=-1.0, y=1.0))
        arena.always(*(Pull(one, (0.0, 0.1 * i), 1e7) for i in range(5)))
        arena.always(Pull(two, one, 1e7, 10.0), Pull(one, two, 1e7, 10.0), amount=3.0)
        arena.agent(sees=[X(one)], does=Levers(p=Push(one)), earns={"x": 1.0})

    world = driven(scene_of(build, gravity=STILL), 1, np.zeros((1, 1), np.float32))
    speeds = []
    for _ in range(500):
        world.tick()
        speeds.append(np.abs(world.engine_as(Physics).state[3:5]).max())
        assert np.abs(world.engine_as(Physics).state[:2]).max() < 3.0
    assert speeds[-1] < 1.0


def test_a_pull_follows_a_role_that_feels_nothing_of_it() -> None:
    def build(arena: Arena) -> None:
        lead = arena.spawn("lead", Body(), Disc(0.1), Start(vx=2.0))
        after = arena.spawn("after", Body(), Disc(0.1), Start(y=1.0))
        arena.always(Pull(after, lead, 40.0, 12.0))
        arena.join(TurnLimit(lead, after, -1e6, 1e6))  # they pass through each other
        arena.agent(sees=[X(lead)], does=Levers(p=Push(lead)), earns={"x": 1.0})

    world = driven(scene_of(build, gravity=STILL), 1, np.zeros((1, 1), np.float32))
    for _ in range(300):
        world.tick()
    lead, after = role_of(world, "lead"), role_of(world, "after")
    assert lead.velocity[0] == pytest.approx((2.0, 0.0))
    assert after.velocity[0] == pytest.approx((2.0, 0.0), abs=1e-3)
    assert after.x == pytest.approx(lead.x, abs=0.05)


def test_a_pull_goes_to_where_a_rule_says() -> None:
    def build(arena: Arena) -> None:
        ball = arena.spawn("ball", Body(), Disc(0.1), Start(x=jitter(2.0)))
        home = arena.random("home", jitter(3.0))
        arena.always(Pull(ball, lambda: np.stack((home.value, -home.value), axis=1), 40.0, 12.0))
        arena.agent(sees=[X(ball)], does=Levers(p=Push(ball)), earns={"x": 1.0})

    world = driven(scene_of(build, gravity=STILL), 5, np.zeros((5, 1), np.float32))
    for _ in range(300):
        world.tick()
    home, ball = world.arena.numbers[0].value, role_of(world, "ball")
    assert np.ptp(home) > 0.1
    assert ball.position == pytest.approx(np.stack((home, -home), axis=1), abs=1e-3)


def test_a_lever_below_zero_does_not_make_a_pull_push() -> None:
    def build(arena: Arena) -> None:
        ball = arena.spawn("ball", Body(), Disc(0.1), Start(x=1.0))
        arena.agent(sees=[X(ball)], does=Levers(p=Pull(ball, STILL, 40.0)), earns={"x": 1.0})

    action = np.full((1, 1), -1.0, np.float32)
    world = driven(scene_of(build, gravity=STILL), 1, action)
    world.tick()
    assert role_of(world, "ball").vx[0] == 0.0
    action[:] = 0.5
    world.tick()
    assert role_of(world, "ball").vx[0] < 0.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda arena, ball: Pull(ball, STILL, -1.0), "stiffness must not be negative"),
        (lambda arena, ball: Pull(ball, STILL, 1.0, -1.0), "damping must not be negative"),
        (lambda arena, ball: Pull(ball, ball, 1.0), "'ball' is pulled to"),
        (lambda arena, ball: Pull(ball, arena.ground, 1.0), "'ball' is pulled to"),
        (lambda arena, ball: Pull(ball, WRONG, 1.0), "what a pull goes to must be a pair (x, y), not 3"),
        (lambda arena, ball: Pull(ball, needy, 1.0), "what a pull goes to must be a rule without arguments"),
        (lambda arena, ball: Jump(ball, 0.0, off=lambda: True), "a jump's speed must be above zero"),
        (lambda arena, ball: Jump(ball, 1.0, off=WRONG), "what a role jumps off must be a rule such as"),
        (lambda arena, ball: arena.always(), "arena.always needs at least one effect"),
        (lambda arena, ball: arena.always(ball), "arena.always is given effects such as Push or Pull, not Role 'ball'"),
        (lambda arena, ball: arena.always(Effect(ball)), "Effect does not say how it works"),
        (lambda arena, ball: arena.always(Push(arena.ground, 1.0)), "arena.always works on the ground"),
        (lambda arena, ball: arena.always(Push(ball), amount="much"), "an amount must be a finite number"),
        (lambda arena, ball: arena.always(Push(ball), amount=needy), "an amount must be a rule"),
    ],
)
def test_a_force_that_makes_no_sense_is_refused(make: Callable[[Arena, Role], Any], message: str) -> None:
    with pytest.raises(SceneError, match=re.escape(message)):
        floating(make, Body(), Start())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda arena, ball: Pull(ball, lambda: ball.x, 1.0), "'ball' is pulled to must be (arenas, 2), not (1,)"),
        (lambda arena, ball: Pull(ball, lambda: None, 1.0), "must be (arenas, 2), not NoneType"),
        (lambda arena, ball: Pull(ball, lambda: (np.nan, 0.0), 1.0), "Pull gave a force on 'ball' that is not finite"),
        (lambda arena, ball: Jump(ball, 1.0, off=lambda: ball.x), "must give true or false, not (1,) of float64"),
    ],
)
def test_a_place_or_a_foothold_that_is_none_is_told_when_it_runs(
    make: Callable[[Arena, Role], Effect], message: str
) -> None:
    with pytest.raises(RuleError, match=re.escape(message)):
        floating(make, Body(), Start()).tick()


# --- Jump -------------------------------------------------------------------------------------------------------------


def hero(off: Callable[[Arena, Role], Any], speed: float = 4.0, substeps: int = 1) -> tuple[World, np.ndarray]:
    """Return a world of a hero on a floor, one arena, and the array that drives its only lever."""

    def build(arena: Arena) -> None:
        ball = arena.spawn("ball", Body(mass=2.0), Disc(0.25), Start(y=0.25))
        arena.wall((-9.0, 0.0), (9.0, 0.0))
        arena.agent(sees=[X(ball)], does=Levers(p=Jump(ball, speed, off=off(arena, ball))), earns={"x": 1.0})

    action = np.zeros((1, 1), np.float32)
    return driven(scene_of(build, substeps=substeps), 1, action), action


def on_the_floor(arena: Arena, ball: Role) -> Any:
    return Touching(ball, arena.ground)


def speeds(world: World, ticks: int) -> np.ndarray:
    """Return how fast the hero rises after each of so many ticks."""
    seen = []
    for _ in range(ticks):
        world.tick()
        seen.append(float(role_of(world, "ball").vy[0]))
    return np.array(seen)


def impulses(seen: np.ndarray, least: float = 1.0) -> int:
    """Count the ticks in which it was suddenly faster upwards, and not by landing."""
    return int(((np.diff(seen) > least) & (seen[1:] > 0.5)).sum())


@pytest.mark.parametrize("substeps", [1, 4])
def test_a_jump_gives_its_speed_once_and_not_again_in_the_air(substeps: int) -> None:
    world, action = hero(on_the_floor, substeps=substeps)
    speeds(world, 10)
    action[:] = 1.0
    seen = speeds(world, 35)
    assert seen[0] == pytest.approx(4.0, abs=1e-6)
    assert np.diff(seen) == pytest.approx(np.full(34, -9.81 * DT), abs=1e-6)
    assert role_of(world, "ball").y[0] > 0.5


def test_a_jump_that_is_held_comes_again_after_each_landing() -> None:
    world, action = hero(on_the_floor)
    speeds(world, 10)
    action[:] = 1.0
    seen = speeds(world, 260)
    assert impulses(np.append(0.0, seen)) in (6, 7)  # 0.82 s in the air each
    assert seen.max() == pytest.approx(4.0, abs=1e-6)


def test_there_is_one_impulse_while_the_rule_holds_and_the_jump_is_held() -> None:
    world, action = hero(lambda arena, ball: lambda: ball.y < 1e6)
    action[:] = 1.0
    seen = speeds(world, 200)
    assert impulses(np.append(0.0, seen)) == 1


def test_a_jump_too_low_to_leave_the_ground_can_be_made_again_once_it_was_let_go() -> None:
    world, action = hero(lambda arena, ball: lambda: ball.y < 1e6, speed=1.0)
    for _ in range(3):
        action[:] = 1.0
        assert impulses(np.append(0.0, speeds(world, 30)), 0.5) == 1
        action[:] = 0.0
        assert impulses(speeds(world, 5), 0.5) == 0


def test_half_a_lever_is_half_a_jump_and_the_other_half_is_none() -> None:
    world, action = hero(on_the_floor)
    speeds(world, 10)
    action[:] = -1.0
    assert np.abs(speeds(world, 5)).max() < 0.2
    action[:] = 0.5
    assert speeds(world, 1)[0] == pytest.approx(2.0, abs=1e-6)


def test_nobody_jumps_where_the_rule_does_not_hold() -> None:
    world, action = hero(lambda arena, ball: lambda: ball.y > 1e6)
    action[:] = 1.0
    assert np.abs(speeds(world, 50)).max() < 0.5


# --- always -----------------------------------------------------------------------------------------------------------


def windy(arena: Arena) -> None:
    ball = arena.spawn("ball", Body(mass=2.0), Disc(0.5))
    wind = arena.random("wind", jitter(4.0))
    arena.always(Push(ball, x=2.0), Twist(ball, 0.5), amount=lambda: wind.value)
    arena.always(Push(ball, y=1.0))
    arena.agent(sees=[X(ball)], does=Levers(p=Push(ball, x=1.0)), earns={"x": 1.0})


def test_a_force_that_no_agent_drives_works_as_strongly_as_its_rule_says() -> None:
    world = driven(scene_of(windy, gravity=STILL), 4, np.zeros((4, 1), np.float32))
    wind, ball = world.arena.numbers[0].value, role_of(world, "ball")
    assert len(np.unique(wind)) == 4
    for _ in range(10):
        world.tick()
    assert ball.vx == pytest.approx(2.0 * wind / 2.0 * 10 * DT)
    assert ball.vy == pytest.approx(np.full(4, 1.0 / 2.0 * 10 * DT))
    assert ball.spin == pytest.approx(0.5 * wind / 0.25 * 10 * DT)


def test_the_amounts_of_always_are_columns_that_begin_anew_with_an_episode() -> None:
    world = driven(scene_of(windy, gravity=STILL, max_ticks=5), 3, np.zeros((3, 1), np.float32))
    blows, _, lifts = (effect for forces in world.arena.forces for effect in forces.effects)
    world.tick()
    assert blows.amount == pytest.approx(world.arena.numbers[0].value)
    assert lifts.amount.tolist() == [1.0] * 3
    assert not blows.amount.flags.writeable
    saved = world.save_columns()
    assert saved["@always/0/Amount/value"].tolist() == [blows.amount.tolist()]
    for _ in range(4):
        world.tick()
    assert lifts.amount.tolist() == [0.0] * 3
    world.load_columns(saved)
    assert blows.amount.tolist() == saved["@always/0/Amount/value"][0].tolist()
    assert world.of("@always/2", Amount).value.tolist() == [[1.0] * 3]


def test_a_motor_may_turn_always() -> None:
    world = floating(lambda arena, ball: Motor(ball, arena.ground, 6.0, 5.0), Body(), Start(), gravity=STILL)
    for _ in range(10):
        world.tick()
    assert role_of(world, "ball").spin[0] == pytest.approx(6.0)


def shared_with_always(arena: Arena) -> None:
    ball = arena.spawn("ball", Body(), Disc(0.1))
    push = Push(ball, 1.0)
    arena.always(push)
    arena.agent(sees=[X(ball)], does=Choice(rest=None, go=push), earns={"x": 1.0})


def shared_with_an_agent(arena: Arena) -> None:
    ball = arena.spawn("ball", Body(), Disc(0.1))
    push = Push(ball, 1.0)
    arena.agent(sees=[X(ball)], does=Choice(rest=None, go=push), earns={"x": 1.0})
    arena.always(push)


def always_twice(arena: Arena) -> None:
    ball = arena.spawn("ball", Body(), Disc(0.1))
    push = Push(ball, 1.0)
    arena.always(push, push)
    arena.agent(sees=[X(ball)], does=Choice(rest=None, go=Push(ball)), earns={"x": 1.0})


@pytest.mark.parametrize("build", [shared_with_always, shared_with_an_agent, always_twice])
def test_an_effect_is_driven_by_one_alone(build: Callable[[Arena], None]) -> None:
    with pytest.raises(SceneError, match="must have effects of its own, not those of another agent or of arena"):
        scene_of(build).describe()


@pytest.mark.parametrize(
    ("amount", "message"),
    [
        (lambda ball: lambda: ball.velocity, "the amount of Push on 'ball' must give one number per arena, not (1, 2)"),
        (lambda ball: lambda: None, "the amount of Push on 'ball' must give one number per arena, not NoneType"),
        (lambda ball: lambda: ball.x / ball.x, "the amount of Push on 'ball' gave a number that is not finite: nan in"),
        (lambda ball: lambda: "much", "the amount of Push on 'ball' must give one number per arena, not str 'much'"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_amount_that_is_no_number_is_told_with_its_effect(
    amount: Callable[[Role], Callable[[], Any]], message: str
) -> None:
    def force(arena: Arena, ball: Role) -> None:
        arena.always(Push(ball, 1.0), amount=amount(ball))

    with pytest.raises(RuleError, match=re.escape(message)):
        floating(force, Body(), Start()).tick()


def test_an_amount_may_remember() -> None:
    def force(arena: Arena, ball: Role) -> None:
        arena.always(Push(ball, 1.0), amount=Progress(lambda: ball.x))

    world = floating(force, Body(), Start(vx=1.0), gravity=STILL)
    for _ in range(3):
        world.tick()
    assert world.arena.forces[0].effects[0].amount[0] > 0.0


def test_an_effect_of_the_scenes_own_works_always_too() -> None:
    class Lift(Effect):
        def apply(self, dt: float) -> None:
            self.role.force.force[:, 1] += 3.0 * self.amount
            self.role.force.torque += 0.5

    world = floating(lambda arena, ball: Lift(ball), Body(), Start(), gravity=STILL)
    world.tick()
    assert role_of(world, "ball").vy[0] == pytest.approx(3.0 * DT)
    assert role_of(world, "ball").spin[0] > 0.0


def test_effects_on_one_role_come_to_the_same_together_as_one_by_one() -> None:
    def build(arena: Arena) -> None:
        ball = arena.spawn("ball", Body(), Disc(0.5), Start(angle=0.7))
        arena.agent(
            sees=[X(ball)],
            does=Levers(a=(Push(ball, 1.0, 2.0), Thrust(ball, 3.0, -1.0, at=(0.1, 0.4))), b=Twist(ball, 2.0)),
            earns={"x": 1.0},
        )

    world = driven(scene_of(build), 3, np.array([[0.3, -0.7], [1.0, 0.0], [-1.0, 0.2]], np.float32))
    world.tick()
    together = world.engine_as(Physics).force.copy()
    actuate: Any = world.stages["actuate"]
    assert len(actuate.works) == 1
    actuate.works = [effect.apply for effect in actuate.effects]
    world.start_over()
    world.tick()
    assert np.abs(together).min(axis=(1, 2)) == pytest.approx(np.abs(world.engine_as(Physics).force).min(axis=(1, 2)))
    assert together == pytest.approx(world.engine_as(Physics).force)

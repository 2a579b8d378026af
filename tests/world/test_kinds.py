"""Many of a kind: columns with a row of members, things that come and go, and what is placed anew."""

# mypy: disable-error-code="misc, comparison-overlap, call-arg, arg-type, index, attr-defined"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from world_helpers import always, random_world, role_of, scene_of

from ecs_rl.components import Explosion, Finished, Here
from ecs_rl.errors import SceneError
from ecs_rl.scene import (
    Arena,
    Body,
    Box,
    Disc,
    Feel,
    Levers,
    Motion,
    Pivot,
    Pose,
    Push,
    Rod,
    Scene,
    Start,
    Touching,
    X,
    between,
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


@component
class Age:
    ticks: float = 0.0


def field_of(add: Callable[[Arena], Any], **more: Any) -> Scene:
    """Return a scene of a ship that does nothing, and of what is added."""

    def build(arena: Arena) -> None:
        ship = arena.spawn("ship", Body(), Disc(0.5), Start(y=20.0))
        add(arena)
        arena.agent(sees=[X(ship)], does=Levers(push=Push(ship, x=1.0)), earns={"x": 0.0})

    return scene_of(build, **{"gravity": (0.0, 0.0), "max_ticks": 1000, **more})


def world_of(add: Callable[[Arena], Any], arenas: int = N, debug: bool = True, **more: Any) -> World:
    scene = field_of(add, **more)
    return make_world(scene, arenas=arenas, policies=always(np.zeros((arenas, 1), np.float32)), debug=debug)


# --- columns ----------------------------------------------------------------------------------------------------------


def test_every_column_of_a_kind_has_a_row_of_members() -> None:
    start = Start(x=(4.0, 9.0, 14.0), y=jitter(1.0))
    world = world_of(lambda arena: arena.spawn("rock", Body(), Disc(0.3), start, Health(), count=3))
    rocks = role_of(world, "rock")
    assert rocks.x.shape == rocks.angle.shape == rocks.here.shape == rocks[Health].points.shape == (N, 3)
    assert rocks.position.shape == rocks.heading.shape == rocks.point((0.1, 0.0)).shape == (N, 3, 2)
    assert rocks[Health].place.shape == (N, 3, 2)
    assert (rocks.x == (4.0, 9.0, 14.0)).all()
    assert len(np.unique(rocks.y)) == 3 * N
    assert role_of(world, "ship").x.shape == (N,)


def test_members_start_by_a_tuple_by_draws_of_their_own_or_by_a_rule_that_sees_what_is_drawn() -> None:
    def add(arena: Arena) -> None:
        middle = arena.random("middle", jitter(5.0))
        own = Start(x=lambda: middle.value[:, None] + np.arange(3.0), y=lambda: middle.value)
        health = Health(points=(1.0, 2.0, 3.0), place=jitter(1.0))
        arena.spawn("rock", Body(solid=False), Disc(0.3), own, health, count=3)

    world = world_of(add)
    rocks, middle = role_of(world, "rock"), world.arena.numbers[0].value
    assert (rocks[Health].points == (1.0, 2.0, 3.0)).all()
    assert len(np.unique(rocks[Health].place)) == N * 3 * 2
    assert (rocks.x == middle[:, None] + np.arange(3.0)).all()
    assert (rocks.y == middle[:, None]).all()
    assert len(np.unique(middle)) == N


def test_a_system_that_queries_a_component_gets_all_members_at_once() -> None:
    def hurt(health: Health) -> None:
        health.points -= 0.5

    def add(arena: Arena) -> None:
        arena.spawn("rock", Body(), Disc(0.3), Start(x=(1.0, 3.0)), Health(), count=2)
        arena.system(hurt)

    world = world_of(add)
    world.tick()
    assert (role_of(world, "rock")[Health].points == 1.5).all()


# --- bodies -----------------------------------------------------------------------------------------------------------


def test_members_push_each_other_unless_they_pass_through_their_like() -> None:
    def add(arena: Arena, *, through: bool) -> None:
        balls = arena.spawn("ball", Body(), Disc(0.5), Start(x=(-2.0, 2.0), vx=(2.0, -2.0)), count=2)
        if through:
            arena.through(balls)

    for through in (True, False):
        world = world_of(lambda arena, through=through: add(arena, through=through))
        for _ in range(100):
            world.tick()
        x = role_of(world, "ball").x
        assert (x[:, 0] > 1.0).all() == through
        assert (x[:, 1] > 0.45).all() == (not through)
        world.close()


def test_what_is_not_solid_falls_and_is_pushed_as_a_solid_body_is() -> None:
    def add(arena: Arena) -> None:
        for name, solid in (("solid", True), ("ghost", False)):
            start = Start(x=(1.0, 3.0), y=5.0, vx=(1.0, -1.0), spin=2.0)
            role = arena.spawn(name, Body(mass=2.0, solid=solid), Box(0.4, 0.2), start, count=2)

            @arena.system(before="simulate", writes=(Force_,), name=f"push_{name}")
            def push(role: Any = role) -> None:
                role.force.force[..., 0] += 3.0
                role.force.torque[...] += 0.1

    from ecs_rl.components import Force as Force_

    world = world_of(add, gravity=(0.0, -9.81), substeps=2)
    one, other = role_of(world, "solid"), role_of(world, "ghost")
    for _ in range(40):
        world.tick()
        assert np.allclose(one.position, other.position, atol=1e-12)
        assert np.allclose(one.velocity, other.velocity, atol=1e-12)
        assert np.allclose(one.angle, other.angle, atol=1e-12)
    assert (one.y < 4.0).all()


def test_a_scripted_body_pushes_and_is_not_pushed_and_what_never_moves_stays() -> None:
    def add(arena: Arena) -> None:
        arena.spawn("paddle", Body(moves="scripted"), Box(0.2, 2.0), Start(x=-3.0, vx=2.0))
        arena.spawn("block", Body(moves="never"), Box(1.0, 1.0), Start(x=3.0))
        arena.spawn("ball", Body(mass=0.1, elasticity=0.0), Disc(0.2), Start(x=-2.0))

    world = world_of(add, gravity=(0.0, 0.0))
    for _ in range(200):
        world.tick()
    paddle, block, ball = (role_of(world, name) for name in ("paddle", "block", "ball"))
    assert (paddle.vx == 2.0).all()
    assert (block.position == (3.0, 0.0)).all()
    assert (ball.x > 2.0).all()  # pushed against the block, and held between the two


def test_joined_kinds_are_joined_member_by_member() -> None:
    def add(arena: Arena) -> None:
        hubs = arena.spawn("hub", Body(), Disc(0.2), Start(x=(-2.0, 2.0), y=jitter(1.0)), count=2)
        arms = arena.spawn("arm", Body(mass=0.2), Rod(1.0), Start(angle=0.5, spin=1.0), count=2)
        arena.join(Pivot(hubs, arms, hinge=(0.0, 0.5)))

    world = world_of(add, gravity=(0.0, -9.81))
    hubs, arms = role_of(world, "hub"), role_of(world, "arm")
    for _ in range(50):
        assert np.allclose(arms.point((0.0, 0.5)), hubs.position, atol=0.02)
        world.tick()
    assert (np.abs(arms.angle - 0.5) > 1e-3).any()


# --- coming and going -------------------------------------------------------------------------------------------------


def shooting(arena: Arena, *, solid: bool = True) -> None:
    shots = arena.spawn("shot", Body(solid=solid), Disc(0.2), Start(vx=4.0), Health(), count=3, here=False)
    wall = arena.spawn("wall", Body(moves="never"), Box(0.5, 9.0), Start(x=2.0))
    hits = Touching(shots, wall)

    @arena.system(writes=(Pose, Health))
    def shoot() -> None:
        """Send a shot at ticks 0, 10 and 20; one that hits leaves."""
        shots[Health].points -= 1.0
        tick = arena.placing.clock.tick
        shots.leave(hits())
        shots.place((tick[:, None] == np.arange(0, 30, 10)) & ~shots.here, y=(0.0, 1.0, 2.0))


@pytest.mark.parametrize("solid", [True, False])
def test_a_shot_is_not_there_flies_hits_and_is_gone(solid: bool) -> None:
    world = world_of(lambda arena: shooting(arena, solid=solid))
    shots, history = role_of(world, "shot"), []
    for _ in range(45):
        world.tick()
        history.append(shots.here[0].copy())
        assert (shots.velocity[~shots.here] == 0.0).all()
        if len(history) == 12:
            assert (shots[Health].points[0] == (2.0 - 11.0, 2.0 - 1.0, 2.0 - 12.0)).all()  # anew where it was placed
    there = np.array(history)
    assert there[5].tolist() == [True, False, False]
    assert there[15].tolist() == [True, True, False]
    assert not there[-1].any()
    assert (shots.x < 2.3).all()
    assert (shots.x > 1.2).all()


def test_what_is_placed_keeps_the_components_that_it_is_told_to_keep() -> None:
    def add(arena: Arena) -> None:
        rocks = arena.spawn("rock", Body(), Disc(0.1), Start(x=jitter(1.0)), Health(points=jitter(3.0)), Age(), count=3)

        @arena.system(writes=(Pose, Age))
        def move() -> None:
            rocks[Age].ticks += 1.0
            rocks.place(rocks[Age].ticks == 5.0, keep=(Health,), x=4.0)

    world = world_of(add)
    rocks = role_of(world, "rock")
    points = rocks[Health].points.copy()
    for _ in range(4):
        world.tick()
    assert (rocks[Age].ticks == 4.0).all()
    world.tick()
    assert (rocks.x == 4.0).all()
    assert (rocks[Age].ticks == 0.0).all(), "what is not kept starts anew"
    assert (rocks[Health].points == points).all()


def test_a_kept_component_shifts_no_draw_of_the_others() -> None:
    def world_with(keep: tuple[type, ...]) -> World:
        def add(arena: Arena) -> None:
            rocks = arena.spawn("rock", Body(), Disc(0.1), Health(points=jitter(3.0)), Age(ticks=jitter(1.0)), count=3)
            arena.system(lambda: rocks.place(EVERYONE, keep=keep), writes=(Pose, Health, Age), name="move")

        return world_of(add)

    kept, anew = world_with((Health,)), world_with(())
    for world in (kept, anew):
        world.tick()
    ages = [role_of(world, "rock")[Age].ticks for world in (kept, anew)]
    points = [role_of(world, "rock")[Health].points for world in (kept, anew)]
    assert (ages[0] == ages[1]).all()
    assert (points[0] != points[1]).all()


def test_a_point_of_a_body_moves_with_its_velocity_and_its_spin() -> None:
    def add(arena: Arena) -> None:
        arena.spawn(
            "rock", Body(), Disc(0.5), Start(angle=jitter(3.0), vx=2.0, vy=-1.0, spin=(1.0, -4.0, 0.0)), count=3
        )

    world = world_of(add, dt=1e-4)
    rocks, at = role_of(world, "rock"), (0.3, -0.4)
    before, said = rocks.point(at), rocks.velocity_at(at)
    world.tick()
    np.testing.assert_allclose((rocks.point(at) - before) / 1e-4, said, atol=1e-3)
    assert said.shape == (N, 3, 2)


def test_what_has_left_touches_nothing_and_falls_nowhere_and_can_come_back() -> None:
    def add(arena: Arena) -> None:
        step = arena.spawn("step", Body(mass=5.0), Box(2.0, 0.4), Start(y=0.2), here=True)
        arena.spawn("ball", Body(), Disc(0.3), Start(y=1.0))
        arena.wall((-5.0, 0.0), (5.0, 0.0))

        @arena.system(writes=(Here,))
        def come_and_go() -> None:
            tick = arena.placing.clock.tick
            step.leave(tick == 30)
            step.place(tick == 100, x=0.0, y=3.0)

    world = world_of(add, gravity=(0.0, -9.81), max_ticks=400)
    step, ball = role_of(world, "step"), role_of(world, "ball")
    for _ in range(30):
        world.tick()
    assert np.allclose(ball.y, 0.7, atol=0.03)  # it lies on the step
    world.tick()
    left = step.position.copy()
    for _ in range(60):
        world.tick()
    assert np.allclose(ball.y, 0.32, atol=0.06)  # it fell through where the step had been
    assert (step.position == left).all()
    assert not step.here.any()
    for _ in range(100):
        world.tick()
    assert (step.y > 0.5).all()  # it lies on the ball
    assert step.here.all()


def test_what_comes_and_goes_has_left_where_it_gets_too_far() -> None:
    add = lambda arena: arena.spawn("shot", Body(solid=False), Disc(0.1), Start(vx=(50.0, 0.0)), count=2)  # noqa: E731
    world = world_of(add, extent=30.0, max_ticks=200)
    for _ in range(40):
        world.tick()
    assert (role_of(world, "shot").here == (False, True)).all()
    assert not world.one(Explosion).count


def test_where_something_is_placed_is_drawn_anew_by_arena_tick_and_member_and_the_same_in_every_world() -> None:
    def add(arena: Arena) -> None:
        coins = arena.spawn(
            "coin", Body(solid=False, moves="never"), Disc(0.1), Start(x=between(0.0, 9.0), y=jitter(4.0)), count=4
        )

        @arena.system(writes=(Pose,))
        def scatter() -> None:
            coins.place(np.ones((len(coins.x), 4), bool))

    places = []
    for debug in (True, False):
        world = world_of(add, debug=debug)
        told = []
        for _ in range(3):
            world.tick()
            told.append(role_of(world, "coin").position.copy())
        places.append(np.array(told))
        world.close()
    assert (places[0] == places[1]).all()
    assert len(np.unique(places[0])) == places[0].size
    assert places[0][..., 0].min() > 0.0
    assert 8.0 < places[0][..., 0].max() < 9.0


def test_dice_are_thrown_anew_in_every_tick_and_are_alike_for_systems_rules_and_sensors_of_a_tick() -> None:
    seen: list[Any] = []

    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.1))
        luck, each = (
            arena.dice(),
            arena.dice(between(5.0, 6.0), of=arena.spawn("c", Body(solid=False), Disc(1), count=3)),
        )

        @arena.system(reads=(luck, each), writes=())
        def look() -> None:
            seen.append((luck().copy(), each().copy()))

        sees = [Feel("luck", luck), Feel("of the kind", lambda: each()[:, 2])]
        arena.agent(sees=sees, does=Levers(a=Push(disc)), earns={"luck": luck})

    world = make_world(scene_of(build), arenas=N, policies=always(np.zeros((N, 1), np.float32)), debug=True)
    from ecs_rl.components import NextObservation, Reward

    for _ in range(4):
        world.tick()
        luck, each = seen[-1]
        assert each.shape == (N, 3)
        entity = world.batches[0].entity
        assert np.allclose(world.of(entity, NextObservation).value, np.stack((luck, each[:, 2]), axis=1))
        assert np.allclose(world.of(entity, Reward).value, luck)
    lucks = np.array([luck for luck, _ in seen])
    assert len(np.unique(lucks)) == lucks.size
    assert lucks.min() >= 0.0
    assert lucks.max() < 1.0
    assert all(((each >= 5.0) & (each < 6.0)).all() for _, each in seen)


def test_what_is_drawn_in_a_tick_follows_from_that_tick_also_after_a_return_to_another() -> None:
    def add(arena: Arena) -> Any:
        coins = arena.spawn("coin", Body(solid=False), Disc(0.2), Start(x=jitter(5.0)), count=3)
        luck, twice = arena.dice(of=coins), arena.dice()

        @arena.system(writes=(Pose,))
        def scatter() -> None:
            coins.place(luck() < 0.5, y=jitter(2.0))
            coins.place(twice() < 0.3)

        return coins

    def places(world: World) -> Any:
        world.tick()
        return role_of(world, "coin").position.copy()

    world = world_of(add)
    world.tick()
    first, seen = world.save_columns(), [places(world) for _ in range(4)]
    world.load_columns(first)
    assert all((places(world) == before).all() for before in seen)
    assert len(np.unique(seen)) > 4 * N, "each tick draws anew"


def test_a_kick_off_starts_some_roles_anew_joined_ones_together_and_the_episode_goes_on() -> None:
    def add(arena: Arena) -> None:
        hub = arena.spawn("hub", Body(), Disc(0.2), Start(x=jitter(3.0), vx=1.0), Health(points=4.0))
        arm = arena.spawn("arm", Body(mass=0.2), Rod(1.0), Start(angle=jitter(0.5)))
        arena.join(Pivot(hub, arm, hinge=(0.0, 0.5)))
        coins = arena.spawn(
            "coin", Body(solid=False), Disc(0.1), Start(x=(1.0, 2.0), vy=1.0), count=2, here=(True, False)
        )
        goal = arena.number("goal")

        @arena.system(writes=(Pose, Health, goal))
        def play() -> None:
            hub[Health].points -= 1.0
            goal.value += 1.0
            arena.restart(goal.value == 10, hub, arm, coins)

    world = world_of(add)
    hub, arm, coins = (role_of(world, name) for name in ("hub", "arm", "coin"))
    first = hub.x.copy()
    for _ in range(9):
        world.tick()
    before = hub.x.copy()
    world.tick()
    assert (np.abs(hub.x - before) > 0.01).all()
    assert (hub.x != first).all()
    assert np.allclose(arm.point((0.0, 0.5)), hub.position)
    assert (hub[Health].points == 4.0).all()
    assert (coins.y == 0.0).all()
    assert (coins.here == (True, False)).all()
    assert not len(world.one(Finished).arena)
    world.tick()
    assert np.allclose(arm.point((0.0, 0.5)), hub.position, atol=0.02)  # the Spaces know of it


# --- refusals ---------------------------------------------------------------------------------------------------------


def placed_by(place: Callable[[Any, Any], Any], *, writes: Any = (Pose, Motion)) -> Callable[[Arena], None]:
    def add(arena: Arena) -> None:
        rocks = arena.spawn("rock", Body(solid=False), Disc(0.3), Start(y=jitter(1.0)), Health(), count=3)
        arena.system(lambda: place(arena, rocks), writes=writes, name="put")

    return add


EVERYONE = np.ones((N, 3), bool)
REFUSED: list[tuple[Callable[[Arena], Any], str]] = [
    (lambda arena: arena.spawn("a", Disc(1.0), count=0), "the count of 'a' must be a whole number of at least 1"),
    (lambda arena: arena.spawn("a", Disc(1.0), count=100_000), "'a' may have at most 10,000 members, not 100,000"),
    (lambda arena: arena.spawn("a", Disc(1.0), Start(x=(1.0, 2.0)), count=3), "has 3 members, and its start's x is 2"),
    (lambda arena: arena.spawn("a", Disc(1.0), Start(x=(1.0, 2.0))), "'a' is one, and its start's x is 2 numbers"),
    (
        lambda arena: arena.spawn("a", Disc(1.0), Health(points=(1.0, 2.0)), count=3),
        "for each of the 3 members, not as 2",
    ),
    (lambda arena: arena.spawn("a", Disc(1.0), here=(True, False)), "'a' is here, True or False"),
    (lambda arena: arena.spawn("a", Body(moves="never"), Disc(1.0), Start(vx=1.0)), "'a' never moves"),
    (lambda arena: arena.spawn("a", Body(moves="sometimes"), Disc(1.0)), "a body cannot move 'sometimes'"),
    (lambda arena: arena.join(Pivot(arena.ground, arena.spawn("a", Body(solid=False), Disc(1.0)))), "not solid"),
    (lambda arena: arena.join(Pivot(arena.ground, arena.spawn("a", Disc(1.0), here=False))), "comes and goes"),
    (
        lambda arena: arena.join(Pivot(arena.ground, arena.spawn("a", Disc(1.0), count=2, here=(True, False)))),
        "comes and goes",
    ),
    (
        lambda arena: arena.join(Pivot(arena.spawn("a", Disc(1.0), count=2), arena.spawn("b", Disc(1.0), count=3))),
        "'a' has 2 members, 'b' 3",
    ),
    (lambda arena: arena.through(arena.ground), "nothing passes through the ground"),
    (
        lambda arena: arena.spawn("a", Disc(1.0), Start(x=lambda: np.zeros(7))),
        "start of 'a' must give one number per arena",
    ),
    (placed_by(lambda arena, rocks: rocks.place(EVERYONE)), "a system that writes Health"),
    (placed_by(lambda arena, rocks: rocks.leave(EVERYONE), writes=()), "a system that writes Pose"),
    (
        placed_by(lambda arena, rocks: rocks.place(EVERYONE[:, :2]), writes=(Pose, Health)),
        r"where \(arenas, 3\) truths say",
    ),
    (placed_by(lambda arena, rocks: rocks.leave(rocks.x)), "truths say"),
    (placed_by(lambda arena, rocks: rocks.place(EVERYONE, keep=Health)), r"keep=\.\.\.\) takes components in a tuple"),
    (placed_by(lambda arena, rocks: rocks.place(EVERYONE, keep=(Pose,))), "'rock' has no component Pose to keep"),
    (placed_by(lambda arena, rocks: rocks.place(EVERYONE, z=1.0), writes=(Pose, Health)), "has no 'z' to be placed by"),
    (
        placed_by(lambda arena, rocks: rocks.place(EVERYONE, x=np.zeros(9)), writes=(Pose, Health)),
        "cannot be placed at x=",
    ),
    (
        placed_by(lambda arena, rocks: rocks.place(EVERYONE, x=(1.0, 2.0)), writes=(Pose, Health)),
        "cannot be placed at x=",
    ),
    (placed_by(lambda arena, rocks: rocks.place(EVERYONE, x=np.nan), writes=(Pose, Health)), "nan in arena 0"),
    (placed_by(lambda arena, rocks: arena.roles[0].leave(EVERYONE[:, 0])), "'ship' is always here"),
    (
        placed_by(lambda arena, rocks: arena.restart(EVERYONE, rocks), writes=(Pose, Health)),
        r"started anew where \(arenas,\) truths",
    ),
    (placed_by(lambda arena, rocks: arena.roles[0].here), "'ship' is always here: spawn it with here=True"),
]


@pytest.mark.parametrize(("add", "message"), REFUSED)
def test_what_makes_no_sense_of_a_kind_is_refused_in_words(add: Callable[[Arena], Any], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        world_of(add, debug=False).tick()


def test_a_kind_is_copied_to_another_world_member_by_member() -> None:
    one, other = (random_world(field_of(shooting), 3, seed) for seed in (1, 2))
    for _ in range(25):
        one.tick()
    other.copy_arena(one, 2, 0)
    other.rebuild()
    mine, theirs = role_of(other, "shot"), role_of(one, "shot")
    assert theirs.here[2].any()
    assert (mine.here[0] == theirs.here[2]).all()
    assert (mine.position[0] == theirs.position[2]).all()
    assert (mine[Health].points[0] == theirs[Health].points[2]).all()

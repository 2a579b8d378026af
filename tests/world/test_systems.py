"""A scene's own systems: where they stand, what they may do, and that they run alike in every way to run a tick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from world_helpers import always, random_world, role_of, scene_of, states

from ecs_rl.components import ActionLog, Amount, Force, Motion, Pose, Reward, Snapshots, Touch, UserInput
from ecs_rl.ecs.entries import ScheduleError
from ecs_rl.errors import RuleError, SceneError
from ecs_rl.scene import Arena, Body, Disc, Feel, Levers, Number, Push, Role, Scene, Start, X, below, column, component
from ecs_rl.schedule import ON_STAGE, PLAYING, SCHEDULE, chosen
from ecs_rl.world import World
from ecs_rl.worlds import make_world


@component
class Fuel:
    left: float = 1.0
    burnt: int = 0


@component
class Wind:
    force: float = (0.5, 0.0)  # type: ignore[assignment]  # two numbers in every arena


def burn(fuel: Fuel) -> None:
    """Fuel runs out."""
    fuel.left -= 0.1
    fuel.burnt += 1


Add = Callable[[Arena, Role, Push, Number], object]


def with_system(add: Add, **more: Any) -> Scene:
    """Return a scene of a disc with fuel, to which something is added before its agent."""

    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.3), Start(x=0.5), Fuel())
        push, got = Push(disc, 1.0), arena.number("got")
        add(arena, disc, push, got)
        arena.agent(
            sees=[X(disc), Feel("fuel", lambda: disc[Fuel].left)],
            does=Levers(push=push),
            earns={"x": lambda: disc.x},
            ends={"dry": below(lambda: disc[Fuel].left, 0.05)},
        )

    return scene_of(build, **{"gravity": (0.0, 0.0), **more})


def world_with(add: Add, arenas: int = 3, **more: Any) -> World:
    return make_world(with_system(add), arenas=arenas, policies=always(np.ones((arenas, 1), np.float32)), **more)


def order(world: World) -> list[str]:
    return list(world.stages)


# --- what they do -----------------------------------------------------------------------------------------------------


def test_a_function_of_components_runs_for_every_role_that_has_them() -> None:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        arena.spawn("other", Body(), Disc(0.3), Start(y=5.0), Fuel(left=3.0))
        arena.spawn("empty", Body(), Disc(0.3), Start(y=9.0))
        arena.system(burn)

    world = world_with(add)
    for _ in range(4):
        world.tick()
    assert world.of("disc", Fuel).left.tolist() == pytest.approx([0.6] * 3)  # type: ignore[attr-defined]
    assert world.of("other", Fuel).left.tolist() == pytest.approx([2.6] * 3)  # type: ignore[attr-defined]
    assert world.of("other", Fuel).burnt.tolist() == [4] * 3  # type: ignore[attr-defined]


def test_a_function_of_a_role_s_and_of_the_arena_s_components_gets_both() -> None:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        arena.add(Wind())

        @arena.system(after="actuate")
        def blow(wind: Wind, force: Force) -> None:
            force.force += wind.force

    world = world_with(add)
    world.tick()
    assert role_of(world, "disc").vx.tolist() == pytest.approx([1.5 * world.scene.dt] * 3)


def test_a_closure_reads_what_agents_do_and_writes_its_own_numbers() -> None:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        @arena.system(reads=(Amount, Pose), writes=(got, Fuel))
        def use() -> None:
            got.value += push.amount * 2.0
            disc[Fuel].left = disc[Fuel].left - 0.25 * push.amount  # type: ignore[assignment]

    world = world_with(add, debug=True)
    for _ in range(3):
        world.tick()
    (got,) = world.arena.numbers
    assert got.value.tolist() == [6.0] * 3
    assert world.of("disc", Fuel).left.tolist() == pytest.approx([0.25] * 3)  # type: ignore[attr-defined]


def test_what_a_system_moves_is_moved_in_the_physics_too() -> None:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        @arena.system(writes=(Pose, Motion))
        def wrap() -> None:
            over = disc.x > 0.55
            disc.x[over] -= 1.0
            disc.velocity[over] = 0.0

    world = world_with(add)
    seen = states(world, 60)[:, 0, 0, 0]
    jumps = np.flatnonzero(np.diff(seen) < -0.5)
    assert len(jumps) >= 1
    at = int(jumps[0]) + 1
    assert seen[at] == pytest.approx(seen[at - 1] - 1.0, abs=0.02)
    assert seen[at + 1] == seen[at], "it goes on from there, at rest: the physics moves bodies before it pushes them"
    assert 0.0 < seen[at + 2] - seen[at] < 0.001


def test_everything_a_component_holds_starts_anew_with_each_episode() -> None:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        arena.system(burn)

        @arena.system(writes=(got,))
        def count() -> None:
            got.value += 1

    world = world_with(add)
    lengths = []
    for _ in range(25):
        world.tick()
        fuel = world.of("disc", Fuel)
        assert (world.arena.numbers[0].value == fuel.burnt).all()
        lengths.append(int(fuel.burnt[0]))  # type: ignore[index]
    assert lengths[:11] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1], "the tenth tick leaves nothing and ends the episode"


# --- where they stand -------------------------------------------------------------------------------------------------


def test_a_system_stands_between_guard_and_sense_unless_told_otherwise() -> None:
    def nothing() -> None:
        """Do nothing."""

    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        arena.system(nothing, name="first")
        arena.system(nothing, name="second")
        arena.system(nothing, name="early", before="actuate")
        arena.system(nothing, name="late", after="judge")
        arena.system(nothing, name="later", after="judge")
        arena.system(nothing, name="between", after="first")

    assert order(world_with(add)) == [
        *("decide", "early", "actuate", "simulate", "guard", "first", "between", "second", "sense"),
        *("judge", "late", "later", "respawn"),
    ]


def test_a_place_next_to_a_stage_that_only_training_has_is_kept_in_every_world() -> None:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        arena.system(lambda: None, name="recorded", after="record")
        arena.system(lambda: None, name="last", before="learn")

    assert order(world_with(add))[-4:] == ["judge", "recorded", "respawn", "last"]


def test_an_unknown_stage_is_refused_by_its_nearest_name() -> None:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        arena.system(lambda: None, name="mine", after="simulat")

    with pytest.raises(SceneError, match=r"'mine' stands next to 'simulat', .*did you mean 'simulate'"):
        world_with(add)


def test_an_unknown_stage_of_a_world_is_refused() -> None:
    with pytest.raises(ScheduleError, match="no stage 'judgee': did you mean 'judge'"):
        random_world("balance", 2, stages=(*PLAYING, "judgee"))
    assert len(chosen([entry.name for entry in SCHEDULE])) == len(SCHEDULE)


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda arena: arena.system(3), "a system is a function"),
        (lambda arena: arena.system(lambda: None), "says name="),
        (lambda arena: arena.system(burn, after="judge", before="sense"), "only one of the two"),
        (lambda arena: arena.system(burn, writes=Fuel), r"must be a tuple of components, as in `writes=\(Gun,\)`"),
        (lambda arena: arena.system(burn, writes=(3,)), "writes components such as Pose or one of the scene's own"),
        (lambda arena: arena.system(burn, writes=(Reward,)), "'burn' writes Reward, which only the engine writes"),
        (lambda arena: arena.system(burn, reads=(Reward,)), "reads Reward before this tick's is there"),
        (
            lambda arena: arena.system(burn, after="learn"),
            "stands after 'learn', when the game's part of the tick is ov",
        ),
        (lambda arena: arena.system(burn, before="write"), "before 'write', .*place it after 'respawn' at the latest"),
        (lambda arena: arena.system(burn, writes=(Force,)), "before 'sense' and writes Force, .*it after 'actuate'"),
        (
            lambda arena: arena.system(burn, writes=(Force,), before="actuate"),
            "writes Force, which nobody reads before",
        ),
        (lambda arena: arena.system(lambda fuel: None, name="odd"), "must say of which component its 'fuel' is"),
        (lambda arena: (arena.system(burn), arena.system(burn)), "there is a stage 'burn' already"),
        (lambda arena: arena.system(burn, name="sense"), "there is a stage 'sense' already"),
    ],
)
def test_a_system_that_cannot_be_is_refused_by_name(add: Callable[[Arena], None], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        world_with(lambda arena, *_: add(arena))


@pytest.mark.parametrize("stages", [PLAYING, ON_STAGE], ids=["played", "watched"])
@pytest.mark.parametrize("place", [{"before": "decide"}, {"after": "actuate"}, {"after": "respawn"}], ids=str)
def test_bodies_may_be_moved_anywhere_in_the_tick_watched_or_not(stages: tuple[str, ...], place: Any) -> None:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        def lift() -> None:
            disc.y += 1.0

        arena.system(lift, writes=(Pose,), **place)

    given: dict[str, Any] = {"resources": (UserInput(),)} if stages is ON_STAGE else {}
    world = world_with(add, stages=stages, **given)
    for _ in range(3):
        world.tick()
    assert role_of(world, "disc").y.tolist() == pytest.approx([3.0] * 3)


def test_a_system_of_components_that_no_role_has_is_refused() -> None:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        @arena.system
        def blow(wind: Wind) -> None:
            """Blow."""

    with pytest.raises(RuleError, match="no role has Wind all together: the system 'blow' would never run"):
        world_with(add)


# --- what they may not do ---------------------------------------------------------------------------------------------


def writes(what: Callable[[Role, Push, Number], None]) -> Add:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        arena.system(lambda: what(disc, push, got), name="mine", writes=(got,))

    return add


@pytest.mark.parametrize(
    "what",
    [
        lambda disc, push, got: disc[Fuel].left.fill(3.0),
        lambda disc, push, got: setattr(disc[Fuel], "left", 3.0),
        lambda disc, push, got: disc.x.__setitem__(0, 1.0),
        lambda disc, push, got: setattr(disc, "vx", 0.0),
        lambda disc, push, got: disc.pose.position.fill(0.0),
        lambda disc, push, got: disc.force.force.fill(1.0),
        lambda disc, push, got: disc.heading.fill(1.0),
        lambda disc, push, got: push.amount.fill(1.0),
    ],
)
def test_writing_what_was_not_declared_fails_where_it_happens(what: Callable[[Role, Push, Number], None]) -> None:
    with pytest.raises(ValueError, match="read-only"):
        world_with(writes(what)).tick()


def test_what_is_declared_is_open_only_while_the_system_runs() -> None:
    world = world_with(lambda arena, disc, push, got: arena.system(burn))
    world.tick()
    with pytest.raises(ValueError, match="read-only"):
        world.arena.roles[0][Fuel].left -= 1.0


def test_a_debug_run_finds_a_read_that_was_not_declared() -> None:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        @arena.system(reads=(Touch,), writes=(got,))
        def peek() -> None:
            got.value = disc.x

    world_with(add).tick()
    with pytest.raises(RuleError, match=r"the system 'peek' reads Pose without saying so in reads="):
        world_with(add, debug=True).tick()


def test_numbers_that_are_not_finite_are_told_with_system_component_arena_and_tick() -> None:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        @arena.system(writes=(Fuel,))
        def spoil() -> None:
            if disc[Fuel].burnt[1] == 2:  # type: ignore[index]
                disc[Fuel].left[1] = np.nan  # type: ignore[index]
            disc[Fuel].burnt += 1

    world = world_with(add)
    world.tick()
    world.tick()
    with pytest.raises(RuleError, match=r"the system 'spoil' made disc/Fuel/left nan in arena 1 at tick 3"):
        world.tick()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bad", [(np.nan,), (np.inf,), (-np.inf,), (np.inf, -np.inf)], ids=str)
@pytest.mark.parametrize("what", ["Fuel/left", "got/value", "Pose/position", "Motion/spin"])
def test_a_number_that_is_not_finite_is_found_wherever_it_is_without_a_warning(
    what: str, bad: tuple[float, ...]
) -> None:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        arena.spawn("other", Body(), Disc(0.3), Start(y=5.0))  # so that no role's numbers lie in one row

        @arena.system(writes=(Fuel, got, Pose, Motion))
        def spoil() -> None:
            columns: dict[str, Any] = {"Fuel/left": disc[Fuel].left, "got/value": got.value}
            columns |= {"Pose/position": disc.position, "Motion/spin": disc.spin}
            columns[what][-len(bad) :].T[...] = bad

    with pytest.raises(
        RuleError, match=f"the system 'spoil' made .*{what} -?(nan|inf) in arena {3 - len(bad)} at tick 1"
    ):
        world_with(add).tick()


@pytest.mark.filterwarnings("ignore:overflow")
def test_numbers_that_are_huge_and_finite_are_no_mistake() -> None:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        @arena.system(writes=(got,))
        def grow() -> None:
            got.value = 1.7e308

    world = world_with(add)
    world.tick()
    assert world.arena.numbers[0].value.tolist() == [1.7e308] * 3


# --- the same in every way to run a tick ------------------------------------------------------------------------------


def busy(arena: Arena, disc: Role, push: Push, got: Number) -> None:
    """Systems of both kinds, one of which moves bodies."""
    arena.system(burn)

    @arena.system(reads=(Amount,), writes=(got, Motion))
    def kick() -> None:
        got.value += push.amount
        disc.vx[got.value > 2.5] *= -1.0
        got.value[got.value > 2.5] = 0.0


def digest(world: World) -> dict[str, bytes]:
    return {each.key: each.array.tobytes() for each in world.lasting()}


def test_whole_ticks_slices_debug_runs_and_replays_lead_to_the_same_bits() -> None:
    def made(**more: Any) -> World:
        return random_world(with_system(busy), 6, seed=3, **more)

    whole, sliced, watched = made(), made(), made(debug=True)
    for _ in range(30):
        whole.tick()
        for _ in sliced.slices():
            pass
        watched.tick()
    assert digest(whole) == digest(sliced) == digest(watched)


def test_a_world_is_brought_back_by_its_actions_with_systems_and_all() -> None:
    scene = with_system(busy)
    running = random_world(scene, 6, seed=3, resources=(ActionLog(), Snapshots()))
    running.snapshot()
    for _ in range(17):
        running.tick()
    other = random_world(scene, 6, seed=9, resources=(ActionLog(), Snapshots()))
    taken = [np.stack(column) for column in zip(*running.one(ActionLog).actions, strict=True)]
    other.restore(running.one(Snapshots).columns, taken)
    assert digest(running) == digest(other)


def test_a_decorated_system_is_still_a_function() -> None:
    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        @arena.system(writes=(got,))
        def mine() -> None:
            got.value += 1

        assert callable(mine)

    world_with(add)


def test_a_component_s_own_columns_may_say_more_of_themselves() -> None:
    @component
    class Timer:
        until: float = column(2.0, unit="s")
        lap: int = column(0, dtype=np.int64, unit="ticks")

    def add(arena: Arena, disc: Role, push: Push, got: Number) -> None:
        arena.spawn("clock", Body(), Disc(0.1), Start(y=9.0), Timer(until=3.0, lap=1))

    world = world_with(add)
    assert world.of("clock", Timer).until.tolist() == [3.0] * 3  # type: ignore[attr-defined]

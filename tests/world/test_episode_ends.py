from __future__ import annotations

import numpy as np
import pytest
from world_helpers import SHIPPED, always, random_world, role_of, scene_of, sights

from ecs_rl.components import Clock, Done, EpisodeEnd, Finished, Motion, NextObservation, Observation, Reward
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import (
    Arena,
    Body,
    Choice,
    Disc,
    Feel,
    Lasting,
    Levers,
    Progress,
    Push,
    Start,
    X,
    above,
    beyond,
    jitter,
)
from ecs_rl.training_stages.tally import records_of
from ecs_rl.world import World
from ecs_rl.worlds import make_world


def runner(arena: Arena) -> None:
    """A disc that runs to the right at a speed of its own and is out beyond 1 m."""
    disc = arena.spawn("disc", Body(), Disc(0.1), Start(vx=jitter(1.0)))
    arena.agent(
        sees=[X(disc)], does=Levers(push=Push(disc, 30.0)), earns={"x": X(disc)}, ends={"out": beyond(X(disc), 1.0)}
    )


def running(arenas: int = 8, max_ticks: int = 30, push: float = 0.0) -> World:
    scene = scene_of(runner, gravity=(0.0, 0.0), max_ticks=max_ticks)
    return make_world(scene, arenas=arenas, policies=always(np.full((arenas, 1), push, np.float32)))


def test_terminal_observation_is_taken_before_respawn() -> None:
    world = running()
    before, after = sights(world)
    ending, seen = world.one(EpisodeEnd), 0
    for _ in range(120):
        expected = role_of(world, "disc").x + role_of(world, "disc").vx * world.scene.dt
        world.tick()
        assert after.value[:, 0] == pytest.approx(expected, abs=1e-5)
        assert (before.value[:, 0] == role_of(world, "disc").x.astype(np.float32)).all()
        for arena in world.one(Finished).rows.tolist():
            seen += 1
            assert before.value[arena, 0] == 0.0  # where every episode starts
            assert abs(after.value[arena, 0]) > 1.0 or ending.truncated[arena]
    assert seen > 10


@pytest.mark.parametrize("name", SHIPPED)
def test_an_arena_that_goes_on_sees_next_what_it_saw_last(name: str) -> None:
    world = random_world(name, 16)
    before, after = sights(world)
    for _ in range(60):
        world.tick()
        lives = ~world.one(EpisodeEnd).ended
        assert (before.value[lives] == after.value[lives]).all()


def test_what_a_remembering_rule_shows_does_not_depend_on_other_arenas() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.1), Start(vx=jitter(1.0)))
        long = Lasting(above(X(disc), -100.0), ticks=4)
        step = Progress(X(disc))
        arena.agent(
            sees=[X(disc), Feel("long", long), Feel("step", step)],
            does=Levers(push=Push(disc, 0.1)),
            earns={"step": step},
            ends={"out": beyond(X(disc), 0.2), "short": beyond(X(disc), 0.3)},
        )

    scene = scene_of(build, gravity=(0.0, 0.0))
    many = random_world(scene, 12)
    before, after = sights(many)
    mixed = 0
    for _ in range(60):
        many.tick()
        ended = many.one(EpisodeEnd).ended
        mixed += int(0 < ended.sum() < 12)
        assert (before.value[~ended] == after.value[~ended]).all()
    assert mixed > 10


def test_the_first_sight_of_an_episode_knows_nothing_of_the_last_one() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.1))
        push = Push(disc, 1.0)
        arena.agent(
            sees=[X(disc), Feel("push", lambda: push.amount)],
            does=Choice(right=push, coast=None),
            earns={"x": X(disc)},
            ends={"right": above(X(disc), 0.01)},
        )

    world = make_world(scene_of(build, gravity=(0.0, 0.0), max_ticks=9), arenas=2, policies=always(np.array([0, 1])))
    seen, ending, first = world.of(world.batches[0].entity, Observation), world.one(EpisodeEnd), 0
    for _ in range(30):
        world.tick()
        first += int(ending.ended[0])
        assert seen.value[0].tolist() == [0.0, 0.0] or not ending.ended[0]
    assert first > 2


@pytest.mark.parametrize(("push", "max_ticks"), [(0.0, 12), (1.0, 40)])
def test_no_episode_is_both_terminated_and_truncated(push: float, max_ticks: int) -> None:
    world = running(max_ticks=max_ticks, push=push)
    ending, seen = world.one(EpisodeEnd), np.zeros(2, int)
    rows = world.of(world.batches[0].entity, Done)
    for _ in range(100):
        world.tick()
        assert not (ending.terminated & ending.truncated).any()
        assert (ending.ended == (ending.terminated | ending.truncated)).all()
        assert (rows.terminated == ending.terminated).all()
        assert (rows.truncated == ending.truncated).all()
        seen += ending.terminated.sum(), ending.truncated.sum()
    assert (seen[0] > 10) if push else (seen[1] > 10)


def test_an_episode_that_ends_by_a_rule_in_its_last_tick_is_terminated() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.1), Start(vx=1.0))
        arena.agent(
            sees=[X(disc)],
            does=Levers(push=Push(disc, 1.0)),
            earns={"x": 1.0},
            ends={"out": above(X(disc), 0.19)},
        )

    # At 50 ticks a second it is at 0.2 m after ten ticks.
    scene = scene_of(build, gravity=(0.0, 0.0), max_ticks=10)
    world = make_world(scene, arenas=1, policies=always(np.zeros((1, 1), np.float32)))
    for _ in range(10):
        assert not world.one(EpisodeEnd).ended.any()
        world.tick()
    assert world.one(EpisodeEnd).terminated.all()
    assert not world.one(EpisodeEnd).truncated.any()


def test_truncation_comes_exactly_at_max_ticks() -> None:
    world = running(arenas=3, max_ticks=7)
    ending, clock = world.one(EpisodeEnd), world.one(Clock)
    world.of("disc", Motion).velocity[...] = 0.0
    world.engine_as(Physics).put(np.arange(3))
    for tick in range(1, 8):
        world.tick()
        assert ending.truncated.all() == (tick == 7)
        assert ending.truncated.any() == (tick == 7)
    assert clock.tick.tolist() == [0, 0, 0]
    assert clock.episode.tolist() == [1, 1, 1]
    finished = world.one(Finished)
    assert finished is not None
    assert finished.length.tolist() == [7, 7, 7]
    assert not finished.terminated.any()


@pytest.mark.parametrize("name", SHIPPED)
def test_named_terms_add_up_to_the_reward_and_to_the_extras_of_an_episode(name: str) -> None:
    """A slow loop works out every rule by itself, arena by arena, and adds up by hand."""
    world = random_world(name, 6)
    reward, finished = world.of(world.batches[0].entity, Reward), world.one(Finished)
    (plan,) = world.arena.agents
    sums: list[dict[str, float]] = [dict.fromkeys(plan.earns, 0.0) for _ in range(6)]
    told: dict[str, np.ndarray] = {}

    judged = world.stages["judge"]
    honest = judged.run

    def judge_and_ask_again() -> None:
        honest()
        for term, rule in plan.earns.items():
            told[term] = np.broadcast_to(np.asarray(rule(), dtype=np.float64), (6,)).copy()

    judged.run = judge_and_ask_again  # type: ignore[method-assign]
    lengths, done = [0] * 6, 0
    for _ in range(300):
        world.tick()
        records = records_of(world, finished)
        ended = finished.rows.tolist()
        assert len(records) == len(ended)
        for arena in range(6):
            lengths[arena] += 1
            for term in plan.earns:
                sums[arena][term] += float(told[term][arena])
            assert reward.value[arena] == pytest.approx(
                sum(column[arena] for column in told.values()), rel=1e-5, abs=1e-5
            )
            if arena in ended:
                done += 1
                record = records[ended.index(arena)]
                reasons = {name: value for name, value in record.extras.items() if name.startswith("end/")}
                terms = {name: value for name, value in record.extras.items() if name not in reasons}
                assert terms == pytest.approx(sums[arena])
                assert record.total_reward == pytest.approx(sum(sums[arena].values()))
                assert record.length == lengths[arena]
                assert bool(reasons) == (record.status == "Terminated")
                assert set(reasons) <= {f"end/{name}" for name in plan.ends}
                sums[arena], lengths[arena] = dict.fromkeys(plan.earns, 0.0), 0
    assert done > 2 or name == "swingup"


def test_the_reason_of_an_end_is_the_rule_that_was_true() -> None:
    world = random_world("balance", 32)
    fell, ran = 0, 0
    pole = role_of(world, "pole")
    judged, angles = world.stages["judge"], np.zeros(32)
    honest = judged.run

    def watch() -> None:
        angles[...] = pole.angle
        honest()

    judged.run = watch  # type: ignore[method-assign]
    for _ in range(120):
        world.tick()
        finished = world.one(Finished)
        if finished is not None:
            for arena, reasons in zip(finished.arena.tolist(), finished.reasons.T.tolist(), strict=True):
                assert reasons[0] == (abs(angles[arena]) > 0.2095)
                fell += reasons[0]
                ran += reasons[1]
    assert fell > 50


def test_progress_adds_up_to_the_whole_way() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.1), Start(x=jitter(0.5), vx=jitter(2.0)))
        arena.agent(sees=[X(disc)], does=Levers(push=Push(disc, 5.0)), earns={"way": Progress(X(disc))})

    world = random_world(scene_of(build, gravity=(0.0, 0.0), max_ticks=20), 5)
    after = world.of(world.batches[0].entity, NextObservation)
    for _ in range(3):
        began = role_of(world, "disc").x.copy()
        for _ in range(20):
            world.tick()
        finished = world.one(Finished)
        assert finished is not None
        assert finished.total == pytest.approx(after.value[:, 0] - began, abs=1e-5)


def test_lasting_counts_ticks_in_a_row_and_starts_anew_with_the_episode() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Body(), Disc(0.1))
        arena.agent(
            sees=[X(disc)],
            does=Levers(push=Push(disc, 5.0)),
            earns={"alive": 1.0},
            ends={"stood": Lasting(lambda: np.abs(disc.vx) < 0.01, ticks=5)},
        )

    push = np.zeros((2, 1), np.float32)
    world = make_world(scene_of(build, gravity=(0.0, 0.0)), arenas=2, policies=always(push))
    lengths: list[list[int]] = [[], []]
    for tick in range(30):
        push[1] = 1.0 if tick == 3 else -1.0 if tick == 4 else 0.0  # a jolt in arena 1, four ticks after its start
        world.tick()
        finished = world.one(Finished)
        if finished is not None:
            for arena, length in zip(finished.arena.tolist(), finished.length.tolist(), strict=True):
                lengths[arena].append(length)
    assert lengths[0] == [5] * 6
    assert lengths[1][0] == 9
    assert set(lengths[1][1:]) == {5}


def test_evaluation_seeds_name_their_episodes_whatever_arena_they_are_in() -> None:
    scene = load_scene("lander")
    one, other = (make_world(scene, arenas=3, seeds=seeds) for seeds in ((7, 8, 9), (9, 7, 8)))
    assert (one.engine_as(Physics).state[:, :, [0, 1, 2]] == other.engine_as(Physics).state[:, :, [1, 2, 0]]).all()

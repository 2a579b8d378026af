from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from world_helpers import SHIPPED, SMALL_PPO, random_world

from ecs_rl.components import Clock, Reward, Session
from ecs_rl.ecs.schedule import Entry, ScheduleError
from ecs_rl.ecs.schedule import check as check_order
from ecs_rl.processors.sense import Sense
from ecs_rl.scene.loader import load_scene
from ecs_rl.schedule import OUTSIDE, PLAYING, SCHEDULE, chosen
from ecs_rl.training.prepare import prepare
from ecs_rl.world import World

NAMES = [entry.name for entry in SCHEDULE]


def depend(first: Entry, second: Entry) -> bool:
    """Tell whether one stage writes what the other touches; the Session only gathers, so it orders nothing."""
    touched = [{*entry.reads, *entry.keeps, *entry.writes} for entry in (first, second)]
    return bool((set(first.writes) & touched[1] | set(second.writes) & touched[0]) - {Session})


NEIGHBOURS = [(a.name, b.name) for a, b in pairwise(SCHEDULE) if depend(a, b)]
FURTHER = [
    ("sense", "respawn"),
    ("simulate", "sense"),
    ("judge", "respawn"),
    ("guard", "judge"),
    ("record", "learn"),
    ("record", "respawn"),
]


def swapped(one: str, other: str) -> list[Entry]:
    order = list(SCHEDULE)
    i, j = NAMES.index(one), NAMES.index(other)
    order[i], order[j] = order[j], order[i]
    return order


def check(schedule: Sequence[Entry]) -> None:
    check_order(schedule, OUTSIDE)


def test_the_whole_schedule_reads_nothing_before_it_is_written() -> None:
    check(SCHEDULE)


def test_the_stages_of_play_alone_read_nothing_before_it_is_written() -> None:
    check(chosen(PLAYING))


@pytest.mark.parametrize(("one", "other"), NEIGHBOURS + FURTHER)
def test_swapping_two_stages_that_depend_on_each_other_is_refused(one: str, other: str) -> None:
    with pytest.raises(ScheduleError, match=r"reads|keeps|wants"):
        check(swapped(one, other))


def test_nearly_all_neighbours_depend_on_each_other() -> None:
    assert {("decide", "actuate"), ("judge", "record"), ("render", "respawn")} <= set(NEIGHBOURS)
    assert len(NEIGHBOURS) >= 8


@pytest.mark.parametrize("left_out", [name for name in PLAYING if name not in ("guard", "actuate")])
def test_play_without_one_of_its_stages_is_refused(left_out: str) -> None:
    with pytest.raises(ScheduleError):
        check([entry for entry in chosen(PLAYING) if entry.name != left_out] + list(chosen(["record"])))


def test_what_is_kept_from_the_last_tick_must_be_written_by_someone() -> None:
    with pytest.raises(ScheduleError, match="'decide' keeps Observation"):
        check(chosen([name for name in PLAYING if name != "respawn"]))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_stage_writes_only_what_it_says(name: str) -> None:
    training = prepare(
        load_scene(name), "ppo", SMALL_PPO, arenas=4, steps=160, eval_every=80, eval_episodes=1, debug=True
    )
    while not training.done:
        training.tick()
    assert training.evaluation.last is not None  # all stages had something to do
    assert training.world.ticks == 40
    training.close()


def test_a_stage_that_writes_in_secret_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Sense.run

    def run(self: Sense) -> None:
        honest(self)
        self.sights[0].world.one(Clock).tick[1] += 1

    monkeypatch.setattr(Sense, "run", run)
    with pytest.raises(ScheduleError, match="'sense' changes Clock"):
        random_world("balance", 2, debug=True).tick()


def test_a_stage_that_writes_to_a_role_in_secret_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sense, "run", lambda self: self.sights[0].world.physics.force.fill(1.0))
    with pytest.raises(ScheduleError, match="'sense' changes Force"):
        random_world("balance", 2, debug=True).tick()


def test_the_same_secret_is_not_seen_without_the_debug_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sense, "run", lambda self: self.sights[0].world.physics.force.fill(1.0))
    random_world("balance", 2).tick()


def test_two_worlds_in_turn_do_not_mix_their_components() -> None:
    alone = random_world("balance", 3, seed=1)
    first, second = random_world("balance", 3, seed=1), random_world("lander", 5, seed=2)
    for _ in range(20):
        alone.tick()
    for _ in range(20):
        first.tick()
        second.tick()
    assert (first.physics.state == alone.physics.state).all()
    assert len(second.one(Clock).tick) == 5


def test_a_closed_world_leaves_no_context_behind() -> None:
    import esper

    before = set(esper.list_worlds())
    world: World = random_world("balance", 2)
    assert world.of(world.batches[0].entity, Reward).value.shape == (2,)
    world.close()
    assert set(esper.list_worlds()) == before | {"default"}

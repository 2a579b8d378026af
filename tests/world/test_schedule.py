from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from racing_scene import RACING
from readme_scenes import beacons_with
from world_helpers import SHIPPED, SMALL_PPO, random_world

from ecs_rl.components import ActionLog, Clock, Reward, Snapshots, Terms
from ecs_rl.ecs.entries import Entry, ScheduleError
from ecs_rl.ecs.entries import check as check_order
from ecs_rl.ecs.system import SystemStage
from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.processors.sense import Sense
from ecs_rl.runs import TrainingRun
from ecs_rl.scene.forces import Jumped
from ecs_rl.schedule import OUTSIDE, PLAYING, SCHEDULE, chosen
from ecs_rl.training.prepare import prepare
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.training_stages.resources import Session
from ecs_rl.viewer.films import clips, studio
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
        load_scene(name),
        "ppo",
        SMALL_PPO,
        TrainingSettings(arenas=4, steps=160, eval_every=80, eval_episodes=1),
        debug=True,
    )
    while not training.done:
        training.tick()
    assert training.evaluation.last is not None  # all stages had something to do
    assert training.world.ticks == 40
    training.close()


def test_forces_and_lines_write_only_what_the_schedule_says(tmp_path: Path) -> None:
    path = tmp_path / "racing.py"
    path.write_text(RACING)
    training = prepare(
        load_scene(str(path)),
        "ppo",
        SMALL_PPO,
        TrainingSettings(arenas=16, steps=16 * 150, eval_every=1600, eval_episodes=1),
        debug=True,
    )
    jumped = training.world.of("@jump/0", Jumped)
    ever = jumped.used.copy()
    while not training.done:
        training.tick()
        ever |= jumped.used
    assert ever.all()
    assert training.evaluation.last is not None
    training.close()


def test_a_system_that_reads_lines_or_draws_says_so(tmp_path: Path) -> None:
    path = tmp_path / "racing.py"
    reads = {"line": "line.points", "earth": "earth.points", "bends": "bends.value"}
    for name, asked in reads.items():
        for declared, said in ((name, True), ("wind", False)):
            system = f"@arena.system(reads=({declared},), writes=(wind,))\n    def look() -> None:\n        {asked}"
            path.write_text(RACING.replace("    laps = line", f"    {system}\n\n    laps = line"))
            world = random_world(load_scene(str(path)), 2, debug=True)
            if said:
                world.tick()
                continue
            with pytest.raises(SceneError, match=r"reads (Course|Ground|Chance) without saying so"):
                world.tick()


def test_a_scene_with_systems_of_its_own_keeps_what_every_stage_of_training_declares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studio, "CLIP_SIZE", (64, 48))
    monkeypatch.setattr(clips, "LONGEST", 0.5)
    path = tmp_path / "beacons.py"
    path.write_text(beacons_with("@arena.system(writes=", "@arena.system(reads=(Amount, Pose), writes="))
    run = TrainingRun.create("beacons", "v1", tmp_path)
    training = prepare(
        load_scene(str(path)),
        *("ppo", SMALL_PPO),
        TrainingSettings(arenas=4, steps=800, eval_every=200, eval_episodes=2, checkpoint_every=250),
        filming=clips.Clips(500),
        run=run,
        debug=True,
    )
    while training.world.ticks < 200:
        training.tick()
    stages = training.world.stages
    assert [name for name in stages if name in ("drip", "fly")] == ["drip", "fly"]
    assert set(NAMES) - set(stages) == {"interact", "render"}
    assert all(stage.seconds > 0 for stage in stages.values())
    assert isinstance(fly := stages["fly"], SystemStage)
    assert {kind.__name__ for kind in fly.looked} == {"Amount", "Pose", "Tank", "beacon", "reached"}
    assert training.evaluation.last is not None
    training.close()
    assert len(list(run.path.glob("films/step_*.mp4"))) >= 3
    assert list(run.path.glob("checkpoints/step_*"))


def test_a_stage_that_writes_in_secret_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Sense.run

    def run(self: Sense) -> None:
        honest(self)
        self.sights[0].world.one(Clock).tick[1] += 1

    monkeypatch.setattr(Sense, "run", run)
    with pytest.raises(ScheduleError, match="'sense' changes Clock"):
        random_world("balance", 2, debug=True).tick()


def test_a_stage_that_reads_what_it_does_not_declare_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Sense.run

    def run(self: Sense) -> None:
        honest(self)
        assert self.sights[0].world.one(Terms).total.shape[-1] == 2

    monkeypatch.setattr(Sense, "run", run)
    with pytest.raises(ScheduleError, match="'sense' queries Terms without saying so"):
        random_world("balance", 2, debug=True).tick()


def test_a_stage_that_gathers_what_it_does_not_declare_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Sense.__init__

    def init(self: Sense, world: World) -> None:
        honest(self, world)
        world.one(Terms)

    monkeypatch.setattr(Sense, "__init__", init)
    with pytest.raises(ScheduleError, match="'sense' queries Terms without saying so"):
        random_world("balance", 2)


def test_a_stage_that_writes_to_a_role_in_secret_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sense, "run", lambda self: self.sights[0].world.engine_as(Physics).force.fill(1.0))
    with pytest.raises(ScheduleError, match="'sense' changes Force"):
        random_world("balance", 2, debug=True).tick()


def test_a_secret_in_the_last_bit_of_an_array_in_a_dict_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    world = random_world("balance", 400, debug=True, resources=(ActionLog(), Snapshots()))
    world.snapshot()
    (column,) = (array for key, array in world.one(Snapshots).columns.items() if key == "pole/Pose/angle")
    monkeypatch.setattr(Sense, "run", lambda self: column.put(200, np.nextafter(column[200], 9.0)))
    with pytest.raises(ScheduleError, match="'sense' changes Snapshots"):
        world.tick()


def test_the_same_secret_is_not_seen_without_the_debug_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sense, "run", lambda self: self.sights[0].world.engine_as(Physics).force.fill(1.0))
    random_world("balance", 2).tick()


def test_two_worlds_in_turn_do_not_mix_their_components() -> None:
    alone = random_world("balance", 3, seed=1)
    first, second = random_world("balance", 3, seed=1), random_world("lander", 5, seed=2)
    for _ in range(20):
        alone.tick()
    for _ in range(20):
        first.tick()
        second.tick()
    assert (first.engine_as(Physics).state == alone.engine_as(Physics).state).all()
    assert len(second.one(Clock).tick) == 5


def test_a_closed_world_leaves_no_context_behind() -> None:
    import esper

    before = set(esper.list_worlds())
    world: World = random_world("balance", 2)
    assert world.of(world.batches[0].entity, Reward).value.shape == (2,)
    world.close()
    assert set(esper.list_worlds()) == before | {"default"}

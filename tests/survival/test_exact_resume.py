"""A training that was stopped and resumed is the one that never stopped, to the last bit.

Ten stop points for every agent in every scene: `python -m pytest -m slow tests/survival/test_exact_resume.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exact_resume_cases import ARENAS, CASES, STEPS, TICKS, Case, Trained
from survival_runs import (
    Told,
    Transitions,
    assert_same_end,
    assert_same_logs,
    assert_same_transitions,
    rows,
    signal_at,
    train,
    transitions,
)

from ecs_rl.components import ActionLog, Explosion, Snapshots
from ecs_rl.loading import load_scene
from ecs_rl.runs import read_checkpoint
from ecs_rl.world import World
from ecs_rl.worlds import make_world

Whole = tuple[Trained, Told, Transitions]


FAST = 171
"""The tick at which a training of each algorithm, and of each way to train, stops by its steps in the fast tests."""
STOPPED_BY_STEPS = (
    *("ppo balance", "dqn balance", "sac swingup", "td3 swingup", "iql swingup", "iql from data", "ppo two policies"),
    *("ppo that remembers, two policies", "ppo self-play"),
)
"""Cases of that; several stops by signals, below, are those of every case that is not slow."""


def points(fast: Sequence[str] = ()) -> list[Any]:
    """Return all stop points of all cases; slow are nearly all, but for `FAST` of the cases that are named."""
    return [
        pytest.param(
            case,
            tick,
            id=f"{case.name} at {tick}",
            marks=() if case.everywhere or (tick == FAST and case.name in fast) else pytest.mark.slow,
        )
        for case in CASES
        for tick in TICKS
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], Whole]:
    """Train each case in one go, once."""

    @cache
    def trained(case: Case) -> Whole:
        found = Trained(case, tmp_path_factory.mktemp(case.name.replace(" ", "_")))
        with transitions() as seen:
            told = found.whole()
        return found, told, seen

    return trained


def latest(run: Path) -> tuple[int, dict[str, int]]:
    """Return the step of the newest checkpoint, and how many rows each of its rollouts holds."""
    manifest, tensors = read_checkpoint(run / "checkpoints" / "latest.safetensors")
    return manifest.step, {name: len(t) for name, t in tensors.items() if name.endswith("rollout/observation")}


@pytest.mark.parametrize(("case", "tick"), points())
def test_a_training_stopped_by_a_signal_goes_on_as_if_it_never_stopped(
    case: Case, tick: int, whole: Callable[[Case], Whole]
) -> None:
    trained, wanted, seen = whole(case)
    name = f"signal-{tick}"
    with signal_at(tick * ARENAS):
        stopped = train(*trained.args(name, "--steps", STEPS))
    assert (stopped.json["status"], stopped.json["steps"]) == ("interrupted", tick * ARENAS)
    assert stopped.sha != wanted.sha or tick > 288  # the last update is at tick 288
    with transitions() as after:
        resumed = train(*trained.again(stopped.run))
    assert resumed.run == stopped.run
    assert_same_transitions(after, [row for row in seen if row[0] >= tick * ARENAS])
    assert resumed.sha == wanted.sha
    assert_same_logs(resumed.run, wanted.run)
    assert_same_end(resumed.run, wanted.run)
    assert {resumed.json[key] == wanted.json[key] for key in ("steps", "episodes", "best_eval", "solved_step")} == {
        True
    }
    assert resumed.json["seconds"] > stopped.json["seconds"]


@pytest.mark.parametrize(("case", "tick"), points(STOPPED_BY_STEPS))
def test_a_training_stopped_by_steps_goes_on_as_if_it_never_stopped(
    case: Case, tick: int, whole: Callable[[Case], Whole]
) -> None:
    trained, wanted, seen = whole(case)
    stopped = train(*trained.args(f"steps-{tick}", "--steps", tick * ARENAS))
    assert (stopped.json["status"], stopped.json["steps"]) == ("finished", tick * ARENAS)
    with transitions() as after:
        resumed = train(*trained.again(stopped.run))
    assert_same_transitions(after, [row for row in seen if row[0] >= tick * ARENAS])
    assert resumed.sha == wanted.sha
    assert_same_logs(resumed.run, wanted.run)
    assert_same_end(resumed.run, wanted.run)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=pytest.mark.slow if case.slow else ()) for case in CASES],
)
def test_several_stops_in_a_row_change_nothing(case: Case, whole: Callable[[Case], Whole]) -> None:
    trained, wanted, seen = whole(case)
    command = trained.args("several", "--steps", STEPS)
    after: Transitions = []
    for tick in (30, 31, 66, 188, 189, 270):
        with signal_at(tick * ARENAS), transitions() as gathered:
            stopped = train(*command)
        assert stopped.json["steps"] == tick * ARENAS
        after += gathered
        command = trained.again(stopped.run)
    with transitions() as gathered:
        resumed = train(*command)
    assert_same_transitions(after + gathered, seen)
    assert resumed.sha == wanted.sha
    assert_same_logs(resumed.run, wanted.run)
    assert_same_end(resumed.run, wanted.run)


def test_the_stop_points_lie_where_they_should(whole: Callable[[Case], Whole]) -> None:
    trained, wanted, _ = whole(CASES[0])
    assert {row["total_steps"] for row in rows(wanted.run, "eval_episodes")} == {752, 1504, 2256, STEPS}
    with signal_at(171 * ARENAS):
        stopped = train(*trained.args("where", "--steps", STEPS))
    assert latest(stopped.run) == (171 * ARENAS, {"agent/rollout/observation": 171 % 16})
    _, tensors = read_checkpoint(stopped.run / "checkpoints" / "latest.safetensors")
    assert (
        tensors["world/now/@arena/Clock/tick"].min() != tensors["world/now/@arena/Clock/tick"].max()
    )  # in the middle of episodes
    assert len(tensors["world/actions/0"]) == 171 - 126 + 1  # and of the way from one checkpoint to the next
    wild, end, _ = whole(next(case for case in CASES if case.scene == "wild"))
    assert rows(end.run, "metrics")[-1]["env/explosions"] > 10
    assert len(rows(end.run, "train_episodes")) > 10
    assert wild.case.text


def test_another_number_of_threads_after_a_resume_changes_nothing(tmp_path: Path) -> None:
    args: tuple[object, ...] = (
        "balance",
        "--arenas",
        256,
        "--schedule-steps",
        "60k",
        "--eval-every",
        "20k",
        "--eval-episodes",
        2,
    )
    args += ("--checkpoint-every", "10k", "--ppo.rollout", 16, "--ppo.minibatch", 1024, "--runs", tmp_path)
    whole = train(*args, "--steps", "40k", "--threads", 1, "--name", "whole")
    with signal_at(17_000):
        stopped = train(*args, "--steps", "40k", "--threads", 1, "--name", "stopped")
    with signal_at(29_000):
        stopped = train("balance", "--resume", stopped.run, "--runs", tmp_path, "--threads", 2)
    resumed = train("balance", "--resume", stopped.run, "--runs", tmp_path, "--threads", 1)
    assert resumed.sha == whole.sha
    assert_same_logs(resumed.run, whole.run)
    assert_same_end(resumed.run, whole.run)


def test_resuming_alone_goes_on_to_the_steps_that_were_asked_for_last(tmp_path: Path) -> None:
    trained = Trained(CASES[0], tmp_path)
    first = train(*trained.args("again", "--steps", 400))
    with signal_at(800):
        longer = train(*trained.again(first.run))
    assert longer.json["status"] == "interrupted"
    alone = train(trained.scene, "--resume", first.run, "--runs", tmp_path)
    assert (alone.json["status"], alone.json["steps"]) == ("finished", STEPS)


def test_a_world_that_explodes_at_its_anchor_forgets_that_in_the_next_tick_as_ever(tmp_path: Path) -> None:
    trained = Trained(next(case for case in CASES if case.scene == "wild"), tmp_path)
    scene = load_scene(trained.scene)

    def anchored(seed: int) -> World:
        choose = {"policy": lambda seen, state: np.full(len(seen), 1, np.int64)}
        world = make_world(scene, arenas=8, seed=seed, policies=choose, resources=(ActionLog(), Snapshots()))
        world.snapshot()
        return world

    running, other = anchored(0), anchored(1)
    while not running.one(Explosion).any:
        running.tick()
    running.snapshot()
    other.restore(running.one(Snapshots).columns, [])
    for _ in range(30):
        assert running.save_columns().keys() == other.save_columns().keys()
        for name, column in running.save_columns().items():
            assert np.array_equal(column, other.save_columns()[name]), name
        running.tick()
        other.tick()
    running.close()
    other.close()

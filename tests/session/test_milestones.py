"""About twenty policies of a run are kept for good, the first one before anything is learned."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from pathlib import Path

import pytest
from two_armed import ArmValues, rows

from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.milestones import mark_after
from ecs_rl.runs import TrainingRun, read_checkpoint, read_manifest, section
from ecs_rl.runs.layout import milestones, policies
from ecs_rl.session import TrainingSession


def started(tmp_path: Path, steps: int = 10_000) -> TrainingSession:
    run = TrainingRun.create("bandit", runs_dir=tmp_path, scene="bandit", seed=7)
    return TrainingSession(ArmValues()).with_run(run).with_max_steps(steps)


def kept(session: TrainingSession) -> list[int]:
    assert session.run is not None
    return sorted(milestones(session.run.path))


@pytest.mark.parametrize("whole", [1, 7, 3_000, 200_000, 1_500_000, 2**40])
def test_the_marks_are_those_of_exact_arithmetic_and_the_last_one_is_the_whole(whole: int) -> None:
    obvious = sorted({0, *(ceil(whole / Fraction(3, 2) ** k) for k in range(-3, 19))})
    found, step = [], -1
    for _ in obvious:
        found.append(step := mark_after(step, whole))
    assert found == obvious
    assert whole in found


def test_a_training_keeps_about_twenty_from_its_first_step_to_its_last(tmp_path: Path) -> None:
    session = started(tmp_path, 100_000)
    for _ in range(100_000 // 50):
        session.observe(rows(50))
    found = kept(session)
    assert (found[0], found[-1], len(found)) == (0, 100_000, 20)
    marks = sorted({ceil(100_000 / Fraction(3, 2) ** k) for k in range(19)})
    assert found[1:] == [ceil(mark / 50) * 50 for mark in marks]


def test_the_first_is_what_nothing_was_learned_by_and_each_is_the_policy_alone(tmp_path: Path) -> None:
    session = started(tmp_path)
    session.observe(rows(7))
    assert session.run is not None
    paths = milestones(session.run.path)
    untrained, trained = (section(read_checkpoint(paths[step])[1], "policy") for step in (0, 7))
    assert untrained["values"].tolist() == [0.0, 0.0]
    assert trained["values"].tolist() == [0.0, 1.0]
    manifest, tensors = read_checkpoint(paths[7])
    assert (manifest.step, manifest.full, list(tensors)) == (7, False, ["policy/values"])


def test_they_outlive_every_checkpoint(tmp_path: Path) -> None:
    session = started(tmp_path).with_checkpoint_every(10).with_keep_checkpoints(1)
    for _ in range(100):
        session.observe(rows(10))
    found = kept(session)
    assert found == [0, 10, 20, 30, 40, 60, 80, 120, 180, 270, 400, 590, 880]
    assert session.run is not None
    assert sorted(policies(session.run.path)) == sorted({*found, 1000})


def test_going_on_writes_no_second_one_for_a_step(tmp_path: Path) -> None:
    session = started(tmp_path)
    session.observe(rows(60))
    session.close()
    before = kept(session)
    assert session.run is not None
    path = session.run.path
    seen = {step: each.stat().st_mtime_ns for step, each in milestones(path).items()}
    again = TrainingSession(ArmValues()).with_run(TrainingRun.resume(path)).with_max_steps(10_000)
    again.restore(session.state())
    again.observe(rows(5))
    assert kept(again) == before == [0, 60]
    again.observe(rows(25))
    assert kept(again) == [0, 60, 90]
    assert {step: each.stat().st_mtime_ns for step, each in milestones(path).items() if step in seen} == seen


def test_a_training_killed_after_a_milestone_writes_it_again_with_the_same_content(tmp_path: Path) -> None:
    session = started(tmp_path).with_checkpoint_every(50)
    session.observe(rows(50))
    saved = session.state()
    session.observe(rows(40))
    assert session.run is not None
    path = milestones(session.run.path)[90]
    content = path.read_bytes()
    session.run.close()  # as a kill does: nothing more is saved
    again = TrainingSession(session.agent).with_run(TrainingRun.resume(session.run.path)).with_max_steps(10_000)
    again.agent.load_state({"values": session.agent.state()["values"], "pulls": session.agent.state()["pulls"] - 40})
    again.restore(saved)
    assert read_manifest(path).step == 90
    again.observe(rows(40))
    assert kept(again) == [0, 50, 90]
    assert path.read_bytes() == content


def test_a_tick_that_was_left_keeps_its_milestone_when_it_is_finished(tmp_path: Path) -> None:
    session = started(tmp_path)
    session.observe(rows(50))
    session.record(rows(40))
    state = session.state()
    again = TrainingSession(ArmValues()).with_run(session.run or TrainingRun.create("x")).with_max_steps(10_000)
    again.restore(state, unfinished_steps=40)
    again.keep_milestone()
    assert kept(again) == [0, 50, 90]


def test_without_an_end_they_lie_as_in_a_training_of_a_million_steps(tmp_path: Path) -> None:
    run = TrainingRun.create("bandit", runs_dir=tmp_path)
    session = TrainingSession(ArmValues()).with_run(run)
    for _ in range(4):
        session.observe(rows(400))
    assert sorted(milestones(run.path)) == [0, 800, 1200, 1600]


def test_every_damaged_milestone_is_refused(tmp_path: Path) -> None:
    session = started(tmp_path)
    session.observe(rows(7))
    assert session.run is not None
    path = milestones(session.run.path)[0]
    whole = path.read_bytes()
    for at in range(0, len(whole), 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(CheckpointError, match="milestone_0"):
            read_checkpoint(path)
        path.write_bytes(whole[:at])
        with pytest.raises(CheckpointError, match="milestone_0"):
            read_checkpoint(path)


def test_no_other_name_is_taken_for_a_milestone(tmp_path: Path) -> None:
    session = started(tmp_path)
    session.observe(rows(7))
    assert session.run is not None
    for name in ("milestone_", "milestone_x", "milestone_-1", "milestone_1.old", "Milestone_2"):
        (session.run.path / "checkpoints" / f"{name}.safetensors").write_bytes(b"")
    assert kept(session) == [0, 7]
    with pytest.raises(CommandError, match="there is no checkpoint"):
        session.run.checkpoint_path("milestone_x")

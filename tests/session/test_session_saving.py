"""The session saves at milestones, keeps the best, and never loses a good checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from two_armed import ArmValues, rows

from ecs_rl.errors import DivergedError
from ecs_rl.runs import EvalSettings, TrainingRun, read_checkpoint, read_manifest, section
from ecs_rl.session import TrainingSession


def started(tmp_path: Path) -> tuple[TrainingSession, TrainingRun]:
    run = TrainingRun.create("bandit", runs_dir=tmp_path, scene="bandit", seed=7)
    return TrainingSession(ArmValues()).with_run(run), run


def steps_on_disk(run: TrainingRun) -> list[int]:
    found = (run.path / "checkpoints").glob("step_*.safetensors")
    return sorted(int(path.stem.removeprefix("step_")) for path in found)


def evaluate(session: TrainingSession, *returns: float) -> bool:
    for seed, value in enumerate(returns, start=10_000):
        session.on_eval_episode(value, 5, "Terminated", seed=seed)
    return session.maybe_save_best()


def test_a_checkpoint_fires_on_the_first_tick_at_or_past_each_multiple(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    session.with_checkpoint_every(100).with_keep_checkpoints(100)
    for _ in range(10):
        session.observe(rows(64))
    assert steps_on_disk(run) == [128, 256, 320, 448, 512, 640]


def test_a_tick_that_passes_several_multiples_saves_once(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    session.with_checkpoint_every(10).observe(rows(64))
    session.observe(rows(6))
    assert steps_on_disk(run) == [64, 70]


def test_a_save_by_hand_does_not_shift_the_milestones(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    session.with_checkpoint_every(100).observe(rows(50))
    session.save_checkpoint()
    session.observe(rows(50))
    assert steps_on_disk(run) == [50, 100]
    assert not session.is_due()


def test_only_the_newest_step_checkpoints_stay(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    session.with_checkpoint_every(1).with_keep_checkpoints(2)
    evaluate(session, 1.0)
    for _ in range(11):
        session.observe(rows(1))
    assert steps_on_disk(run) == [10, 11]
    assert read_manifest(run.checkpoint_path("latest")).step == 11
    assert read_manifest(run.checkpoint_path("best")).step == 0


def test_closing_saves_once_more_unless_nothing_happened_since(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    session.with_checkpoint_every(100).observe(rows(130))
    before = run.checkpoint_path(130).stat().st_mtime_ns
    session.close()
    assert run.checkpoint_path(130).stat().st_mtime_ns == before
    session, run = started(tmp_path)
    session.with_checkpoint_every(100).observe(rows(30))
    session.close()
    session.close()
    assert steps_on_disk(run) == [30]
    assert run.metadata.status == "interrupted"


def test_without_a_run_the_session_counts_and_judges_all_the_same() -> None:
    session = TrainingSession(ArmValues()).with_checkpoint_every(10)
    session.observe(rows(10))
    assert session.run is None
    assert evaluate(session, 1.0)
    assert not evaluate(session, 1.0)
    session.close()
    assert (session.total_steps, session.best_eval) == (10, 1.0)


def test_best_is_saved_for_a_better_score_and_for_the_same_one_at_a_later_step(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    results = []
    for score in (1.0, 1.0, 0.5, float("nan"), 1.5):
        session.observe(rows(10))
        results.append(evaluate(session, score))
    assert results == [True, True, False, False, True]
    assert (run.metadata.best_eval, run.metadata.best_step) == (1.5, 50)
    assert read_manifest(run.checkpoint_path("best")).best_eval == 1.5


def laps(session: TrainingSession, score: float, mean_return: float) -> bool:
    """Evaluate by a score that is not the return, ten steps after the evaluation before."""
    session.observe(rows(10))
    session.on_eval_episode(mean_return, 5, "Terminated", {"score/laps": score})
    return session.maybe_save_best()


def test_of_equal_scores_the_greater_return_is_the_best_and_then_the_later_step(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    session.with_score("laps")
    told = [laps(session, *each) for each in ((2, 5.0), (3, 1.0), (3, 0.5), (3, 4.0), (3, 4.0), (3, 3.9), (2, 90.0))]
    assert told == [True, True, False, True, True, False, False]
    manifest = read_manifest(run.checkpoint_path("best"))
    assert (manifest.best_eval, manifest.best_return, manifest.best_step, manifest.step) == (3.0, 4.0, 50, 50)
    session.close()

    again = TrainingSession(ArmValues()).with_run(TrainingRun.resume(run.path)).with_score("laps")
    assert not laps(again, 3, 3.9)
    assert laps(again, 3, 4.0)
    assert again.best_step == 90


def test_a_tie_at_an_earlier_step_does_not_replace_the_best(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    session.observe(rows(10))
    session.save_checkpoint()
    session.observe(rows(30))
    evaluate(session, 2.0)
    session.close()
    run.checkpoint_path("latest").unlink()
    again = TrainingSession(ArmValues()).with_run(TrainingRun.resume(run.path))
    again.total_steps = 20  # goes on from the checkpoint of step 10
    assert not evaluate(again, 2.0)
    assert again.best_step == 40


def test_a_tie_with_a_best_whose_return_nobody_noted_goes_to_the_later_step(tmp_path: Path) -> None:
    session, _ = started(tmp_path)
    session.observe(rows(10))
    assert session.maybe_save_best(3.0), "a score without an evaluation has no return"
    assert not session.maybe_save_best(3.0)
    session.with_score("laps")
    assert laps(session, 3, -50.0)
    assert session.best_step == 20


def test_after_a_resume_only_a_score_above_the_stored_best_counts(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    session.observe(rows(10))
    evaluate(session, 2.0, 4.0)
    session.close()
    again = TrainingSession(ArmValues()).with_run(TrainingRun.resume(run.path))
    assert (again.total_steps, again.best_eval, again.best_step) == (10, 3.0, 10)
    assert not evaluate(again, 3.0)
    again.observe(rows(10))
    assert evaluate(again, 3.1)


@pytest.mark.parametrize("earlier", [None, 1.0])
def test_a_best_earned_after_the_last_checkpoint_goes_when_training_goes_on_from_there(
    earlier: float | None, tmp_path: Path
) -> None:
    session, run = started(tmp_path)
    if earlier is not None:
        session.observe(rows(10))
        evaluate(session, earlier)
    session.observe(rows(10))
    session.save_checkpoint()
    manifest = read_manifest(run.checkpoint_path("latest"))
    best = run.best_checkpoint()
    before = best.read_bytes() if best else None
    assert evaluate(session, 2.0)
    session.close()
    again = TrainingSession(ArmValues()).with_run(TrainingRun.resume(run.path))
    again.return_to_best_of(manifest)
    assert (again.best_eval, again.run.metadata.best_eval if again.run else 0) == (earlier, earlier)
    assert (best.read_bytes() if best else None) == before
    assert run.checkpoint_path("best").exists() == (earlier is not None)
    assert evaluate(again, 1.5)
    assert again.best_eval == 1.5


def test_a_best_of_a_later_step_stays_because_it_is_earned_again(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    session.observe(rows(10))
    session.save_checkpoint()
    manifest = read_manifest(run.checkpoint_path("latest"))
    session.observe(rows(10))
    evaluate(session, 2.0)
    session.close()
    again = TrainingSession(ArmValues()).with_run(TrainingRun.resume(run.path))
    again.return_to_best_of(manifest)
    assert (again.best_eval, again.best_step) == (2.0, 20)


def test_after_a_resume_the_milestones_stay_where_they_were(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    session.observe(rows(10))
    session.close()
    again = TrainingSession(ArmValues()).with_checkpoint_every(10).with_run(TrainingRun.resume(run.path))
    again.observe(rows(5))
    again.observe(rows(7))
    assert steps_on_disk(run) == [10, 22]


def test_a_damaged_best_is_replaced_by_the_next_evaluation(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    evaluate(session, 100.0)
    session.close()
    run.checkpoint_path("best").write_bytes(b"rubbish")
    with pytest.warns(UserWarning, match=r"new best.*best\.safetensors is damaged"):
        again = TrainingSession(ArmValues()).with_run(TrainingRun.resume(run.path))
    assert evaluate(again, 1.0)
    assert read_manifest(run.checkpoint_path("best")).best_eval == 1.0


def test_a_failed_write_of_best_leaves_the_stored_best_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, run = started(tmp_path)
    evaluate(session, 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(run, "save_policy", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            evaluate(session, 2.0)
    assert session.best_eval == 1.0
    assert evaluate(session, 1.5)


def test_the_evaluated_policy_is_saved_though_the_agent_has_learned_since(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    evaluated = session.agent.policy_state()
    session.on_eval_episode(1.0, 5, "Terminated")
    session.observe(rows(10))
    session.maybe_save_best(policy=evaluated)
    manifest, tensors = read_checkpoint(run.checkpoint_path("best"))
    assert torch.equal(section(tensors, "policy")["values"], torch.zeros(2))
    assert manifest.step == 0
    assert session.best_step == 0


def test_a_checkpoint_tells_everything_about_itself(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    run.write_config({"ppo": {"lr": 3e-4}})
    session.observe(rows(10))
    session.on_episode(1.0, 1, "Terminated")
    evaluate(session, 2.0, 4.0)
    manifest = read_manifest(run.checkpoint_path("best"))
    assert (manifest.scene, manifest.agent, manifest.step, manifest.seed) == ("bandit", "arm-values", 10, 7)
    assert (manifest.episodes, manifest.config, manifest.full) == (1, {"ppo": {"lr": 3e-4}}, False)
    assert (manifest.best_eval, manifest.evaluation) == (3.0, EvalSettings(seed=10_000, episodes=2))


def test_a_diverged_agent_is_never_saved_over_a_good_one(tmp_path: Path) -> None:
    agent = ArmValues()
    run = TrainingRun.create("bandit", runs_dir=tmp_path)
    session = TrainingSession(agent).with_run(run).with_checkpoint_every(10)
    session.observe(rows(10))
    agent.values[0] = float("nan")
    with pytest.raises(DivergedError, match="before step 20"):
        session.observe(rows(10))
    with pytest.raises(DivergedError):
        evaluate(session, 1.0)
    with pytest.raises(DivergedError):
        session.close()
    assert read_manifest(run.checkpoint_path("latest")).step == 10
    assert (run.best_checkpoint(), run.metadata.status) == (None, "diverged")


def test_closing_as_diverged_does_not_raise_again(tmp_path: Path) -> None:
    agent = ArmValues()
    run = TrainingRun.create("bandit", runs_dir=tmp_path)
    session = TrainingSession(agent).with_run(run)
    session.observe(rows(10))
    agent.values[0] = float("nan")
    session.close("diverged")
    assert (steps_on_disk(run), run.metadata.status) == ([], "diverged")


def test_an_evaluation_is_reported_logged_and_ended_by_its_judgement(tmp_path: Path) -> None:
    session, run = started(tmp_path)
    assert session.eval_report() is None
    session.observe(rows(10))
    session.on_eval_episode(1.0, 10, "Terminated", {"x": 1.0}, seed=10_000)
    session.observe(rows(10))
    session.on_eval_episode(3.0, 20, "Truncated", seed=10_001)
    report = session.eval_report()
    assert report is not None
    assert (report.episodes, report.mean_return, report.std_return, report.mean_length) == (2, 2.0, 1.0, 15.0)
    assert (report.min_return, report.max_return, report.total_steps_at_eval) == (1.0, 3.0, 10)
    session.maybe_save_best()
    assert session.eval_report() == report
    session.on_eval_episode(9.0, 1, "Terminated", seed=10_000)
    pending = session.eval_report()
    assert pending is not None
    assert (pending.episodes, pending.mean_return, pending.total_steps_at_eval) == (1, 9.0, 20)
    run.flush()
    logged: list[Any] = [msgspec.json.decode(line) for line in (run.path / "eval_episodes.jsonl").open("rb")]
    keys = {"total_steps", "total_reward", "length", "status", "extras", "total_steps_at_eval", "seed"}
    assert [set(row) for row in logged] == [keys] * 3
    assert [(row["total_steps"], row["total_steps_at_eval"], row["seed"]) for row in logged] == [
        (10, 10, 10_000),
        (20, 10, 10_001),
        (20, 20, 10_000),
    ]


def test_judging_without_an_evaluation_needs_a_score(tmp_path: Path) -> None:
    session, _ = started(tmp_path)
    with pytest.raises(ValueError, match="no evaluation to judge"):
        session.maybe_save_best()
    assert session.maybe_save_best(0.0)
    evaluate(session, 5.0)
    with pytest.raises(ValueError, match="no evaluation to judge"):
        session.maybe_save_best()

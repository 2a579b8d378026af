"""Settings that change while it trains: told with step and value, repeated by a resume, and made again headless."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_runs import Told, metadata, rows, train
from small_learners import DQN, PPO, SAC, TD3

from ecs_rl.cli.plan import plan_of
from ecs_rl.errors import CommandError
from ecs_rl.runs.rows import Change, changes_in
from ecs_rl.tasks.assemble import assemble
from ecs_rl.training.training import Training

SMALL = ("--arenas", "8", "--steps", "2400", "--eval-every", "800", "--eval-episodes", "2", "--checkpoint-every", "400")
Planned = list[tuple[int, str, float]]
CHANGES: dict[str, tuple[tuple[str, ...], Planned]] = {
    "ppo": (
        ("swingup", *SMALL, *PPO),
        [(0, "entropy", 0.01), (640, "lr", 0.002), (648, "weight/effort", 3.0), (1000, "lr", 1e-4)],
    ),
    "dqn": (("balance", *SMALL, *DQN), [(320, "epsilon", 0.5), (800, "lr", 0.002), (1608, "epsilon", 0.0)]),
    "sac": (
        ("swingup", *SMALL, *SAC),
        [(480, "lever_entropy", -3.0), (960, "lr", 3e-4), (1200, "weight/effort", 9.0)],
    ),
    "td3": (("swingup", *SMALL, *TD3), [(480, "noise", 0.5), (960, "lr", 3e-4), (1200, "noise", 0.0)]),
}


@contextmanager
def changing(planned: Planned) -> Iterator[None]:
    """Change settings as a window does: when the tick that reaches a step is complete."""
    tick = Training.tick

    def ticked(training: Training) -> None:
        for step, name, value in planned:
            if step == training.session.total_steps == 0:
                training.change(name, value)
        before = training.session.total_steps
        tick(training)
        for step, name, value in planned:
            if before < step <= training.session.total_steps:
                training.change(name, value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "tick", ticked)
        yield


def changed(run: Path) -> Planned:
    return [(*change,) for change in changes_in(run / "metrics.jsonl")]


def without_clock(run: Path) -> list[dict[str, Any]]:
    """Return the rows of metrics without what a clock said."""
    timed = ("seconds", "time/")
    return [{k: v for k, v in row.items() if not k.startswith(timed)} for row in rows(run, "metrics")]


@pytest.fixture(params=CHANGES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[tuple[str, ...], Planned, Told]:
    """A training whose settings were changed, and what it came to."""
    args, planned = CHANGES[request.param]
    with changing(planned):
        return args, planned, train(*args, "--json", "--runs", tmp_path / "by hand")


def test_every_change_is_a_row_and_the_same_changes_lead_to_the_same_bits(
    case: tuple[tuple[str, ...], Planned, Told], tmp_path: Path
) -> None:
    args, planned, told = case
    assert changed(told.run) == planned
    again = train(*args, "--json", "--runs", tmp_path / "again", "--changes", told.run)
    assert again.sha == told.sha
    assert without_clock(again.run) == without_clock(told.run)
    without = train(*args, "--json", "--runs", tmp_path / "without")
    assert without.sha != told.sha
    assert changed(without.run) == []


def test_a_resume_goes_on_with_what_was_changed(case: tuple[tuple[str, ...], Planned, Told], tmp_path: Path) -> None:
    args, planned, told = case
    runs = tmp_path / "stopped"
    with changing(planned):
        first = train(*args, "--json", "--runs", runs, "--steps", "1320")
    assert metadata(first.run)["total_steps"] == 1320
    with changing(planned):
        second = train(args[0], "--resume", first.run, "--steps", "2400", "--json", "--runs", runs)
    assert second.sha == told.sha
    assert without_clock(second.run) == without_clock(told.run)


def test_changes_that_are_planned_survive_a_resume(tmp_path: Path) -> None:
    args, planned = CHANGES["ppo"]
    with changing(planned):
        told = train(*args, "--json", "--runs", tmp_path / "by hand")
    first = train(*args, "--json", "--runs", tmp_path / "again", "--changes", told.run, "--steps", "644")
    assert changed(first.run) == planned[:2]
    second = train("swingup", "--resume", first.run, "--steps", "2400", "--json", "--runs", tmp_path / "again")
    assert changed(second.run) == planned
    assert second.sha == told.sha


def test_what_was_changed_after_the_last_checkpoint_is_changed_again_at_its_step(tmp_path: Path) -> None:
    args, planned = CHANGES["ppo"]
    with changing(planned):
        told = train(*args, "--json", "--runs", tmp_path / "by hand")

    class Killed(BaseException):
        """As if the process were gone: nothing more is written."""

    tick = Training.tick
    with changing(planned), pytest.MonkeyPatch.context() as patch:
        changing_tick = Training.tick

        def dying(training: Training) -> None:
            changing_tick(training)
            if training.session.total_steps >= 720:
                assert training.session.run is not None
                for _ in training.session.written():
                    pass
                training.session.run.close()
                raise Killed

        patch.setattr(Training, "tick", dying)
        patch.setattr(Training, "close", lambda training, status=None: None)
        with pytest.raises(Killed):
            train(*args, "--json", "--runs", tmp_path / "killed")
    assert Training.tick is tick
    (run,) = (tmp_path / "killed" / "swingup" / "v1").iterdir()
    assert metadata(run)["total_steps"] == 400
    assert changed(run) == planned[:3]
    with changing(planned[3:]):
        resumed = train("swingup", "--resume", run, "--json", "--runs", tmp_path / "killed")
    assert changed(resumed.run) == planned
    assert resumed.sha == told.sha


# --- what cannot be -------------------------------------------------------------------------------------------------


def ready(*args: str) -> Training:
    return assemble(plan_of(list(args)))[1]


def refused(name: str, value: float, *args: str) -> str:
    training = ready(*args)
    with pytest.raises(CommandError) as error:
        training.change(name, value)
    training.close()
    return str(error.value)


def test_what_may_change_depends_on_the_algorithm_and_the_scene() -> None:
    found = {}
    for scene, agent in (("balance", "ppo"), ("balance", "dqn"), ("balance", "sac"), ("swingup", "td3")):
        training = ready(scene, "--agent", agent, "--arenas", "4")
        found[agent] = {name: training.live.now(name) for name in training.live.names}
        training.close()
    assert found["ppo"] == {"lr": 1e-3, "entropy": 0.0, "weight/upright": 1.0}
    assert found["dqn"] == {"lr": 1e-3, "epsilon": 1.0, "weight/upright": 1.0}
    assert found["sac"] == {"lr": 1e-3, "choice_entropy": 0.5, "weight/upright": 1.0}
    assert found["td3"] == {"lr": 2e-3, "noise": 0.3, "weight/upright": 1.0, "weight/effort": 1.0}


def test_a_setting_that_is_not_there_or_cannot_be_so_is_refused_in_words() -> None:
    assert "there is no setting 'lrr' that may change here: did you mean 'lr'" in refused("lrr", 1.0, "balance")
    assert "ppo.lr" in refused("lr", -1.0, "balance")
    assert "weight/upright must lie between -1000 and 1000" in refused("weight/upright", 1e9, "balance")


def test_a_file_of_changes_that_cannot_be_used_is_refused_before_there_is_a_run(tmp_path: Path) -> None:
    nowhere = train("balance", *SMALL, *PPO, "--runs", tmp_path / "runs", "--changes", tmp_path / "nowhere")
    assert nowhere.code == 2
    assert "--changes" in nowhere.err
    assert "nowhere" in nowhere.err
    file = tmp_path / "changes.jsonl"
    file.write_text('{"total_steps": 100, "change/epsilon": 0.5}\nno row\n[1]\n{"change/lr": 3}\n')
    assert changes_in(file) == [Change(100, "epsilon", 0.5)]
    unfit = train("balance", *SMALL, *PPO, "--runs", tmp_path / "runs", "--changes", file)
    assert unfit.code == 2
    assert "there is no setting 'epsilon'" in unfit.err
    file.write_text("root:x:0:0\n")
    for more in ((), ("--workers", "2")):
        nothing = train("balance", *SMALL, *PPO, "--runs", tmp_path / "runs", "--changes", file, *more)
        assert nothing.code == 2
        assert f"--changes: {file}: no setting was changed in it; give a run whose" in nothing.err
    assert not (tmp_path / "runs").exists()


def test_weights_change_what_is_learned_from_and_not_what_is_counted(tmp_path: Path) -> None:
    args = ("swingup", "--arenas", "8", "--steps", "128", *PPO, "--json")
    plain = train(*args, "--runs", tmp_path / "plain")
    with changing([(0, "weight/upright", 0.0), (0, "weight/effort", 0.0)]):
        nothing = train(*args, "--runs", tmp_path / "nothing")
    assert rows(nothing.run, "train_episodes") == rows(plain.run, "train_episodes")
    assert nothing.sha != plain.sha

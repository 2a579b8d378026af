"""`train.py SCENE --imitate FILE`: a run that starts by doing as it was shown, and files that cannot be used."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from lander_pilot import landings
from pages import example
from worker_runs import same_run, trained

from ecs_rl.commands.train import main
from ecs_rl.many.jobs import Call, Job, JobCommand, JobReport, Trainee
from ecs_rl.runs.demonstrations import Demonstrations, save_demonstrations

SMALL = ("lander", "--arenas", "8", "--steps", "600", "--eval-every", "600", "--eval-episodes", "2", "--threads", "1")


@pytest.fixture(scope="module")
def one() -> Demonstrations:
    return landings((100,))


def test_a_run_starts_by_imitating_and_resumes_like_any_other(
    one: Demonstrations, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_demonstrations(tmp_path / "one.demo", one)
    runs = ("--runs", str(tmp_path / "runs"), "--json")
    shas = []
    for name, more in (("shown", ("--imitate", str(tmp_path / "one.demo"))), ("alone", ())):
        assert main([*SMALL, "--name", name, *more, *runs]) == 0
        out, err = capsys.readouterr()
        shas.append(json.loads(out.splitlines()[-1])["params_sha256"])
        assert ("imitates 1 episode of" in err) == (name == "shown")
    assert shas[0] != shas[1]
    (run,) = (tmp_path / "runs" / "shown" / "v1").iterdir()
    assert json.loads((run / "config.json").read_text())["imitate"] == str(tmp_path / "one.demo")
    assert main([*SMALL, "--name", "shown", "--resume", str(run), "--steps", "900", *runs]) == 0
    assert json.loads((run / "config.json").read_text())["imitate"] == str(tmp_path / "one.demo")


def test_the_same_seed_and_demonstration_give_the_same_run(
    one: Demonstrations, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_demonstrations(tmp_path / "one.demo", one)
    shas = []
    for name in ("first", "second"):
        where = ("--name", name, "--runs", str(tmp_path / "runs"), "--json")
        assert main([*SMALL, "--imitate", str(tmp_path / "one.demo"), *where]) == 0
        shas.append(json.loads(capsys.readouterr().out.splitlines()[-1])["params_sha256"])
    assert shas[0] == shas[1]


def test_several_processes_imitate_alike(one: Demonstrations, tmp_path: Path) -> None:
    save_demonstrations(tmp_path / "one.demo", one)
    flags = (*SMALL, "--workers", "2", "--imitate", str(tmp_path / "one.demo"))
    first, second = (trained(tmp_path / name, *flags) for name in "ab")
    assert same_run(first, second)
    assert "imitates 1 episode of" in first["stderr"]
    assert first["params_sha256"] != trained(tmp_path / "c", *flags[:-2])["params_sha256"]


@pytest.mark.parametrize("agent", ["dqn", "sac"])
def test_what_was_shown_goes_along_through_a_resume(
    agent: str, one: Demonstrations, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_demonstrations(tmp_path / "one.demo", one)
    runs = ("--runs", str(tmp_path / "runs"), "--json", "--schedule-steps", "10k")
    small = (*SMALL, "--agent", agent, f"--{agent}.warm-up", "100", *runs)

    def told() -> dict[str, str]:
        found: dict[str, str] = json.loads(capsys.readouterr().out.splitlines()[-1])
        return found

    shown = ("--imitate", str(tmp_path / "one.demo"))
    assert main([*small, *shown, "--steps", "1200", "--name", "whole"]) == 0
    whole = told()
    assert main([*small, *shown, "--name", "half"]) == 0
    half = told()["run"]
    assert main([*small, "--name", "half", "--resume", half, "--steps", "1200"]) == 0
    assert told()["params_sha256"] == whole["params_sha256"]


def finished(job: Job, argv: tuple[str, ...], folder: Path, *, stops: bool = False) -> JobReport:
    """Return the last report of a job of `--seeds` that trains to its end, or stops after its first evaluation."""
    command = JobCommand("--seeds", (*argv, "--seeds", "2"), "train.py", {"runs": str(folder)}, {})
    trainee = Trainee(command, lambda: False)
    report = trainee.do(Call("begin", job))
    for _ in range(60):
        if report.is_over:
            return report
        report = trainee.do(Call("close" if stops and report.evaluated_at else "advance"))
    raise AssertionError("it does not end")


@pytest.mark.parametrize("flags", [("--agent", "ppo"), ("--agent", "dqn", "--dqn.warm-up", "100")])
def test_a_job_that_begins_again_goes_on_and_imitates_no_second_time(
    flags: tuple[str, ...], one: Demonstrations, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_demonstrations(tmp_path / "one.demo", one)
    argv = (*SMALL, *flags, "--steps", "1200", "--imitate", str(tmp_path / "one.demo"))
    whole = finished(Job(1, (1,), {}), argv, tmp_path / "whole")
    part = finished(Job(1, (1,), {}), argv, tmp_path / "part", stops=True)
    assert (part.state, part.steps) == ("interrupted", 600)
    assert capsys.readouterr().err.count("imitates 1 episode of") == 2
    rest = finished(Job(1, (1,), {}, part.runs), argv, tmp_path / "part")
    assert (rest.state, rest.runs, rest.steps) == ("finished", part.runs, 1200), rest.message
    assert "imitates" not in capsys.readouterr().err
    assert rest.summaries[0]["params_sha256"] == whole.summaries[0]["params_sha256"]
    config = json.loads((Path(rest.runs[0]) / "config.json").read_text())
    assert config["imitate"] == str(tmp_path / "one.demo")


def test_a_sweep_that_imitates_goes_on_by_the_same_command(
    one: Demonstrations, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_demonstrations(tmp_path / "one.demo", one)
    sweep = (*SMALL, "--sweep", "ppo.lr=1e-3,2e-3", "--no-early-stopping", "--runs", str(tmp_path / "runs"), "--json")
    argv = (*sweep, "--imitate", str(tmp_path / "one.demo"))
    assert main([*argv, "--trials", "1"]) == 0
    folder = json.loads(capsys.readouterr().out)["sweep"]
    assert main([*argv, "--trials", "2", "--resume", folder]) == 0
    trials = json.loads(capsys.readouterr().out)["trials"]
    assert [trial["status"] for trial in trials] == ["finished", "finished"]
    for trial in trials:
        config = json.loads((Path(trial["runs"][0]["run"]) / "config.json").read_text())
        assert config["imitate"] == str(tmp_path / "one.demo")


def refused(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str]:
    code = main([str(arg) for arg in argv])
    return code, capsys.readouterr().err


def test_what_cannot_be_imitated_is_refused_and_leaves_no_run(
    one: Demonstrations, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, runs = tmp_path / "one.demo", tmp_path / "runs"
    save_demonstrations(path, one)
    at = ("--imitate", path, "--runs", runs)
    code, told = refused(capsys, "balance", *at)
    assert (code, "'policy' sees" in told) == (3, True)
    own = tmp_path / "cem.py"
    own.write_text(example("algorithm"))
    code, told = refused(capsys, "lander", "--agent", f"{own}:CEM", *at)
    assert (code, "cem cannot begin by imitating: leave it out, or take --agent ppo" in told) == (2, True), told
    code, told = refused(capsys, "lander", "--resume", *at)
    assert (code, "--resume and --imitate exclude each other" in told) == (2, True)
    (episode,) = one.episodes
    save_demonstrations(path, replace(one, episodes=(replace(episode, imitated=episode.imitated & False),)))
    code, told = refused(capsys, "lander", *at)
    assert (code, "shows no decision of a person" in told) == (3, True)
    path.write_bytes(path.read_bytes()[:-1])
    code, told = refused(capsys, "lander", *at)
    assert (code, "is damaged" in told) == (3, True)
    code, told = refused(capsys, "lander", "--imitate", tmp_path / "none.demo", "--runs", runs)
    assert (code, "--imitate: there is no demonstration" in told) == (3, True)
    assert not runs.exists()

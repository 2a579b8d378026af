"""Populations: whoever takes over goes on as the other one would have, with settings of its own from there."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from process_groups import start_group

from ecs_rl.cli.parse import parse_train
from ecs_rl.cli.plan import plan_of, recipes_of
from ecs_rl.commands.train import main
from ecs_rl.errors import CommandError
from ecs_rl.many.jobs import Call, Job, JobCommand, JobReport, Trainee
from ecs_rl.many.population import (
    RESTING,
    Population,
    changed,
    fork,
    quarters,
    refuse_what_cannot_change,
    round_steps,
)
from ecs_rl.many.ranges import parse_ranges
from ecs_rl.many.seeds import checked
from ecs_rl.many.sweep import new_sweep
from ecs_rl.many.sweep_file import POPULATION, Row, SweepFile, read_sweep
from ecs_rl.many.table import Table
from ecs_rl.runs import read_metadata

ROOT = Path(__file__).resolve().parents[2]
ARGV = ("balance", "--arenas", "16", "--eval-every", "1k", "--eval-episodes", "2", "--steps", "5k", "--threads", "1")
PARTS = ("steps", "episodes", "best_eval", "best_step", "params_sha256")
LR = ["ppo.lr=1e-5..1e-2:log"]


def trained(job: Job, folder: Path, until: Callable[[JobReport], bool] = lambda report: False) -> JobReport:
    """Return the last report of a job that is done until its end, or until it is closed."""
    over = {"name": "balance", "version": "sweep_1", "runs": str(folder)}
    command = JobCommand("--sweep", ARGV, "train.py", over, {})
    trainee = Trainee(command, lambda: False)
    report = trainee.do(Call("begin", job))
    for _ in range(60):
        if report.is_over:
            return report
        report = trainee.do(Call("close" if until(report) else "advance"))
    raise AssertionError("it does not end")


def at_2000(report: JobReport) -> bool:
    return report.evaluated_at >= 2000


@pytest.mark.parametrize("agent", ["ppo", "dqn"])
def test_whoever_takes_over_goes_on_to_the_very_bits_of_the_other_one(tmp_path: Path, agent: str) -> None:
    setting = {"agent": agent, f"{agent}.lr": 2e-3}
    donor = trained(Job(2, (2,), setting), tmp_path, at_2000)
    assert (donor.state, donor.steps) == ("interrupted", 2000)
    child = fork(Path(donor.runs[0]))
    rest = trained(Job(2, (2,), setting, donor.runs), tmp_path)  # what the other one does changes nothing
    report = trained(Job(0, (0,), setting, (str(child),)), tmp_path)
    assert [report.summaries[0][name] for name in PARTS] == [rest.summaries[0][name] for name in PARTS]
    theirs = Path(rest.runs[0])
    assert (report.runs, child.parent) == ((str(child),), theirs.parent)
    for log in ("train_episodes.jsonl", "eval_episodes.jsonl"):
        assert (child / log).read_text() == (theirs / log).read_text()
    assert {path.name for path in theirs.glob("checkpoints/milestone_*")} == {
        path.name for path in child.glob("checkpoints/milestone_*")
    }
    assert read_metadata(child).status == "finished"


def test_a_rest_changes_nothing_and_the_evaluation_of_before_is_still_known(tmp_path: Path) -> None:
    setting = {"ppo.lr": 2e-3}
    whole = trained(Job(1, (1,), setting), tmp_path)
    part = trained(Job(1, (1,), setting), tmp_path, at_2000)
    first = trained(Job(1, (1,), setting, part.runs), tmp_path, lambda report: True)
    assert (first.last_eval, first.evaluated_at, first.steps) == (part.last_eval, 2000, 2000)
    again = trained(Job(1, (1,), setting, part.runs), tmp_path)
    assert again.summaries[0]["params_sha256"] == whole.summaries[0]["params_sha256"]


def test_what_it_took_over_is_changed_only_from_there_on(tmp_path: Path) -> None:
    donor = trained(Job(1, (1,), {"ppo.lr": 2e-3}), tmp_path, at_2000)
    child = fork(Path(donor.runs[0]))
    rest = trained(Job(1, (1,), {"ppo.lr": 2e-3}, donor.runs), tmp_path)
    report = trained(Job(0, (0,), {"ppo.lr": 1e-3, "ppo.epochs": 2}, (str(child),)), tmp_path)
    assert report.summaries[0]["params_sha256"] != rest.summaries[0]["params_sha256"]
    assert report.summaries[0]["seed"] == rest.summaries[0]["seed"] == 1
    config = json.loads((child / "config.json").read_text())
    assert (config["ppo"]["lr"], config["ppo"]["epochs"], config["population"]) == (1e-3, 2, 0)


@pytest.mark.parametrize(
    ("flags", "ranges", "told"),
    [
        ("--population 1", "ppo.lr=1..2", "--population 1: nobody is there to take over from"),
        ("--population 4 --seeds 2", "ppo.lr=1..2", "--population cannot be used with --seeds"),
        ("--population 4 --trials 2", "ppo.lr=1..2", "--population cannot be used with --trials"),
        ("--population 4 --steps 5k --eval-every 5k", "ppo.lr=1..2", "there is no evaluation before its 5,000 steps"),
        ("--population 4", "arenas=16,32", "'arenas' cannot change in a training that goes on"),
        ("--population 4", "ppo.hidden=8x8,16", "'ppo.hidden' cannot change in a training that goes on"),
        ("--population 4", "ppo.rollout=8,16", "'ppo.rollout' cannot change in a training that goes on"),
    ],
)
def test_what_cannot_be_a_population_is_told_in_one_sentence(flags: str, ranges: str, told: str) -> None:
    plan = plan_of(["balance", *flags.split()])
    with pytest.raises(CommandError) as caught:
        refuse_what_cannot_change(parse_ranges([ranges], plan.settings), plan)
    assert told in str(caught.value)


def test_what_can_change_is_let_through_and_ten_rounds_are_whole_evaluations() -> None:
    plan = plan_of(["balance", "--population", "4", "--steps", "100k", "--eval-every", "3k"])
    axes = parse_ranges(["ppo.lr=1e-4..1e-2:log", "ppo.clip=0.1..0.3", "ppo.epochs=1..8"], plan.settings)
    refuse_what_cannot_change(axes, plan)
    assert round_steps(plan.settings) == 9000


def test_a_population_without_a_sweep_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["balance", "--population", "4"]) == 2
    assert "--population is for --sweep: name what varies" in capsys.readouterr().err


def test_a_quarter_takes_over_from_a_quarter() -> None:
    assert quarters({0: 3.0, 1: 1.0, 2: 2.0}) == ([1], [0])
    assert quarters({0: 1.0, 1: 1.0}) == ([0], [1])
    assert quarters({0: 1.0}) == ([], [])
    assert quarters(dict(enumerate((5.0, -float("inf"), 7.0, 1.0, 2.0, 3.0, 4.0, 6.0)))) == ([1, 3], [7, 2])


def test_a_setting_changes_by_a_factor_or_one_place_or_is_drawn_anew() -> None:
    axes = parse_ranges([*LR, "ppo.epochs=2,4,8"], parse_train(["balance"], recipes_of))
    new = [changed({"ppo.lr": 1e-3, "ppo.epochs": 4}, axes, random.Random(seed)) for seed in range(400)]
    by_factor = sum(setting["ppo.lr"] in (8e-4, 1.25e-3) for setting in new)
    assert 0.65 < by_factor / len(new) < 0.85
    assert {setting["ppo.epochs"] for setting in new} == {2, 4, 8}
    assert sum(setting["ppo.epochs"] == 4 for setting in new) < 0.15 * len(new), "only one drawn anew stays"
    assert all(1e-5 <= setting["ppo.lr"] <= 1e-2 for setting in new)


class Members:
    """A population of three whose members report what a test says."""

    def __init__(self, folder: Path) -> None:
        plan = plan_of([*ARGV, "--population", "3", "--sweep", *LR, "--runs", str(folder)])
        settings = checked(plan).settings
        axes = parse_ranges(settings.sweep, settings)
        folder = folder / "balance" / "sweep_1"
        folder.mkdir(parents=True)
        sweep = new_sweep(settings, POPULATION, 3)
        sweep.rows = [Row(trial=number, setting={"ppo.lr": 1e-3 * (number + 1)}) for number in range(3)]
        self.file, self.out = SweepFile(folder, sweep), io.StringIO()
        self.source = Population(self.file, axes, settings, Table(self.out, "member"))

    def row(self, number: int) -> Row:
        return next(row for row in self.file.sweep.rows if row.trial == number)

    def jobs(self) -> list[int]:
        """Return the numbers of all jobs that can begin now."""
        numbers = []
        while job := self.source.next():
            numbers.append(job.number)
        return numbers

    def report(self, number: int, **facts: Any) -> str:
        return self.source.take(Job(number, (number,), {}), JobReport(**{"state": "running", **facts}))

    def rests(self, number: int, last_eval: float) -> None:
        facts: dict[str, Any] = {"steps": 1000, "evaluated_at": 1000, "last_eval": last_eval}
        assert self.report(number, **facts) == RESTING
        assert self.report(number, **{**facts, "state": RESTING}) == ""


@pytest.fixture
def members(tmp_path: Path) -> Any:
    members = Members(tmp_path)
    yield members
    members.file.close()


def run_of(member: JobReport, number: int, members: Members) -> None:
    """Give a member the run of another training."""
    members.row(number).runs = list(member.runs)


def test_members_wait_for_each_other_and_then_the_worst_takes_over(members: Members, tmp_path: Path) -> None:
    donor = trained(Job(2, (2,), {"ppo.lr": 3e-3}), tmp_path, lambda report: report.evaluated_at >= 1000)
    assert members.jobs() == [0, 1, 2]
    run_of(donor, 2, members)
    members.rests(0, 2.0)
    members.rests(2, 3.0)
    assert members.jobs() == [], "one still trains"
    members.rests(1, 1.0)
    assert members.jobs() == [0, 1, 2]
    (exchange,) = members.row(1).taken_over
    assert (exchange.member, exchange.steps, members.file.sweep.rounds) == (2, 1000, 1)
    assert members.row(1).runs != list(donor.runs)
    assert read_metadata(Path(members.row(1).runs[0])).total_steps == donor.steps
    assert read_sweep(members.file.path).rounds == 1
    assert f"member 1: takes over from member 2 at 1,000 steps: ppo.lr={exchange.setting['ppo.lr']:g}" in (
        members.out.getvalue()
    )


def test_one_that_diverged_is_the_worst_until_it_takes_over(members: Members, tmp_path: Path) -> None:
    donor = trained(Job(2, (2,), {"ppo.lr": 3e-3}), tmp_path, lambda report: report.evaluated_at >= 1000)
    assert members.jobs() == [0, 1, 2]
    run_of(donor, 2, members)
    members.report(1, state="diverged", steps=300, message="why")
    members.rests(0, 2.0)
    members.rests(2, 3.0)
    assert members.jobs() == [0, 1, 2]
    assert (members.row(1).state, members.row(1).message) == ("running", "")


def test_members_that_have_all_diverged_end_the_population(members: Members) -> None:
    assert members.jobs() == [0, 1, 2]
    for number in range(3):
        members.report(number, state="diverged", steps=300)
    assert members.jobs() == []
    assert {row.state for row in members.file.sweep.rows} == {"diverged"}


def test_one_that_diverged_still_waits_for_its_exchange_when_the_population_goes_on(members: Members) -> None:
    assert members.jobs() == [0, 1, 2]
    members.report(1, state="diverged", steps=300)
    members.report(0, state="interrupted", steps=500)
    members.report(2, state="interrupted", steps=500)
    settings = parse_train([*ARGV, "--population", "3", "--sweep", *LR], recipes_of)
    again = Population(members.file, parse_ranges(LR, settings), settings, Table(io.StringIO(), "member"))
    jobs = [again.next(), again.next(), again.next()]
    assert [job and job.number for job in jobs] == [0, 2, None]


def test_an_exchange_that_the_disk_refuses_is_still_to_come(members: Members, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(run: Path) -> Path:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("ecs_rl.many.population.fork", refuses)
    assert members.jobs() == [0, 1, 2]
    for number in range(3):
        members.row(number).runs = ["run"]
        members.rests(number, float(number))
    assert members.jobs() == []
    assert (members.source.must_stop, members.file.sweep.rounds) == (True, 0)
    assert "No space left on device" in members.source.problem
    assert members.row(0).taken_over == []


def test_a_member_whose_process_dies_again_and_again_stops_the_others_and_goes_on_later(members: Members) -> None:
    assert members.jobs() == [0, 1, 2]
    members.source.lost(Job(1, (1,), {}), -9, [])
    assert members.source.must_stop
    assert members.row(1).state == "interrupted"
    assert "member 1 cannot go on: the others save and end" in members.out.getvalue()


def population(folder: Path, *flags: str) -> list[str]:
    words = ("--population", "3", "--sweep", *LR, "--runs", str(folder), "--json")
    return [sys.executable, "train.py", *ARGV, "--steps", "6k", *flags, *words]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what a population answers that nothing interrupts."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert main(population(tmp_path_factory.mktemp("whole"))[2:]) == 0, err.getvalue()
    return out.getvalue()


def test_the_worst_of_a_population_goes_on_from_the_best(whole: str) -> None:
    told = json.loads(whole)
    assert (told["search"], told["status"], len(told["trials"])) == ("population", "finished", 3)
    assert {row["status"] for row in told["trials"]} == {"finished"}
    taken = {(each["steps"], row["trial"]): each for row in told["trials"] for each in row["taken_over"]}
    rounds = [steps // 1000 for steps, _ in sorted(taken)]
    assert rounds == [1, 2, 3, 4, 5], "one after each round but the last"
    members = {row["trial"]: row for row in told["trials"]}
    for (_, number), each in taken.items():
        assert each["member"] != number
        assert members[number]["settings"] == [*members[number]["taken_over"]][-1]["setting"]
    assert len({row["runs"][0]["run"] for row in told["trials"]}) == 3
    assert {row["runs"][0]["steps"] for row in told["trials"]} == {6000}
    lr = members[told["best"]]["settings"]["ppo.lr"]
    assert f"lr = {lr!r}" in Path(told["recipe"]).read_text()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX signals")
def test_a_population_comes_to_the_same_whatever_dies_or_interrupts_it(tmp_path: Path, whole: str) -> None:
    going = start_group(population(tmp_path / "part"))
    assert going.stderr is not None
    lines = list[str]()
    for line in going.stderr:
        lines.append(line)
        if "takes over from member" in line and any("its process died" in earlier for earlier in lines):
            os.killpg(going.pid, signal.SIGINT)
            break
        if "takes over from member" in line:  # all members are given to workers now
            pids = {json.loads(lock.read_text())["pid"] for lock in (tmp_path / "part").glob("*/*/*/.lock")}
            for pid in pids - {going.pid}:
                kill(pid)
    stdout, rest = going.communicate(timeout=300)
    said = "".join(lines) + rest
    assert going.returncode == 0, said
    first = json.loads(stdout)
    assert first["status"] == "interrupted", said
    folder = Path(first["sweep"])
    assert f"--resume {folder}" in said
    assert "its process died: going on from its newest checkpoints" in said
    done = subprocess.run(
        [*population(tmp_path / "part"), "--resume", str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert result_of(done.stdout) == result_of(whole)


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def result_of(stdout: str) -> list[tuple[Any, ...]]:
    """Return what all members came to."""
    told = json.loads(stdout)
    assert told["status"] == "finished"
    return [(row["trial"], row["taken_over"], row["runs"][0]["params_sha256"]) for row in told["trials"]]

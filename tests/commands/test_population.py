"""Populations: whoever takes over goes on as the other one would have, with settings of its own from there."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ecs_rl.cli.parse import parse_train
from ecs_rl.cli.plan import recipes_of
from ecs_rl.cli.train import main
from ecs_rl.errors import CommandError, WorkerLostError
from ecs_rl.runs import read_metadata
from ecs_rl.sweeps import driver
from ecs_rl.sweeps.population import (
    LAST_EVAL,
    TAKE_OVER,
    Member,
    PopulationDriver,
    PopulationOrder,
    exchanges,
    refuse_what_cannot_change,
    round_steps,
)
from ecs_rl.sweeps.ranges import parse_ranges
from ecs_rl.sweeps.record import Row

ARGV = ("balance", "--arenas", "16", "--eval-every", "1k", "--eval-episodes", "2", "--steps", "5k")
PARTS = ("steps", "episodes", "best_eval", "best_step", "params_sha256")


def order(folder: Path) -> PopulationOrder:
    over = {"name": "balance", "version": "sweep_1", "runs": str(folder), "threads": 1}
    facts = {"members": (0, 1, 2), "round_steps": 1000, "rounds": 0, "steps": 5000}
    return PopulationOrder(ARGV, over, (0,), str(folder), str(folder), {}, {}, **facts)  # type: ignore[arg-type]


def member(number: int, folder: Path, **setting: Any) -> Member:
    """Return a member as Tune makes one."""
    found = Member()
    found.trial_id = f"abc_{number:05d}"
    found.config = {"member": {"setting": setting, "runs": []}}
    found.setup(found.config, order(folder))
    found._checked = True  # that this machine has the versions of this machine, Ray's among them
    return found


def saved(of: Member, folder: Path) -> str:
    folder.mkdir()
    of.save_checkpoint(str(folder))
    return str(folder)


def to_the_end(of: Member) -> dict[str, Any]:
    for _ in range(20):
        told = of.step()
        if told["done"]:
            of.cleanup()
            return told
    raise AssertionError("it does not end")


@pytest.mark.parametrize("agent", ["ppo", "dqn"])
def test_whoever_takes_over_goes_on_to_the_very_bits_of_the_other_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    monkeypatch.chdir(tmp_path)  # members go where the command was given
    setting = {"agent": agent, f"{agent}.lr": 2e-3}
    donor, child = member(2, tmp_path, **setting), member(0, tmp_path, **setting)
    assert [child.step()["round"], donor.step()["round"], donor.step()["round"]] == [1, 1, 2]
    state = saved(donor, tmp_path / "state")
    rest = to_the_end(donor)  # what the other one does from there changes nothing
    child.reset_config(child.config)
    child.load_checkpoint(state)
    assert child.runs is None
    first = child.step()
    assert (first["from"], first["from_steps"], first["steps"] // 1000) == (2, 2000, 3)
    assert first["runs"] != rest["runs"]
    told = to_the_end(child)
    assert [told["told"][0][name] for name in PARTS] == [rest["told"][0][name] for name in PARTS]
    ours, theirs = Path(told["runs"][0]), Path(rest["runs"][0])
    assert ours.parent == theirs.parent
    for log in ("train_episodes.jsonl", "eval_episodes.jsonl"):
        assert (ours / log).read_text() == (theirs / log).read_text()
    assert {path.name for path in theirs.glob("checkpoints/milestone_*")} == {
        path.name for path in ours.glob("checkpoints/milestone_*")
    }
    assert read_metadata(ours).status == "finished"


def test_what_it_took_over_is_changed_only_from_there_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    donor, child = member(1, tmp_path, **{"ppo.lr": 2e-3}), member(0, tmp_path, **{"ppo.lr": 1e-3, "ppo.epochs": 2})
    donor.step()
    child.load_checkpoint(saved(donor, tmp_path / "state"))
    rest, told = to_the_end(donor), to_the_end(child)
    assert told["setting"] == {"ppo.lr": 1e-3, "ppo.epochs": 2}
    assert told["told"][0]["params_sha256"] != rest["told"][0]["params_sha256"]
    assert told["told"][0]["seed"] == rest["told"][0]["seed"] == 1
    config = json.loads(Path(told["runs"][0], "config.json").read_text())
    assert (config["ppo"]["lr"], config["ppo"]["epochs"], config["population"]) == (1e-3, 2, 0)


def test_one_that_goes_on_by_itself_stays_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one = member(1, tmp_path, **{"ppo.lr": 2e-3})
    run = one.step()["runs"]
    state = saved(one, tmp_path / "state")
    one.reset_config(one.config)
    one.load_checkpoint(state)
    assert one.step()["runs"] == run
    one.cleanup()


def test_one_that_diverged_is_the_worst_until_it_takes_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    broken, donor = member(0, tmp_path, **{"ppo.lr": 1e30}), member(1, tmp_path, **{"ppo.lr": 2e-3})
    told = broken.step()
    assert (told["state"], told["round"], told["done"], told[LAST_EVAL]) == ("diverged", 1, False, float("-inf"))
    assert "diverged" in told["message"]
    state = saved(broken, tmp_path / "broken")
    broken.reset_config(broken.config)
    broken.load_checkpoint(state)  # nobody was there to take over from
    assert (broken.step()["round"], broken.step()["round"]) == (2, 3)
    donor.step()
    state = saved(donor, tmp_path / "state")
    donor.cleanup()
    broken.reset_config({"member": {"setting": {"ppo.lr": 1e-3}, "runs": []}})
    broken.config = {"member": {"setting": {"ppo.lr": 1e-3}, "runs": []}}
    broken.load_checkpoint(state)
    assert broken.step()["state"] == "running"
    broken.cleanup()


def test_one_that_is_asked_to_stop_before_it_began_has_taken_over_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    donor, child = member(1, tmp_path, **{"ppo.lr": 2e-3}), member(0, tmp_path, **{"ppo.lr": 1e-3})
    donor.step()
    child.load_checkpoint(saved(donor, tmp_path / "state"))
    (tmp_path / "stopping").touch()
    told = child.step()
    assert (told["state"], told["done"], told["from"], told["steps"]) == ("interrupted", True, 1, 1008)
    assert read_metadata(Path(told["runs"][0])).total_steps == 1008
    donor.cleanup()


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
    settings = parse_train(["balance", *flags.split()], recipes_of)
    with pytest.raises(CommandError) as caught:
        refuse_what_cannot_change(parse_ranges([ranges], settings), settings)
    assert told in str(caught.value)


def test_what_can_change_is_let_through_and_ten_rounds_are_whole_evaluations() -> None:
    settings = parse_train(["balance", "--population", "4", "--steps", "100k", "--eval-every", "3k"], recipes_of)
    axes = parse_ranges(["ppo.lr=1e-4..1e-2:log", "ppo.clip=0.1..0.3", "ppo.epochs=1..8"], settings)
    refuse_what_cannot_change(axes, settings)
    assert round_steps(settings) == 9000


def test_a_population_without_a_sweep_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["balance", "--population", "4"]) == 2
    assert "--population is for --sweep: name what varies" in capsys.readouterr().err


def test_members_that_wait_and_none_of_which_runs_end_the_population(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(driver, "monotonic", lambda: clock[0])
    reports = driver.Reports()
    sweep = SimpleNamespace(each="member")
    shown = SimpleNamespace(draw=lambda: None)
    reports.driver = SimpleNamespace(is_alone=True, lost_exchange="", file=SimpleNamespace(sweep=sweep), shown=shown)  # type: ignore[assignment]

    def trial(status: str) -> SimpleNamespace:
        return SimpleNamespace(status=status, is_finished=lambda: status == "TERMINATED")

    done, waits, runs = trial("TERMINATED"), trial("PAUSED"), trial("RUNNING")
    for clock[0], trials in (
        (0.0, [waits, runs]),
        (1e6, [done, runs]),
        (2e6, [done, done]),
        (2e6 + 599, [done, waits]),
    ):
        reports.on_step_end(0, trials)
    clock[0] = 2e6 + 601
    with pytest.raises(WorkerLostError, match="2 of 3 members are left, and none has begun for 10 minutes: the same"):
        reports.on_step_end(0, [done, waits, waits])
    reports.driver.is_alone = False  # others may use the cluster for as long as they like
    reports.on_step_end(0, [done, waits, waits])


def test_a_state_of_its_own_that_was_saved_late_does_not_replace_what_a_member_takes_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    donor, child = member(2, tmp_path, **{"ppo.lr": 2e-3}), member(0, tmp_path, **{"ppo.lr": 1e-3})
    donor.step()
    child.step()
    theirs, own = saved(donor, tmp_path / "theirs"), saved(child, tmp_path / "own")
    donor.cleanup()
    child.config = {"member": {"setting": {"ppo.lr": 4e-3}, "runs": [], TAKE_OVER: {"round": 1, "folder": theirs}}}
    child.reset_config(child.config)
    child.load_checkpoint(own)
    first = child.step()
    assert (first["from"], first["from_steps"], first["setting"]) == (2, 1008, {"ppo.lr": 4e-3})
    later = saved(child, tmp_path / "later")
    child.reset_config(child.config)
    child.load_checkpoint(later)
    again = child.step()
    assert "from" not in again, "what it saved since is its own"
    assert again["runs"] == first["runs"]
    child.cleanup()


class Trial:
    """One of Tune's, as far as an exchange looks at it."""

    status, trial_id = "PAUSED", "abc_00000"

    def __init__(self) -> None:
        self.config: dict[str, Any] = {"member": {"setting": {}}}


def test_an_exchange_that_a_lost_process_makes_impossible_ends_the_population_before_it(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    settings = parse_train(["balance", "--population", "4", "--steps", "50k"], recipes_of)
    axes = parse_ranges(["ppo.lr=1e-4..1e-2:log"], settings)
    written: list[int] = []
    sweep = SimpleNamespace(seed=0, rounds=3, rows=[Row(trial=1, setting={})], search="population", trials=1)
    room = SimpleNamespace(unlink=lambda: None)
    file = SimpleNamespace(sweep=sweep, write=lambda now: written.append(sweep.rounds), put=lambda name, data: room)
    population = PopulationDriver(file, axes, SimpleNamespace(draw=lambda: None))  # type: ignore[arg-type]
    scheduler = exchanges(population, order(tmp_path), axes)
    best, worst = Trial(), Trial()
    states = ((best, None), (worst, "its own"))
    scheduler._trial_state = {each: SimpleNamespace(last_checkpoint=saved) for each, saved in states}
    scheduler._checkpoint_or_exploit(worst, None, [best], [worst])
    assert (sweep.rounds, written) == (2, [2]), "the exchange is still to come"
    assert population.lost_exchange.startswith("member 1 cannot take over: the process of the member to take over from")
    reports = driver.Reports()
    reports.driver = population
    with pytest.raises(WorkerLostError, match="the same command with --resume goes on to the same result"):
        reports.on_step_end(0, [])


@pytest.mark.parametrize(("state", "stops"), [("finished", False), ("running", True)])
def test_a_member_whose_process_dies_after_its_end_has_finished(tmp_path: Path, state: str, stops: bool) -> None:
    rows = [Row(trial=0, setting={}, state="running")]
    sweep = SimpleNamespace(seed=0, rounds=3, rows=rows, search="population", trials=1, each="member")
    file = SimpleNamespace(sweep=sweep, write=lambda now: None, path=tmp_path)
    told: list[str] = []
    shown = SimpleNamespace(
        state=lambda number, text: told.append(text), message=lambda number, text: None, stream=None
    )
    population = PopulationDriver(file, [], shown)  # type: ignore[arg-type]
    rows[0].state = state
    population.gone("abc_00000")
    assert (rows[0].state, population.stopping) == ("failed" if stops else "finished", stops)
    assert bool(told) == stops


def test_a_process_that_dies_after_its_run_has_saved_leaves_no_exchange_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one = member(1, tmp_path, **{"ppo.lr": 2e-3})
    one.step()
    before = saved(one, tmp_path / "before")
    second = one.step()
    saved(one, tmp_path / "late")  # Tune never hears of it, but the run has its checkpoint
    one.cleanup()
    again = member(1, tmp_path, **{"ppo.lr": 2e-3})
    again.load_checkpoint(before)
    told = again.step()
    assert [told[name] for name in ("round", "steps", LAST_EVAL)] == [2, second["steps"], second[LAST_EVAL]]
    assert told["told"][0]["params_sha256"] == second["told"][0]["params_sha256"]
    assert again.step()["round"] == 3
    again.cleanup()

"""What `--sweep` says, what is drawn from it, and what is said of it at the end."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.cli.parse import parse_train
from ecs_rl.cli.plan import recipes_of
from ecs_rl.commands.train import main
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.many.jobs import JobCommand, JobReport
from ecs_rl.many.ranges import OneOf, Range, drawn, grid, in_words, parse_ranges
from ecs_rl.many.search import search_of
from ecs_rl.many.sweep import what_needs_optuna
from ecs_rl.many.sweep_file import Row, Sweep, SweepFile, newest_sweep, read_sweep, refuse_another
from ecs_rl.many.sweep_report import recipe_of, table
from ecs_rl.many.trials import take_report

ROOT = Path(__file__).resolve().parents[2]


def settings(*more: str) -> TrainSettings:
    return parse_train(["balance", *more], recipes_of)


def ranges(*texts: str, more: tuple[str, ...] = ()) -> tuple[Range | OneOf, ...]:
    return parse_ranges(texts, settings(*more))


def sweep(*rows: Row, measure: str = "best_eval") -> Sweep:
    return Sweep(
        scene="balance",
        agent="ppo",
        measure=measure,
        search="random",
        ranges=["ppo.lr=1e-4..1e-2:log"],
        seed=0,
        seeds=2,
        trials=4,
        early_stopping=True,
        settings={"arenas": 32, "ppo.gamma": 0.99},
        rows=list(rows),
    )


def test_a_range_on_a_logarithmic_scale_gives_each_power_of_ten_as_many_draws() -> None:
    (lr,) = ranges("ppo.lr=1e-4..1e-2:log")
    values = [setting["ppo.lr"] for setting in drawn([lr], 2000, seed=3)]
    assert all(1e-4 <= value <= 1e-2 for value in values)
    assert abs(sum(value < 1e-3 for value in values) / len(values) - 0.5) < 0.04
    assert [lr.at(share) for share in (0.0, 0.5, 1.0)] == [1e-4, 1e-3, 1e-2]
    assert all(len(f"{value:e}".split("e")[0].rstrip("0").replace(".", "")) <= 4 for value in values)


def test_whole_numbers_stay_whole_and_both_ends_are_as_likely_as_the_rest() -> None:
    (epochs,) = ranges("ppo.epochs=1..4")
    values = [setting["ppo.epochs"] for setting in drawn([epochs], 4000, seed=1)]
    assert all(type(value) is int for value in values)
    assert all(abs(values.count(each) / len(values) - 0.25) < 0.04 for each in (1, 2, 3, 4))


def test_values_of_every_kind_can_be_listed() -> None:
    axes = ranges("ppo.hidden=32x32,64", "ppo.shared=true,false", "network=mlp,gru", "ppo.lr_schedule=linear,constant")
    assert [axis.values for axis in axes if isinstance(axis, OneOf)] == [
        ((32, 32), (64,)),
        (True, False),
        ("mlp", "gru"),
        ("linear", "constant"),
    ]
    assert in_words(grid(axes)[0]) == "ppo.hidden=32x32 ppo.shared=true network=mlp ppo.lr_schedule=linear"


def test_the_same_seed_draws_the_same_settings_and_more_of_them_begin_with_those() -> None:
    axes = ranges("ppo.lr=1e-4..1e-2:log", "ppo.epochs=4,8")
    assert drawn(axes, 8, seed=5) == drawn(axes, 32, seed=5)[:8]
    assert drawn(axes, 8, seed=5) != drawn(axes, 8, seed=6)


def test_of_lists_alone_all_combinations_are_tried_or_as_many_different_ones_as_asked_for() -> None:
    axes = ranges("ppo.epochs=4,8", "arenas=16,32,64")
    assert search_of(axes, 0) == ("grid", 6)
    assert search_of(axes, 10) == ("grid", 6)
    assert search_of(axes, 5)[1] == 5
    some = drawn(axes, 5, seed=0)
    assert len({in_words(setting) for setting in some}) == 5
    assert [in_words(setting) for setting in grid(axes)][:2] == ["ppo.epochs=4 arenas=16", "ppo.epochs=4 arenas=32"]
    assert search_of(ranges("ppo.lr=1..2"), 0)[1] == 16


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("ppo.lrr=1,2", "--sweep ppo.lrr=1,2: unknown setting 'ppo.lrr': did you mean 'ppo.lr'?"),
        ("lr=1,2", "unknown setting 'lr': did you mean 'ppo.lr'?"),
        ("balance", "--sweep 'balance': write NAME=LOW..HIGH or NAME=A,B,C"),
        ("dqn.lr=1,2", "ppo is what learns: add --agent dqn"),
        ("seed=1,2", "trials with another 'seed' could not be compared: give it once, as --seed"),
        ("ppo.lr=", "--sweep ppo.lr=: it names no value"),
        ("ppo.lr=3e-4", "it names one value: give it as --ppo.lr"),
        ("ppo.lr=1e-2..1e-4", "the range is empty: write the smaller number first"),
        ("ppo.lr=1..1", "the range is empty"),
        ("ppo.entropy=0..1:log", ":log needs numbers above 0: begin above it, or leave :log out"),
        ("ppo.lr=1..2:lin", "there is no scale 'lin': write :log, or nothing for an even one"),
        ("ppo.lr=1,2:log", ":log is for a range of numbers"),
        ("ppo.lr=-1..1", "--sweep ppo.lr=-1..1 must be a finite number greater than 0, not -1.0"),
        ("ppo.epochs=1..x", "'x' is not a whole number"),
        ("ppo.epochs=1.5,2", "'1.5' is not a whole number: it has a fraction"),
        ("agent=ppo,dqq", "unknown agent 'dqq': did you mean 'dqn'?"),
        ("network=mlp,grru", "must be mlp, gru, conv, attention or FILE.py:NAME, not 'grru'"),
        ("ppo.lr=1,2 ppo.lr=1..2", "--sweep names ppo.lr twice"),
        ("", "--sweep: needs at least one range, such as: ppo.lr=1e-4..1e-2:log"),
        ("ppo.lr=1,2 --watch", "--sweep cannot be used with --watch: it shows one training"),
        ("ppo.lr=1,2 --check", "--sweep cannot be used with --check: it trains nothing"),
        ("ppo.lr=1,2 --workers 2", "--sweep cannot be used with --workers: each trial is a process of its own"),
    ],
)
def test_each_mistake_is_one_sentence_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: str, told: str
) -> None:
    assert main(["balance", "--runs", str(tmp_path), "--sweep", *flags.split()]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_trials_without_a_sweep_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["balance", "--trials", "4"]) == 2
    assert "--trials is for --sweep: name what varies" in capsys.readouterr().err


def test_what_is_not_installed_is_named_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("refusals", "sweep"):
        monkeypatch.setattr(f"ecs_rl.many.{module}.find_spec", lambda name: None)
    assert main(["balance", "--sweep", "ppo.lr=1,2", "--ray", "auto"]) == 2
    assert "--ray needs ray: python -m pip install 'ecs-rl[ray]', or leave --ray out" in capsys.readouterr().err
    assert what_needs_optuna(sweep()) == "settings are drawn at random and no trial stops early"
    plain = sweep()
    plain.search, plain.early_stopping = "grid", False
    assert what_needs_optuna(plain) == ""


def test_an_agent_that_varies_brings_its_own_settings() -> None:
    axes = ranges("agent=ppo,dqn", "dqn.lr=1e-4,1e-3")
    assert [axis.name for axis in axes] == ["agent", "dqn.lr"]


def test_a_job_has_the_settings_of_the_command_but_not_those_of_many_trainings() -> None:
    line = "balance --sweep ppo.lr=1,2 a=1..2 --arenas 16 --trials 3 --seeds=2 --resume runs/x --json --seed 4"
    command = JobCommand("--sweep", tuple(line.split()), "train.py", {"threads": 1}, {}, {})
    found = command.plan({"ppo.lr": 0.5}, 7).settings
    assert (found.arenas, found.seed, found.resume, found.ppo.lr, found.threads) == (16, 7, None, 0.5, 1)
    assert (found.sweep, found.trials, found.seeds, found.population) == ((), 0, 0, 0)


def test_what_stands_above_the_flags_counts_more_than_they_do() -> None:
    found = parse_train(["balance", "--ppo.lr", "1"], recipes_of, None, {"ppo.lr": 0.5, "seed": 3})
    assert (found.ppo.lr, found.seed) == (0.5, 3)


def test_trials_are_ranked_by_what_they_came_to_then_by_who_was_there_sooner() -> None:
    late, soon = ([(10, 1.0), (20, 5.0), (30, 5.0)], [(10, 5.0), (30, 5.0)])
    rows = [
        Row(trial=0, setting={"ppo.lr": 1.0}, state="diverged", value=9.0),
        Row(trial=1, setting={"ppo.lr": 2.0}, state="failed", message="why"),
        Row(trial=2, setting={"ppo.lr": 3.0}, state="finished", value=5.0, curve=late),
        Row(trial=3, setting={"ppo.lr": 4.0}, state="stopped early", value=5.0, curve=soon),
        Row(trial=4, setting={"ppo.lr": 5.0}, state="finished", value=6.0, curve=[(30, 6.0)]),
    ]
    assert [row.trial for row in sweep(*rows).ranked()] == [4, 3, 2, 0, 1]
    steps = [replace_value(rows[2], 900.0), replace_value(rows[4], 300.0)]
    best = sweep(*steps, measure="solved_step").best
    assert best is not None
    assert best.trial == 4
    assert sweep(*rows[:2]).best is None
    assert "why" in table(sweep(*rows), ranges("ppo.lr=1,2"))[-1]


def replace_value(row: Row, value: float) -> Row:
    return Row(trial=row.trial, setting=row.setting, state=row.state, value=value, curve=row.curve)


def test_reports_become_rows_with_a_curve() -> None:
    row = Row(trial=0, setting={})
    first = JobReport("running", 10, ("a",), ({},), best_eval=1.0, solved_step=80.0)
    take_report(row, first, "best_eval")
    take_report(row, replace(first, steps=20, best_eval=3.0, solved_step=40.0), "solved_step")
    take_report(row, JobReport("failed", message="gone"), "best_eval")
    assert (row.curve, row.value, row.steps, row.runs) == ([(10, 1.0), (20, 3.0)], 40.0, 20, ["a"])
    assert (row.state, row.message) == ("failed", "gone")


def test_the_recipe_is_a_file_that_config_takes(tmp_path: Path) -> None:
    row = Row(trial=0, setting={"ppo.lr": 1.5e-5}, state="finished", value=1.0)
    told = {"agent": "ppo", "arenas": 16, "restore_best": True, "ppo.lr": 1.5e-05, "ppo.hidden": [32, 32]}
    path = tmp_path / "best.toml"
    path.write_text(recipe_of(sweep(row), row, told))
    found = settings("--config", str(path))
    assert (found.arenas, found.restore_best, found.ppo.lr, found.ppo.hidden) == (16, True, 1.5e-05, (32, 32))


def test_a_sweep_is_read_as_it_was_written_and_goes_on_only_as_it_was_begun(tmp_path: Path) -> None:
    folder = tmp_path / "balance" / "sweep_1"
    folder.mkdir(parents=True)
    row = Row(trial=0, setting={"ppo.lr": 0.1}, state="interrupted", value=2.0, curve=[(5, 2.0)], runs=["x"])
    file = SweepFile(folder, sweep(row))
    file.write()
    with pytest.raises(CheckpointError, match="is being written by process"):
        SweepFile(folder, sweep())
    file.close()
    assert read_sweep(folder) == sweep(row)
    assert newest_sweep(tmp_path / "balance") == folder
    other = sweep()
    other.ranges = ["ppo.lr=1,2"]
    with pytest.raises(CommandError, match=r"begun with another sweep: ppo\.lr=1e-4\.\.1e-2:log: give the same"):
        refuse_another(sweep(row), other, folder)
    other = sweep()
    other.settings = {**other.settings, "ppo.gamma": 0.9}
    with pytest.raises(CommandError, match=r"begun with ppo\.gamma 0\.99"):
        refuse_another(sweep(row), other, folder)
    with pytest.raises(CommandError, match=r"there is no sweep in .* to go on with"):
        newest_sweep(tmp_path / "lander")
    with pytest.raises(CheckpointError, match="is no sweep that can be gone on with"):
        read_sweep(tmp_path)


def test_nothing_of_ray_or_optuna_is_imported_without_a_sweep_or_workers(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom ecs_rl.commands.train import main\n"
        "import ecs_rl.many.sweep, ecs_rl.many.search, ecs_rl.tasks.workers\n"
        "main('balance --steps 1k --arenas 8 --eval-episodes 2 --runs runs'.split())\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in ('ray', 'optuna', 'pandas', 'pyarrow')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_settings_drawn_are_those_that_every_trial_could_take() -> None:
    axes = ranges("ppo.lr=1e-4..1e-2:log", "ppo.gae_lambda=0.9..1", "ppo.epochs=1..16:log")
    for setting in drawn(axes, 50, seed=0):
        assert all(math.isfinite(value) for value in setting.values())
        found = replace(parse_train(["balance"], recipes_of, None, setting))
        assert found.ppo.lr == setting["ppo.lr"]

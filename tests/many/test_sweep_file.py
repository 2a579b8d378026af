"""`sweep.json` is anybody's to write: `--resume` takes up nothing of it that the command itself does not say."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ecs_rl.cli.plan import plan_of
from ecs_rl.commands.train import main
from ecs_rl.many.ranges import Axis, parse_ranges
from ecs_rl.many.search import ListedSettings
from ecs_rl.many.seeds import checked
from ecs_rl.many.sweep import new_sweep
from ecs_rl.many.sweep_checks import check_sweep
from ecs_rl.many.sweep_file import GRID, RANDOM, Row, Sweep, SweepFile, read_sweep
from ecs_rl.many.table import Table
from ecs_rl.many.trials import Trials

SMALL = ("balance", "--arenas", "8", "--steps", "2k", "--eval-every", "1k", "--eval-episodes", "2", "--ppo.hidden", "8")
RANGES = ("ppo.lr=1e-4..1e-2:log", "ppo.hidden=8,8x8", "ppo.epochs=2..4")
SETTING: dict[str, Any] = {"ppo.lr": 0.001, "ppo.hidden": (8, 8), "ppo.epochs": 3}
SPRINGS = "from pathlib import Path\nPath(__file__).with_suffix('.sprung').touch()\n\nclass Bad: pass\n"


def asked(*more: str) -> tuple[Sweep, tuple[Axis, ...]]:
    settings = checked(plan_of([*SMALL, *more, "--sweep", *RANGES])).settings
    return new_sweep(settings, RANDOM, 4), parse_ranges(settings.sweep, settings)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a sweep that was interrupted, and a file of code that it may name."""
    folder = tmp_path / "runs" / "balance" / "sweep_1"
    folder.mkdir(parents=True)
    (tmp_path / "evil.py").write_text(SPRINGS)
    row = Row(
        trial=0,
        setting=SETTING,
        state="interrupted",
        steps=1000,
        value=2.0,
        curve=[(1000, 2.0)],
        runs=[str(folder / "20260101_000000")],
    )
    sweep, _ = asked()
    sweep.rows, sweep.status = [row], "interrupted"
    file = SweepFile(folder, sweep)
    file.write()
    file.close()
    return folder


def mutated(folder: Path, change: Callable[[dict[str, Any], dict[str, Any]], Any]) -> None:
    told = json.loads((folder / "sweep.json").read_text())
    change(told, told["rows"][0])
    (folder / "sweep.json").write_text(json.dumps(told))


def refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    code = main(
        [*SMALL, "--sweep", *RANGES, "--runs", str(folder.parents[1]), "--trials", "4", "--resume", str(folder)]
    )
    said = capsys.readouterr()
    assert (code, said.out) == (3, ""), said.err
    (line,) = said.err.splitlines()
    assert line.isprintable()
    assert f"{folder} is no sweep that can be gone on with: sweep.json: " in line
    assert not list(folder.parents[2].rglob("*.sprung"))
    return line


def test_what_was_written_is_taken_up_with_the_ranges_own_values_and_paths(folder: Path) -> None:
    _, axes = asked()
    moved = folder.rename(folder.with_name("elsewhere"))
    sweep = read_sweep(moved)
    check_sweep(moved, sweep, axes)
    assert sweep.rows[0].setting == SETTING
    assert sweep.rows[0].runs == [str(moved / "20260101_000000")]


def test_summaries_have_the_key_told_in_the_file_as_in_every_earlier_sweep(folder: Path) -> None:
    mutated(folder, lambda sweep, row: row.update(told=[{"seed": 3}]))
    assert read_sweep(folder).rows[0].summaries == [{"seed": 3}]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("recorder", "{evil}:Bad"),
        ("agent", "{evil}:Bad"),
        ("network", "{evil}:Bad"),
        ("ppo.network", "{evil}:Bad"),
        ("against", "{evil}:Bad"),
        ("config", "{evil}"),
        ("runs", "/tmp"),
        ("resume", "/tmp"),
        ("seed", 3),
        ("ppo.gama", 0.5),
        ("\x1b[31mred", 1),
    ],
)
def test_a_setting_that_the_command_does_not_vary_is_refused(
    name: str, value: object, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = value.replace("{evil}", str(tmp_path / "evil.py")) if isinstance(value, str) else value
    mutated(folder, lambda sweep, row: row["setting"].update({name: text}))
    assert "trial 0 varies 'ppo.lr', 'ppo.hidden', 'ppo.epochs', " in refused(folder, capsys)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("ppo.lr", "fast\x1b[31m", "trial 0 has ppo.lr = 'fast\\x1b[31m', outside of ppo.lr=1e-4..1e-2:log"),
        ("ppo.lr", 1.0, "outside of"),
        ("ppo.lr", None, "outside of"),
        ("ppo.lr", True, "outside of"),
        ("ppo.epochs", 2.5, "outside of"),
        ("ppo.epochs", "3", "outside of"),
        ("ppo.hidden", [16], "outside of ppo.hidden=8,8x8"),
        ("ppo.hidden", {"a": 1}, "outside of"),
        ("ppo.hidden", "../evil.py:Bad", "outside of"),
    ],
)
def test_a_value_outside_of_its_range_is_refused(
    name: str, value: object, told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mutated(folder, lambda sweep, row: row["setting"].update({name: value}))
    assert told in refused(folder, capsys)


CHANGES: dict[str, Callable[[dict[str, Any], dict[str, Any]], Any]] = {
    "a missing setting": lambda sweep, row: row["setting"].pop("ppo.lr"),
    "no key": lambda sweep, row: sweep.pop("ranges"),
    "other keys": lambda sweep, row: [sweep.pop(name) for name in list(sweep) if name != "rows"],
    "an unknown state": lambda sweep, row: row.update(state="\x1b[2J"),
    "an unknown status": lambda sweep, row: sweep.update(status="x"),
    "an unknown search": lambda sweep, row: sweep.update(search="\x1b]0;x\x07"),
    "a grid of ranges": lambda sweep, row: sweep.update(search=GRID),
    "a number twice": lambda sweep, row: sweep["rows"].append(dict(row)),
    "a number below zero": lambda sweep, row: row.update(trial=-1),
    "steps below zero": lambda sweep, row: row.update(steps=-1),
    "a huge number": lambda sweep, row: row.update(steps=10**30),
    "a text as a number": lambda sweep, row: row.update(value="1"),
    "another run": lambda sweep, row: row.update(runs=["/etc"]),
    "a run outside": lambda sweep, row: row.update(runs=["../.."]),
    "too many runs": lambda sweep, row: row.update(runs=row["runs"] * 2),
    "a curve that goes back": lambda sweep, row: row.update(curve=[[5, 1.0], [5, 2.0]]),
    "a curve of texts": lambda sweep, row: row.update(curve=[["a", 1.0]]),
    "solved without a value": lambda sweep, row: row.update(state="solved", value=None),
    "what another had": lambda sweep, row: row.update(
        taken_over=[{"steps": 1, "member": 0, "setting": {"agent": "x"}}]
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_no_sweep_writes_is_refused(change: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mutated(folder, CHANGES[change])
    refused(folder, capsys)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[" * 100_000, b'{"scene": "\xff"}', b"null", b"[]"])
def test_what_is_no_json_is_refused(content: bytes, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "sweep.json").write_bytes(content)
    refused(folder, capsys)


def test_a_message_cannot_move_the_cursor(folder: Path) -> None:
    mutated(folder, lambda sweep, row: row.update(message="\x1b[2J" + "a" * 10_000))
    sweep, (_, axes) = read_sweep(folder), asked()
    check_sweep(folder, sweep, axes)
    assert sweep.rows[0].message.isprintable()
    assert len(sweep.rows[0].message) < 600


def test_a_trial_that_had_not_begun_gets_its_own_number_again(folder: Path) -> None:
    sweep, axes = asked()
    settings = ListedSettings(sweep, axes)
    sweep.rows = [Row(trial=i, setting=settings.ask(i) or {}, state="finished") for i in (0, 2)]
    file = SweepFile(folder, sweep)
    source = Trials(file, settings, Table(io.StringIO(), "trial"))
    jobs = [source.next(), source.next(), source.next()]
    file.close()
    assert [job and (job.number, job.setting) for job in jobs] == [(1, settings.ask(1)), (3, settings.ask(3)), None]

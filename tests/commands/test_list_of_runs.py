"""`play.py --list` shows every run in a line of its own, whatever stands in its files."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from ecs_rl.commands.play import main
from ecs_rl.errors import CheckpointError, visible
from ecs_rl.runs import TrainingRun
from ecs_rl.shipped import scene_names

ODD: dict[str, dict[str, Any]] = {
    "a score without a step": {"best_eval": 1.5, "best_step": None},
    "a step without a score": {"best_eval": None, "best_step": 3},
    "a huge score": {"best_eval": 1e308, "best_step": 3},
    "a text for a number": {"total_steps": "many"},
    "a number for a text": {"name": 5},
    "a list for a text": {"scene": ["balance"]},
    "a truth for a number": {"total_steps": True},
    "a negative number": {"total_steps": -1},
    "a number of 400 digits": {"total_steps": 10**400},
    "a number past 64 bits": {"best_eval": 1.0, "best_step": 2**63},
    "a megabyte of text": {"scene": "x" * 1_000_000},
    "a megabyte of digits": {"started_at": "9" * 1_000_000},
    "a deep nest": {"versions": [[[[{"a": [{}] * 9}]]]]},
    "ten thousand versions": {"versions": {str(n): "1" for n in range(10_000)}},
    "an escape": {"status": "\x1b[2J\x1b]0;title\x07gone"},
    "a new line": {"name": "cart\nfinished  forged", "scene": "a\r\nb"},
    "turned text": {"agent": "\u202eopp\u2066"},
    "half a character": {"agent": "\ud800"},
    "a zero byte": {"version": "v1\x00", "scene": "\x00"},
    "an odd time": {"started_at": "\x1b[1mnever"},
}


PILOTS = "pilots that come with the project:"
"""What comes before the runs."""


def lines(runs: Path, capsys: pytest.CaptureFixture[str], *more: str) -> list[str]:
    assert main(["--list", "--runs", str(runs), *more]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert told.out.endswith("\n")
    found = told.out[:-1].split("\n")
    if PILOTS in found:
        assert found[0] == PILOTS
        found = found[next(i for i, line in enumerate(found) if line.startswith("watch one: ")) + 1 :]
    return found


@pytest.mark.parametrize("odd", ODD)
def test_one_odd_run_is_one_line_and_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], odd: str
) -> None:
    for name in ("good", "odd"):
        TrainingRun.create(name, runs_dir=tmp_path).close()
    (path,) = tmp_path.glob("odd/v1/*/metadata.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **ODD[odd]}))
    found = lines(tmp_path, capsys)
    assert len(found) in (3, 4)  # the head, two runs, and what is wrong with one that is broken
    assert sum(line.startswith("good ") for line in found) == 1
    assert all(line.isprintable() and len(line) < 1500 for line in found)
    assert (len(found) == 4) == any(" broken " in line for line in found)
    told = json.loads(lines(tmp_path, capsys, "--json")[0])
    assert len(told) == 2
    assert (len(found) == 4) == any(row["problem"] for row in told)


def test_folders_with_odd_names_are_shown_as_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = TrainingRun.create("good", runs_dir=tmp_path)
    run.close()
    (tmp_path / "od\x1b[2Jd\n" / "v1\u202e").mkdir(parents=True)
    os.rename(run.path, tmp_path / "od\x1b[2Jd\n" / "v1\u202e" / run.path.name)
    (tmp_path / "od\x1b[2Jd\n" / "v1\u202e" / "20260101_000000").mkdir()
    found = lines(tmp_path, capsys)
    assert len(found) == 4
    assert all(line.isprintable() for line in found)
    assert r"od\x1b[2Jd\n" in "".join(found)


def test_a_message_is_one_line_whatever_it_quotes() -> None:
    told = str(CheckpointError("scene '\x1b[31m\nred\u202e' " + "x" * 100_000 + " use another"))
    assert told.startswith(r"scene '\x1b[31m\nred\u202e' xxx")
    assert told.endswith("xxx use another")
    assert told.isprintable()
    assert len(told) < 2100


@pytest.mark.parametrize("text", ["", "plain", "Größe 5 µm · ±", "日本語", "C:\\runs\\cart"])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_the_newest_run_is_the_last_line_with_its_seed_and_what_its_evaluations_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    extras: dict[str, dict[str, float]] = {
        "plain": {"end/fell": 1.0},
        "scored": {"coins": 3.0, "score/coins": 3.0},
        "rated": {},
    }
    for seed, (name, found) in enumerate(extras.items(), 40):
        run = TrainingRun.create(name, runs_dir=tmp_path, scene="balance", agent="ppo", seed=seed)
        run.write_config({"self_play": name == "rated"})
        run.update_metadata(best_eval=1234.5, best_step=10)
        run.log_eval_episode(10, 1.0, 5, "Terminated", found, total_steps_at_eval=10, seed=10_000)
        run.close()
    told = [re.split(" {2,}", line) for line in lines(tmp_path, capsys)]
    assert told[0][:7] == ["name", "version", "when", "scene", "agent", "seed", "steps"]
    assert [(row[0], row[5], row[7]) for row in told[1:]] == [
        ("plain", "40", "1,234.5 return at 10"),
        ("scored", "41", "1,234.5 coins at 10"),
        ("rated", "42", "1,234.5 Elo at 10"),
    ]
    assert [row["name"] for row in json.loads(lines(tmp_path, capsys, "--json")[0])] == [*reversed(extras)]


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("balance", ["balance", "mine"]),
        ("mine", ["mine"]),
        ("mine/v1", ["mine"]),
        ("swingup", ["theirs"]),
        ("walker", []),
    ],
)
def test_a_scene_or_a_name_filters_the_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str, names: list[str]
) -> None:
    for name, scene in (("balance", "balance"), ("mine", "/home/me/balance.py"), ("theirs", "swingup")):
        TrainingRun.create(name, runs_dir=tmp_path, scene=scene).close()
    assert main(["--list", target, "--runs", str(tmp_path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in out if " v1 " in line] == names
    assert sum("seed" in line for line in out) == bool(names)
    shown = [line.split()[0] for line in out if line.startswith("  ")]
    assert shown == ([target] if target in scene_names() else [])
    if not names:
        assert out[-1] == f"there are no runs of {target} in {tmp_path}: train one first"
    assert main([target, "--list", "--json", "--runs", str(tmp_path)]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == [*reversed(names)]

"""`train.py --recorder`: whoever hears of a training changes nothing in it, and may fail."""

from __future__ import annotations

import json
import re
from pathlib import Path

from command_runs import ROOT, metadata, train
from small_learners import PPO

SMALL = ("--steps", 2000, "--arenas", 8, "--eval-every", 1000, "--eval-episodes", 2, *PPO, "--json")
OWN = """
import json, pathlib

class Writes:
    def begin(self, facts):
        self.path = pathlib.Path(facts.path.parents[2], "heard.txt")
        return -1
    def record(self, step, seconds, metrics):
        self.path.open("a").write(f"{step} ")
    def finish(self, status, table, episodes):
        self.path.open("a").write(json.dumps([status, table["best_eval"], len(episodes)]))

class Fails(Writes):
    def record(self, step, seconds, metrics):
        raise OSError("the server\\nis gone")
"""


def test_who_hears_of_a_training_changes_nothing_and_hears_it_all(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(OWN)
    alone = train("balance", *SMALL, "--runs", tmp_path / "alone")
    heard = train("balance", *SMALL, "--runs", tmp_path / "runs", "--recorder", f"{own}:Writes")
    assert (heard.code, heard.sha) == (0, alone.sha), heard.err
    rows = (tmp_path / "runs" / "heard.txt").read_text()
    steps, end = rows[: rows.index("[")].split(), json.loads(rows[rows.index("[") :])
    assert steps == sorted(steps, key=int)
    assert int(steps[-1]) == 2000
    assert end == ["finished", heard.json["best_eval"], 2]


def test_a_recorder_that_fails_is_told_in_one_line_and_the_training_ends_well(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(OWN)
    told = train("balance", *SMALL, "--runs", tmp_path / "runs", "--recorder", f"{own}:Fails")
    assert told.code == 0, told.err
    words = f"train.py: the recorder {own}:Fails was given up, training was not: OSError: the server is gone"
    assert [line for line in told.err.splitlines() if "the recorder" in line] == [words]
    assert metadata(told.run)["status"] == "finished"
    again = train("balance", "--resume", told.run, "--steps", 2500, "--runs", tmp_path / "runs", "--json")
    assert again.code == 0, again.err
    assert "the recorder" not in again.err  # a file is run for whoever names it, and for nobody else


def test_a_recorder_that_there_is_not_is_refused_before_there_is_a_run(tmp_path: Path) -> None:
    told = train("balance", *SMALL, "--runs", tmp_path / "runs", "--recorder", "mlfow")
    assert (told.code, told.out, len(told.err.splitlines())) == (2, "", 1)
    assert not (tmp_path / "runs").exists()


def test_the_example_of_the_readme_says_how_far_it_is(tmp_path: Path) -> None:
    page = (ROOT / "ecs_rl" / "README.md").read_text()
    (code,) = re.findall(r"<!-- example recorder[^>]*-->\n```python\n(.*?)```", page, re.DOTALL)
    own = tmp_path / "prints.py"
    own.write_text(code)
    told = train("balance", *SMALL, "--runs", tmp_path / "runs", "--recorder", f"{own}:Prints")
    assert told.code == 0, told.err
    assert "learns by {'lr': " in told.err
    assert re.search(r"\n2000 steps, \d", told.err)
    assert f"\nfinished {told.json['best_eval']} [" in told.err

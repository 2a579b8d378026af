"""When a training ends: at its steps, or with `--until-solved` at the evaluation that is good enough."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import TINY, changed_balance, metadata, rows, train


def test_the_scenes_own_recipe_solves_balance_and_stops_there(tmp_path: Path) -> None:
    told = train("balance", "--until-solved", "--json", "--runs", tmp_path)
    found = told.json
    assert (told.code, found["status"]) == (0, "solved")
    assert found["best_eval"] >= 475
    assert found["steps"] == found["solved_step"] == found["best_step"]
    assert 0 < found["solved_second"] < found["seconds"]
    assert metadata(told.run)["status"] == "solved"
    last = [row for row in rows(told.run, "eval_episodes") if row["total_steps_at_eval"] == found["steps"]]
    assert len(last) == 20
    assert sum(row["total_reward"] for row in last) / 20 == pytest.approx(found["best_eval"])
    assert "solved at step" in told.err


@pytest.fixture
def easy(tmp_path: Path) -> Path:
    """Return `balance` that counts as solved at once."""
    return changed_balance(tmp_path / "easy.py", "solved_at=475", "solved_at=9")


def test_it_stops_at_the_first_evaluation_that_is_good_enough(easy: Path, tmp_path: Path) -> None:
    found = train(easy, *TINY, "--until-solved", "--json", "--runs", tmp_path / "runs").json
    assert (found["status"], found["steps"], found["solved_step"]) == ("solved", 1000, 1000)


def test_without_it_the_run_goes_on_to_its_steps_and_tells_when_it_was_solved(easy: Path, tmp_path: Path) -> None:
    told = train(easy, *TINY, "--json", "--runs", tmp_path / "runs")
    found = told.json
    assert (found["status"], found["steps"], found["solved_step"]) == ("finished", 3000, 1000)
    assert 0 < found["solved_second"] < found["seconds"]
    assert len(rows(told.run, "eval_episodes")) == 9


def test_evaluation_is_left_out_of_the_seconds_to_solve(easy: Path, tmp_path: Path) -> None:
    args = (easy, *TINY, "--until-solved", "--eval-episodes", 400, "--json", "--runs", tmp_path / "runs")
    found = train(*args).json
    assert found["solved_second"] <= found["seconds"] - found["seconds_in"]["evaluate"]


def test_a_run_that_is_not_solved_in_its_steps_ends_as_finished(tmp_path: Path) -> None:
    told = train("balance", *TINY, "--until-solved", "--json", "--runs", tmp_path)
    assert (told.json["status"], told.json["solved_step"]) == ("finished", None)
    assert told.code == 0

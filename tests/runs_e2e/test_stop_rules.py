"""Trainings that end before their steps: at a plateau, after some minutes; and how they go on."""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path

from command_runs import TINY, Told, changed_balance, metadata, rows, train

LONG = (*TINY, "--steps", "60k", "--eval-every", 500)


def scores(told: Told) -> list[float]:
    """Return the mean of each evaluation of a run, in order."""
    played: dict[int, list[float]] = {}
    for row in rows(told.run, "eval_episodes"):
        played.setdefault(row["total_steps_at_eval"], []).append(row["total_reward"])
    return [sum(each) / len(each) for each in played.values()]


def since_best(found: list[float]) -> list[int]:
    """Return for each evaluation how many were held since the best one before it, itself included."""
    best = list(accumulate(found, max))
    return [i - found.index(best[i]) for i in range(len(found))]


def test_a_plateau_ends_the_run_at_the_first_evaluation_that_makes_it_one(tmp_path: Path) -> None:
    told = train("balance", *LONG, "--until", "plateau 6", "--json", "--runs", tmp_path)
    assert (told.code, told.json["status"], metadata(told.run)["status"]) == (0, "finished", "finished")
    waited = since_best(scores(told))
    assert waited[-1] == 6
    assert max(waited[:-1]) < 6
    assert told.json["steps"] < 60_000
    assert "finished (no better evaluation among the newest 6) at step" in told.err
    config = json.loads((told.run / "config.json").read_text())
    assert (config["until"], config["until_solved"]) == ("plateau 6", False)


def test_a_plateau_is_the_same_for_a_run_that_was_interrupted(tmp_path: Path) -> None:
    args = ("balance", *LONG, "--until", "plateau 6", "--json", "--checkpoint-every", 700)
    whole = train(*args, "--runs", tmp_path / "whole")
    middle = whole.json["best_step"] + 900
    assert middle < whole.json["steps"]
    first = train(*args, "--steps", middle, "--runs", tmp_path / "parts")
    second = train("balance", "--resume", first.run, "--steps", "60k", "--json")
    assert (second.json["steps"], second.sha) == (whole.json["steps"], whole.sha)
    assert second.json["status"] == "finished"


def test_a_run_that_ended_at_a_plateau_goes_on_only_if_it_is_told_to(tmp_path: Path) -> None:
    first = train("balance", *LONG, "--until", "plateau 3", "--json", "--runs", tmp_path)
    again = train("balance", "--resume", first.run, "--json")
    assert (again.code, again.json["steps"], again.json["status"]) == (0, first.json["steps"], "finished")
    steps = first.json["steps"] + 400
    further = train("balance", "--resume", first.run, "--until", "steps", "--steps", steps, "--json")
    assert (further.json["steps"], further.json["status"]) == (steps, "finished")


def test_until_solved_is_said_in_two_ways(tmp_path: Path) -> None:
    easy = changed_balance(tmp_path / "easy.py", "solved_at=475", "solved_at=9")
    told = train(easy, *TINY, "--until", "solved", "--json", "--runs", tmp_path / "runs")
    assert (told.json["status"], told.json["steps"]) == ("solved", 1000)
    config = json.loads((told.run / "config.json").read_text())
    assert (config["until"], config["until_solved"]) == ("steps", True)


def test_minutes_are_minutes_of_training_and_a_resumed_run_counts_what_it_had(tmp_path: Path) -> None:
    args = ("balance", *TINY, "--steps", "900M", "--minutes", 0.02, "--json")
    first = train(*args, "--runs", tmp_path)
    assert (first.code, first.json["status"]) == (0, "finished")
    assert first.json["seconds"] >= 1.2
    assert "finished (after 0.02 minutes of training) at step" in first.err
    assert rows(first.run, "eval_episodes")[-1]["total_steps_at_eval"] == first.json["steps"]
    again = train("balance", "--resume", first.run, "--json")
    assert again.json["steps"] == first.json["steps"], "its minutes are over"
    further = train("balance", "--resume", first.run, "--minutes", 0.03, "--json")
    assert further.json["steps"] > first.json["steps"]
    assert further.json["seconds"] >= 1.8


def test_minutes_change_only_when_a_run_ends(tmp_path: Path) -> None:
    timed = train("balance", *TINY, "--steps", "900M", "--minutes", 0.02, "--json", "--runs", tmp_path)
    plain = train("balance", *TINY, "--steps", timed.json["steps"], "--json", "--runs", tmp_path)
    assert (plain.json["steps"], plain.sha) == (timed.json["steps"], timed.sha)

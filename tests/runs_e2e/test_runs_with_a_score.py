"""Where a scene names a score, that is what `best`, `solved_at`, logs, metrics and play go by; returns stay returns."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest
from command_runs import TINY, play, rows, train
from score_scenes import HOVER

SCORE = "score/on target"


@pytest.fixture
def hover(tmp_path: Path) -> Path:
    path = tmp_path / "hover.py"
    path.write_text(HOVER)
    return path


def evaluations(run: Path) -> dict[int, list[float]]:
    """Return the scores of each evaluation by its step."""
    found: dict[int, list[float]] = {}
    for row in rows(run, "eval_episodes"):
        found.setdefault(row["total_steps_at_eval"], []).append(row["extras"][SCORE])
    return found


def test_best_and_solved_follow_the_score_where_it_is_not_what_is_earned(hover: Path, tmp_path: Path) -> None:
    told = train(hover, "--until-solved", "--json", "--runs", tmp_path / "runs")
    assert told.json["status"] == "solved", "no return is above zero: only the score can solve this"
    means = {step: fmean(scores) for step, scores in evaluations(told.run).items()}
    assert told.json["best_eval"] == max(means.values()) >= 45
    assert means[told.json["best_step"]] == told.json["best_eval"]
    assert told.json["solved_step"] == min(step for step, mean in means.items() if mean >= 45)
    assert all(row["total_reward"] < 0 for row in rows(told.run, "eval_episodes"))
    assert "best score " in told.err
    assert "  score " in told.err
    assert "eval score " in told.err


def test_logs_and_metrics_hold_every_score_and_keep_returns_as_they_were(hover: Path, tmp_path: Path) -> None:
    run = train(hover, *TINY, "--runs", tmp_path / "runs", "--json").run
    for episode in (*rows(run, "train_episodes"), *rows(run, "eval_episodes")):
        assert {"near", SCORE, "score/place"} <= episode["extras"].keys()
        assert episode["total_reward"] == episode["extras"]["near"]
        assert 0 <= episode["extras"][SCORE] <= 60
    last = rows(run, "metrics")[-1]
    newest = [episode["extras"][SCORE] for episode in rows(run, "train_episodes")][-100:]
    assert last["rollout/score/on target"] == pytest.approx(fmean(newest))
    assert last["eval/score/on target"] == pytest.approx(fmean(list(evaluations(run).values())[-1]))
    assert {"rollout/score/place", "eval/score/place", "rollout/mean_return", "eval/mean_return"} <= last.keys()


def test_play_tells_scores_beside_returns_and_reproduces_the_best(hover: Path, tmp_path: Path) -> None:
    told = train(hover, *TINY, "--runs", tmp_path / "runs", "--json")
    found = play(told.run, "--headless", "--json", "--episodes", 3).json
    assert found["mean_score"] == told.json["best_eval"]
    assert found["scores"] == evaluations(told.run)[found["step"]]
    assert found["mean_return"] == pytest.approx(fmean(found["returns"]))
    assert found["mean_return"] < 0
    out = play(told.run, "--headless", "--episodes", 3).out
    assert "mean score " in out
    for line, score in zip(out.splitlines(), found["scores"], strict=False):
        assert f": score {score:8.1f} in " in line
    assert not {"mean_score", "scores"} & play("--headless", "--json", *scoreless(tmp_path)).json.keys()


def scoreless(tmp_path: Path) -> list[object]:
    return [train("balance", *TINY, "--runs", tmp_path / "others", "--json").run, "--episodes", 2]


def test_a_resumed_run_goes_on_with_its_scores_to_the_last_bit(hover: Path, tmp_path: Path) -> None:
    more = ("--checkpoint-every", 500, "--schedule-steps", "3k", "--json", "--threads", 1)
    whole = train(hover, *TINY, *more, "--runs", tmp_path / "whole")
    half = train(hover, *TINY, *more, "--runs", tmp_path / "half", "--steps", 1500)
    both = train(hover, *TINY, *more, "--runs", tmp_path / "half", "--resume", half.run)
    assert both.sha == whole.sha
    assert (both.json["best_eval"], both.json["best_step"]) == (whole.json["best_eval"], whole.json["best_step"])
    for log in ("train_episodes", "eval_episodes"):
        assert rows(both.run, log) == rows(whole.run, log)
    names = [name for name in rows(whole.run, "metrics")[-1] if "score/" in name]
    last = (rows(each.run, "metrics")[-1] for each in (both, whole))
    assert len({tuple(row[name] for name in names) for row in last}) == 1


def test_a_score_that_is_always_zero_trains_and_is_the_best_there_is(hover: Path, tmp_path: Path) -> None:
    hover.write_text(HOVER.replace("lambda: on_target.value", "lambda: np.zeros(len(disc.x))"))
    told = train(hover, *TINY, "--runs", tmp_path / "runs", "--json")
    found = told.json
    assert "eval score 0 (best 0 at" in told.err
    assert "best score 0\n" in told.err, "the last words tell it as the progress does"
    assert (found["best_eval"], found["solved_step"]) == (0.0, None)
    returns: dict[int, float] = {}
    for row in rows(told.run, "eval_episodes"):
        step = row["total_steps_at_eval"]
        returns[step] = returns.get(step, 0.0) + row["total_reward"]
    assert len(returns) > 1
    assert returns[found["best_step"]] == max(returns.values()), "of equal scores the return decides"

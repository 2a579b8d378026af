"""The learning drawer reads a run's files while they grow, torn or cut."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ecs_rl.viewer.history import History


def write(path: Path, *rows: object, end: str = "\n", mode: str = "a") -> None:
    with path.open(mode) as file:
        file.write("\n".join(json.dumps(row) for row in rows) + end)


def metrics(steps: int, value: float | None) -> dict[str, object]:
    return {
        "total_steps": steps,
        "rollout/mean_return": value,
        "rollout/mean_length": 20.0,
        "train/loss/policy": 0.1,
        "train/loss/value": 0.2,
        "train/entropy": 0.5,
        "time/steps_per_second": 1000.0,
    }


def exam(steps: int, value: float) -> dict[str, object]:
    return {"total_steps": steps, "total_reward": value, "total_steps_at_eval": steps, "seed": 1}


def test_a_run_without_files_has_an_empty_history(tmp_path: Path) -> None:
    view = History(tmp_path, solved_at=10.0).refresh()
    assert len(view.returns.x) == 0
    assert view.best is None
    assert view.solved_at == 10.0


def test_metrics_and_evaluations_become_series(tmp_path: Path) -> None:
    write(tmp_path / "metrics.jsonl", metrics(100, 1.0), metrics(200, None), metrics(300, 3.0))
    write(tmp_path / "eval_episodes.jsonl", exam(100, 4.0), exam(100, 6.0), exam(300, 2.0))
    view = History(tmp_path).refresh()
    assert view.returns.x.tolist() == [100, 200, 300]
    assert view.returns.y[[0, 2]].tolist() == [1, 3]
    assert np.isnan(view.returns.y[1])
    assert view.evaluations.y.tolist() == [5, 2]
    assert view.evaluations.spread is not None
    assert view.evaluations.spread.tolist() == [1, 0]
    assert view.best == (100, 5)
    names = [[line.name for line in plot] for plot in view.others]
    assert names == [["episode length"], ["policy loss", "value loss"], ["entropy"], ["steps per second"]]


def test_evaluations_come_from_the_metrics_where_there_are_no_episodes(tmp_path: Path) -> None:
    write(tmp_path / "metrics.jsonl", {"total_steps": 5, "eval/mean_return": 7.0, "eval/std_return": 2.0})
    view = History(tmp_path).refresh()
    assert view.best == (5, 7)


@pytest.mark.parametrize("torn", ['{"total_steps": 200, "rollout/mean_re', "{", ""])
def test_a_torn_last_line_waits_for_its_end(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "metrics.jsonl"
    write(path, metrics(100, 1.0))
    whole = json.dumps(metrics(200, 2.0)) + "\n"
    with path.open("a") as file:
        file.write(torn)
    history = History(tmp_path)
    assert history.refresh().returns.x.tolist() == [100]
    with path.open("a") as file:
        file.write(whole[len(torn) :])
    assert history.refresh().returns.x.tolist() == [100, 200]


def test_lines_that_are_not_rows_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'[1, 2]\nnonsense\n\xff\xfe\n{"total_steps": "x", "rollout/mean_return": true}\n\n')
    write(path, metrics(100, 1.0))
    view = History(tmp_path).refresh()
    assert view.returns.y[-1] == 1.0
    assert np.isnan(view.returns.y[:-1]).all()


def test_only_news_make_a_new_view(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write(path, metrics(100, 1.0))
    history = History(tmp_path)
    first = history.refresh()
    assert history.refresh() is first
    write(path, metrics(200, 2.0))
    assert history.refresh() is not first


def test_a_resumed_run_that_forgot_rows_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write(path, metrics(100, 1.0), metrics(200, 2.0), metrics(300, 3.0))
    history = History(tmp_path)
    history.refresh()
    write(path, metrics(100, 1.0), metrics(250, 9.0), mode="w")
    assert history.refresh().returns.x.tolist() == [100, 250]

"""The learning drawer reads a run's files once, torn or damaged, and then goes by what its training adds."""

from __future__ import annotations

import json
import math
import tracemalloc
from pathlib import Path
from time import process_time

import numpy as np
import pytest

from ecs_rl.viewer.history import MOST_POINTS, History
from ecs_rl.viewer.view import LearningView


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


def evaluation(steps: int, value: float) -> dict[str, object]:
    return {"total_steps": steps, "total_reward": value, "total_steps_at_eval": steps, "seed": 1}


def test_a_run_without_files_has_an_empty_history(tmp_path: Path) -> None:
    view = History(tmp_path, solved_at=10.0).refresh()
    assert len(view.returns.x) == 0
    assert view.best is None
    assert view.solved_at == 10.0


def test_metrics_and_evaluations_become_series(tmp_path: Path) -> None:
    write(tmp_path / "metrics.jsonl", metrics(100, 1.0), metrics(200, None), metrics(300, 3.0))
    write(tmp_path / "eval_episodes.jsonl", evaluation(100, 4.0), evaluation(100, 6.0), evaluation(300, 2.0))
    view = History(tmp_path).refresh()
    assert view.returns.x.tolist() == [100, 200, 300]
    assert view.returns.y[[0, 2]].tolist() == [1, 3]
    assert np.isnan(view.returns.y[1])
    assert view.evaluations.y.tolist() == [5, 2]
    assert view.evaluations.spread is not None
    assert view.evaluations.spread.tolist() == [1, 0]
    assert view.best == (100, 5)
    names = [[line.name for line in plot] for plot in view.others]
    assert names == [["episode length"], ["entropy"], ["policy loss", "value loss"], ["mean steps per second"]]


def test_evaluations_come_from_the_metrics_where_there_are_no_episodes(tmp_path: Path) -> None:
    write(tmp_path / "metrics.jsonl", {"total_steps": 5, "eval/mean_return": 7.0, "eval/std_return": 2.0})
    view = History(tmp_path).refresh()
    assert view.best == (5, 7)


@pytest.mark.parametrize("torn", ['{"total_steps": 200, "rollout/mean_re', "{", ""])
def test_a_torn_last_line_is_left_out(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "metrics.jsonl"
    write(path, metrics(100, 1.0))
    with path.open("a") as file:
        file.write(torn)
    assert History(tmp_path).refresh().returns.x.tolist() == [100]


def test_lines_that_are_not_rows_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'[1, 2]\nnonsense\n\xff\xfe\n{"total_steps": "x", "rollout/mean_return": true}\n\n')
    write(path, metrics(100, 1.0))
    view = History(tmp_path).refresh()
    assert view.returns.y[-1] == 1.0
    assert np.isnan(view.returns.y[:-1]).all()


def test_only_news_make_a_new_view(tmp_path: Path) -> None:
    write(tmp_path / "metrics.jsonl", metrics(100, 1.0))
    history = History(tmp_path)
    first = history.refresh()
    assert history.refresh() is first
    history.new.append(metrics(200, 2.0))
    assert history.refresh() is not first


def test_rows_in_memory_come_after_those_of_the_files_which_are_read_once(tmp_path: Path) -> None:
    write(tmp_path / "metrics.jsonl", metrics(100, 1.0))
    write(tmp_path / "eval_episodes.jsonl", evaluation(100, 4.0), evaluation(100, 6.0))
    history = History(tmp_path)
    history.new += [metrics(200, math.nan), {"total_steps_at_eval": 200, "total_reward": 8.0}, metrics(300, 3.0)]
    write(tmp_path / "metrics.jsonl", metrics(200, None), metrics(300, 3.0))  # the run writes the same rows
    view = read_to_the_end(history)
    assert view.returns.x.tolist() == [100, 200, 300]
    assert np.isnan(view.returns.y[1])
    assert view.evaluations.x.tolist() == [100, 200]
    assert view.evaluations.y.tolist() == [5, 8]


def read_to_the_end(history: History) -> LearningView:
    """Read as frames do, until there is no more."""
    while True:
        view = history.refresh()
        if not history.behind:
            return view


def many(path: Path, rows: range) -> None:
    """Write rows of a curve that goes up and down, with one spike."""
    with path.open("a") as file:
        row = json.dumps(metrics(-1, -2.0)).replace("-1", "%d").replace("-2.0", "%d") + "\n"
        file.writelines(row % (n, 10**6 if n == 37_777 else n % 1000) for n in rows)


def test_a_long_log_takes_bounded_memory_and_keeps_its_extremes_and_its_newest_row(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    many(path, range(40_000))
    history = History(tmp_path)
    tracemalloc.start()
    view = read_to_the_end(history)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()
    for line in (view.returns, *(line for plot in view.others[:3] for line in plot)):
        assert 1000 < len(line.x) < 2 * MOST_POINTS
        assert (np.diff(line.x) > 0).all()
        assert line.x[0] == 0
        assert line.x[-1] == 39_999
        assert np.diff(line.x).max() < 400  # as fine at the beginning as at the end
    assert view.returns.y.max() == 1e6
    assert view.returns.y.min() == 0
    assert view.returns.x[view.returns.y.argmax()] == 37_777


def test_one_more_row_of_a_long_log_is_seen_at_once(tmp_path: Path) -> None:
    many(tmp_path / "metrics.jsonl", range(40_000))
    history = History(tmp_path)
    read_to_the_end(history)
    times = []
    for n in range(40_000, 40_020):
        history.new.append(metrics(n, 1.0))
        began = process_time()
        view = history.refresh()
        times.append(process_time() - began)
        assert view.returns.x[-1] == n
    assert sorted(times)[10] < 0.005


def test_no_look_at_a_long_log_takes_long(tmp_path: Path) -> None:
    many(tmp_path / "metrics.jsonl", range(40_000))
    history, times = History(tmp_path), list[float]()
    while not times or history.behind:
        began = process_time()
        history.read()
        times.append(process_time() - began)
    assert len(times) > 10
    assert sorted(times)[len(times) // 2] < 0.01


def test_many_evaluations_are_thinned_out_and_the_best_stays(tmp_path: Path) -> None:
    with (tmp_path / "eval_episodes.jsonl").open("w") as file:
        for n in range(20_000):
            value = 5000.0 if n == 12_345 else n % 100
            file.writelines(json.dumps(evaluation(n, value + spread)) + "\n" for spread in (-1.0, 1.0))
    view = read_to_the_end(History(tmp_path))
    assert view.best == (12_345, 5000.0)
    assert len(view.evaluations.x) < 2 * MOST_POINTS
    assert view.evaluations.spread is not None
    assert np.allclose(view.evaluations.spread, 1.0)


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "1e400"])
def test_a_number_too_large_for_a_plot_is_a_gap(tmp_path: Path, number: str) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{{"total_steps": 1, "rollout/mean_return": {number}}}\n')
    write(path, metrics(100, 1.0))
    view = History(tmp_path).refresh()
    assert view.returns.y[-1] == 1.0
    assert np.isnan(view.returns.y[:-1]).all()


@pytest.mark.parametrize("size", [200_000, 5_000_000])
def test_a_line_of_megabytes_is_left_out(tmp_path: Path, size: int) -> None:
    path = tmp_path / "metrics.jsonl"
    write(path, metrics(100, 1.0))
    with path.open("ab") as file:
        file.write(b'{"total_steps": 150, "a": "' + b"x" * size + b'"\n')
    write(path, metrics(200, 2.0))
    assert read_to_the_end(History(tmp_path)).returns.x.tolist() == [100, 200]


def test_a_million_names_of_losses_make_three_curves(tmp_path: Path) -> None:
    row = {"total_steps": 1, **{f"train/loss/{n}": 1.0 for n in range(20_000)}}
    write(tmp_path / "metrics.jsonl", row, row)
    view = read_to_the_end(History(tmp_path))
    assert [line.name for line in view.others[2]] == ["0 loss", "1 loss", "2 loss"]


def test_how_far_an_update_moved_the_policy_stands_after_its_entropy(tmp_path: Path) -> None:
    row = {"total_steps": 1, "train/entropy": 1.0, "train/kl": 0.004, "train/clip_fraction": 0.08}
    write(tmp_path / "metrics.jsonl", row)
    shown = {line.name: line.y.tolist() for lines in History(tmp_path).refresh().others[1:4] for line in lines}
    assert shown == {"entropy": [1.0], "KL": [0.004], "clip share": [0.08]}
    (tmp_path / "two").mkdir()
    write(tmp_path / "two" / "metrics.jsonl", {"total_steps": 2, "train/one/kl": 0.001, "train/two/kl": 0.002})
    names = [[line.name for line in lines] for lines in History(tmp_path / "two").refresh().others]
    assert ["one KL", "two KL"] in names


def test_the_first_good_ending_of_each_kind_is_a_mark_on_the_curve(tmp_path: Path) -> None:
    rows = [
        {"total_steps": 100, "rollout/end/crashed": 1.0, "rollout/end/landed": 0.0, "rollout/end/fed": 0.1},
        {"total_steps": 200, "rollout/end/crashed": 0.9, "rollout/end/landed": 0.1, "rollout/end/time up": 0.1},
        {"total_steps": 300, "rollout/end/landed": 0.2, "rollout/end/fed": 0.2, "rollout/term/fed": 3.0},
    ]
    write(tmp_path / "metrics.jsonl", *rows)
    assert History(tmp_path).refresh().changes == ((200.0, "first landed"),)
    paid = [row | {"rollout/term/fed": 3.0} for row in rows]
    write(tmp_path / "paid.jsonl", *paid)
    (tmp_path / "paid.jsonl").rename(tmp_path / "metrics.jsonl")
    assert History(tmp_path).refresh().changes == ((100.0, "first fed"), (200.0, "first landed"))


def test_a_previous_run_is_a_curve_behind_with_what_it_came_to(tmp_path: Path) -> None:
    before, now = tmp_path / "before", tmp_path / "now"
    for folder, steps in ((before, 400), (now, 100)):
        folder.mkdir()
        write(folder / "metrics.jsonl", *(metrics(n, n / 10) for n in range(10, steps, 10)))
    write(before / "eval_episodes.jsonl", evaluation(200, 4.0), evaluation(300, 9.0))
    solved, best = (History(now, before=History(before, solved_at=goal)).refresh().ghost for goal in (8.0, 99.0))
    assert solved is not None
    assert best is not None
    assert (solved.name, best.name) == ("last time solved at 300 steps", "last time best 9.00")
    assert solved.x.tolist() == list(range(10, 400, 10))
    assert History(now).refresh().ghost is None
    assert History(now, before=History(tmp_path / "none")).refresh().ghost is None


def test_where_a_scene_names_a_score_the_large_plot_shows_it_and_the_return_has_one_of_its_own(tmp_path: Path) -> None:
    scored = [{**metrics(steps, -1.0), "rollout/score/coins": value} for steps, value in ((100, 3.0), (200, 4.0))]
    played = [{**evaluation(200, -9.0), "extras": {"score/coins": value}} for value in (5.0, 7.0)]
    write(tmp_path / "metrics.jsonl", *scored)
    write(tmp_path / "eval_episodes.jsonl", evaluation(100, -9.0), *played)
    view = History(tmp_path, solved_at=6.0, score="coins").refresh()
    assert (view.returns.name, view.returns.y.tolist()) == ("score", [3.0, 4.0])
    assert (view.evaluations.x.tolist(), view.evaluations.y.tolist()) == ([200], [6.0])
    assert view.best == (200, 6.0)
    (returns,) = view.others[0]
    assert (returns.name, returns.y.tolist()) == ("return", [-1.0, -1.0])


def test_several_agents_have_a_line_each(tmp_path: Path) -> None:
    write(tmp_path / "metrics.jsonl", {**metrics(100, 0.0), "rollout/return/one": 3.0, "rollout/return/two": -3.0})
    view = History(tmp_path, agents=("one", "two")).refresh()
    assert [(line.name, line.y.tolist()) for line in view.others[0]] == [("one return", [3.0]), ("two return", [-3.0])]
    assert (view.returns.name, view.returns.y.tolist()) == ("return", [0.0])
    assert len(History(tmp_path, agents=("one",)).refresh().others) == 4


def test_in_self_play_the_best_is_the_highest_rating_at_an_evaluation(tmp_path: Path) -> None:
    write(tmp_path / "metrics.jsonl", metrics(100, 1.0) | {"rollout/elo": None}, metrics(200, 2.0))
    assert "Elo" not in [line.name for lines in History(tmp_path / "none").refresh().others for line in lines]
    write(tmp_path / "metrics.jsonl", metrics(300, 2.0) | {"rollout/elo": 1234.5})
    write(tmp_path / "eval_episodes.jsonl", evaluation(100, 5.0))
    view = History(tmp_path).refresh()
    assert view.returns.name == "Elo"
    assert view.returns.x.tolist() == [100, 300]
    assert np.array_equal(view.returns.y, [np.nan, 1234.5], equal_nan=True)
    assert view.best == (100.0, 1234.5)
    assert [line.y.tolist() for line in view.others[0]] == [[1.0, 2.0, 2.0], [5.0]]

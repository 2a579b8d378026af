"""The probability of improvement, held against slow obvious versions; what the comparison prints of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from bench_reference import COLUMNS, Trial, add_rows, improvement
from hypothesis import given
from hypothesis import strategies as st
from reference_statistics import Task, probability_of_improvement
from rich.table import Table

RUNS = st.lists(st.integers(0, 6).map(float) | st.just(math.inf), min_size=1, max_size=7)
TASKS = st.lists(st.tuples(RUNS, RUNS), min_size=1, max_size=3)


def slow_probability(tasks: list[Task]) -> float:
    """Compare every run of X with every run of Y, one pair at a time."""
    means = []
    for x, y in tasks:
        wins = [1.0 if a > b else 0.5 if a == b else 0.0 for a in x for b in y]
        means.append(math.fsum(wins) / len(wins))
    return math.fsum(means) / len(means)


def slow_interval(tasks: list[Task], repetitions: int) -> tuple[float, float]:
    """Draw the runs of each task and algorithm one at a time, and cut off the outer 2.5 % at either end."""
    random = np.random.default_rng(54321)

    def again(runs: Sequence[float]) -> list[float]:
        return [runs[int(random.integers(len(runs)))] for _ in runs]

    drawn = sorted(slow_probability([(again(x), again(y)) for x, y in tasks]) for _ in range(repetitions))
    return drawn[round(0.025 * repetitions)], drawn[round(0.975 * repetitions) - 1]


@given(TASKS)
def test_the_probability_is_the_share_of_pairs_that_are_won(tasks: list[Task]) -> None:
    result = probability_of_improvement(tasks, 20)
    assert result.probability == pytest.approx(slow_probability(tasks))
    assert -1e-9 <= result.low <= result.high <= 1.0 + 1e-9


@given(TASKS)
def test_the_other_way_round_it_is_what_is_left_of_1(tasks: list[Task]) -> None:
    forth, back = (probability_of_improvement(pairs, 5) for pairs in (tasks, [(y, x) for x, y in tasks]))
    assert forth.probability + back.probability == pytest.approx(1.0)


def test_a_known_case() -> None:
    assert probability_of_improvement([([2.0, 3.0], [1.0, 2.0])]).probability == 3.5 / 4
    assert probability_of_improvement([([2.0], [1.0]), ([1.0], [1.0])]) == (0.75, 0.75, 0.75)
    assert probability_of_improvement([([math.inf, 1.0], [math.inf])], 10).probability == 0.25


@pytest.mark.parametrize(
    "tasks",
    [
        [([3.0, 5.0, 4.0, 8.0, 1.0, 6.5, 5.5], [4.0, 2.0, 7.0, 3.0, 3.5])],
        [([1.0, 2.0, 3.0, 4.0], [2.0, 2.5, 0.0, 1.0]), ([5.0, 9.0, 7.0], [8.0, 6.0, 9.0, 1.0, 9.5])],
    ],
)
def test_the_interval_is_that_of_resampling_one_run_at_a_time(tasks: list[Task]) -> None:
    result = probability_of_improvement(tasks)
    slow_low, slow_high = slow_interval(tasks, 2_000)
    assert result.low == pytest.approx(slow_low, abs=0.05)
    assert result.high == pytest.approx(slow_high, abs=0.05)
    assert result.low < result.probability < result.high


def test_the_order_of_the_runs_does_not_matter() -> None:
    x, y = [3.0, 5.0, 4.0, 8.0], [4.0, 2.0, 7.0]
    assert probability_of_improvement([(x, y)]) == probability_of_improvement([(x[::-1], y[::-1])])


def test_who_needs_fewer_steps_is_better_and_who_never_solves_it_is_worst() -> None:
    ours: list[Trial] = [{"solved_step": 100}, {"solved_step": 300}]
    theirs: list[Trial] = [{"solved_step": 200}, {"solved_step": None}]
    assert improvement([{"ours": ours, "sb3": theirs}]).probability == 0.75
    assert improvement([{"ours": theirs, "sb3": ours}]).probability == 0.25
    assert improvement([{"ours": [{"solved_step": None}], "sb3": [{"solved_step": None}]}]).probability == 0.5


def test_the_row_of_ours_has_the_probability_beside_the_ratios() -> None:
    def trials(*steps: int) -> list[Trial]:
        return [{"solved_step": n, "steps": n, "seconds": 1.0, "processor": 2.0} for n in steps]

    table = Table(*COLUMNS)
    add_rows(table, "ppo:CartPole-v1", {"ours": trials(10, 30), "sb3": trials(20, 40)})
    cells = {column.header: list(column.cells) for column in table.columns}
    assert cells["side"] == ["ours", "sb3"]
    assert cells["steps: ratio"] == ["0.67", ""]
    assert cells["P(ours sooner), 95 %"] == ["0.75 (0.00 to 1.00)", ""]

"""Interquartile mean and bootstrap interval, held against slow obvious versions."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecs_rl.session.bootstrap import Summary, interval, iqm, summary

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=23)


def slow_iqm(numbers: list[float]) -> float:
    """Cut a quarter of the runs off at either end, one by one."""
    left = sorted(numbers)
    for _ in range(int(0.25 * len(numbers))):
        left.remove(min(left))
        left.remove(max(left))
    return math.fsum(left) / len(left)


def slow_interval(numbers: list[float], repetitions: int) -> tuple[float, float]:
    """Draw whole sets of runs, one number at a time, and cut off the outer 2.5 % at either end."""
    random = np.random.default_rng(12345)
    means = sorted(slow_iqm([numbers[random.integers(len(numbers))] for _ in numbers]) for _ in range(repetitions))
    return means[round(0.025 * repetitions)], means[round(0.975 * repetitions) - 1]


@given(NUMBERS)
def test_the_interquartile_mean_is_the_mean_of_what_is_left_without_the_outer_quarters(numbers: list[float]) -> None:
    assert float(iqm(np.array(numbers))) == pytest.approx(slow_iqm(numbers), rel=1e-9, abs=1e-6)


def test_the_interquartile_mean_of_few_runs_is_known() -> None:
    assert float(iqm(np.array([1.0, 2.0, 9.0]))) == 4.0, "three quarters of a run are not cut"
    assert float(iqm(np.array([9.0, 1.0, 2.0, 4.0]))) == 3.0
    assert iqm(np.array([[1.0, 2.0, 4.0, 100.0], [0.0, 0.0, 8.0, 9.0]])).tolist() == [3.0, 4.0]


def test_the_interval_is_that_of_resampling_one_run_at_a_time() -> None:
    numbers = [3.0, 5.0, 4.0, 8.0, 1.0, 6.5, 5.5, 90.0]
    low, high = interval(np.array([numbers]))
    slow_low, slow_high = slow_interval(numbers, 4_000)
    assert float(low[0]) == pytest.approx(slow_low, abs=0.3)
    assert float(high[0]) == pytest.approx(slow_high, rel=0.1)
    assert low[0] < slow_iqm(numbers) < high[0]


def test_about_95_of_100_intervals_hold_the_true_middle() -> None:
    random = np.random.default_rng(3)
    held = 0
    for _ in range(200):
        low, high = interval(random.normal(10.0, 2.0, (1, 20)), 500)
        held += bool(low[0] <= 10.0 <= high[0])
    assert 170 <= held <= 199, "a percentile interval of 20 runs is a little narrow"


@given(NUMBERS.filter(lambda numbers: len(numbers) > 1), st.randoms())
def test_the_same_runs_in_any_order_give_the_same_interval_to_the_last_bit(numbers: list[float], mix: object) -> None:
    other = list(numbers)
    mix.shuffle(other)  # type: ignore[attr-defined]
    first, second = (interval(np.array([each]), 50) for each in (numbers, other))
    assert (float(first[0][0]), float(first[1][0])) == (float(second[0][0]), float(second[1][0]))


def test_each_point_of_several_has_the_interval_that_it_has_alone() -> None:
    numbers = np.sort(np.random.default_rng(1).normal(size=(3, 8)))
    together = np.stack(interval(numbers, 400))
    alone = np.concatenate([np.stack(interval(row[None], 400)) for row in numbers], axis=1)
    assert np.array_equal(together, alone)


def test_resampling_in_many_goes_gives_what_one_go_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.arange(10.0)[None]
    whole = interval(numbers, 1_000)
    monkeypatch.setattr("ecs_rl.session.bootstrap.AT_ONCE", 70)
    assert np.array_equal(np.stack(whole), np.stack(interval(numbers, 1_000)))


def test_a_summary_has_mean_interquartile_mean_median_and_interval() -> None:
    numbers = [4.0, 1.0, 2.0, 9.0, 3.0]
    found = summary(numbers)
    assert found is not None
    assert (found.mean, found.iqm, found.median) == (statistics.mean(numbers), 3.0, 3.0)
    assert 1.0 <= found.low < 3.0 < found.high <= 9.0


def test_a_summary_of_one_run_is_that_run_and_of_none_is_none() -> None:
    assert summary([7.0]) == Summary(7.0, 7.0, 7.0, 7.0, 7.0)
    assert summary([]) is None

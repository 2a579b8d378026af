"""Statistics over episodes are right, stable, and not poisoned by numbers that are missing or not finite."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecs_rl.session import (
    Aggregator,
    Count,
    EpisodeRecord,
    EvalReport,
    Extra,
    Last,
    Length,
    Max,
    Mean,
    Min,
    RollingMax,
    RollingMean,
    RollingStd,
    StatsTracker,
    Std,
    TotalReward,
)

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50)


def episode(total_reward: float = 0.0, length: int = 1, **extras: float) -> EpisodeRecord:
    return EpisodeRecord(total_reward, length, "Terminated", extras)


def fed(aggregator: Aggregator, values: list[float]) -> float:
    for value in values:
        aggregator.add(value)
    return aggregator.value()


@given(NUMBERS)
def test_aggregators_agree_with_numpy(values: list[float]) -> None:
    assert fed(Mean(), values) == pytest.approx(np.mean(values), abs=1e-6)
    assert fed(Std(), values) == pytest.approx(np.std(values), abs=1e-6)
    assert fed(Max(), values) == max(values)
    assert fed(Min(), values) == min(values)
    assert fed(Last(), values) == values[-1]
    assert fed(Count(), values) == len(values)
    assert fed(RollingMean(7), values) == pytest.approx(np.mean(values[-7:]), abs=1e-6)
    assert fed(RollingStd(7), values) == pytest.approx(np.std(values[-7:]), abs=1e-6)
    assert fed(RollingMax(7), values) == max(values[-7:])


def test_the_deviation_of_large_close_numbers_does_not_cancel_out() -> None:
    assert fed(Std(), [1e9 + 1, 1e9 + 2, 1e9 + 3] * 1000) == pytest.approx(math.sqrt(2 / 3), rel=1e-6)


def test_a_rolling_mean_forgets_a_huge_value_without_a_trace() -> None:
    assert fed(RollingMean(3), [1e17, 0.1, 0.2, 0.3]) == pytest.approx(0.2, rel=1e-12)


def test_a_rolling_deviation_forgets_a_huge_value_and_stands_even_that() -> None:
    assert fed(RollingStd(3), [1e17, 0.1, 0.2, 0.3]) == pytest.approx(math.sqrt(2 / 300), rel=1e-12)
    assert fed(RollingStd(2), [-1e200, 1e200]) == pytest.approx(1e200)
    assert fed(RollingStd(2), [5.0]) == 0.0


@given(NUMBERS, NUMBERS)
def test_a_rolling_deviation_goes_on_from_its_state(before: list[float], after: list[float]) -> None:
    whole, first, resumed = RollingStd(7), RollingStd(7), RollingStd(7)
    whole.add_many([*before, *after])
    first.add_many(before)
    resumed.restore(first.state())
    resumed.add_many(after)
    assert resumed.value() == whole.value()


def test_statistics_saved_before_the_deviation_was_kept_are_taken_up() -> None:
    old, new = StatsTracker.default(), StatsTracker.default()
    old.update_many([episode(1.0), episode(3.0)])
    new.restore({name: state for name, state in old.state().items() if name != "std_return"})
    assert new.summary()["mean_return"] == 2.0
    assert math.isnan(new.summary()["std_return"])
    new.update(episode(5.0))
    assert new.summary()["std_return"] == 0.0


def test_an_aggregator_without_values_says_nan() -> None:
    aggregators: list[Aggregator] = [Mean(), Std(), Max(), Min(), Last(), RollingMean(3)]
    aggregators += [RollingStd(3), RollingMax(3)]
    assert all(math.isnan(aggregator.value()) for aggregator in aggregators)
    assert Count().value() == 0.0


def test_a_window_must_hold_something() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        RollingMean(0)


def test_extras_that_are_missing_or_not_finite_do_not_poison_the_mean() -> None:
    tracker = StatsTracker().with_stat("goal", Extra("goal"), Mean()).with_stat("last", Extra("goal"), Last())
    tracker.update(episode(goal=1.0))
    tracker.update(episode())
    tracker.update(episode(goal=math.nan))
    tracker.update(episode(goal=math.inf))
    tracker.update(episode(goal=3.0))
    tracker.update(episode(goal=-math.inf))
    assert tracker.summary() == {"goal": 2.0, "last": 3.0}


def test_a_source_may_be_any_function_and_an_aggregator_any_object() -> None:
    class Product:
        total = 1.0

        def add(self, value: float) -> None:
            self.total *= value

        def value(self) -> float:
            return self.total

    tracker = StatsTracker().with_stat("product", lambda record: record.total_reward / record.length, Product())
    tracker.update_many([episode(6.0, 2), episode(8.0, 2)])
    assert tracker.summary() == {"product": 12.0}


def test_sources_read_reward_and_length() -> None:
    tracker = StatsTracker().with_stat("reward", TotalReward(), Last()).with_stat("length", Length(), Last())
    tracker.update(episode(2.5, 7))
    assert tracker.summary() == {"reward": 2.5, "length": 7.0}


def test_a_name_is_taken_only_once() -> None:
    tracker = StatsTracker.default()
    with pytest.raises(ValueError, match="already a statistic 'mean_return'"):
        tracker.with_stat("mean_return", Length(), Mean())


def test_the_default_looks_at_the_last_hundred_returns() -> None:
    tracker = StatsTracker.default()
    tracker.update(episode(1000.0, 1))
    tracker.update_many([episode(float(number), 3) for number in range(100)])
    assert tracker.summary() == pytest.approx(
        {
            "mean_return": 49.5,
            "std_return": np.std(np.arange(100)),
            "max_return": 99.0,
            "mean_length": 3.0,
            "episodes": 101.0,
        }
    )


def test_an_evaluation_report_needs_an_episode() -> None:
    with pytest.raises(ValueError, match="at least one"):
        EvalReport.of([], 0)

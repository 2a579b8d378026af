"""Statistics over episodes are right, stable, and not poisoned by numbers that are missing or not finite."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

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
from ecs_rl.session.aggregators import Resumable

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


OURS: list[Callable[[], Aggregator]] = [Mean, Std, Last, Max, Min, Count]
OURS += [partial(RollingMean, 7), partial(RollingStd, 7), partial(RollingMax, 7)]


@pytest.mark.parametrize("make", OURS)
@given(before=NUMBERS, after=NUMBERS)
def test_every_aggregator_of_ours_goes_on_from_its_state(
    make: Callable[[], Aggregator], before: list[float], after: list[float]
) -> None:
    whole, first, resumed = make(), make(), make()
    fed(whole, [*before, *after])
    fed(first, before)
    assert isinstance(first, Resumable)
    assert isinstance(resumed, Resumable)
    resumed.restore(first.state())
    assert fed(resumed, after) == whole.value()


@pytest.mark.parametrize(("make", "state"), [(Mean, [4, 2.5]), (Std, [4, 2.5, 5.0]), (Last, [4.0]), (Max, [4.0])])
def test_states_that_earlier_versions_saved_are_what_aggregators_go_by(
    make: Callable[[], Aggregator], state: list[float]
) -> None:
    aggregator = make()
    fed(aggregator, [1.0, 2.0, 3.0, 4.0])
    assert isinstance(aggregator, Resumable)
    assert aggregator.state() == state


@given(NUMBERS, NUMBERS)
def test_many_values_at_once_are_the_same_as_one_by_one(first: list[float], then: list[float]) -> None:
    for make in (Count, partial(RollingMean, 7)):
        one, many = make(), make()
        fed(one, [*first, *then])
        many.add_many(first)
        many.add_many(then)
        assert one.state() == many.state()


def test_statistics_saved_before_the_deviation_was_kept_are_taken_up() -> None:
    old, new = StatsTracker.default(), StatsTracker.default()
    old.update(episode(1.0), episode(3.0))
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
    tracker.update(episode(6.0, 2), episode(8.0, 2))
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
    tracker.update(*(episode(float(number), 3) for number in range(100)))
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

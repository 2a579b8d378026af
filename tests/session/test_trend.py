"""When a policy has collapsed and when it has not, and how long ago the best evaluation was."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ecs_rl.session.trend import IN_A_ROW, Trend

Evaluated = list[tuple[float, float]]


def after(evaluations: Sequence[tuple[float, float]], trained: float = math.nan) -> Trend:
    trend = Trend()
    for score, spread in evaluations:
        trend.add(score, spread, trained)
    return trend


def slowly_collapsed(evaluations: Evaluated) -> bool:
    """Judge every evaluation by all that came before it."""
    low = []
    for i, (score, spread) in enumerate(evaluations):
        first, best = evaluations[0][0], max(each for each, _ in evaluations[: i + 1])
        low.append(score - first < 0.2 * (best - first) and best - score > spread)
    return len(low) >= 10 and all(low[-10:])


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.0, 10.0]), st.sampled_from([0.0, 0.5, 20.0])), min_size=1))
def test_the_rule_is_the_one_that_is_described(evaluations: Evaluated) -> None:
    trend = after(evaluations)
    assert trend.collapsed == slowly_collapsed(evaluations)
    scores = [score for score, _ in evaluations]
    assert trend.best == max(scores)
    assert trend.since_best == len(scores) - 1 - scores.index(max(scores))


def test_ten_low_evaluations_in_a_row_are_a_collapse_and_nine_are_none() -> None:
    learnt: Evaluated = [(0.0, 1.0), (100.0, 1.0)]
    assert not after([*learnt, *[(15.0, 5.0)] * (IN_A_ROW - 1)]).collapsed
    assert after([*learnt, *[(15.0, 5.0)] * IN_A_ROW]).collapsed
    assert not after([*learnt, *[(30.0, 5.0)] * 50]).collapsed, "more than a fifth of the gain is left"
    assert not after([*learnt, *[(15.0, 5.0)] * IN_A_ROW, (60.0, 5.0)]).collapsed, "it has recovered"


def test_evaluations_that_only_scatter_are_no_collapse() -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        episodes = random.normal(0.0, 1.0, (300, 20))
        trend = Trend()
        for each in episodes:
            trend.add(float(each.mean()), float(each.std(ddof=1)), math.nan)
            assert not trend.collapsed


def test_a_policy_that_is_good_at_its_first_evaluation_is_measured_from_its_training() -> None:
    good: Evaluated = [(500.0, 0.0), *[(480.0, 5.0)] * 30]
    assert not after(good, trained=40.0).collapsed
    assert after([*good, *[(60.0, 5.0)] * IN_A_ROW], trained=40.0).collapsed


def test_an_evaluation_that_is_no_number_is_no_best_and_no_collapse() -> None:
    trend = after([(math.nan, 0.0), (0.0, 0.0), (9.0, 0.0), *[(math.nan, 0.0)] * 20])
    assert (trend.start, trend.best, trend.since_best, trend.collapsed) == (0.0, 9.0, 20, False)


def test_one_episode_alone_tells_no_collapse() -> None:
    assert not after([(0.0, math.inf), (100.0, math.inf), *[(0.0, math.inf)] * 30]).collapsed


def test_of_equal_scores_the_greater_return_is_taken_up_again_and_no_plateau_ends_by_that() -> None:
    trend = Trend()
    told = [trend.add(3.0, 0.0, math.nan, mean_return=each) for each in (1.0, 0.5, 4.0, 4.0, 3.0)]
    assert told == [True, False, True, True, False]
    assert (trend.since_best, trend.best_return) == (4, 4.0)
    unknown = Trend(best=3.0, start=0.0)
    assert unknown.add(3.0, 0.0, math.nan, mean_return=-9.0)


def test_where_agents_are_opponents_every_evaluation_is_the_best() -> None:
    trend = Trend()
    for score in (5.0, 0.0, *[-5.0] * 30):
        assert trend.add(score, 0.0, math.nan, newest=True)
    assert (trend.since_best, trend.collapsed) == (0, False)


def test_each_agent_has_a_best_of_its_own() -> None:
    trend = Trend()
    for step, (one, two) in enumerate(((1.0, 5.0), (3.0, math.nan), (3.0, 4.0), (-1.0, 6.0))):
        trend.add_own({"one": one, "two": two}, step)
    assert (trend.own_best, trend.own_step) == ({"one": 3.0, "two": 6.0}, {"one": 1, "two": 3})


def test_after_the_best_is_taken_up_again_ten_more_are_needed() -> None:
    trend = after([(0.0, 1.0), (100.0, 1.0), *[(5.0, 1.0)] * 12])
    trend.restore()
    assert (trend.collapsed, trend.restored, trend.best) == (False, 1, 100.0)
    for _ in range(IN_A_ROW):
        assert not trend.collapsed
        trend.add(5.0, 1.0, math.nan)
    assert trend.collapsed

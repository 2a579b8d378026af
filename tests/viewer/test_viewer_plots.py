"""Plots keep what matters of many numbers, and their axes are round."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pygame
import pytest
from hypothesis import given
from hypothesis import strategies as st
from viewer_views import a_learning, painted

from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.panels.learning import DrawerView, Learning
from ecs_rl.viewer.plots import decimate, reach, runs, tick_text, ticks

FLOATS = st.floats(-1e12, 1e12, allow_nan=False)


def test_decimation_keeps_extremes_ends_and_order() -> None:
    x, y = np.arange(10_000.0), np.random.default_rng(0).normal(size=10_000)
    y[[37, 4321]] = 99.0, -99.0
    kept_x, kept_y = decimate(x, y, 300)
    assert len(kept_x) <= 4 * 300
    assert (kept_y.max(), kept_y.min()) == (99.0, -99.0)
    assert (kept_x[0], kept_x[-1]) == (0.0, 9999.0)
    assert (np.diff(kept_x) > 0).all()


def test_every_column_keeps_its_own_extremes() -> None:
    x, y = np.arange(8000.0), np.random.default_rng(1).normal(size=8000)
    kept_x, kept_y = decimate(x, y, 100)
    for column in range(100):
        mine = y[column * 80 : (column + 1) * 80]
        there = kept_y[(kept_x >= column * 80) & (kept_x < (column + 1) * 80)]
        assert (there.max(), there.min()) == (mine.max(), mine.min())


def test_a_gap_stays_a_gap() -> None:
    x, y = np.arange(5000.0), np.ones(5000)
    y[2000:2600] = np.nan
    assert len(runs(*decimate(x, y, 100))) == 2


def test_numbers_that_are_all_missing_leave_nothing() -> None:
    assert runs(*decimate(np.arange(5000.0), np.full(5000, np.nan), 100)) == []


def test_few_numbers_stay_as_they_are() -> None:
    x = np.arange(10.0)
    assert decimate(x, x, 100)[0] is x


@given(FLOATS, FLOATS, st.integers(1, 12))
def test_ticks_lie_inside_and_are_not_too_many(low: float, high: float, most: int) -> None:
    found = ticks(low, high, most)
    assert len(found) <= most
    room = (high - low) * 1e-6 + 1e-300
    assert all(low - room <= value <= high + room for value in found)


def test_ticks_are_round() -> None:
    assert ticks(-132, 251, 5) == [-100, 0, 100, 200]
    assert ticks(0, 1, 5) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0][: len(ticks(0, 1, 5))])
    assert [tick_text(v, 0.2) for v in (0, 0.2, 0.4)] == ["0", "0.2", "0.4"]


def test_the_reach_of_nothing_is_something() -> None:
    assert reach([]) == reach([np.array([np.nan, np.inf])]) == (0.0, 1.0)
    low, high = reach([np.array([5.0])])
    assert low < 5.0 < high


def test_ten_thousand_points_cost_nothing_while_nothing_is_new() -> None:
    surface, canvas, learning = pygame.Surface((960, 200)), Canvas(), DrawerView(a_learning(10_000))
    painted(Learning(), surface, learning, canvas)
    count, began = canvas.painted, perf_counter()
    for _ in range(20):
        painted(Learning(), surface, learning, canvas)
    assert canvas.painted == count
    assert perf_counter() - began < 0.2

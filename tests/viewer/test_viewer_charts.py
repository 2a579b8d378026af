"""Charts that are read: their first value does not flatten them, points stay apart, numbers have names."""

from __future__ import annotations

import numpy as np
import pygame
import pytest
from viewer_views import painted

from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.mind_sheet import steady_range
from ecs_rl.viewer.panels.learning import DrawerView, Learning
from ecs_rl.viewer.plots import Axes, draw_goal, draw_points, reach, steady_reach
from ecs_rl.viewer.view import LearningView, Series


def test_a_first_value_that_is_far_off_does_not_flatten_all_others() -> None:
    y = np.concatenate(([90.0], 1.0 + 0.1 * np.sin(np.arange(60))))
    low, high = steady_reach([y])
    assert (low, high) == pytest.approx((0.9, 1.1), abs=0.1)
    calm = np.linspace(0.0, 5.0, 60)
    assert steady_reach([calm]) == reach([calm])
    assert steady_reach([y[:8]]) == reach([y[:8]]), "of a few numbers all are shown"
    assert steady_reach([np.full(30, np.nan)]) == (0.0, 1.0)


def test_what_hardly_moves_looks_so_and_its_axis_has_round_numbers() -> None:
    low, high = steady_range((99.7 + 0.1 * np.sin(np.arange(60)),))
    assert high - low >= 5.0
    assert low < 99.6
    assert high > 99.8
    assert steady_range((np.array([3.0, 71.0, np.nan]), np.array([-12.0]))) == (-50.0, 100.0)
    for odd in ([], [np.nan] * 3, [0.0] * 4, [-1e308, 1e308], [1e-300, 2e-300]):
        low, high = steady_range((np.array(odd),))
        assert low < high


def test_points_of_many_evaluations_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[float] = []
    monkeypatch.setattr(pygame.draw, "aacircle", lambda surface, colour, at, radius: drawn.append(at[0]))
    x = np.linspace(0.0, 1.0, 4000)
    axes = Axes(pygame.Rect(0, 0, 400, 100), (0.0, 1.0), (0.0, 1.0))
    draw_points(pygame.Surface((400, 100)), axes, Series("a", x, np.linspace(0.0, 1.0, 4000)), (1, 2, 3), 2.6)
    assert len(drawn) / 2 <= 400 / (2 * 2.6)
    assert max(drawn) == 399


def test_the_large_number_says_what_it_is() -> None:
    some, none = Series("a", np.arange(3.0), np.array([1.0, 2.0, 3.0])), Series("b")

    def written(returns: Series, evaluations: Series) -> list[str]:
        canvas = painted(Learning(), pygame.Surface((900, 200)), DrawerView(LearningView(returns, evaluations)))
        return [text for _, text in canvas.texts()]

    assert "evaluation 3.00" in written(none, some)
    assert "training 3.00" in written(some, none)
    assert not [text for text in written(none, none) if text[-1:].isdigit()]


def test_the_name_of_the_goal_stands_on_a_backing_over_the_curves() -> None:
    white = pygame.Surface((300, 120))
    white.fill((255, 255, 255))
    draw_goal(white, Axes(pygame.Rect(0, 0, 300, 120), (0.0, 1.0), (0.0, 300.0)), 200.0, Canvas())
    y = round(120 - 120 * 200 / 300) + 8
    strip = pygame.surfarray.array3d(white)[4:70, y - 4 : y + 5]
    assert strip.mean() < 120, "the curves behind it do not shine through"

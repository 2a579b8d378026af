"""Endings and reward terms over training: from the rows of a run to areas that are stacked."""

from __future__ import annotations

import json
import os
from pathlib import Path

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import numpy as np
import pygame
import pytest

from ecs_rl.arrays import F64
from ecs_rl.viewer.celebration import draw_joy, draw_ribbon
from ecs_rl.viewer.context import DrawContext
from ecs_rl.viewer.history import History
from ecs_rl.viewer.palette import PANEL, ROLES
from ecs_rl.viewer.panels.stacks import colour_of, draw_stack, layers, reach_of
from ecs_rl.viewer.plots import Axes
from ecs_rl.viewer.view import Series, Stack
from ecs_rl.viewer.view_floating import RibbonView


def stack(*parts: list[float], whole: bool = False) -> Stack:
    x = np.arange(len(parts[0]), dtype=np.float64)
    return Stack("all", tuple(Series(str(i), x, np.array(part)) for i, part in enumerate(parts)), whole)


def test_gains_lie_on_gains_and_losses_under_losses() -> None:
    _, edges = layers(stack([1.0, 2.0], [-3.0, -1.0], [4.0, -2.0]))
    told = [[low.tolist(), high.tolist()] for low, high in edges]
    assert told == [
        [[0, 0], [1, 2]],
        [[0, 0], [0, 0]],
        [[1, 2], [1, 2]],
        [[-3, -1], [0, 0]],
        [[1, 2], [5, 2]],
        [[-3, -3], [-3, -1]],
    ]
    assert reach_of(stack([1.0, 2.0], [-3.0, -1.0], [4.0, -2.0])) == (-3.0, 5.0)


def test_every_part_takes_as_many_pixels_as_its_share() -> None:
    shares = np.array([[0.5, 0.1], [0.2, 0.6], [0.3, 0.3]])
    surface = pygame.Surface((101, 200))
    surface.fill(PANEL)
    shown = stack(*shares.tolist(), whole=True)
    draw_stack(surface, Axes(surface.get_rect(), (0.0, 1.0), reach_of(shown)), shown)
    picture = pygame.surfarray.array3d(surface)
    for column, share in ((1, shares[:, 0]), (99, shares[:, 1])):
        for number, part in enumerate(share):
            colour = np.array(colour_of(shown, number))
            drawn = int((np.abs(picture[column] - 0.75 * colour - 0.25 * np.array(PANEL)).max(axis=1) < 3).sum())
            assert drawn == pytest.approx(200 * part, abs=4)


def test_what_is_missing_counts_nothing_and_a_stack_without_numbers_is_drawn_empty() -> None:
    _, edges = layers(stack([np.nan, 1.0], [2.0, np.nan]))
    assert all(np.isfinite(edge).all() for pair in edges for edge in pair)
    empty = Stack("none", (Series("a"), Series("b")))
    assert reach_of(empty) == (0.0, 1.0)
    draw_stack(pygame.Surface((50, 50)), Axes(pygame.Rect(0, 0, 50, 50), (0, 1), (0, 1)), empty)


def test_the_history_tells_endings_rewards_and_where_it_was_solved(tmp_path: Path) -> None:
    rows = [
        {"total_steps": n, "rollout/end/landed": n / 10, "rollout/end/time up": 1 - n / 10, "rollout/term/fuel": -n}
        for n in range(1, 6)
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    evaluations = [{"total_reward": n, "total_steps_at_eval": 10 * n} for n in (1.0, 3.0, 2.0, 4.0)]
    (tmp_path / "eval_episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in evaluations))
    history = History(tmp_path, solved_at=2.5)
    view = history.refresh()
    assert [(each.name, each.whole, [part.name for part in each.parts]) for each in view.stacks] == [
        ("endings", True, ["landed", "time up"]),
        ("rewards", False, ["fuel"]),
    ]
    assert view.stacks[0].parts[0].y.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert view.solved_step == 30.0
    history.new.append(
        {"total_steps": 6, "rollout/end/landed": 0.6, "rollout/end/time up": 0.4, "rollout/term/fuel": -6}
    )
    assert history.refresh().stacks[1].parts[0].y.tolist() == [-1, -2, -3, -4, -5, -6]
    assert History(tmp_path, solved_at=9.0).refresh().solved_step is None


def test_a_run_that_has_not_noted_them_has_no_stacks(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"total_steps": 1, "rollout/mean_return": 2.0}\n')
    assert History(tmp_path).refresh().stacks == ()


def lit(surface: pygame.Surface) -> F64:
    return np.asarray(pygame.surfarray.array3d(surface).max(axis=2) > 0)


def test_the_ribbon_shows_gains_above_losses_below_and_the_newest_at_the_right() -> None:
    surface = pygame.Surface((100, 31))
    draw_ribbon(surface, surface.get_rect(), RibbonView(((4.0,), (-1.0,), (1.0,))), DrawContext())
    picture = pygame.surfarray.array3d(surface)
    tall = [int((picture[x].max(axis=1) > 120).sum()) for x in (94, 96, 98)]
    assert tall[0] == pytest.approx(2 * tall[1], abs=1), "heights go by the square root"
    assert tall[1] == pytest.approx(tall[2], abs=1)
    assert picture[96, 16:].max() > 120 > picture[96, :15].max()
    assert picture[98, :15].max() > 120 > picture[98, 16:].max()
    assert np.abs(picture[94, 8].astype(int) - np.array(ROLES[0]) * 235 / 255).max() < 8


def test_the_ribbon_bears_nothing_not_a_number_and_no_term_at_all() -> None:
    for earned in ((), ((),), ((np.nan,), (np.inf,)), ((0.0, 0.0),), ((1e300, -1e300),)):
        draw_ribbon(pygame.Surface((60, 30)), pygame.Rect(0, 0, 60, 30), RibbonView(earned), DrawContext())


def test_confetti_falls_for_a_while_over_the_stage_alone() -> None:
    area = pygame.Rect(20, 20, 300, 200)
    seen = []
    for seconds in (0.0, 1.0, 2.0, 10.0):
        surface = pygame.Surface((360, 240))
        draw_joy(surface, area, seconds, DrawContext())
        picture = lit(surface)
        seen.append(int(picture.sum()))
        picture[area.left : area.right, area.top : area.bottom] = False
        assert not picture.any()
    assert seen[1] > seen[0] > 0 == seen[3]

"""Endings and reward terms over training: from the rows of a run to areas that are stacked."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import numpy as np
import pygame
import pytest
from numpy.typing import NDArray
from viewer_views import painted

from ecs_rl.arrays import F64
from ecs_rl.viewer.canvas import RIBBON, STRIP, Canvas
from ecs_rl.viewer.history import History
from ecs_rl.viewer.mind import RibbonView
from ecs_rl.viewer.palette import BAD, BLUE, GOOD, PANEL, ROLES, SKY, VERMILION
from ecs_rl.viewer.panels.joy import Joy
from ecs_rl.viewer.panels.learning import DrawerView, Learning, by_area, colour_of, draw_stack, layers, reach_of
from ecs_rl.viewer.panels.ribbon import EDGE, Ribbon
from ecs_rl.viewer.plots import Axes
from ecs_rl.viewer.view import LearningView, Series, Stack


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


def ribbon(view: RibbonView, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Return the rows of a stage in which its ribbon is painted."""
    surface, canvas = pygame.Surface(size), Canvas()
    canvas.begin(surface)
    Ribbon().paint(canvas, view, surface.get_rect())
    bottom = size[1] - STRIP - 2
    return np.asarray(pygame.surfarray.array3d(surface)[:, bottom - RIBBON : bottom])


def test_the_ribbon_shows_gains_above_losses_below_and_the_newest_at_the_right() -> None:
    picture = ribbon(RibbonView(((4.0,), (-1.0,), (1.0,))), (100 + 2 * EDGE, 200))[EDGE:-EDGE]
    tall = [int((picture[x].max(axis=1) > 120).sum()) for x in (94, 96, 98)]
    assert tall[0] == pytest.approx(2 * tall[1], abs=1), "heights go by the square root"
    assert tall[1] == pytest.approx(tall[2], abs=1)
    assert picture[96, 16:].max() > 120 > picture[96, :15].max()
    assert picture[98, :15].max() > 120 > picture[98, 16:].max()
    assert np.abs(picture[94, 8].astype(int) - np.array(ROLES[0]) * 235 / 255).max() < 8


def test_the_ribbon_bears_nothing_not_a_number_and_no_term_at_all() -> None:
    for earned in ((), ((),), ((np.nan,), (np.inf,)), ((0.0, 0.0),), ((1e300, -1e300),)):
        ribbon(RibbonView(earned), (200, 300))


def test_confetti_falls_for_a_while_over_the_stage_alone() -> None:
    area = pygame.Rect(20, 20, 300, 200)
    seen = []
    for seconds in (0.0, 1.0, 2.0, 10.0):
        surface = pygame.Surface((360, 240))
        canvas = Canvas()
        canvas.begin(surface)
        Joy().paint(canvas, seconds, area)
        picture = lit(surface)
        seen.append(int(picture.sum()))
        picture[area.left : area.right, area.top : area.bottom] = False
        assert not picture.any()
    assert seen[1] > seen[0] > 0 == seen[3]


def names_in(learning: LearningView, size: tuple[int, int]) -> list[str]:
    """Return what is written in the drawer, from left to right."""
    canvas = painted(Learning(), pygame.Surface(size), DrawerView(learning))
    return [text for _, text in canvas.texts()]


def parts(shares: dict[str, float], *, whole: bool) -> Stack:
    x = np.linspace(0.0, 1000.0, 20)
    return Stack("endings", tuple(Series(name, x, np.full(20, share)) for name, share in shares.items()), whole)


@pytest.mark.parametrize("size", [(944, 194), (700, 160), (400, 160)])
@pytest.mark.parametrize("largest", ["landed", "crashed", "flew off", "time up", "ran out of fuel"])
def test_the_largest_area_is_always_named(largest: str, size: tuple[int, int]) -> None:
    shares = dict.fromkeys(("landed", "crashed", "flew off", "time up", "ran out of fuel"), 0.1) | {largest: 0.6}
    assert largest in names_in(LearningView(stacks=(parts(shares, whole=True),)), size)


@pytest.mark.parametrize("changes", [False, True])
def test_nine_tenths_of_an_area_are_named_in_a_window_of_1152_by_648(changes: bool) -> None:
    shares = {"landed": 0.4, "crashed": 0.25, "flew off": 0.2, "ran out of fuel": 0.1, "time up": 0.05}
    shown = parts(shares, whole=True)
    if changes:
        x = shown.parts[0].x
        early = Series("crashed", x, np.maximum(1.0 - x / 250.0, 0.05))
        shown = replace(shown, parts=(early, Series("landed", x, 1.0 - early.y)))
        shares = {"crashed": 0.3, "landed": 0.7}
    written = names_in(LearningView(stacks=(shown,)), (870, 175))
    assert sum(share for name, share in shares.items() if name in written) >= 0.9


def test_areas_without_room_for_their_names_are_named_above_the_largest_first() -> None:
    shares = {"landed": 0.9, "flew off": 0.03, "crashed": 0.07, "never seen": 0.0}
    written = names_in(LearningView(stacks=(parts(shares, whole=True),)), (944, 194))
    assert written.index("crashed") == written.index("endings") + 1
    assert "landed" in written
    assert "never seen" not in written
    assert by_area(parts({"small": -0.1, "large": -5.0, "none": 0.0}, whole=False)) == [1, 0]


def test_the_colour_of_an_ending_says_whether_it_is_good(tmp_path: Path) -> None:
    ends = {
        "rollout/end/crashed": 0.3,
        "rollout/end/all are home": 0.2,
        "rollout/end/fed": 0.1,
        "rollout/end/time up": 0,
    }
    terms = {"rollout/term/crashed": -50.0, "rollout/term/fed": 3.0}
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"total_steps": 1, **ends, **terms}) + "\n")
    colours = {part.name: part.colour for part in History(tmp_path).refresh().stacks[0].parts}
    assert (colours["crashed"], colours["all are home"]) == (BAD, GOOD)
    assert colours["fed"] in (SKY, BLUE)
    assert len(set(colours.values())) == 4


def test_what_belongs_to_an_agent_has_the_colour_of_its_body(tmp_path: Path) -> None:
    rows = {
        "rollout/end/orange/out": 0.5,
        "rollout/end/blue/out": 0.5,
        "rollout/return/orange": 1,
        "rollout/return/blue": 2,
    }
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"total_steps": 1, **rows}) + "\n")
    colours = {"orange": VERMILION, "blue": BLUE}
    view = History(tmp_path, agents=("orange", "blue"), colours=colours).refresh()
    assert [part.colour for part in view.stacks[0].parts] == [VERMILION, BLUE]
    assert [line.colour for line in view.others[0]] == [VERMILION, BLUE]


# --- which plots there are --------------------------------------------------------------------------------------------


def rated_history(folder: Path) -> History:
    rows = [
        {
            "total_steps": 100 * n,
            "rollout/elo": 1200.0 + 10 * n - 200 * (n == 9),
            "rollout/mean_length": 5.0,
            "rollout/score/won": 0.0,
            "rollout/return/orange": n,
            "rollout/return/blue": -n,
            "rollout/end/out": 1.0,
            "rollout/term/push": 1.0,
            "train/loss/policy": 0.1,
            "train/entropy": 1.0,
            "time/steps_per_second": 1e4,
        }
        for n in range(1, 10)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    evaluations = [
        {"total_reward": 0.0, "total_steps_at_eval": step, "extras": {"score/won": won}}
        for step, won in ((300, 1.0), (600, 0.5), (900, 0.9))
    ]
    (folder / "eval_episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in evaluations))
    return History(folder, solved_at=0.8, score="won", agents=("orange", "blue"))


def test_in_self_play_elo_is_the_large_plot_with_a_star_at_its_best_evaluation(tmp_path: Path) -> None:
    view = rated_history(tmp_path).refresh()
    assert (view.returns.name, len(view.evaluations.x), view.solved_at) == ("Elo", 0, None)
    assert view.best == (600.0, 1260.0)
    assert view.solved_step == 300.0
    score, returns, length, *_, speed = ([line.name for line in lines] for lines in view.others)
    assert score == ["score", "evaluation"]
    assert returns == ["orange return", "blue return"]
    assert length == ["episode length"]
    assert speed == ["mean steps per second"]
    assert "Elo" in names_in(view, (944, 194))


def test_returns_of_several_agents_have_a_plot_at_the_designed_size_and_all_have_one_in_a_wide_window(
    tmp_path: Path,
) -> None:
    view = rated_history(tmp_path).refresh()
    written = names_in(view, (944, 194))
    assert {"Elo", "score", "return", "orange", "endings", "rewards"} <= set(written)
    wide = names_in(view, (1450, 240))
    assert set(wide) >= {"score", "orange", "blue", "episode length", "policy", "entropy", "mean steps per second"}

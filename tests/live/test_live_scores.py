"""Where a scene names a score, the window says and shows that and not the return."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pygame
import pytest
from live_windows import TINY, down, up, watching
from score_scenes import DUEL, HOVER

from ecs_rl.components import Clock
from ecs_rl.results import Results
from ecs_rl.viewer.number_formats import signed


def test_the_window_goes_by_the_score(tmp_path: Path) -> None:
    scene = tmp_path / "hover.py"
    scene.write_text(HOVER)
    with watching(tmp_path / "runs", str(scene), *TINY) as live:
        live.slices(4000)
        live.show.tick()
        world = live.show.world
        assert (
            live.show.total
            == Results(world).score("on target")[0]
            >= 0
            > Results(world).mean_return(live.show.terms.total)[0]
        )
        assert f"score {signed(live.show.total)}" in live.show.caption
        live.renew_curves()
        status, curves = live.window.views["status"], live.window.views["learning"].curves
        assert status.counted == "score"
        assert status.best == live.trains.session.best_eval
        assert (curves.returns.name, curves.solved_at) == ("score", 45)
        assert curves.best[1] == pytest.approx(live.trains.session.best_eval)
        live.hit("G")
        live.draw()
        grid = live.window.views.get("grid")
        assert grid is not None
        assert (grid.counted, grid.scale) == ("score", (0.0, 45.0))
        assert np.array_equal(grid.bars, Results(live.trains.world).now())


def test_an_episode_that_was_watched_is_noted_with_its_scores(tmp_path: Path) -> None:
    scene = tmp_path / "hover.py"
    scene.write_text(HOVER)
    with watching(tmp_path / "runs", str(scene), *TINY) as live:
        for _ in range(60):
            live.show.tick()
        (ended,) = live.show.ended
        assert ended.total == ended.record.result("on target") == ended.record.extras["score/on target"]
        assert ended.record.total_reward == ended.record.extras["near"] < 0


def test_a_click_on_the_mind_turns_to_the_next_agent_and_its_head_says_whose_it_is(tmp_path: Path) -> None:
    scene = tmp_path / "duel.py"
    scene.write_text(DUEL)
    with watching(tmp_path / "runs", str(scene), *TINY) as live:
        live.show.tick()
        live.draw()
        names = []
        for _ in range(3):
            mind, room = live.window.views["mind"], live.layout.rooms["mind"]
            names.append(mind.who)
            before = live.window.screen.picture().subsurface(room).copy()
            live.answer(down(room.center), up(room.center))
            live.draw()
            head = pygame.Rect(0, 0, room.w // 2, 26)
            after = live.window.screen.picture().subsurface(room)
            pictures = [pygame.image.tobytes(each.subsurface(head), "RGB") for each in (before, after)]
            assert pictures[0] != pictures[1]
        assert names == ["one", "two", "one"]


def test_the_grid_shows_the_mean_of_the_agents_and_not_the_sum(tmp_path: Path) -> None:
    scene = tmp_path / "duel.py"
    scene.write_text(DUEL.replace("0.1 * (cart.x - other.x)", "1.0 + 0.0 * cart.x"))
    with watching(tmp_path / "runs", str(scene), *TINY) as live:
        live.slices(200)
        live.hit("G")
        live.draw()
        grid, ticks = live.window.views.get("grid"), live.trains.world.one(Clock).tick
        assert grid is not None
        assert ticks.max() > 0
        assert np.array_equal(grid.bars, ticks)


def test_in_self_play_the_header_says_that_the_best_is_an_elo(tmp_path: Path) -> None:
    with watching(tmp_path, "sumo", "--self-play", *TINY) as live:
        assert live.window.views["status"].counted == "Elo"

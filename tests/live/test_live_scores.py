"""Where a scene names a score, the window says and shows that and not the return."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from live_windows import TINY, watching
from score_scenes import HOVER

from ecs_rl.viewer.number_formats import signed


def test_the_window_goes_by_the_score(tmp_path: Path) -> None:
    scene = tmp_path / "hover.py"
    scene.write_text(HOVER)
    with watching(tmp_path / "runs", str(scene), *TINY) as live:
        live.slices(4000)
        live.show.tick()
        world = live.show.world
        assert live.show.total == world.score("on target")[0] >= 0 > world.mean_return(live.show.terms.total)[0]
        assert f"score {signed(live.show.total)}" in live.show.caption
        live.window.stale = True
        live.window.rates.learning = live.window.history.refresh() if live.window.history else None
        live.draw()
        seen = live.window.seen
        assert seen.status.counted == "score"
        assert seen.status.best == live.trains.session.best_eval
        assert seen.learning is not None
        assert (seen.learning.returns.name, seen.learning.solved_at) == ("score", 45)
        assert seen.learning.best is not None
        assert seen.learning.best[1] == pytest.approx(live.trains.session.best_eval)
        live.hit("G")
        live.draw()
        grid = live.window.seen.grid
        assert grid is not None
        assert (grid.counted, grid.scale) == ("score", (0.0, 45.0))
        assert np.array_equal(grid.bars, live.trains.world.results())


def test_an_episode_that_was_watched_is_noted_with_its_scores(tmp_path: Path) -> None:
    scene = tmp_path / "hover.py"
    scene.write_text(HOVER)
    with watching(tmp_path / "runs", str(scene), *TINY) as live:
        for _ in range(60):
            live.show.tick()
        (ended,) = live.show.ended
        assert ended.total == ended.record.result("on target") == ended.record.extras["score/on target"]
        assert ended.record.total_reward == ended.record.extras["near"] < 0

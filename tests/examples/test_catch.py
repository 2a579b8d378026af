"""A game of its own, without the engine: it learns through a session, and a pilot plays it in a window."""

from __future__ import annotations

import textwrap
from pathlib import Path

import catch
import numpy as np
import pytest
from pages import example

import ecs_rl


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the run of a game that has learned."""
    folder = tmp_path_factory.mktemp("runs")
    catch.train(runs=folder)
    return folder


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_the_pilot_catches_nearly_all_apples_in_a_window_of_the_games_own(
    runs: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    caught, missed = catch.play(ecs_rl.load("catch", backend, runs=runs), frames=600, fps=200)
    assert caught + missed > 15
    assert caught > 0.9 * (caught + missed)


def test_who_moves_at_random_misses_most_of_them() -> None:
    random, caught = np.random.default_rng(0), 0
    for seed in range(100):
        game = catch.Game(seed)
        while not game.over:
            game.step(int(random.integers(3)))
        caught += game.caught
    assert caught < 60, "of the hundred that were missed at last, and those before"


def test_the_loop_on_the_engines_page_is_that_of_the_game() -> None:
    assert textwrap.indent(example("pilot"), "    ") in Path(catch.__file__).read_text("utf-8")

"""All panels tell of one moment, one arena and one policy, whichever way the stage has come there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from live_windows import Live, down, up, watching


def click_an_arena(live: Live) -> None:
    live.hit("G")
    live.draw()
    (region,) = live.regions("grid")
    assert region.find is not None
    at = next((x, 20) for x in range(20, region.rect.w) if region.find((x, 20)) is not None)
    at = at[0] + region.rect.x, at[1] + region.rect.y
    live.answer(down(at), up(at))


def drag_the_policy(live: Live) -> None:
    live.hit("M", "M")
    live.draw()
    at = live.at("learning", "plot", 0, 0.1)
    live.answer(down(at), up(at))


WAYS: dict[str, Callable[[Live], object]] = {
    "pause": lambda live: live.hit("Space"),
    "grid and Enter": lambda live: live.hit("G", "]", "]", "Enter"),
    "a click in the grid": click_an_arena,
    "another arena": lambda live: live.hit("]"),
    "the same seed": lambda live: live.hit("R"),
    "a new episode": lambda live: live.hit("Backspace"),
    "back": lambda live: live.hit("Left", "Left", "Left"),
    "back and on": lambda live: live.hit("Left", "PgUp", "Enter"),
    "back and to the present": lambda live: live.hit("Left", "PgUp", "Esc"),
    "another policy": lambda live: live.hit(","),
    "a policy on the curve": drag_the_policy,
    "a pause in the grid": lambda live: live.hit("Space", "G", "]", "Enter"),
}


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path) as opened:
        for _ in range(20):
            opened.window.advance(1 / 30, 1.0)
            opened.slices(10)
            opened.draw()
        yield opened


@pytest.mark.parametrize("way", WAYS)
def test_the_mind_is_that_of_the_moment_on_the_stage(live: Live, way: str) -> None:
    assert live.background.is_flat_out, "the mind is read seldom beside it"
    WAYS[way](live)
    live.draw()
    mind, show = live.window.views["mind"], live.show
    thought = show.mind.current
    assert [seen.value for seen in mind.sees] == pytest.approx(thought.seen.tolist())
    before = show.rewind.current.before
    assert np.array_equal(thought.seen, before[show.mind._columns[0]][0]), "the columns of the picture"
    assert mind.expected[-1] == thought.value
    assert len(live.window.views["ribbon"].earned) == len(mind.expected)
    assert live.stage.caption == show.caption

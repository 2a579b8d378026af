"""Esc leaves the mode that was entered last; the value map covers what the stage shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pygame
import pytest
from live_windows import TINY, Live, moved, watching, wheel


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path, "lander", *TINY) as opened:
        opened.slices(40)
        yield opened


def zoom(live: Live, notches: int) -> None:
    middle = live.stage_region().rect.center
    live.answer(moved(middle), wheel(notches))


def on(live: Live) -> set[str]:
    """Return which of three modes are on."""
    modes = {
        "camera": live.window.stage.aim is not None,
        "turbo": live.background.turbo,
        "profile": "profile" in live.window.open_panels,
    }
    return {name for name, is_on in modes.items() if is_on}


@pytest.mark.parametrize("order", ["camera turbo profile", "profile turbo camera", "turbo profile camera"])
def test_escape_leaves_the_mode_that_was_entered_last(live: Live, order: str) -> None:
    names = order.split()
    for name in names:
        if name == "camera":
            zoom(live, 4)
        else:
            live.hit({"turbo": "U", "profile": "F3"}[name])
    for left in range(len(names), 0, -1):
        assert on(live) == set(names[:left])
        live.hit("Esc")
    assert on(live) == set()


def test_a_mode_that_its_own_key_left_is_not_left_again(live: Live) -> None:
    live.hit("F3", "U", "F3", "Esc")
    assert on(live) == set()
    live.hit("Space", "Esc")
    assert not live.show.paused, "a pause is a mode too"


def test_the_value_map_covers_what_the_stage_shows_also_after_a_zoom(live: Live) -> None:
    live.hit("Space", "X")
    covered = []
    for notches in (0, -3):
        if notches:
            zoom(live, notches)
        for _ in range(30):
            live.answer()
            live.window.advance(1 / 60, 0.01)
            live.draw()
        region, field = live.stage_region(), live.stage.field
        assert region.camera is not None
        assert field is not None
        seen = region.camera.onto(region.focus)
        (x0, y1), (x1, y0) = seen.metres((0, 0)), seen.metres(region.rect.size)
        assert field.bounds[0] == pytest.approx((x0, y0))
        assert field.bounds[1] == pytest.approx((x1, y1))
        covered.append(x1 - x0)
    assert covered[1] > 1.2 * covered[0]


# --- floating panels --------------------------------------------------------------------------------------------------


def resize(live: Live, size: tuple[int, int]) -> None:
    pygame.display.set_mode(size, pygame.RESIZABLE)
    live.answer(pygame.event.Event(pygame.WINDOWRESIZED, x=size[0], y=size[1], window=None))
    live.frames(2)


def placed(live: Live) -> set[str]:
    """Return which floating panels the newest picture has."""
    return {name for name in ("weather", "settings", "inspector", "profile") if live.regions(name)}


@pytest.mark.parametrize("order", ["A S F3", "F3 S A", "S F3 A"])
def test_the_oldest_floating_panel_gives_way_to_the_newest_and_the_window_says_so(live: Live, order: str) -> None:
    resize(live, (900, 400))
    for key in order.split():
        live.hit(key)
        live.frames(4)
    names = [{"A": "weather", "S": "settings", "F3": "profile"}[key] for key in order.split()]
    assert names[-1] in placed(live), "the newest panel has a place"
    closed = [name for name in names if name not in live.window.open_panels]
    assert closed, "there is no room for all of them"
    assert closed == names[: len(closed)], "the oldest"
    assert placed(live) == {*names} - {*closed}, "what is open is there to be seen"
    assert all(f"the {name} panel gives way to the " in live.said() for name in closed)


def test_a_panel_that_loses_its_room_with_the_windows_size_comes_back_with_it(live: Live) -> None:
    live.hit("F3")
    live.frames(2)
    assert placed(live) == {"profile"}
    resize(live, (900, 230))
    live.frames(2)
    assert placed(live) == set()
    assert live.said().count("no room for the profile panel") == 1
    resize(live, (1280, 720))
    assert placed(live) == {"profile"}

"""Panels at the edges of the window: they answer clicks, and can be put away."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_windows import Clock, Live, down, up, watching

from ecs_rl.viewer.panels import learning


def click(live: Live, at: tuple[int, int]) -> None:
    live.answer(down(at), up(at))
    live.draw()


def train_to(live: Live, steps: int) -> None:
    while live.trains.session.total_steps < steps:
        live.slices()
    live.finish_what_was_asked()


@pytest.mark.parametrize(("panel", "key"), [("mind", "Tab"), ("learning", "M")])
def test_a_click_on_the_key_in_its_head_hides_a_panel_as_the_key_does(panel: str, key: str, tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        whole = live.layout.stage
        click(live, live.at(panel, "key"))
        assert panel not in live.window.views
        assert panel not in live.layout.rooms
        hidden = live.layout.stage
        assert hidden.w * hidden.h > whole.w * whole.h, "the stage has its room"
        assert (key, panel) in live.window.views["hints"], "it says how to get it back"
        live.hit(key, key)
        live.draw()
        assert live.layout.stage == hidden
        click(live, live.texts()[key])
        assert panel in live.window.views
        assert (key, panel) not in live.window.views["hints"]
        assert live.layout.stage == whole


def test_the_curves_are_made_anew_once_a_second_and_when_the_drawer_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(tmp_path) as live:
        clock = Clock()
        clock.hold(monkeypatch, learning)
        live.renew_curves()
        first = live.window.views["learning"].curves
        train_to(live, 1000)
        clock.now += learning.EVERY - 0.1
        live.draw()
        assert live.window.views["learning"].curves is first
        clock.now += 0.2
        live.draw()
        second = live.window.views["learning"].curves
        assert len(second.returns.x) > len(first.returns.x)
        train_to(live, 2000)
        live.renew_curves()
        assert len(live.window.views["learning"].curves.returns.x) > len(second.returns.x)

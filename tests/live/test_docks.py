"""Panels at the edges of the window: they answer clicks, and can be put away."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_windows import Live, down, up, watching


def click(live: Live, at: tuple[int, int]) -> None:
    live.answer(down(at), up(at))
    live.draw()


@pytest.mark.parametrize(("panel", "key"), [("mind", "Tab"), ("learning", "M")])
def test_a_click_on_the_key_in_its_head_hides_a_panel_as_the_key_does(panel: str, key: str, tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        whole = live.window.layout.stage
        click(live, live.at(panel, "key"))
        assert panel not in live.window.views
        assert panel not in live.window.layout.rooms
        hidden = live.window.layout.stage
        assert hidden.w * hidden.h > whole.w * whole.h, "the stage has its room"
        live.hit(key, key)
        live.draw()
        assert live.window.layout.stage == hidden
        live.hit(key)
        live.draw()
        assert panel in live.window.views
        assert live.window.layout.stage == whole

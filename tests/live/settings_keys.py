"""What the keys of the settings panel do."""

from __future__ import annotations

from collections.abc import Callable

from live_windows import Live

from ecs_rl.viewer.controls.scene_reload import SceneReload
from ecs_rl.viewer.live.screen import Screen
from ecs_rl.viewer.panels.settings import SettingsView

Hit = Callable[[], None]


def shown(live: Live) -> SettingsView:
    live.draw()
    view: SettingsView = live.window.views["settings"]
    return view


def settings(live: Live, hit: Hit) -> None:
    live.draw()
    assert "settings" not in live.window.views
    hit()
    assert [row.name for row in shown(live)] == ["lr", "entropy", "upright reward"]
    assert [row.value for row in shown(live)] == ["0.001", "0", "x1"]
    assert not any(row.changed for row in shown(live))
    hit()
    live.draw()
    assert "settings" not in live.window.views


def focused(live: Live) -> tuple[str, str, int] | None:
    """Return the part with the focus."""
    assert isinstance(live.window.screen, Screen)
    return live.window.screen.focus.part


def _goes_round(live: Live, hit: Hit, rows: list[int]) -> None:
    hit()
    assert "nothing is open that Up and Down go through" in live.said()
    live.hit("S")
    live.draw()
    for row in rows:
        hit()
        assert focused(live) == ("settings", "slider", row)


def next_part(live: Live, hit: Hit) -> None:
    _goes_round(live, hit, [0, 1, 2, 0])


def previous_part(live: Live, hit: Hit) -> None:
    _goes_round(live, hit, [0, 2, 1, 0])


def reload_scene(live: Live, hit: Hit) -> None:
    hit()
    assert "the scene's file is as it was, or cannot be gone on with" in live.said()
    assert not live.trains.reloads
    live.control(SceneReload).can_reload = True
    hit()
    assert live.trains.reloads
    assert live.trains.stop == "its scene has changed"

"""What the keys of the settings panel do."""

from __future__ import annotations

from collections.abc import Callable

from live_windows import Live

from ecs_rl.viewer.panels.settings import Settings, SettingsView

Hit = Callable[[], None]


def panel(live: Live) -> Settings:
    found = live.window.panels["settings"]
    assert isinstance(found, Settings)
    return found


def shown(live: Live) -> SettingsView:
    live.draw()
    view = live.window.views["settings"]
    assert isinstance(view, SettingsView)
    return view


def settings(live: Live, hit: Hit) -> None:
    live.draw()
    assert "settings" not in live.window.views
    hit()
    assert [row.name for row in shown(live).rows] == ["lr", "entropy", "upright reward"]
    assert [row.value for row in shown(live).rows] == ["0.001", "0", "x1"]
    assert not any(row.changed for row in shown(live).rows)
    hit()
    live.draw()
    assert "settings" not in live.window.views


def _goes_round(live: Live, hit: Hit, rows: list[int]) -> None:
    hit()  # the first time it only shows them
    found = [shown(live).chosen]
    for _ in rows[1:]:
        hit()
        found.append(shown(live).chosen)
    assert found == rows


def setting_below(live: Live, hit: Hit) -> None:
    _goes_round(live, hit, [0, 1, 2, 0])


def setting_above(live: Live, hit: Hit) -> None:
    _goes_round(live, hit, [0, 2, 1, 0])


def _changes(live: Live, hit: Hit, name: str, first: float, then: list[float]) -> None:
    live.finish_what_was_asked()
    hit()  # the first time it only shows them
    panel(live).chosen = live.trains.live.names.index(name)
    assert live.trains.live.now(name) == first
    for value in then:
        hit()
        assert shown(live).rows[panel(live).chosen].value.removeprefix("x") == f"{value:g}"
        live.finish_what_was_asked()
        assert live.trains.live.now(name) == value
    assert f"{name} is {then[-1]:g} from step {live.trains.session.total_steps:,} on" in live.said()
    row = shown(live).rows[panel(live).chosen]
    assert row.changed
    assert (row.share > row.first) == (then[-1] > first)


def raise_setting(live: Live, hit: Hit) -> None:
    _changes(live, hit, "weight/upright", 1.0, [1.1, 1.2])


def lower_setting(live: Live, hit: Hit) -> None:
    _changes(live, hit, "lr", 0.001, [0.000794, 0.000631])


def reload_scene(live: Live, hit: Hit) -> None:
    hit()
    assert "the scene's file is as it was, or cannot be gone on with" in live.said()
    assert not live.trains.reloads
    live.window.scene_watch.offers = True
    hit()
    assert live.trains.reloads
    assert live.trains.stop == "its scene has changed"

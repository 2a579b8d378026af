"""Settings that change while it trains: the panel under the mouse, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from live_windows import TINY, Live, down, moved, up, watching
from settings_keys import shown

from ecs_rl.runs.rows import Change, changes_in


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path) as opened:
        opened.slices(40)
        opened.finish_what_was_asked()
        opened.hit("S")
        opened.draw()
        yield opened


def at(live: Live, row: int, share: float) -> tuple[int, int]:
    """Return the pixel of a slider."""
    return live.at("settings", "slider", row, share)


@pytest.mark.parametrize("keys", [("Right", "Left"), ("Ctrl+Up", "Ctrl+Down")])
@pytest.mark.parametrize(
    ("name", "first", "then"),
    [("weight/upright", 1.0, [1.1, 1.2, 1.1]), ("lr", 0.001, [0.00126, 0.00158, 0.00126])],
)
def test_keys_change_the_setting_with_the_focus_notch_by_notch(
    live: Live, keys: tuple[str, str], name: str, first: float, then: list[float]
) -> None:
    live.finish_what_was_asked()
    number = live.trains.live.names.index(name)
    live.hit(*["Down"] * (number + 1))
    assert live.trains.live.now(name) == first
    for key, value in zip((keys[0], keys[0], keys[1]), then, strict=True):
        live.hit(key)
        row = shown(live)[number]
        assert row.value.removeprefix("x") == f"{value:g}"
        live.finish_what_was_asked()
        assert live.trains.live.now(name) == value
        assert f"{name} is {value:g} from step {live.trains.session.total_steps:,} on" in live.said()
        assert row.share > row.usual
    assert row.changed


def changes(live: Live) -> list[Change]:
    run = live.trains.session.run
    assert run is not None
    run.flush()
    return changes_in(run.path / "metrics.jsonl")


def test_a_slider_changes_a_setting_when_it_is_let_go_and_not_before(live: Live) -> None:
    begin, end = at(live, 2, 0.25), at(live, 2, 0.75)
    live.answer(down(begin), moved((begin[0] + 30, begin[1])), moved(end))
    live.finish_what_was_asked()
    assert float(shown(live)[2].value.removeprefix("x")) == pytest.approx(3.0, abs=0.03)
    assert live.trains.live.now("weight/upright") == 1.0
    assert changes(live) == []
    live.answer(up(end))
    live.finish_what_was_asked()
    assert live.trains.live.now("weight/upright") == pytest.approx(3.0, abs=0.03)
    (change,) = changes(live)
    assert change == (live.trains.session.total_steps, "weight/upright", live.trains.live.now("weight/upright"))
    assert shown(live)[2].changed


def test_a_click_on_a_slider_sets_it_and_one_near_its_first_value_takes_that(live: Live) -> None:
    there = at(live, 1, 0.5)
    live.answer(down(there), up(there))
    live.finish_what_was_asked()
    assert live.trains.live.now("entropy") == pytest.approx(0.05, abs=0.002)
    back = at(live, 1, 0.01)
    live.answer(down(back), up(back))
    live.finish_what_was_asked()
    assert live.trains.live.now("entropy") == 0.0
    assert not shown(live)[1].changed
    assert [change.name for change in changes(live)] == ["entropy", "entropy"]


def test_the_panel_keeps_the_mouse_from_what_is_behind_it(live: Live) -> None:
    (panel,) = [region.rect for region in live.regions("settings") if region.part == "panel"]
    head = (panel.centerx, panel.y + 5)
    live.answer(down(head), moved((head[0] + 30, head[1] + 30)), up((head[0] + 30, head[1] + 30)))
    live.answer(down(head), up(head))
    assert not live.show.touched
    assert live.window.stage.selected is None
    assert changes(live) == []


def test_a_change_is_made_while_training_rests_and_at_the_end_of_a_tick_otherwise(live: Live) -> None:
    live.hit("T", "Ctrl+Up")
    live.finish_what_was_asked()
    assert live.background.paused
    steps, (first,) = live.trains.session.total_steps, changes(live)
    assert first.step == steps
    live.hit("T")
    live.slices(1)
    live.hit("Ctrl+Up")
    assert len(changes(live)) == 1
    live.slices(200)
    live.finish_what_was_asked()
    second = changes(live)[1]
    assert second.step > steps
    assert second.step % live.trains.world.arenas == 0


def test_the_curves_tell_where_a_setting_was_changed_also_after_a_resume(live: Live, tmp_path: Path) -> None:
    live.hit("Ctrl+Down")
    live.finish_what_was_asked()
    step = live.trains.session.total_steps
    live.renew_curves()
    assert live.window.views["learning"].curves.changes == ((step, "lr 0.000794"),)
    live.trains.stop = "the test goes on"
    live.background.save_all()
    with watching(tmp_path, "balance", *TINY, "--resume") as again:
        again.frames(5)
        again.renew_curves()
        assert again.window.views["learning"].curves.changes == ((step, "lr 0.000794"),)
        again.hit("S")
        assert [row.changed for row in shown(again)] == [True, False, False]
        assert shown(again)[0].value == "0.000794"


def test_escape_closes_the_panel_and_an_ended_training_has_none(live: Live) -> None:
    live.hit("Esc")
    live.draw()
    assert "settings" not in live.window.views
    live.hit("S")
    live.trains.stop = "the test is over"
    live.background.save_all()
    live.draw()
    assert "settings" not in live.window.views
    live.hit("Ctrl+Up", "Down")
    assert not live.background._asked
    assert live.trains.live.changed == {}

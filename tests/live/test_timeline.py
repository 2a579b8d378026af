"""The timeline, the pace and the moment at which a scene is solved: what lets a newcomer see learning in time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pygame
import pytest
from live_commands import train
from live_windows import TINY, Clock, Live, down, moved, same, seeing, up, watching

from ecs_rl.runs.layout import milestones, policies
from ecs_rl.viewer.live import background as background_module
from ecs_rl.viewer.live import background as pace_module
from ecs_rl.viewer.live import window as window_module
from ecs_rl.viewer.live.background import DOUBLES, WIDE_OPEN, Pace, WatchedRun, times_real
from ecs_rl.viewer.live.playlist import NEWEST
from ecs_rl.viewer.live.watch import WatchWindow
from ecs_rl.viewer.panels.joy import LASTS
from ecs_rl.viewer.plots import x_reach


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path) as opened:
        while not opened.background.is_saved:
            opened.background._slice()
        opened.renew_curves()
        yield opened


def pixel(live: Live, step: float) -> tuple[int, int]:
    """Return where a step is on the return curve."""
    return live.at("learning", "plot", 0, step / x_reach(live.window.views["learning"].curves)[1])


def run_of(live: Live) -> Path:
    run = live.trains.session.run
    assert run is not None
    return run.path


# --- the curve --------------------------------------------------------------------------------------------------------


def test_dragging_along_the_curve_plays_the_nearest_policy_on_the_same_seed(live: Live) -> None:
    live.show.go_to(1)
    start, steps = live.state(), sorted(policies(run_of(live)))
    live.show.tick()
    live.answer(down(pixel(live, 2900)))
    seen = []
    for step in (2300, 1600, 1000, 0, -500, 4000, 2300):
        live.answer(moved(pixel(live, step)))
        seen.append(live.show.label)
        live.draw()
        timeline = live.window.views["learning"].timeline
        assert f"step {timeline.step:,.0f}" in live.show.label or live.show.label == NEWEST
        if step not in (-500, 4000):  # 0 is there already
            assert same(live.state(), start), "seed 10001 from its beginning"
        live.show.tick()
    nearest = [f"step {min(steps, key=lambda each: abs(each - step)):,}" for step in (2300, 1600, 1000, 0, -500)]
    assert seen == [*nearest, NEWEST, nearest[0]]
    live.answer(up(pixel(live, 2300)), moved(pixel(live, 0)))
    assert live.show.label == nearest[0], "the mouse has let go"
    assert live.show.hand.role is None


def test_a_click_on_the_curve_is_enough_and_beside_it_nothing_happens(live: Live) -> None:
    at = pixel(live, 1000)
    live.answer(down(at), up(at))
    assert live.show.label == "step 1,000"
    learning = live.layout.rooms["learning"]
    for outside in ((learning.right - 20, learning.centery), (learning.centerx, learning.top - 60)):
        live.answer(down(outside), up(outside), down(outside), moved((outside[0] - 30, outside[1])), up(outside))
        assert live.show.label == "step 1,000"


def test_the_mark_stands_where_the_policy_is_and_every_policy_has_a_notch(live: Live) -> None:
    live.hit("L")
    live.renew_curves()
    timeline = live.window.views["learning"].timeline
    assert set(timeline.steps) > set(map(float, policies(run_of(live))))
    assert (timeline.step, timeline.label) == (math.inf, "now")
    surface = live.window.screen.picture()
    at = pixel(live, 1000)
    before = pygame.surfarray.array3d(surface)[at[0] - 2 : at[0] + 3, at[1]].max()
    live.answer(down(at), up(at))
    live.draw()
    assert live.window.views["learning"].timeline.label == "step 1,000"
    drawn = pygame.surfarray.array3d(surface)[at[0] - 2 : at[0] + 3, at[1]]
    assert before < 231 <= drawn.min(axis=1).max(), "a white line is there now"


def test_in_play_the_curve_the_keys_and_the_way_back_work_too(tmp_path: Path) -> None:
    run = train("balance", *TINY, "--json", "--runs", tmp_path).run
    with seeing(run, "--episodes", 3) as live:
        first = live.show.label
        live.frames(2)
        at = pixel(live, 0)
        live.answer(down(at), up(at))
        assert live.show.label == "step 0"
        live.hit(".")
        assert live.show.label == f"step {sorted(policies(run))[1]:,}"
        live.hit("L")
        assert live.show.label == first
        live.hit("B")
        live.open_aside()
        assert [show.label for show in live.window.stage.shows] == ["untrained", first]
        played = live.window.stage.playlist
        assert played is not None
        live.frames(3)
        live.hit("B")
        assert played.results == [{}]


def test_a_run_of_before_milestones_has_nothing_to_compare_with_and_says_so(live: Live) -> None:
    milestones(run_of(live))[0].unlink()
    live.hit("B")
    assert "no untrained policy" in live.said()
    assert live.window.stage.shows == [live.show]


# --- the pace ---------------------------------------------------------------------------------------------------------


def test_the_pace_opens_by_what_the_arenas_have_lived_and_by_nothing_else() -> None:
    lived = [0.0, DOUBLES - 0.01, DOUBLES, 2 * DOUBLES, WIDE_OPEN * DOUBLES - 0.01, WIDE_OPEN * DOUBLES, 1e9]
    assert [times_real("opens", each) for each in lived] == [1, 1, 2, 4, 2 ** (WIDE_OPEN - 1), math.inf, math.inf]
    assert [times_real(name, 1e9) for name in ("slow", "1x", "max")] == [0.25, 1.0, math.inf]


@pytest.mark.parametrize("rate", [7.0, 50.0, 1000.0])
def test_so_many_ticks_begin_in_a_second_and_a_long_wait_is_not_made_up_for(
    rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    clock.hold(monkeypatch, pace_module)
    pace = Pace("1x")

    def begun(seconds: float, every: float) -> int:
        end, found = clock.now + seconds, 0
        while clock.now < end:
            while pace.may_tick(rate):
                found += 1
            clock.now += every
        return found

    begun(1.0, 0.001)
    assert begun(10.0, 0.001) == pytest.approx(10 * rate, abs=2)
    clock.now += 100.0
    assert begun(0.001, 0.001) <= max(1, round(rate * pace_module.CATCHES_UP))


def test_in_real_time_a_second_of_the_window_is_a_second_of_every_arena_and_waiting_is_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(tmp_path) as live:
        live.finish_what_was_asked()
        clock = Clock()
        clock.hold(monkeypatch, pace_module, background_module)
        live.background.pace = Pace("1x")
        live.slices()
        live.finish_what_was_asked()
        world, left_out = live.trains.world, list[float]()
        monkeypatch.setattr(live.trains, "leave_out", left_out.append)
        steps, began = live.trains.session.total_steps, clock.now
        while clock.now < began + 2.0:
            for _ in range(2000):  # a frame: on a clock that stands still only the pace ends it
                ticks = live.trains.session.total_steps
                live.background.run(clock.now + 1.0)
                if live.trains.session.total_steps == ticks:
                    break
            clock.now += 1 / 60
        lived = (live.trains.session.total_steps - steps) / world.arenas
        assert lived * world.scene.dt == pytest.approx(2.0, abs=0.1)
        live.background._idle(False)
        assert sum(left_out) == pytest.approx(2.0, abs=0.1)


def test_the_same_bits_come_of_every_pace(tmp_path: Path) -> None:
    hashes, kept = set(), set()
    for pace in ("slow", "1x", "max", "opens"):
        with watching(tmp_path / pace) as live:
            live.background.pace = Pace(pace)
            if pace in ("slow", "opens"):
                live.hit("N")
            live.background.pace._credit = 1.0
            while not live.background.is_saved:
                live.background.pause(False)
                live.background._slice()
            hashes.add(live.trains.session.agent.parameters_sha256())
            kept.add(tuple(sorted(policies(run_of(live)))))
    assert len(hashes) == len(kept) == 1


def test_a_window_that_is_seen_opens_slowly_and_one_that_nobody_sees_goes_flat_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(tmp_path / "unseen") as live:
        assert live.background.pace.name == "max"
        training = live.trains
        window: Any = SimpleNamespace(seen=True, close=lambda: None)
        monkeypatch.setattr("ecs_rl.viewer.live.watch.LiveEpisode", lambda *more, **named: None)
        opened = [WatchWindow.open(training, window, pace=pace).pace for pace in ("", "slow", "1x", "max")]
    assert opened == ["opens", "slow", "1x", "max"]


def test_a_pace_without_a_window_is_told_to_do_nothing_and_no_other_word_is_taken(tmp_path: Path) -> None:
    told = train("balance", *TINY, "--steps", "200", "--pace", "slow", "--json", "--runs", tmp_path)
    assert told.code == 0
    assert "--pace is for --watch" in told.err
    told = train("balance", *TINY, "--pace", "fast", "--runs", tmp_path)
    assert told.code == 2
    assert "--pace" in told.err


# --- solved -----------------------------------------------------------------------------------------------------------


def test_a_solved_scene_is_celebrated_once_and_then_shown_before_and_after(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        live.slices(200)
        live.finish_what_was_asked()
        live.window.advance(0.1, math.inf)
        live.draw()
        assert "joy" not in live.window.views
        plain = pygame.surfarray.array3d(live.window.screen.picture())
        live.trains.evaluation.solved_step = live.trains.session.total_steps
        live.window.stage.set_speed(0.0)
        live.window.advance(0.1, math.inf)
        live.window.advance(1.5, math.inf)
        live.draw()
        assert live.window.views["joy"] == 1.5
        stage = live.layout.stage
        drawn = pygame.surfarray.array3d(live.window.screen.picture())
        changed = (drawn != plain).any(axis=2)[stage.left : stage.right, stage.top : stage.bottom]
        assert changed.sum() > 2000, "confetti and a sign"
        assert len(live.window.stage.shows) == 1
        live.window.advance(LASTS, math.inf)
        live.window.stage.set_speed(1.0)
        live.open_aside()
        assert [show.label for show in live.window.stage.shows] == ["untrained", NEWEST]
        live.hit("Esc")
        for _ in range(5):
            live.window.advance(LASTS, math.inf)
            live.draw()
            assert "joy" not in live.window.views
            assert len(live.window.stage.shows) == 1, "once is enough"


@pytest.mark.parametrize("keys", ["Space", "G", "F2", "H"])
def test_the_celebration_waits_until_the_stage_is_free(tmp_path: Path, keys: str) -> None:
    with watching(tmp_path) as live:
        live.window.stage.set_speed(0.0)
        live.hit(keys)
        live.window.advance(0.1, math.inf)
        live.trains.evaluation.solved_step = 8
        for _ in range(3):
            live.window.advance(0.5, math.inf)
            live.draw()
            assert "joy" not in live.window.views
        assert "solved! B shows it untrained and now" in live.said()
        live.hit("Esc")
        live.window.advance(0.1, math.inf)
        live.draw()
        assert live.window.views["joy"] < LASTS
        live.hit("Esc")
        live.draw()
        assert "joy" not in live.window.views, "Esc ends it"
        live.window.advance(LASTS, math.inf)
        assert live.window.stage.coming is None


def test_confetti_does_not_fall_over_an_ending(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        live.window.advance(0.1, math.inf)
        live.trains.evaluation.solved_step = 8
        while live.show.held is None:
            live.show.tick()
        live.window.advance(0.01, math.inf)
        assert "joy" not in live.window.open_panels
        for _ in range(100):
            live.window.advance(0.05, math.inf)
            assert live.show.held is None or "joy" not in live.window.open_panels
            if live.show.held is None:
                break
        live.window.advance(0.01, math.inf)
        assert "joy" in live.window.open_panels


def test_a_comparison_that_was_left_does_not_come_back_by_itself_and_keeps_its_episode(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        live.slices(40)
        live.hit("B")
        live.window.advance(0.0, 0.0)
        live.show.go_to(1)
        live.open_aside()
        assert [show.names for show in live.window.stage.shows] == [["seed 10000"]] * 2
        live.trains.evaluation.solved_step = 8
        for _ in range(3):
            live.window.advance(LASTS, 0.0)
        live.hit("B")
        for _ in range(6):
            live.window.advance(0.0, 0.0)
        assert live.window.stage.aside is None


def test_who_looks_at_the_grid_as_it_is_solved_is_left_alone(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        live.hit("G")
        live.trains.evaluation.solved_step = 8
        for _ in range(4):
            live.window.advance(LASTS, math.inf)
        assert live.window.stage.grid is not None
        assert live.window.stage.aside is None


def test_a_training_that_was_solved_before_the_window_opened_is_not_celebrated_again(live: Live) -> None:
    live.trains.evaluation.solved_step = 1000
    run = WatchedRun(run_of(live), background=live.background)
    again = window_module.Window(live.window.screen, [live.show], run)
    again.advance(0.1, math.inf)
    again.draw()
    assert "joy" not in again.views

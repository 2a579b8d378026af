"""What lasts longer than a key: turbo, pauses, films, checkpoints that come and go, a minimised window."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import imageio_ffmpeg
import numpy as np
import pygame
import pytest
from live_windows import TINY, Clock, Live, same, watching

from ecs_rl.runs import read_checkpoint
from ecs_rl.runs.layout import policies, step_checkpoints
from ecs_rl.session import session as session_module
from ecs_rl.session.trend import IN_A_ROW
from ecs_rl.training import exact_resume as resume_module
from ecs_rl.training import training as training_module
from ecs_rl.training_stages import write as write_module
from ecs_rl.viewer import history as history_module
from ecs_rl.viewer.controls import filming
from ecs_rl.viewer.controls.filming import Filming
from ecs_rl.viewer.films.encoder import Film
from ecs_rl.viewer.history import History
from ecs_rl.viewer.live import background
from ecs_rl.viewer.live import watch as loop_module
from ecs_rl.viewer.live import window as window_module
from ecs_rl.viewer.live.playlist import NEWEST
from ecs_rl.viewer.panels import learning as learning_module
from ecs_rl.viewer.panels import messages
from ecs_rl.viewer.panels import status as status_module
from ecs_rl.viewer.view import LearningView, Series


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path) as opened:
        opened.slices(40)
        yield opened


def finished(live: Live) -> Path:
    while not live.background.is_saved:
        live.slices(20)
    run = live.trains.session.run
    assert run is not None
    return run.path


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    held = Clock()
    held.hold(monkeypatch, loop_module, window_module, messages, filming, status_module, learning_module)
    return held


def test_sixty_frames_a_second_and_four_in_turbo(live: Live, clock: Clock) -> None:
    live.finish_what_was_asked()
    live.hit("T")
    live.loop = loop_module.Loop(live.window)

    def frames(seconds: float) -> int:
        before, end = live.loop.frames, clock.now + seconds
        while clock.now < end:
            live.frames()
        return live.loop.frames - before

    assert frames(1.0) in (59, 60, 61)
    live.background.turbo = True
    assert frames(2.0) in (7, 8, 9)
    drawn = live.loop.frames
    live.hit("M")
    live.frames()
    assert live.loop.frames == drawn + 1, "a key is seen at once, in turbo too"


def test_a_screen_that_is_too_slow_still_leaves_time_for_the_training(live: Live, clock: Clock) -> None:
    until: list[float] = []

    class Busy:
        busy, paused, is_saved, training, times_real = True, False, False, live.trains, math.inf
        is_flat_out, turbo = True, False

        def run(self, moment: float) -> None:
            until.append(moment - clock.now)
            clock.now = max(clock.now, moment)

    draw = live.window.draw

    def slow(due: float) -> None:
        draw(due)
        clock.now += 0.05

    kept = live.window.run.background
    live.window.run.background, live.window.draw = Busy(), slow  # type: ignore[assignment,method-assign]
    live.loop = loop_module.Loop(live.window)
    try:
        live.frames(10)
    finally:
        live.window.run.background = kept
    assert min(until[1:]) > 0.002, "however slow the screen is, the training goes on"


def test_turbo_leaves_the_stage_a_hundredth_of_the_time_as_long_as_something_trains(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets: list[float] = []
    monkeypatch.setattr(live.window, "advance", lambda seconds, budget: budgets.append(budget))

    def budget(*, busy: bool, turbo: bool) -> float:
        monkeypatch.setattr(type(live.background), "busy", property(lambda work: busy))
        live.background.turbo = turbo
        live.loop.drawn_at -= 1.0  # a frame is due
        budgets.clear()
        live.loop._draw()
        return budgets[0]

    assert budget(busy=True, turbo=True) == pytest.approx(0.01 / 4)
    assert budget(busy=True, turbo=False) == pytest.approx(0.25 / 60)
    assert budget(busy=False, turbo=True) == pytest.approx(0.7 / 4)


def test_a_pause_of_the_training_is_not_counted_as_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    clock.hold(monkeypatch, training_module, write_module, resume_module, background)
    monkeypatch.setattr(session_module, "time", SimpleNamespace(perf_counter=clock))
    with watching(tmp_path) as live:
        for key in ("T", "T", ""):
            for _ in range(40):
                clock.now += 0.001
                live.slices()
            if key:
                live.hit(key)
            clock.now += 5000.0 if live.background.paused else 0.0
            if live.background.paused:
                live.hit("Ctrl+S")  # what is saved in a pause must not count it either
                live.finish_what_was_asked()
                clock.now += 5000.0
        assert live.trains.seconds < 1.0
        saved = live.trains.session.run
        assert saved is not None
        (path,) = step_checkpoints(saved.path).values()
        facts = read_checkpoint(path)[0]
        run = finished(live)
    assert 0 < facts.resume["seconds"] < 1.0
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert 0 < max(row["seconds"] for row in rows) < 1.0
    assert rows[-1]["time/steps_per_second"] > 1000


def test_speed_is_ticks_for_each_second_and_never_another_step(live: Live) -> None:
    dt = live.show.scene.dt
    for speed, seconds in ((0.25, 2.0), (1.0, 0.5), (4.0, 0.1)):
        live.hit("R")
        live.window.stage.set_speed(speed)
        before = live.show.world.ticks
        for _ in range(round(seconds * 60)):
            if not live.show.resting:
                live.window.advance(1 / 60, 1e9)
        done = live.show.world.ticks - before
        assert done == pytest.approx(speed * seconds / dt, abs=1) or live.show.outcome is not None
    assert live.show.scene.dt == dt


# --- minimised --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gone", "back"),
    [(pygame.WINDOWMINIMIZED, pygame.WINDOWRESTORED), (pygame.WINDOWHIDDEN, pygame.WINDOWSHOWN)],
    ids=["minimised", "hidden"],
)
def test_a_minimised_window_draws_nothing_and_the_training_goes_on(tmp_path: Path, gone: int, back: int) -> None:
    with watching(tmp_path, "balance", *TINY, "--steps", "1M") as live:
        live.frames()
        live.answer(pygame.event.Event(gone))
        drawn, steps = live.loop.frames, live.trains.session.total_steps
        live.frames(6)
        assert live.loop.frames == drawn
        assert live.trains.session.total_steps > steps
        live.answer(pygame.event.Event(back))
        time.sleep(0.02)
        live.frames()
        assert live.loop.frames == drawn + 1


# --- checkpoints ------------------------------------------------------------------------------------------------------


def test_the_checkpoints_of_a_run_make_a_list_with_two_ends(live: Live) -> None:
    run = finished(live)
    steps = sorted(policies(run))
    assert {0, 1000, 2000, 3000} < set(steps)
    labels = []
    for _ in range(len(steps) + 3):
        live.hit(",")
        labels.append(live.show.label)
        live.show.tick()
    best = f"best, step {live.trains.session.best_step:,}"
    wanted = [f"step {step:,}" for step in steps]
    wanted.insert(steps.index(live.trains.session.best_step or 0) + 1, best)
    assert labels == [*reversed(wanted), wanted[0], wanted[0]]
    for label in [*wanted[1:], NEWEST, NEWEST]:
        live.hit(".")
        assert live.show.label == label
        assert label in live.show.caption
        assert f"on the stage: {label}" in live.said()
    live.frames(2)


def test_a_checkpoint_on_the_stage_plays_as_it_did_in_its_evaluation(live: Live) -> None:
    run = finished(live)
    while live.show.label != "step 1,000":
        live.hit(",")
    live.show.go_to(1)
    live.show.ended.clear()
    while not live.show.ended:
        live.show.tick()
    rows = [json.loads(line) for line in (run / "eval_episodes.jsonl").read_text().splitlines()]
    wanted = [row["total_reward"] for row in rows if row["total_steps_at_eval"] == 1000]
    assert live.show.ended[0].total == wanted[1]


def test_a_checkpoint_that_vanished_or_broke_says_so_and_the_next_one_can_be_had(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished(live)
    live.hit(",", ",")
    label, agents = live.show.label, live.show.agents
    choices = live.window.run.checkpoints.choices()  # type: ignore[union-attr]
    at = [choice.label for choice in choices].index(label)
    earlier = choices[at - 1].path
    assert earlier is not None
    content = earlier.read_bytes()
    earlier.write_bytes(content[:-40])
    live.hit(",")
    assert live.window.messages[-1].tone == "bad"
    assert "damaged" in live.said()
    assert (live.show.label, live.show.agents) == (label, agents)
    live.hit(",")
    assert live.show.label == choices[at - 2].label, "it is passed by, not stuck at"
    live.hit(".", ".")
    assert live.show.label == label

    monkeypatch.setattr(live.window.run.checkpoints, "choices", lambda: choices)
    earlier.unlink()  # since the list was looked at
    live.hit(",")
    assert live.window.messages[-1].tone == "bad"
    assert earlier.name in live.said()
    assert live.show.label == label
    live.frames(2)
    live.hit(",")
    assert live.show.label == choices[at - 2].label
    live.show.tick()


def test_the_checkpoint_on_the_stage_may_be_deleted_behind_its_back(live: Live) -> None:
    run = finished(live)
    live.hit(",", ",")
    for path in (run / "checkpoints").iterdir():
        path.unlink()
    live.show.tick()
    live.frames()
    live.hit(",")
    assert live.show.label == NEWEST
    live.hit(".", ",")
    assert live.show.label == NEWEST


def test_a_damaged_best_does_not_keep_the_others_from_the_stage(live: Live) -> None:
    run = finished(live)
    (run / "checkpoints" / "best.safetensors").write_bytes(b"nothing")
    live.hit(",")
    assert "damaged" in live.said()
    live.hit(",")
    assert live.show.label == "step 3,000"
    live.hit(",")
    assert live.show.label == f"step {sorted(policies(run))[-2]:,}"


# --- films and pictures -----------------------------------------------------------------------------------------------


def test_a_film_of_the_window_can_be_read_back(live: Live, clock: Clock) -> None:
    live.finish_what_was_asked()
    live.hit("T")
    live.loop = loop_module.Loop(live.window)
    live.hit("V")
    began = clock.now
    while clock.now < began + 1.0:
        live.frames()
    live.hit("V")
    (film,) = (live.window.run.folder / "films").iterdir()
    reader = imageio_ffmpeg.read_frames(str(film))
    facts = next(reader)
    assert facts["size"] == (1280, 720)
    assert facts["fps"] == 30.0
    assert len(list(reader)) in (29, 30, 31, 32)


def test_an_encoder_that_is_slower_than_the_clock_does_not_hold_the_window(
    live: Live, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, added = Film.add, list[float]()

    def slow(film: Film, surface: pygame.Surface) -> None:
        clock.now += 0.1
        added.append(clock.now)
        assert len(added) < 100
        add(film, surface)

    monkeypatch.setattr(Film, "add", slow)
    live.hit("V")
    live.frames(3)
    live.hit("V")
    assert 0 < len(added) <= 3 * 16, "each frame of the window makes up for half a second at most"


def test_without_the_encoder_v_says_what_to_install(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    live.hit("V")
    assert "python -m pip install 'ecs-rl[video]'" in live.said()
    assert live.control(Filming).film is None
    live.frames(2)
    assert "RECORDING" not in live.chips


def test_a_film_ends_by_itself_when_the_window_changes_its_size(live: Live) -> None:
    live.hit("V")
    live.frames(2)
    pygame.display.set_mode((800, 600), pygame.RESIZABLE)
    live.answer(pygame.event.Event(pygame.WINDOWRESIZED, x=800, y=600, window=None))
    live.frames(2)
    assert live.control(Filming).film is None
    assert "film written" in live.said()
    assert len(list((live.window.run.folder / "films").iterdir())) == 1


def test_a_disk_that_is_full_takes_the_film_and_not_the_window(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    live.hit("V")
    film = live.control(Filming).film
    assert film is not None
    film._encoder._process.kill()
    film._encoder._process.wait()
    monkeypatch.setattr(film, "frames", -100)  # it owes many pictures
    live.frames(3)
    assert live.control(Filming).film is None
    assert "the film is lost" in live.said()
    assert list((live.window.run.folder / "films").iterdir()) == []


def test_a_picture_that_cannot_be_written_is_a_message(live: Live) -> None:
    (live.window.run.folder / "pictures").write_text("in the way")
    live.hit("Ctrl+P")
    assert "no picture could be written" in live.said()
    live.frames()


# --- what the training's keys say when it is over ---------------------------------------------------------------------


def test_when_training_is_over_its_keys_say_so_and_the_stage_plays_on(live: Live) -> None:
    finished(live)
    for key in ("T", "U", "Ctrl+S", "Ctrl+E"):
        live.window.messages = []
        live.hit(key)
        assert live.said() == "training is over"
    before = live.state()
    live.window.advance(0.2, 1e9)
    assert not same(live.state(), before)
    live.hit("G", "]", "Enter")
    live.frames(3)
    assert live.window.views["status"].state in ("finished", "solved")


def test_messages_fade_and_go(live: Live, clock: Clock) -> None:
    live.hit("D")
    live.draw()
    (toast,) = live.window.views["messages"]
    assert toast.strength == 1.0
    clock.now += 3.2
    live.draw()
    assert 0.0 < live.window.views["messages"][0].strength < 1.0
    clock.now += 1.0
    live.draw()
    assert "messages" not in live.window.views


def test_a_resumed_run_shows_its_whole_history(tmp_path: Path) -> None:
    with watching(tmp_path, "balance", *TINY) as live:
        run = finished(live)
    with watching(tmp_path, "balance", "--resume", str(run), "--steps", "6k") as live:
        learning = live.window.views["learning"].curves
        assert learning.evaluations.x.tolist() == [1000.0, 2000.0, 3000.0]
        assert len(learning.returns.x) > 3
        assert live.window.views["status"].steps == 3000


# --- how learning goes ------------------------------------------------------------------------------------------------


def test_new_numbers_reach_the_curves_before_they_are_on_the_disk(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_module, "FLUSH_EVERY", math.inf)
    run, history = live.trains.session.run, live.window.run.history
    assert run is not None
    assert history is not None
    while not live.trains.metrics_schedule.written_at:
        live.slices()
    assert not (run.path / "metrics.jsonl").stat().st_size
    live.loop._look()
    assert history.refresh().returns.x.tolist() == [live.trains.metrics_schedule.written_at]
    monkeypatch.setattr(history_module, "_decoded", None)  # nothing can be read
    while live.trains.evaluation.taken_at < 2000:
        live.slices()
    assert history.refresh().evaluations.x.tolist() == [1000, 2000]
    assert history.refresh().evaluations.y[-1] == pytest.approx(live.trains.evaluation.last)


def test_the_curves_of_a_training_are_those_that_its_files_tell(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        run, history = finished(live), live.window.run.history
        assert history is not None
        seen, told = history.refresh(), History(run).refresh()
    for ours, theirs in zip(curves(seen), curves(told), strict=True):
        assert ours.name == theirs.name
        assert np.array_equal((ours.x, ours.y), (theirs.x, theirs.y), equal_nan=True)
    assert seen.best == told.best


def test_a_resumed_training_shows_its_files_and_then_what_is_new(tmp_path: Path) -> None:
    with watching(tmp_path, "balance", *TINY, "--steps", "2k") as live:
        run = finished(live)
        before = History(run).refresh().returns.x.tolist()
    with watching(tmp_path, "balance", *TINY, "--steps", "3k", "--resume", str(run)) as live:
        finished(live)
        history = live.window.run.history
        assert history is not None
        after = history.refresh().returns.x.tolist()
    assert len(after) > len(before) > 3
    assert after == History(run).refresh().returns.x.tolist()


def curves(view: LearningView) -> list[Series]:
    return [view.returns, view.evaluations, *(line for lines in view.others for line in lines)]


def test_the_status_line_says_that_the_policy_has_collapsed(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        live.draw()
        assert live.window.views["status"].state == "training"
        live.trains.evaluation.trend.low = IN_A_ROW
        live.draw()
        assert (live.window.views["status"].state, live.window.views["status"].tone) == ("collapsed, training", "warn")

"""The pieces of a window alone: the work in slices, the playlist, the grid, the rates, and when to leave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pygame
import pytest
from live_windows import TINY, Clock, Live, up, watching

from ecs_rl.components import Clock as ArenaClock
from ecs_rl.session import EpisodeRecord
from ecs_rl.training.training import Training
from ecs_rl.viewer.live import background as background_module
from ecs_rl.viewer.live import commands, watch
from ecs_rl.viewer.live import window as window_module
from ecs_rl.viewer.live.background import BackgroundTraining
from ecs_rl.viewer.live.live_stage import FADE, GridWatch
from ecs_rl.viewer.live.playlist import Playlist
from ecs_rl.viewer.live.watch import PATIENCE, Leaving
from ecs_rl.viewer.live.window import Window
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.panels import messages
from ecs_rl.viewer.panels import status as status_module
from ecs_rl.viewer.panels.status import Status
from ecs_rl.viewer.played_episodes import Ended

# --- work -------------------------------------------------------------------------------------------------------------


class Slow:
    """A training whose tick has three slices, and which tells what it does."""

    def __init__(self, ticks: int = 99) -> None:
        self.did: list[str] = []
        self.left_out: list[float] = []
        self.ticks, self.most = 0, ticks
        self.session = SimpleNamespace(save_checkpoint=self._save, best_eval=None, keep_checkpoints=3, total_steps=1)
        self.session.written = lambda: iter(())
        self.evaluation = SimpleNamespace(last=5.0, taken_at=0)
        self.together = None

    @property
    def done(self) -> bool:
        return self.ticks >= self.most

    def slices(self) -> Iterator[None]:
        for part in "abc":
            self.did.append(f"{self.ticks}{part}")
            if part != "c":
                yield
        self.ticks += 1

    def evaluate(self) -> Iterator[None]:
        self.did.append("evaluation begins")
        yield
        self.session.best_eval = 5.0
        self.did.append("evaluation ends")

    def finishing(self) -> Iterator[None]:
        self.did.append("film")
        yield
        self.did.append("saved")

    def leave_out(self, seconds: float) -> None:
        self.left_out.append(seconds)

    def _save(self) -> Path:
        self.did.append("save")
        return Path("runs/step_1.safetensors")


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    held = Clock()
    held.hold(monkeypatch, background_module, commands, watch, window_module, messages, status_module)
    return held


def working(slow: Slow) -> BackgroundTraining:
    return BackgroundTraining(cast(Training, slow), lambda: slow.did.append("|"))


def test_what_is_asked_for_waits_for_the_end_of_the_tick_and_keeps_its_order(slow: Slow) -> None:
    said: list[str] = []
    work = working(slow)
    work._slice()
    work.evaluate(lambda text, tone: said.append(text))
    work.save(lambda text, tone: said.append(text))
    for _ in range(20):
        work._slice()
    told = " ".join(slow.did)
    assert told.startswith("0a 0b 0c | evaluation begins evaluation ends save 1a 1b 1c | 2a")
    assert said[0] == "evaluation: 5.0, the best so far"
    assert said[1].startswith("step_1.safetensors is written")


def test_asked_for_in_a_pause_it_is_done_all_the_same_and_nothing_else_is(slow: Slow, clock: Clock) -> None:
    work = working(slow)
    work._slice()
    work.pause(True)
    assert not work.busy
    clock.now += 7.0
    work.save(lambda *_: None)
    assert work.busy
    while work.busy:
        work._slice()
    assert work.paused
    assert " ".join(slow.did).startswith("0a 0b 0c | save")
    assert not slow.did[-1].startswith("1")
    clock.now += 5.0
    work.pause(False)
    assert slow.left_out == [7.0, 5.0]


def test_a_pause_that_is_ended_while_an_evaluation_runs_stays_ended_and_one_that_begins_stays(slow: Slow) -> None:
    for before, after in ((True, False), (False, True)):
        work = working(slow)
        work.pause(before)
        work.evaluate(lambda *_: None)
        work._slice()
        assert (work.paused, work.busy) == (before, True)
        work.pause(after)
        while work._slices is not None:
            work._slice()
        assert (work.paused, work.busy) == (after, not after)


def test_pausing_twice_or_going_on_twice_is_once(slow: Slow, clock: Clock) -> None:
    work = working(slow)
    work.pause(False)
    work.pause(True)
    clock.now += 1.0
    work.pause(True)
    clock.now += 1.0
    work.pause(False)
    work.pause(False)
    assert slow.left_out == [2.0]


def test_it_works_until_the_clock_says_so_and_no_longer(slow: Slow, clock: Clock) -> None:
    work = working(slow)
    original = slow.slices

    def costly() -> Iterator[None]:
        for each in original():
            clock.now += 0.01
            yield each

    slow.slices = costly  # type: ignore[method-assign]
    until = clock.now + 0.035
    work.run(until)
    assert until <= clock.now <= until + 0.01
    work.run(clock.now)
    assert clock.now <= until + 0.01


def test_finishing_the_tick_ends_what_is_under_way_and_begins_nothing(slow: Slow) -> None:
    work = working(slow)
    work.finish_tick()
    assert slow.did == []
    work._slice()
    work.pause(True)
    work.save(lambda *_: None)
    work.finish_tick()
    assert slow.did == ["0a", "0b", "0c", "|"]
    assert not work.paused


def test_when_all_steps_are_done_it_is_saved_once_and_rests() -> None:
    slow = Slow(ticks=1)
    work = working(slow)
    for _ in range(50):
        if work.busy:
            work._slice()
    assert slow.did == ["0a", "0b", "0c", "|", "film", "saved"]
    assert work.is_saved


# --- the grid ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path, "balance", *TINY) as opened:
        yield opened


def test_the_grid_shows_the_training_arenas_as_they_are(live: Live) -> None:
    world = live.trains.world
    grid = GridWatch(world)
    assert (grid.arenas, grid.selected) == (8, 0)
    live.slices(12)
    grid.selected = 5
    before = world.save_columns()
    view = grid.view(1 / 60)
    assert view.selected == 5
    for objects, role in zip(view.objects, world.arena.roles, strict=True):
        assert objects.position.shape == (8, 1, 2)
        assert np.array_equal(objects.position[:, 0], role.position)
    assert {name: value.tobytes() for name, value in world.save_columns().items()} == {
        name: value.tobytes() for name, value in before.items()
    }


def test_an_arena_whose_episode_ended_shows_it_and_fades(live: Live) -> None:
    world = live.trains.world
    grid = GridWatch(world)
    clock = world.one(ArenaClock)
    while not clock.episode.any():
        live.slices()
    live.finish_what_was_asked()
    ended = clock.episode > 0
    first = grid.view(1 / 60).ended
    assert ((first > 0) == ended).all()
    assert (grid.view(FADE / 2).ended[ended] < first[ended]).all()
    for _ in range(10):
        last = grid.view(FADE).ended
    assert not last.any()


# --- rates ------------------------------------------------------------------------------------------------------------


def test_the_steps_per_second_are_measured_over_ten_seconds_and_rest_with_training(live: Live, clock: Clock) -> None:
    window = live.window
    window.panels["status"] = Status()
    live.draw()
    live.finish_what_was_asked()
    counts = [live.trains.session.total_steps]
    for _ in range(14):
        before = counts[-1]
        while live.trains.session.total_steps < before + (300 if len(counts) == 13 else 40):  # a sudden rush
            live.slices()
        counts.append(live.trains.session.total_steps)
        clock.now += 1.01
        live.draw()
    rate = (counts[-1] - counts[-11]) / 10.1
    clock.now += 0.3
    live.draw()
    status = window.views["status"]
    assert status.steps_per_second == pytest.approx(rate)
    left = (3000 - live.trains.session.total_steps) / rate
    assert status.seconds_left == pytest.approx(left)
    live.hit("T")
    live.draw()
    assert window.views["status"].steps_per_second is None
    assert window.views["status"].seconds_left is None


def test_the_status_line_stays_readable_and_answers_a_key_at_once(live: Live, clock: Clock) -> None:
    live.window.panels["status"] = Status()
    live.draw()
    first = live.window.views["status"]
    live.slices(40)
    clock.now += 0.1
    live.draw()
    assert live.window.views["status"] is first
    clock.now += 0.11
    live.draw()
    assert live.window.views["status"] is not first
    second = live.window.views["status"]
    live.hit("=")
    live.draw()
    assert (second.speed_asked, live.window.views["status"].speed_asked) == (1.0, 2.0)


# --- leaving ----------------------------------------------------------------------------------------------------------


class Spoken:
    """A window that only listens and speaks."""

    def __init__(self, clock: Clock) -> None:
        self.touched_at = clock.now
        self.said: list[str] = []

    def say(self, text: str, tone: str = "plain") -> None:
        self.said.append(text)


def test_a_window_that_nobody_attends_is_left_at_once(clock: Clock) -> None:
    spoken = Spoken(clock)
    assert Leaving(cast(Window, spoken), attended=False).is_due("training is done")


def test_an_attended_window_that_nobody_touches_counts_down_and_is_left(clock: Clock) -> None:
    spoken = Spoken(clock)
    leaving = Leaving(cast(Window, spoken), attended=True)
    assert not leaving.is_due("training is done")
    clock.now += PATIENCE - 1
    assert not leaving.is_due("training is done")
    assert spoken.said == [
        "training is done: closing in 30 s, any key keeps it open",
        "training is done: closing in 1 s, any key keeps it open",
    ]
    clock.now += 2
    assert leaving.is_due("training is done")


@pytest.mark.parametrize("before", [True, False])
def test_an_attended_window_that_was_touched_stays_for_good(before: bool, clock: Clock) -> None:
    spoken = Spoken(clock)
    leaving = Leaving(cast(Window, spoken), attended=True)
    if not before:
        assert not leaving.is_due("solved")
    clock.now += 5
    spoken.touched_at = clock.now
    for _ in range(100):
        clock.now += PATIENCE
        assert not leaving.is_due("solved")
    assert spoken.said[-1] == "solved: Ctrl+Q closes the window"
    assert len(spoken.said) == (1 if before else 2)


def test_an_attended_window_of_a_command_at_a_terminal_stays(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: True))
    spoken = Spoken(clock)
    leaving = Leaving(cast(Window, spoken), attended=True)
    for _ in range(10):
        clock.now += PATIENCE
        assert not leaving.is_due("every episode had its turn")
    assert spoken.said == ["every episode had its turn: Ctrl+Q closes the window"]


@pytest.mark.parametrize(
    "event",
    [
        pygame.event.Event(pygame.KEYDOWN, key=pygame.K_F9, mod=0, unicode="", scancode=0),
        pygame.event.Event(pygame.MOUSEMOTION, pos=(5, 5), rel=(1, 1), buttons=(0, 0, 0)),
        pygame.event.Event(pygame.MOUSEBUTTONDOWN, pos=(5, 5), button=1),
        pygame.event.Event(pygame.MOUSEWHEEL, x=0, y=1, precise_x=0.0, precise_y=1.0),
    ],
    ids=["key", "motion", "button", "wheel"],
)
def test_keys_and_the_mouse_tell_that_somebody_is_there(event: pygame.event.Event, live: Live, clock: Clock) -> None:
    clock.now += 5
    live.answer(event, up((5, 5)))
    assert live.window.touched_at == clock.now


def test_what_the_screen_does_by_itself_is_nobody(live: Live, clock: Clock) -> None:
    live.window.touched_at = 0.0
    live.answer(
        *(pygame.event.Event(kind) for kind in (pygame.WINDOWEXPOSED, pygame.WINDOWMINIMIZED, pygame.WINDOWSHOWN))
    )
    assert live.window.touched_at == 0.0


# --- the playlist ----------------------------------------------------------------------------------------------------


class Played:
    """A show of which a test says how it goes."""

    def __init__(self, seeds: int = 3) -> None:
        self.seeds = tuple(range(seeds))
        self.episodes = seeds
        self.arena, self.rested = 0, False
        self.ended: list[Ended] = []
        self.went_to: list[int] = []

    def end(self, total: float, counts: bool = True) -> None:
        record = EpisodeRecord(total, 5, "Terminated")
        self.ended = [Ended(self.arena, self.arena, total, record, (), "plain", counts)]
        self.rested = True

    def go_to(self, arena: int) -> None:
        self.arena, self.rested = arena, False
        self.went_to.append(arena)


def playlist_of(*played: Played) -> tuple[Playlist, list[LiveEpisode], list[tuple[int, float]]]:
    told: list[tuple[int, float]] = []
    shows = cast(list[LiveEpisode], list(played))
    return Playlist(shows, lambda number, ended: told.append((number, ended.total))), shows, told


def test_the_playlist_waits_until_every_show_is_ready() -> None:
    first, second = Played(), Played()
    playlist, shows, told = playlist_of(first, second)
    first.end(1.0)
    playlist.look(shows)
    assert (first.went_to, second.went_to, told) == ([], [], [(0, 1.0)])
    second.end(2.0)
    playlist.look(shows)
    assert (first.went_to, second.went_to, told) == ([1], [1], [(0, 1.0), (1, 2.0)])


def test_the_playlist_is_over_when_every_episode_had_its_turn_and_begins_again() -> None:
    played = Played()
    playlist, shows, told = playlist_of(played)
    for round_ in range(2):
        for number in range(3):
            assert playlist.is_over == (round_ > 0)
            played.end(number + 10 * round_)
            playlist.look(shows)
    assert playlist.is_over
    assert played.went_to == [1, 2, 0, 1, 2, 0]
    assert told == [(0, 0.0), (0, 1.0), (0, 2.0)], "no second round counts"
    assert playlist.note(0, shows) == "episode 1 of 3, again  ·  mean of 3: 1.0"


def test_what_does_not_count_is_left_out_and_a_repeat_that_counts_is_taken() -> None:
    played = Played()
    playlist, shows, told = playlist_of(played)
    assert playlist.note(0, shows) == "episode 1 of 3"
    played.end(1.0, counts=False)
    played.rested = False
    playlist.look(shows)
    played.end(2.0)
    played.rested = False
    playlist.look(shows)
    played.end(3.0)
    playlist.look(shows)
    assert told == [(0, 2.0)], "the first time that counts"
    assert list(playlist.results[0]) == [0]


def test_an_episode_that_was_left_out_by_going_elsewhere_still_has_its_turn() -> None:
    played = Played()
    playlist, shows, _ = playlist_of(played)
    played.go_to(2)
    played.end(1.0)
    playlist.look(shows)
    assert played.arena == 0
    assert not playlist.is_over
    playlist.go_on(shows)
    playlist.go_on(shows)
    assert playlist.is_over

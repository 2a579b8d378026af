"""The tour takes a minute, points at what it tells about, and begins by itself only once, for somebody who sees it."""

from __future__ import annotations

from pathlib import Path

import pygame
import pytest
from live_windows import Clock, watching

from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.live import tour as tour_module
from ecs_rl.viewer.live.tour import SECONDS, SIGNS, begin_for_the_first_time, noted_at
from ecs_rl.viewer.panels.tour import draw_tour, place_of
from ecs_rl.viewer.view_floating import TourView


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(tour_module, "perf_counter", clock)
    return clock


def test_it_takes_a_minute_and_goes_on_by_itself(tmp_path: Path, clock: Clock) -> None:
    with watching(tmp_path) as live:
        live.hit("F2")
        seen, began = list[str](), clock.now
        while True:
            live.draw()
            sign = live.window.seen.tour
            if sign is None:
                break
            seen.append(sign.text)
            clock.now += 0.5
        assert list(dict.fromkeys(seen)) == [text for _, text in SIGNS]
        assert clock.now - began == pytest.approx(SECONDS * len(SIGNS), abs=5.0)
        assert 50 <= SECONDS * len(SIGNS) <= 70


def test_what_is_hidden_is_left_out(tmp_path: Path, clock: Clock) -> None:
    with watching(tmp_path) as live:
        live.hit("Tab", "M")
        live.draw()
        places = []
        for _ in range(len(SIGNS) + 1):
            live.hit("F2")
            live.draw()
            if live.window.seen.tour is None:
                break
            places.append(live.window.seen.tour.place)
        assert set(places) == {"stage", "hints"}


def test_it_begins_by_itself_once_and_notes_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with watching(tmp_path / "runs") as live:
        begin_for_the_first_time(live.window)
        assert "tour" in live.window.open_panels
        assert noted_at() == tmp_path / "state" / "ecs_rl" / "toured"
        assert noted_at().exists()
        live.hit("Esc")
        begin_for_the_first_time(live.window)
        assert "tour" not in live.window.open_panels


def test_where_it_cannot_be_noted_it_does_not_begin_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with watching(tmp_path / "runs") as live:
        begin_for_the_first_time(live.window)
        assert "tour" not in live.window.open_panels


@pytest.mark.parametrize("size", [(640, 400), (1280, 720), (1920, 1080)])
def test_every_sign_fits_in_the_window_and_names_only_keys_that_there_are(size: tuple[int, int]) -> None:
    canvas, whole = Canvas(), pygame.Rect((0, 0), size)
    stage = pygame.Rect(0, 34, size[0] * 3 // 4, size[1] * 2 // 3)
    mind = pygame.Rect(stage.right, 34, size[0] - stage.right, size[1] - 34)
    learning = pygame.Rect(0, stage.bottom, stage.w, size[1] - stage.bottom)
    for number, (place, text) in enumerate(SIGNS):
        surface = pygame.Surface(size)
        tour = TourView(place, text, number + 1, len(SIGNS))
        spot = place_of(tour, stage, mind, learning, canvas)
        assert whole.contains(spot)
        draw_tour(surface, spot, tour, canvas)
        assert pygame.mask.from_threshold(surface, (0, 0, 0), (1, 1, 1, 255)).count() < size[0] * size[1]

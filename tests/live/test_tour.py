"""The tour takes a minute, points at what it tells about, and begins by itself only once, for somebody who sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pygame
import pytest
from live_windows import Live, down, up, watching

from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.panels.learning import DrawerView
from ecs_rl.viewer.panels.stage import StagesView
from ecs_rl.viewer.panels.status import StatusView
from ecs_rl.viewer.panels.tour import SECONDS, SIGNS, TourView, begin_for_the_first_time, noted_at
from ecs_rl.viewer.view import LearningView, MindView, PaneView, StageView


def sign_of(live: Live) -> TourView | None:
    """Return the sign that stands now."""
    live.draw()
    return live.window.views.get("tour")


def test_it_takes_a_minute_and_goes_on_by_itself(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        live.hit("F2")
        seen, seconds = list[str](), 0.0
        while sign := sign_of(live):
            seen.append(sign.text)
            seconds += 0.5
            live.window.advance(0.5, 0.0)
        assert list(dict.fromkeys(seen)) == [text for _, text in SIGNS]
        assert seconds == pytest.approx(SECONDS * len(SIGNS), abs=5.0)
        assert 50 <= SECONDS * len(SIGNS) <= 70


def test_a_click_on_a_sign_goes_on(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        live.hit("F2")
        assert sign_of(live) is not None
        at = live.at("tour", "sign")
        live.answer(down(at), up(at))
        second = sign_of(live)
        assert second is not None
        assert second.text == SIGNS[1][1]
        assert live.window.stage.selected is None


def test_what_is_hidden_is_left_out(tmp_path: Path) -> None:
    with watching(tmp_path) as live:
        live.hit("Tab", "M")
        places = []
        for _ in range(len(SIGNS) + 1):
            live.hit("F2")
            sign = sign_of(live)
            if sign is None:
                break
            places.append(sign.place)
        assert set(places) == {"stage", "hints"}


def test_it_begins_by_itself_once_and_notes_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with watching(tmp_path / "runs") as live:
        begin_for_the_first_time(lambda: live.window.do("tour"))
        assert "tour" in live.window.open_panels
        assert noted_at() == tmp_path / "state" / "ecs_rl" / "toured"
        assert noted_at().exists()
        live.hit("Esc")
        begin_for_the_first_time(lambda: live.window.do("tour"))
        assert "tour" not in live.window.open_panels


def test_where_it_cannot_be_noted_it_does_not_begin_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with watching(tmp_path / "runs") as live:
        begin_for_the_first_time(lambda: live.window.do("tour"))
        assert "tour" not in live.window.open_panels


@pytest.mark.parametrize("size", [(640, 400), (1280, 720), (1920, 1080)])
def test_every_sign_fits_in_the_window_and_names_only_keys_that_there_are(size: tuple[int, int]) -> None:
    painter, whole = Painter(), pygame.Rect((0, 0), size)
    stage, hints = StagesView((PaneView("", StageView()),)), (("F1", "help"),)
    docks: dict[str, Any] = {"stage": stage, "chips": (), "hints": hints} | {
        "status": StatusView("lander"),
        "mind": MindView(),
        "learning": DrawerView(LearningView()),
    }
    for number, (place, text) in enumerate(SIGNS):
        surface = pygame.Surface(size)
        sign = TourView(place, text, number + 1, len(SIGNS))
        painter.draw(surface, docks | {"tour": sign})
        spot = painter.canvas.place_of(place)
        assert spot is not None
        assert whole.contains(spot)
        (sign_place,) = [region.rect for region in painter.canvas.regions() if region.panel == "tour"]
        assert whole.contains(sign_place)

"""A mistake in the window's own code is reported once and left out; a training behind it comes to the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pygame
import pytest
from live_commands import Said, play, train
from live_windows import TINY, Found, Scripted, in_order, keys, see_mistakes, seeing, wait

from ecs_rl.viewer import mistakes
from ecs_rl.viewer.controls.asides import Asides
from ecs_rl.viewer.controls.keeping import Keeping
from ecs_rl.viewer.live import screen_process
from ecs_rl.viewer.live.live_stage import LiveStage
from ecs_rl.viewer.live.screen import Display, Screen
from ecs_rl.viewer.live.window import HOOKS, Window
from ecs_rl.viewer.palette import PANEL
from ecs_rl.viewer.panel import Control, Panel
from ecs_rl.viewer.panels import stage
from ecs_rl.viewer.panels.learning import Learning
from ecs_rl.viewer.panels.mind_panel import MindPanel
from ecs_rl.viewer.panels.status import Status
from ecs_rl.viewer.panels.weather import Weather
from ecs_rl.viewer.top_layer import Tips

TRAINING = ("balance", *TINY, "--steps", "4k", "--json")
MISTAKE = "a mistake of ours, IndexError: list index out of range (tests/live/test_window_mistakes.py:"


def raises(*args: object, **more: object) -> Any:
    nothing: list[object] = []
    return nothing[1]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Said:
    return train(*TRAINING, "--runs", tmp_path_factory.mktemp("alone"))


def watched(runs: Path, patch: pytest.MonkeyPatch, broken: Callable[[], None]) -> tuple[Said, list[Window]]:
    """Train in a window whose code is broken from its fifth frame on; return what was said, and each frame's window."""
    frames: list[Window] = []

    def script(window: Window) -> Iterator[None]:
        for number in range(60):
            if number == 5:
                broken()
            frames.append(window)
            yield

    Scripted(patch, in_order(script, keys("A", "A", "Space"), wait(2)), mistakes_raise=False)
    return train(*TRAINING, "--watch", "--runs", runs), frames


@pytest.mark.parametrize(
    "broken",
    [
        (Tips, "lines", "tip"),
        (Weather, "view", "weather"),
        (Status, "view", "status"),
        (MindPanel, "view", "mind"),
        (MindPanel, "paint", "mind"),
        (Learning, "view", "learning"),
        (stage, "draw_stage", "stage"),
        (Asides, "look", "aside"),
        (Weather, "leave", "weather"),
    ],
)
def test_a_part_that_raises_is_reported_once_and_left_out_and_the_training_is_the_same(
    alone: Said, broken: tuple[Any, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, part = broken
    told, frames = watched(tmp_path, monkeypatch, lambda: monkeypatch.setattr(owner, name, raises))
    assert (told.code, told.sha, told.json["steps"]) == (0, alone.sha, 4000)
    (line,) = [line for line in told.err.splitlines() if "mistake" in line]
    assert line.startswith(f"the window leaves out '{part}': {MISTAKE}")
    assert "the window is gone" not in told.err
    assert len(frames) == 60, "the window goes on"


@pytest.mark.parametrize(("owner", "name"), [(Window, "draw"), (Display, "events")])
def test_a_window_that_cannot_go_on_is_closed_and_the_training_goes_on(
    alone: Said, owner: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, _ = watched(tmp_path, monkeypatch, lambda: monkeypatch.setattr(owner, name, raises))
    assert (told.code, told.sha) == (0, alone.sha)
    assert f"the window leaves out 'the window': {MISTAKE}" in told.err
    assert "the window is gone (list index out of range): training goes on without it" in told.err


@pytest.mark.parametrize(("owner", "name"), [(Window, "__init__"), (Keeping, "close"), (LiveStage, "leave_aside")])
def test_neither_opening_nor_closing_a_window_ends_a_training(
    alone: Said, owner: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen_process.ScreenProcess, "start", Screen.open)
    monkeypatch.setattr(owner, name, raises)
    told = train(*TRAINING, "--watch", "--runs", tmp_path)
    assert (told.code, told.sha) == (0, alone.sha)
    assert told.err.count(MISTAKE) == 1


@pytest.mark.parametrize("hook", HOOKS)
def test_a_control_is_called_only_for_what_it_does(alone: Said, hook: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        see_mistakes(patch)  # those of closing too
        patch.setattr(Control, hook, raises)
        with seeing(alone.run) as live:
            live.frames(2)


@pytest.mark.parametrize("dock", [Status, MindPanel, Learning])
def test_a_dock_whose_view_raises_keeps_its_room(alone: Said, dock: type[Panel[Any]]) -> None:
    with seeing(alone.run) as live, pytest.MonkeyPatch.context() as patch:
        patch.setattr(mistakes, "report", lambda *more: None)
        before, room = live.layout, live.layout.rooms[dock.name]
        patch.setattr(dock, "view", raises)
        for _ in range(2):
            live.draw()
            assert live.layout == before
        picture = live.window.screen.picture().subsurface(room)
        assert (pygame.surfarray.array3d(picture) == PANEL).all(), "nothing is painted there"
        patch.undo()
        live.draw()
        assert live.layout == before
        assert live.window.views[dock.name] is not None


def test_a_dock_that_was_closed_stays_closed_when_its_view_raises(alone: Said) -> None:
    with seeing(alone.run) as live, pytest.MonkeyPatch.context() as patch:
        live.hit("M")
        live.draw()
        before = live.layout
        patch.setattr(mistakes, "report", lambda *more: None)
        patch.setattr(Learning, "view", raises)
        live.draw()
        assert live.layout == before


def test_a_window_of_play_goes_on_without_the_part_that_raises(alone: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    Scripted(monkeypatch, in_order(wait(3), keys("A", "A"), wait(3), keys("Ctrl+Q")), mistakes_raise=False)
    monkeypatch.setattr(Weather, "leave", raises)
    told = play(alone.run)
    assert told.code == 0
    assert told.err.count(f"the window leaves out 'weather': {MISTAKE}") == 1


def test_other_tests_see_every_mistake(alone: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Weather, "leave", raises)
    with seeing(alone.run) as live, pytest.raises(Found, match="'weather'"):
        live.hit("A", "A")

"""A panel is one file: its data, painting, regions and key work in this process and through a socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from socket import socketpair
from time import perf_counter

import pygame
import pytest
from live_commands import train
from live_windows import TINY, down, moved, post, pressed, see_mistakes, up, wheel
from toy_panel import FRUITS, Toy, ToyView

from ecs_rl.training.playback import Player
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.live.background import WatchedRun
from ecs_rl.viewer.live.commands import commands_of
from ecs_rl.viewer.live.screen import SLOW, Screen
from ecs_rl.viewer.live.screen_process import ScreenProcess, ScreenServer, names_of, panels_named
from ecs_rl.viewer.live.window import Window
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.panel import App, Panel
from ecs_rl.viewer.panels import PANELS
from ecs_rl.viewer.regions import Floats, Sight

SIZE = (960, 540)
ALL = (*PANELS, Toy)
Opened = tuple[Window, Screen, Callable[[], None]]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return (
        train("balance", *TINY, "--json", "--runs", tmp_path_factory.mktemp("runs")).run
        / "checkpoints/best.safetensors"
    )


@pytest.fixture(params=["directly", "through a socket"])
def opened(
    request: pytest.FixtureRequest, policy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Opened]:
    """Yield a window, the screen that paints it, and what brings the user's deeds to the window."""
    see_mistakes(monkeypatch)
    screen, server = Screen.open("test", SIZE, ALL), None
    pygame.event.clear()
    shown_on: Screen | ScreenProcess = screen
    if request.param != "directly":
        here, there = socketpair()
        server = ScreenServer(Connection(there.detach()), screen)
        shown_on = ScreenProcess(here, panels=ALL)
    player = Player.load(policy)
    show = LiveEpisode(player.scene, player.agents, seeds=[1])
    window = Window(shown_on, [show], WatchedRun(tmp_path), panels=ALL)

    def answer() -> None:
        """Let the window answer what was posted, and show what came of it."""
        for _ in range(20 if server is not None else 1):
            if server is not None:
                server.step()
            window.answer()
            if shown_on.ready:
                window.draw()

    yield window, screen, answer
    show.close()
    shown_on.close()
    if server is not None:
        screen.close()


def spot(screen: Screen, part: str, index: int) -> pygame.Rect:
    """Return where a part of the toy is in the picture."""
    regions = screen.painter.canvas.regions()
    return next(each.rect for each in regions if (each.panel, each.part, each.index) == ("toy", part, index))


def test_its_key_slider_list_and_tip_answer(opened: Opened) -> None:
    window, screen, answer = opened
    answer()
    assert "toy" not in window.views
    post(pressed("F9"))
    answer()
    assert window.views["toy"] == ToyView(0.5, 0)
    slider = spot(screen, "slider", 0)
    end = (slider.right - 1, slider.centery)
    post(down(slider.center), moved((slider.centerx + 10, slider.centery)), moved(end), up(end))
    answer()
    assert window.views["toy"].ripeness == pytest.approx(1.0)
    assert screen.tips.lines(screen.pointer, screen.painter.canvas, window.views) == ("100% ripe",)
    pear = spot(screen, "row", 1).center
    post(down(pear), up(pear))
    answer()
    assert window.views["toy"].fruit == 1
    assert window.messages[-1].text == FRUITS[1]
    assert window.stage.selected is None, "the panel keeps the mouse from what is behind it"
    post(pressed("Esc"))
    answer()
    assert "toy" not in window.views


def test_its_parts_have_the_focus_of_the_keyboard_one_after_the_other(opened: Opened) -> None:
    window, screen, answer = opened

    def press(*keys: str, mod: int = 0) -> None:
        for key in keys:
            event = pressed(key)
            event.mod |= mod
            post(event)
        answer()

    press("Left")
    assert window.show.paused, "no part has the focus: the stage goes a tick back"
    window.stage.pause(False)
    press("F9")
    press("Down", "Right", "Right")
    assert window.views["toy"].ripeness == pytest.approx(0.6)
    press("Down", "Down", "Enter")
    assert window.views["toy"].ripeness == pytest.approx(0.6)
    assert window.views["toy"].fruit == 1
    assert window.messages[-1].text == FRUITS[1]
    press("PgDn", "Enter")
    assert window.views["toy"].fruit == 2
    press("Tab", "Left", mod=0)
    assert window.views["toy"].ripeness == pytest.approx(0.55), "Tab goes round to the slider"
    press("Tab", mod=pygame.KMOD_LSHIFT)
    assert screen.focus.part == ("toy", "row", 2)
    assert not window.show.paused
    assert "mind" in window.open_panels
    press("Esc")
    assert screen.focus.part is None
    assert "toy" in window.open_panels, "Esc leaves the focus first"
    press("Tab", "Esc")
    assert "mind" not in window.open_panels
    assert "toy" not in window.open_panels


def test_what_the_screen_finds_out_while_it_paints_reaches_the_window(opened: Opened) -> None:
    window, screen, answer = opened

    def show() -> None:
        answer()
        answer()  # what is found out in one frame comes with the next inputs

    show()
    before = window.reports.newest(Sight)
    assert before is not None
    post(moved(screen.painter.canvas.rooms["clear"].center), wheel(3))
    show()
    after = window.reports.newest(Sight)
    assert after is not None
    assert before.low[0] < after.low[0] < after.high[0] < before.high[0], "a zoom shows less of the arena"
    post(pressed("F9"))
    show()
    floats = window.reports.newest(Floats)
    assert floats is not None
    assert "toy" in floats.placed


def test_a_closed_panel_loses_the_focus_and_a_driver_keeps_the_keys(opened: Opened) -> None:
    window, screen, answer = opened
    post(pressed("F9"))
    answer()
    post(pressed("Down"))
    answer()
    assert screen.focus.part == ("toy", "slider", 0)
    post(pressed("F9"))
    answer()
    assert screen.focus.part is None
    post(pressed("F9"))
    answer()
    post(pressed("F1"))
    answer()
    post(pressed("Down"))
    answer()
    assert screen.focus.part is None, "the help is over it"
    post(pressed("F1"), pressed("H"))
    answer()
    assert window.stage.hands is not None
    post(pressed("Down"))
    answer()
    assert screen.focus.part is None


def test_the_part_under_the_mouse_is_lit_by_the_screen_alone(opened: Opened) -> None:
    window, screen, answer = opened
    window.stage.pause(True)
    post(pressed("F9"), moved((0, 0)))
    answer()

    def pixels() -> bytes:
        return pygame.image.tobytes(screen.picture(), "RGB")

    plain, pear = pixels(), spot(screen, "row", 1)
    window.draw = lambda due=0.0: None  # type: ignore[method-assign]
    post(moved(pear.center))
    answer()
    until = perf_counter() + SLOW
    while perf_counter() < until:
        screen.refresh()
    screen.refresh()
    lit = pixels()
    assert lit != plain
    post(moved((0, 0)))
    answer()
    while pixels() != plain:
        screen.refresh()
        assert perf_counter() < until + 60, "the row stays lit"


class Docked(Panel[tuple[str, ...]]):
    """A long list in a dock."""

    name, place = "docked", "bottom"

    def view(self, app: App) -> tuple[str, ...] | None:
        return None

    def thickness(self, scale: float, size: tuple[int, int]) -> int:
        return 100

    def paint(self, canvas: Canvas, view: tuple[str, ...], room: pygame.Rect) -> None:
        canvas.rows(room, view)


def test_a_list_in_a_dock_scrolls_to_the_row_with_the_focus_and_no_further() -> None:
    painter, surface = Painter(panels=[Docked]), pygame.Surface(SIZE)
    views = {"docked": tuple(f"row {number}" for number in range(30))}

    def visible(focus: int | None) -> list[int]:
        painter.draw(surface, views, None if focus is None else ("docked", "row", focus))
        return sorted(region.index for region in painter.canvas.parts())

    assert visible(None) == [0, 1, 2, 3]
    assert visible(3) == [0, 1, 2, 3]
    assert visible(9) == [6, 7, 8, 9]
    assert visible(7) == [6, 7, 8, 9]
    assert visible(None) == [6, 7, 8, 9]
    assert visible(29) == [26, 27, 28, 29]
    views["docked"] = views["docked"][:5]
    assert visible(None) == [1, 2, 3, 4]


def test_its_key_is_in_the_help_and_another_process_finds_it_by_name() -> None:
    assert "fruit" in [row.help for row in commands_of(ALL)]
    assert panels_named(names_of(ALL)) == list(ALL)

"""The menu where there is no run: keys and mouse choose a row, and every row stands in the window."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import pygame
import pytest
from live_windows import down, key_event, moved, post, up, wheel

from ecs_rl.viewer.canvas import ListRow
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.frame_codec import Frame
from ecs_rl.viewer.live import menu as menu_module
from ecs_rl.viewer.live.menu import Menu, choose
from ecs_rl.viewer.live.screen import Screen

OFFERS = [
    ListRow(name, f"About {name}.", "12.3 return") for name in ("asteroids", "balance", "lander", "lunar", "walker")
]


KEYS = {
    "enter": key_event(pygame.K_RETURN),
    "space": key_event(pygame.K_SPACE, " "),
    "up": key_event(pygame.K_UP),
    "down": key_event(pygame.K_DOWN),
    "page": key_event(pygame.K_PAGEDOWN),
    "l": key_event(pygame.K_l, "l"),
    "x": key_event(pygame.K_x, "x"),
    "escape": key_event(pygame.K_ESCAPE, "\x1b"),
    "quit": key_event(pygame.K_q, "\x11", pygame.KMOD_LCTRL),
}


class Script:
    """Posts events one after the other, each once the menu shows what came of the one before."""

    def __init__(self, screen: Screen, events: list[pygame.event.Event]) -> None:
        self.screen, self.events = screen, events

    def sleep(self, seconds: float) -> None:
        assert self.events, "the menu waits for more"
        post(self.events.pop(0))


@pytest.fixture
def screen() -> Iterator[Screen]:
    opened = Screen.open("menu", (1280, 720), panels=[Menu])
    pygame.event.clear()
    yield opened
    opened.close()


def taken_by(screen: Screen, patch: pytest.MonkeyPatch, *events: pygame.event.Event, count: int = 1) -> str:
    """Return what a user takes with these events."""
    patch.setattr(menu_module, "time", Script(screen, [*events]))
    return choose(screen, OFFERS * count)


def rows(painter: Painter) -> dict[int, pygame.Rect]:
    """Return the rows that have room, from the first to the last."""
    regions = {region.index: region.rect for region in painter.canvas.regions() if region.part == "row"}
    return dict(sorted(regions.items()))


def row_of(screen: Screen, number: int) -> tuple[int, int]:
    screen.show(Frame(screen.size, views={"menu": tuple(OFFERS)}))
    return rows(screen.painter)[number].center


@pytest.mark.parametrize(
    ("keys", "taken"),
    [
        ("enter", "asteroids"),
        ("down down enter", "lander"),
        ("up enter", "asteroids"),
        ("page down enter", "walker"),
        ("l enter", "lander"),
        ("l l enter", "lunar"),
        ("l l l space", "lander"),
        ("x enter", "asteroids"),
    ],
)
def test_keys_choose_a_row(screen: Screen, monkeypatch: pytest.MonkeyPatch, keys: str, taken: str) -> None:
    assert taken_by(screen, monkeypatch, *(KEYS[key] for key in keys.split())) == taken


def test_a_click_takes_the_row_under_it(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    beside, right, left = (1, 1), row_of(screen, 1), row_of(screen, 2)
    clicks = (down(beside), up(beside), down(right, 3), up(right, 3), down(left), up(left))
    assert taken_by(screen, monkeypatch, *clicks) == "lander"


def test_the_mouse_marks_the_row_that_enter_takes(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    at = row_of(screen, 3)
    assert taken_by(screen, monkeypatch, moved(at), KEYS["enter"]) == "lunar"
    assert taken_by(screen, monkeypatch, moved(at), KEYS["up"], KEYS["enter"]) == "lander"
    assert taken_by(screen, monkeypatch, moved(at), wheel(-1), KEYS["enter"]) == "walker"


def test_closing_takes_nothing_and_escape_does_not_close(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    assert taken_by(screen, monkeypatch, KEYS["down"], KEYS["escape"], KEYS["enter"]) == "balance"
    assert taken_by(screen, monkeypatch, pygame.event.Event(pygame.QUIT)) == ""
    assert taken_by(screen, monkeypatch, KEYS["quit"]) == ""


def test_a_list_that_has_no_room_for_all_scrolls_to_the_row_that_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen.open("menu", (640, 360), panels=[Menu])
    pygame.event.clear()
    try:
        assert taken_by(screen, monkeypatch, *[KEYS["page"]] * 5, KEYS["enter"], count=6) == "asteroids"
        there = rows(screen.painter)
        assert 25 in there
        assert 0 not in there
    finally:
        screen.close()


@pytest.mark.parametrize("size", [(1920, 1080), (1280, 720), (900, 600), (640, 360), (300, 170)], ids=str)
@pytest.mark.parametrize("count", [1, 12, 30])
def test_rows_stand_in_the_window_and_apart(size: tuple[int, int], count: int) -> None:
    painter, picture = Painter(panels=[Menu]), pygame.Surface(size)
    views: dict[str, Any] = {"menu": tuple(OFFERS[:1] * count)}
    painter.draw(picture, views)
    there = [*rows(painter).values()]
    assert len(there) == (count if size[1] >= 600 and count <= 12 else len(there))
    assert len(there) == count or there[-1].h * (len(there) + 1) > size[1] - there[0].y - painter.canvas.px(48)
    assert there
    assert all(not a.colliderect(b) for a, b in pairwise(there))
    assert all(row.h >= painter.canvas.px(22) for row in there)
    if size[1] >= 360:
        assert there[-1].bottom <= size[1]

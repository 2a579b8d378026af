"""The menu where there is no run: keys and mouse choose a row, and every row stands in the window."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import pygame
import pytest
from live_windows import key_event, post

from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.live.display import Display
from ecs_rl.viewer.live.menu import Menu, Offer

OFFERS = [
    Offer(name, f"About {name}.", "12.3 return") for name in ("asteroids", "balance", "lander", "lunar", "walker")
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


@pytest.fixture
def display() -> Iterator[Display]:
    opened = Display("menu", (1280, 720))
    yield opened
    opened.close()


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
def test_keys_choose_a_row(display: Display, keys: str, taken: str) -> None:
    post(*(KEYS[key] for key in keys.split()))
    assert Menu(OFFERS).ask(display) == taken


def test_a_click_takes_the_row_under_it(display: Display) -> None:
    menu = Menu(OFFERS)
    rows = menu.rows(display.surface, Canvas(display.dpi_scale))
    beside = pygame.event.Event(pygame.MOUSEBUTTONDOWN, pos=(1, 1), button=1)
    other = pygame.event.Event(pygame.MOUSEBUTTONDOWN, pos=rows[1].center, button=3)
    click = pygame.event.Event(pygame.MOUSEBUTTONDOWN, pos=rows[2].center, button=1)
    post(beside, other, click)
    assert menu.ask(display) == "lander"


def test_closing_takes_nothing_and_escape_does_not_close(display: Display) -> None:
    menu = Menu(OFFERS)
    menu.answer(KEYS["escape"], [])
    assert not menu.closing
    post(pygame.event.Event(pygame.QUIT))
    assert menu.ask(display) == ""
    menu = Menu(OFFERS)
    menu.answer(KEYS["quit"], [])
    assert menu.closing


@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (300, 170)], ids=str)
@pytest.mark.parametrize("count", [1, 12, 30])
def test_every_row_stands_in_the_window_and_apart(size: tuple[int, int], count: int) -> None:
    menu, canvas, picture = Menu(OFFERS[:1] * count), Canvas(1.0), pygame.Surface(size)
    menu.draw(picture, canvas)
    rows = menu.rows(picture, canvas)
    assert len(rows) == count
    assert all(not a.colliderect(b) for a, b in pairwise(rows))
    if size[1] >= 360:
        assert rows[-1].bottom <= size[1]

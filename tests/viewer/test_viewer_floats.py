"""Floating panels stand where no other one stands."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pygame
import pytest
from numpy.typing import NDArray
from viewer_views import FLOATS, MESSAGES, a_stage, compared, docked, ground, some_floats

from ecs_rl.viewer.annotations import SCALE
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.view import MapView

ROOM = pygame.Rect(10, 10, 300, 200)


def places(size: tuple[int, int]) -> dict[str, pygame.Rect]:
    """Return where the floating panels are in a window that shows all of them."""
    painter = Painter()
    painter.draw(pygame.Surface(size), docked() | FLOATS | MESSAGES)
    found = {name: painter.canvas.place_of(name) for name in FLOATS}
    return {name: place for name, place in found.items() if place is not None}


@pytest.mark.parametrize("size", [(640, 400), (900, 600), (1280, 720), (1920, 1080), (2560, 1440)])
def test_no_floating_panel_overlaps_another(size: tuple[int, int]) -> None:
    for (one, place), (other, beside) in itertools.combinations(places(size).items(), 2):
        assert not place.colliderect(beside), (one, other)


@pytest.mark.parametrize("name", FLOATS)
def test_messages_hide_no_other_panel(name: str) -> None:
    painter, views = Painter(), docked() | {name: FLOATS[name]}
    alone, together = (pygame.Surface((900, 600)) for _ in range(2))
    painter.draw(together, views | MESSAGES)
    painter.draw(alone, views)
    place = painter.canvas.place_of(name)
    assert place is not None
    assert (pixels(together) != pixels(alone)).any(), "there they are"
    assert (pixels(together.subsurface(place)) == pixels(alone.subsurface(place))).all()


def pixels(surface: pygame.Surface) -> NDArray[np.uint8]:
    return np.asarray(pygame.surfarray.array3d(surface))


def test_floating_panels_stand_below_the_heads_of_several_stages_and_the_colours_of_a_value_map() -> None:
    values = np.eye(3, 4)
    field = MapView(("x", "y"), ((-6.0, 0.0), (6.0, 6.0)), values, np.zeros((3, 4, 2)), (0.5, 0.5), on_stage=True)
    tops = []
    for below in (ground(), ground(stage=replace(a_stage(), field=field)), compared(2)):
        painter = Painter()
        painter.draw(pygame.Surface((1280, 720)), docked() | below | some_floats("profile"))
        place = painter.canvas.place_of("profile")
        assert place is not None
        tops.append(place.y)
    usual, tinted, several = tops
    assert tinted == usual + SCALE
    assert several > usual


def test_all_floating_panels_have_room_in_a_usual_window() -> None:
    assert places((1280, 720)).keys() == FLOATS.keys()


@pytest.mark.parametrize("corner", ["top left", "top right", "bottom left", "bottom right"])
def test_a_panel_stands_in_its_corner_and_the_next_one_beside_it(corner: str) -> None:
    canvas, (edge, side) = Canvas(), corner.split()
    first, second, third = (canvas.place_in(ROOM, corner, (100, 90)) for _ in range(3))
    assert first is not None
    assert second is not None
    assert third is not None
    assert (getattr(first, edge), getattr(first, side)) == (getattr(ROOM, edge), getattr(ROOM, side))
    assert getattr(second, side) == getattr(first, side)
    assert getattr(third, side) != getattr(first, side), "there is no more room at that side"
    assert not any(one.colliderect(other) for one, other in itertools.combinations((first, second, third), 2))
    assert all(ROOM.contains(place) for place in (first, second, third))


def test_a_panel_gets_a_lower_place_where_there_is_less_room_but_not_too_low_a_one() -> None:
    canvas = Canvas()
    canvas.take(pygame.Rect(ROOM.x, ROOM.bottom - 120, ROOM.w, 120))
    assert canvas.place_in(ROOM, "top left", (100, 90)) is None
    assert canvas.place_in(ROOM, "top left", (100, 90), 80) is None
    lower = canvas.place_in(ROOM, "top left", (100, 90), 60)
    assert lower is not None
    assert 60 <= lower.h < ROOM.h - 120
    assert canvas.place_in(ROOM, "top left", (ROOM.w + 1, 5)) is None

"""Keys are named on the screen, where there is room and never over anything else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pygame
import pytest
from viewer_views import HINTS, MESSAGES, STATUS, a_grid, a_stage, compared, docked, ground, painted, without

from ecs_rl.viewer.annotations import SCALE
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.panel import Chip
from ecs_rl.viewer.panels.chips import Chips
from ecs_rl.viewer.panels.hints import fitting, width
from ecs_rl.viewer.panels.status import Status, _words
from ecs_rl.viewer.view import MapView


def frame(size: tuple[int, int] = (1280, 720), views: dict[str, Any] | None = None) -> np.ndarray:
    surface, painter = pygame.Surface(size), Painter()
    painter.draw(surface, docked() | (ground() if views is None else views))
    return pygame.surfarray.array3d(surface)


def changed(one: np.ndarray, other: np.ndarray) -> pygame.Rect:
    """The rectangle in which two pictures differ."""
    xs, ys = np.nonzero((one != other).any(axis=2))
    if not len(xs):
        return pygame.Rect(0, 0, 0, 0)
    left, top, right, bottom = (int(edge) for edge in (xs.min(), ys.min(), xs.max(), ys.max()))
    return pygame.Rect(left, top, right - left + 1, bottom - top + 1)


@pytest.mark.parametrize("size", [(640, 400), (900, 600), (1280, 720), (1920, 1080)])
def test_hints_lie_at_the_lower_edge_of_the_stage_beside_the_scale(size: tuple[int, int]) -> None:
    where = changed(frame(size, without(ground(), "hints")), frame(size))
    stage = Painter().layout(size, docked()).stage
    assert where.w > 0
    assert stage.contains(where)
    assert where.y > stage.bottom - 60
    assert where.x > stage.x + 100, "the scale is there"


def test_as_many_hints_are_shown_as_fit() -> None:
    canvas = Canvas()
    assert fitting(HINTS, 2000, canvas) == HINTS
    assert fitting(HINTS, 0, canvas) == ()
    some = fitting(HINTS, 300, canvas)
    assert 0 < len(some) < len(HINTS)
    assert width(some, canvas) <= 300 < width(HINTS[: len(some) + 1], canvas)


def test_in_the_grid_hints_and_chips_lie_below_the_arenas() -> None:
    views = without(ground(grid=a_grid()), "stage")
    where = changed(frame(views=views | {"chips": ()}), frame(views=views))
    painter = Painter()
    painter.draw(pygame.Surface((1280, 720)), docked() | views)
    (region,) = [region for region in painter.canvas.regions() if region.panel == "grid"]
    assert region.find is not None
    arenas = [region.rect.y + y for y in range(region.rect.h) if region.find((60, y)) is not None]
    assert max(arenas) < where.y


@pytest.mark.parametrize("panes", [1, 2, 4])
def test_messages_lie_below_the_captions_of_the_stage_and_of_panes(panes: int) -> None:
    painter = Painter()
    views = compared(panes) if panes > 1 else ground()
    where = changed(frame(views=views), frame(views=views | MESSAGES))
    painter.draw(pygame.Surface((1280, 720)), docked() | views)
    top = min(region.rect.y for region in painter.canvas.regions() if region.panel == "stage")
    assert where.y >= top + painter.canvas.px(34)


def test_messages_lie_below_what_names_the_colours_of_a_value_map() -> None:
    values = np.arange(12.0).reshape(3, 4)
    field = MapView(("x", "y"), ((-6.0, 0.0), (6.0, 6.0)), values, np.full((3, 4, 2), np.nan), (0.5, 0.5), True)
    tinted = ground(stage=replace(a_stage(), field=field))
    where = changed(frame(views=tinted), frame(views=tinted | MESSAGES))
    assert where.y >= Painter().layout((1280, 720), docked()).stage.y + 31 + SCALE


def test_mode_chips_name_their_key_where_there_is_room() -> None:
    canvas = Canvas()
    chips = tuple(Chip(text, "Space") for text in ("PAUSED", "WHY?", "TRAINING PAUSED", "TURBO", "SAMPLED"))

    def wide(room: int) -> int:
        canvas.begin(pygame.Surface((10, 10)))
        canvas.rooms |= {"chips": pygame.Rect(0, 0, room, 30), "hints": pygame.Rect(0, 99, room, 30)}
        Chips().arrange(canvas, chips, pygame.Rect(0, 0, room, 30))
        return canvas.rooms["chips"].w

    assert wide(420) < wide(1200)
    for room in (0, 40, 150, 420, 900):
        assert wide(room) <= max(room, canvas.px(12))


def test_play_mode_has_no_numbers_of_training() -> None:
    playing = replace(
        STATUS, state="playing", steps=None, steps_total=None, seconds_left=None, steps_per_second=None, best=None,
    )  # fmt: skip
    words = [word.text for word in _words(playing)]
    assert words[:2] == ["stage speed", "16x"]
    assert words[-1] == "F1 help"
    assert "steps" not in words
    for wide in (320, 640, 1280):
        surface = pygame.Surface((wide, 34))
        painted(Status(), surface, playing)


def test_the_heads_of_the_panels_show_the_keys_that_hide_them(monkeypatch: pytest.MonkeyPatch) -> None:
    told: set[str] = set()
    write = Canvas.write

    def noted(self: Canvas, surface: pygame.Surface, text: str, *args: Any, **look: Any) -> pygame.Rect:
        told.add(text)
        return write(self, surface, text, *args, **look)

    monkeypatch.setattr(Canvas, "write", noted)
    frame()
    assert {"Tab", "M"} <= told

"""Keys are named on the screen, where there is room and never over anything else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pygame
import pytest
from viewer_views import HINTS, STATUS, TOASTS, a_grid, a_view, docked, painted, some_panes

from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.fields import SCALE
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.panels.floating import modes_width
from ecs_rl.viewer.panels.keys import fitting_hints, hints_width
from ecs_rl.viewer.panels.status import Status, _words
from ecs_rl.viewer.view import Modes, View
from ecs_rl.viewer.view_why import MapView


def frame(view: View, size: tuple[int, int] = (1280, 720)) -> np.ndarray:
    surface, painter = pygame.Surface(size), Painter()
    painter.draw(surface, view, views=docked())
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
    view = replace(a_view(), toasts=())
    where = changed(frame(replace(view, hints=()), size), frame(view, size))
    stage = Painter().layout(size, docked()).stage
    assert where.w > 0
    assert stage.contains(where)
    assert where.y > stage.bottom - 60
    assert where.x > stage.x + 100, "the scale is there"


def test_as_many_hints_are_shown_as_fit() -> None:
    canvas = Canvas()
    assert fitting_hints(HINTS, 2000, canvas) == HINTS
    assert fitting_hints(HINTS, 0, canvas) == ()
    some = fitting_hints(HINTS, 300, canvas)
    assert 0 < len(some) < len(HINTS)
    assert hints_width(some, canvas) <= 300 < hints_width(HINTS[: len(some) + 1], canvas)


def test_in_the_grid_hints_and_chips_lie_below_the_arenas() -> None:
    painter = Painter()
    layout = painter.layout((1280, 720), docked())
    view = replace(a_view(), toasts=(), grid=a_grid())
    where = changed(frame(replace(view, modes=Modes())), frame(view))
    arenas = [
        y for y in range(layout.stage.y, layout.stage.bottom) if painter.cell_at(view, layout, (60, y)) is not None
    ]
    assert max(arenas) < where.y


@pytest.mark.parametrize("panes", [0, 1, 2, 4])
def test_messages_lie_below_the_captions_of_the_stage_and_of_panes(panes: int) -> None:
    painter = Painter()
    view = replace(a_view(), panes=some_panes(panes))
    where = changed(frame(replace(view, toasts=())), frame(view))
    assert where.y >= painter.stage_at(view, painter.layout((1280, 720), docked())).y + painter.canvas.px(34)


def test_messages_lie_below_what_names_the_colours_of_a_value_map() -> None:
    view = replace(a_view(), toasts=())
    assert view.stage is not None
    values = np.arange(12.0).reshape(3, 4)
    field = MapView(("x", "y"), ((-6.0, 0.0), (6.0, 6.0)), values, np.full((3, 4, 2), np.nan), (0.5, 0.5), True)
    tinted = replace(view, stage=replace(view.stage, field=field))
    where = changed(frame(tinted), frame(replace(tinted, toasts=TOASTS)))
    assert where.y >= Painter().layout((1280, 720), docked()).stage.y + 31 + SCALE


def test_mode_chips_name_their_key_where_there_is_room() -> None:
    canvas, modes = Canvas(), Modes(True, True, True, True, True)
    roomy, tight = modes_width(modes, 1200, canvas), modes_width(modes, 420, canvas)
    assert tight < roomy
    for room in (0, 40, 150, 420, 900):
        assert modes_width(modes, room, canvas) <= max(room, canvas.px(12))


def test_play_mode_has_no_numbers_of_training() -> None:
    playing = replace(
        STATUS, state="playing", steps=None, steps_total=None, seconds_left=None, steps_per_second=None, best=None,
        hint="F1 help · F3 profiler · Tab mind",
    )  # fmt: skip
    words = [word.text for word in _words(playing)]
    assert words[:2] == ["stage speed", "16x"]
    assert words[-3:] == ["F1 help", "F3 profiler", "Tab mind"]
    assert "steps" not in words
    for width in (320, 640, 1280):
        surface = pygame.Surface((width, 34))
        painted(Status(), surface, playing)


def test_the_first_hint_of_the_status_line_stays_longest() -> None:
    surface, alone = pygame.Surface((330, 34)), pygame.Surface((330, 34))
    crowded = replace(STATUS, hint="F1 help · F3 profiler · Tab mind", run="")
    painted(Status(), surface, crowded)
    painted(Status(), alone, replace(crowded, hint="F1 help"))
    assert (pygame.surfarray.array3d(surface) == pygame.surfarray.array3d(alone)).all()


def test_the_heads_of_the_panels_show_the_keys_that_hide_them(monkeypatch: pytest.MonkeyPatch) -> None:
    told: set[str] = set()
    write = Canvas.write

    def noted(self: Canvas, surface: pygame.Surface, text: str, *args: Any, **look: Any) -> pygame.Rect:
        told.add(text)
        return write(self, surface, text, *args, **look)

    monkeypatch.setattr(Canvas, "write", noted)
    frame(a_view())
    assert {"Tab", "M"} <= told

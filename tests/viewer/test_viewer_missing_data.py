"""What is not there, or not a number, is drawn as nothing and never stops the window."""

from __future__ import annotations

import math
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import pygame
import pytest
from viewer_views import (
    BOUNDS,
    HULL,
    LINE,
    MESSAGES,
    SHAPE,
    STATUS,
    a_grid,
    a_mind,
    a_stage,
    body,
    docked,
    ground,
    without,
)

from ecs_rl.scene.parts import Disc
from ecs_rl.viewer.camera import FARTHEST, NEAREST, Aim
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.panel import Chip
from ecs_rl.viewer.panels.help import HelpGroup
from ecs_rl.viewer.panels.inspector import InspectorView
from ecs_rl.viewer.panels.learning import DrawerView
from ecs_rl.viewer.panels.messages import Toast
from ecs_rl.viewer.panels.profile import ProfileRow, ProfileView
from ecs_rl.viewer.panels.stage import StagesView
from ecs_rl.viewer.panels.status import StatusView
from ecs_rl.viewer.view import (
    ContactView,
    ForceView,
    GridView,
    GroundView,
    LearningView,
    MindView,
    Option,
    PaneView,
    RayView,
    Seen,
    Series,
    StageView,
    Term,
)

NAN = math.nan
SIZES = [(640, 400), (1280, 720)]
LONG = "a name that is much longer than any room there could ever be for it in a panel " * 3


def draw(size: tuple[int, int] = (900, 600), **panels: Any) -> pygame.Surface:
    surface, painter = pygame.Surface(size), Painter()
    painter.draw(surface, docked() | ground() | panels)
    return surface


@pytest.mark.parametrize("size", SIZES)
def test_a_window_without_anything_is_drawn(size: tuple[int, int]) -> None:
    Painter().draw(pygame.Surface(size), {})
    floats = {"profile": ProfileView(()), "help": (), "inspector": InspectorView("", ())}
    docks = {"status": StatusView(""), "mind": MindView(), "learning": DrawerView(LearningView())}
    draw(size, **floats, **docks, **ground(stage=StageView()))


@pytest.mark.parametrize("bad", [NAN, math.inf, -math.inf, 1e30])
def test_numbers_that_are_not_finite_are_left_out(bad: float) -> None:
    points = np.array(((bad, 1.0), (0.0, bad)))
    stage = StageView(
        objects=(
            body("lost", (bad, 0.0), 0.0, outlines=(HULL,), discs=(Disc(1.0),)),
            body("turned", (0.0, 0.0), bad, outlines=(HULL,), velocity=(bad, bad), trail=points),
            body("odd", (0.0, 0.0), 0.0, outlines=(points,), velocity=(1.0, bad)),
            body("mark", (0.0, bad), bad, outlines=(HULL,), lines=(points,), discs=(Disc(1.0),), mark=True),
            body("odd mark", (0.0, 0.0), 0.0, lines=(points,), mark=True),
            body("many", (0.0, bad), 0.0, outlines=(HULL,), discs=(Disc(1.0),), many=True),
            body("odd many", (0.0, 0.0), 0.0, outlines=(points,), many=True),
        ),
        ground=GroundView(
            ((((bad, 0.0)), (1.0, bad)),), (points, np.full_like(LINE, bad)), (((bad, 0.0), (1.0, 0.0)),), (bad,)
        ),
        springs=(((bad, 0.0), (1.0, 1.0)),),
        hinges=((bad, bad),),
        forces=tuple(ForceView(kind, (bad, 0.0), (bad, 1.0), bad, 1.0, bad) for kind in ("thrust", "push", "twist")),
        contacts=(ContactView((bad, 0.0), bad), ContactView((0.0, 0.0), bad)),
        rays=(RayView((0.0, 0.0), (bad, 1.0), bad),),
        grip=((bad, 0.0), (0.0, 0.0)),
        bounds=BOUNDS,
    )
    mind = MindView(
        (Seen("x", bad), Seen("y", 1.0, bad, bad), Seen("z", 1.0, 2.0, 2.0)),
        "levers",
        (Option("push", bad, True, bad, bad),),
        np.full(9, bad),
        np.full(9, bad),
        (Term("upright", bad, bad),),
    )
    series = Series("a", np.array([1.0, bad, 3.0]), np.array([bad, 2.0, bad]), np.array([bad, bad, 1.0]))
    learning = LearningView(series, series, (bad, bad), bad, bad, ((series, series), ()))
    profile = ProfileView((ProfileRow("learn", bad, bad, bad),), (("train", bad),))
    status = StatusView(
        "s", steps_total=5, seconds_left=bad, steps_per_second=bad, speed_asked=bad, speed_reached=bad, best=bad
    )
    draw(
        stage=StagesView((PaneView("", stage),)),
        profile=profile,
        status=status,
        mind=mind,
        learning=DrawerView(learning),
    )
    for kind in ("values", "probabilities"):
        draw(mind=replace(mind, kind=kind))


def test_a_grid_with_a_lost_arena_and_without_ground_is_drawn() -> None:
    grid = a_grid(9)
    grid.objects[0].position[3] = NAN
    grid.objects[0].angle[4] = NAN
    grid.bars[5] = NAN
    flat = replace(grid, ground=np.zeros((9, 0, 2, 2)), selected=99)
    none = np.zeros(0)
    empty = GridView((), np.zeros((0, 0, 2, 2)), none, (0.0, 1.0), none, BOUNDS, SHAPE)
    for each in (grid, flat, empty):
        surface, views = pygame.Surface((900, 600)), without(docked() | ground(grid=each), "stage")
        Painter().draw(surface, MESSAGES | views)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_a_run_that_has_just_begun_is_drawn(rows: int) -> None:
    series = Series("return", np.arange(rows, dtype=np.float64), np.ones(rows), np.ones(rows))
    draw(learning=DrawerView(LearningView(series, series, None, 200.0, None, ((series,),))))


@pytest.mark.parametrize("size", SIZES)
def test_long_names_do_not_grow_out_of_their_panel(size: tuple[int, int]) -> None:
    chips = tuple(Chip(LONG, "Space") for _ in range(5))
    stage = ground(stage=replace(a_stage(), caption=LONG, ending=LONG), chips=chips, hints=((LONG, LONG),))
    names = tuple(f"{i} {LONG}" for i in range(40))
    mind = replace(
        a_mind(),
        sees=tuple(Seen(name, 0.5) for name in names),
        does=tuple(Option(name, 0.1) for name in names),
        earned=tuple(Term(name, -12345.678, 1e9) for name in names),
    )
    rows = tuple((name, name, name) for name in names)
    profile = ProfileView(tuple(ProfileRow(name, 1.0, 1.0, 0.5) for name in names), tuple((n, 3.0) for n in names))
    floats: dict[str, object] = {
        "messages": tuple(Toast(LONG) for _ in range(9)),
        "profile": profile,
        "inspector": InspectorView(LONG, rows),
        "help": (HelpGroup(LONG, tuple((n, n) for n in names)),),
    }
    status = replace(STATUS, scene=LONG, run=LONG)
    for count in range(len(floats) + 1):
        draw(size, status=status, mind=mind, **stage, **dict(list(floats.items())[:count]))


def test_the_smallest_windows_are_drawn() -> None:
    for size in ((1, 1), (120, 90), (320, 200), (4000, 100)):
        draw(size, **MESSAGES)


@pytest.mark.parametrize("zoom", [FARTHEST, NEAREST])
def test_the_closest_and_the_furthest_camera_are_drawn_at_once(zoom: float) -> None:
    surface, painter = pygame.Surface((1280, 720)), Painter()
    near, nearer = (StagesView((PaneView("", a_stage()),), Aim((0.4, y), zoom)) for y in (2.9, 2.8))
    painter.draw(surface, docked() | ground() | {"stage": near})
    began = perf_counter()
    painter.draw(surface, docked() | ground() | {"stage": nearer})
    assert perf_counter() - began < 0.2

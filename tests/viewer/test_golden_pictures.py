"""Stage, grid and panels look as they did: compared with pictures in `goldens`, with some tolerance.

After a change that is meant to be seen, renew them and look at each: `python tests/viewer/test_golden_pictures.py`
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import pygame
import pytest
from viewer_views import (
    MESSAGES,
    RIBBON,
    STATUS,
    TIMELINE,
    a_field,
    a_grid,
    a_learning,
    a_mind,
    a_stacked_learning,
    a_stage,
    compared,
    docked,
    ground,
    painted,
    some_floats,
    without,
)

from ecs_rl.arrays import F64
from ecs_rl.session.diagnosis import Finding
from ecs_rl.viewer.canvas import Canvas, SliderView
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.objects import Objects
from ecs_rl.viewer.palette import DIM, GOOD, WARN
from ecs_rl.viewer.panel import Chip
from ecs_rl.viewer.panels.finding import FindingLine
from ecs_rl.viewer.panels.grid import Grid
from ecs_rl.viewer.panels.learning import DrawerView, Learning
from ecs_rl.viewer.panels.scrubber import ScrubberView
from ecs_rl.viewer.panels.settings import Settings
from ecs_rl.viewer.panels.stage import StagesView
from ecs_rl.viewer.stage import draw_stage, fitting
from ecs_rl.viewer.view import GhostView, MapView, PaneView, WhyView

PAUSED, BEST_ACTIONS = Chip("PAUSED", "Space", WARN), Chip("BEST ACTIONS", "D", DIM)
GOLDENS = Path(__file__).parent / "goldens"
MEAN, FAR, FAR_SHARE = 1.0, 40, 0.004
"""How far pixels may be off on average, and what share of them by more than FAR, on a scale of 255."""


def stage(size: tuple[int, int]) -> pygame.Surface:
    surface, canvas, view = pygame.Surface(size), Canvas(), a_stage()
    area = surface.get_rect()
    draw_stage(surface, area, view, fitting(view, area, canvas), canvas)
    return surface


def field(size: tuple[int, int]) -> pygame.Surface:
    """Draw what a camera shows that follows a hull past marks, coins and rocks of which some are not here."""
    surface, canvas, stage = pygame.Surface(size), Canvas(), replace(a_stage(3.0), caption="", ending="")
    view = replace(stage, objects=(*a_field(), *stage.objects), focus=(3.0, 3.1), bounds=((-7, -1), (7, 1)), exact=True)
    draw_stage(surface, surface.get_rect(), view, fitting(view, surface.get_rect(), canvas), canvas)
    return surface


def field_grid(size: tuple[int, int]) -> pygame.Surface:
    surface, view = pygame.Surface(size), a_grid(6)
    arenas, moved = np.arange(6), np.zeros((6, 1, 2))
    moved[..., 0] = arenas[:, None] / 3

    def everywhere(objects: Objects) -> Objects:
        here = np.roll(np.tile(objects.here, (6, 1)), 1, axis=1)
        return Objects(objects.look, objects.position + moved, np.tile(objects.angle, (6, 1)), here)

    objects = (*map(everywhere, a_field()), *view.objects)
    focus = view.objects[0].position[:, 0]
    shown = replace(view, objects=objects, focus=focus, bounds=((-7, -1), (7, 1)), shape=1.6)
    Grid().draw(surface, surface.get_rect(), shown, Canvas())
    return surface


def grid(size: tuple[int, int]) -> pygame.Surface:
    surface = pygame.Surface(size)
    Grid().draw(surface, surface.get_rect(), a_grid(), Canvas())
    return surface


def panels(size: tuple[int, int]) -> pygame.Surface:
    surface, painter = pygame.Surface(size), Painter()
    painter.draw(surface, MESSAGES | docked() | without(ground(), "stage") | some_floats("inspector", "profile"))
    return surface


def help_over_all(size: tuple[int, int]) -> pygame.Surface:
    surface, painter = pygame.Surface(size), Painter()
    painter.draw(surface, MESSAGES | docked() | without(ground(), "stage") | some_floats("help"))
    return surface


def window(size: tuple[int, int]) -> pygame.Surface:
    surface, painter = pygame.Surface(size), Painter()
    painter.draw(surface, MESSAGES | docked() | ground())
    return surface


def settings(size: tuple[int, int]) -> pygame.Surface:
    """Draw sliders over the return with marks where they were moved."""
    surface, canvas, half = pygame.Surface(size), Canvas(), size[1] // 2
    names = (("lr", "0.0003", 0.5, 0.6), ("entropy", "0.01", 0.2, 0.2), ("fuel reward", "x2.4", 0.6, 0.25))
    rows = tuple(SliderView(name, value, share, first, share != first) for name, value, share, first in names)
    canvas.begin(surface)
    Settings().paint(canvas, rows, pygame.Rect(0, 0, size[0], half + 60))
    changes = ((40e3, "lr 0.001"), (200e3, "fuel x2.4"), (210e3, "lr 0.0003"))
    curves = DrawerView(replace(a_learning(), changes=changes))
    painted(Learning(), surface.subsurface((0, half, size[0], half)), curves, canvas)
    return surface


def finding(size: tuple[int, int]) -> pygame.Surface:
    """Draw what is wrong with a training."""
    surface = pygame.Surface(size)
    told = "episodes last 14 ticks and no longer 121, and their return rose to -19.3 by that"
    wrong = Finding("a death that pays", told, "let living cost less than ending, or earn something in every tick")
    painted(FindingLine(), surface, wrong)
    return surface


def drawer(size: tuple[int, int]) -> pygame.Surface:
    """Draw how learning went, with endings, rewards and the timeline."""
    surface = pygame.Surface(size)
    painted(Learning(), surface, DrawerView(a_stacked_learning(), TIMELINE))
    return surface


def joy(size: tuple[int, int]) -> pygame.Surface:
    """Draw a stage on which a solved scene is celebrated, over the ribbon of what each tick earned."""
    surface, painter = pygame.Surface(size), Painter()
    views = ground(status=STATUS, chips=(BEST_ACTIONS,), joy=1.2, ribbon=RIBBON)
    painter.draw(surface, views)
    return surface


def panes(size: tuple[int, int]) -> pygame.Surface:
    surface, painter = pygame.Surface(size), Painter()
    painter.draw(surface, compared())
    return surface


def rewound(size: tuple[int, int]) -> pygame.Surface:
    """Draw a stage that was wound back: the scrubber with endings on it, and the chip that leads back."""
    surface, painter = pygame.Surface(size), Painter()
    past = ScrubberView(30.0, 11.4, ((24.0, "bad"), (17.5, "plain"), (3.0, "good")))
    chips = (PAUSED, Chip("11.4 S AGO", "Esc"), BEST_ACTIONS)
    painter.draw(surface, ground(status=STATUS, chips=chips, ribbon=RIBBON, scrubber=past))
    return surface


def weather(size: tuple[int, int]) -> pygame.Surface:
    """Draw a stage on which a person drives in a wind: both sliders, and the chip that hands back."""
    surface, painter = pygame.Surface(size), Painter()
    sliders = SliderView("gravity", "10.0 m/s²", 1 / 3, 1 / 3), SliderView("wind", "← 4.0 m/s²", 0.3, 0.5)
    chips = (Chip("YOU DRIVE", "H", GOOD), BEST_ACTIONS)
    painter.draw(surface, ground(status=STATUS, chips=chips, weather=sliders))
    return surface


def asked(size: tuple[int, int]) -> pygame.Surface:
    """Draw what pulls on an action, one number turned by hand, three ways not gone, and a value map on the stage."""
    surface, painter, mind = pygame.Surface(size), Painter(), a_mind()
    ahead = np.linspace(0.0, 1.0, 40)[:, None]
    ghosts = (
        GhostView("", (np.array((0.4, 3.0)) + ahead * (1.0, -1.5),)),
        GhostView("left", (np.array((0.4, 3.0)) + ahead * (-2.0, -1.0),)),
        GhostView("main", (np.array((0.4, 3.0)) + ahead * (0.3, 1.8),), "bad"),
    )
    why = WhyView("main", 2, tuple(np.linspace(-1.5, 2.0, len(mind.sees))), (1,), mind.does, 12.5)
    up, across = np.mgrid[-1:1:12j, -1:1:20j]
    arrows = np.stack((-across, -up), axis=-1) * (np.hypot(across, up) > 0.3)[..., None]
    field = MapView(("x", "y"), ((-6.0, 0.0), (6.0, 6.0)), -np.hypot(across, up), arrows, (0.4, 3.0), on_stage=True)
    pane = PaneView("", replace(a_stage(0.0, 0), field=field, ending=""))
    chips = (PAUSED, Chip("WHY?", "I"), Chip("VALUE MAP", "X"), BEST_ACTIONS)
    views = ground(status=STATUS, mind=replace(mind, why=why), chips=chips)
    painter.draw(surface, views | {"stage": StagesView((pane,), None, ghosts)})
    return surface


def plot(size: tuple[int, int]) -> pygame.Surface:
    """Draw the value map of two numbers that are no place."""
    surface, painter = pygame.Surface(size), Painter()
    up, across = np.mgrid[-1:1:12j, -1:1:20j]
    arrows = np.stack((np.sign(-across - up), np.zeros_like(up)), axis=-1)
    bounds = (-0.3, -2.0), (0.3, 2.0)
    shown = MapView(("pole angle", "pole spin"), bounds, -abs(across + up), arrows, (0.05, 0.4), on_stage=False)
    painter.draw(surface, ground(status=STATUS, plot=shown))
    return surface


PICTURES: dict[str, tuple[Callable[[tuple[int, int]], pygame.Surface], tuple[int, int]]] = {
    "stage-large": (stage, (960, 500)),
    "stage-small": (stage, (440, 260)),
    "grid-large": (grid, (960, 500)),
    "grid-small": (grid, (440, 260)),
    "field": (field, (480, 270)),
    "field-grid": (field_grid, (440, 240)),
    "panels-large": (panels, (1280, 720)),
    "panels-small": (panels, (900, 600)),
    "window-small": (window, (640, 400)),
    "settings": (settings, (420, 400)),
    "finding": (finding, (900, 44)),
    "panes": (panes, (760, 420)),
    "drawer": (drawer, (760, 160)),
    "weather": (weather, (900, 500)),
    "joy": (joy, (360, 240)),
    "rewound": (rewound, (480, 280)),
    "asked": (asked, (760, 420)),
    "plot": (plot, (440, 300)),
    "help": (help_over_all, (900, 600)),
}


def pixels(surface: pygame.Surface) -> F64:
    return np.asarray(pygame.surfarray.array3d(surface), dtype=np.float64)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_looks_like_its_golden(name: str, tmp_path: Path) -> None:
    draw, size = PICTURES[name]
    drawn = draw(size)
    golden = pygame.image.load(GOLDENS / f"{name}.png")
    away = np.abs(pixels(drawn) - pixels(golden))
    if away.mean() > MEAN or (away.max(axis=2) > FAR).mean() > FAR_SHARE:
        pygame.image.save(drawn, tmp_path / f"{name}.png")
        pytest.fail(f"{name} differs by {away.mean():.2f} on average; see {tmp_path}, or renew the goldens")


def test_a_changed_picture_is_noticed() -> None:
    surface, canvas, view = (
        pygame.Surface((440, 260)),
        Canvas(),
        replace(a_stage(), forces=(), contacts=(), ending=""),
    )
    draw_stage(surface, surface.get_rect(), view, fitting(view, surface.get_rect(), canvas), canvas)
    away = np.abs(pixels(surface) - pixels(pygame.image.load(GOLDENS / "stage-small.png")))
    assert away.mean() > MEAN or (away.max(axis=2) > FAR).mean() > FAR_SHARE


def test_drawing_twice_gives_the_same_picture() -> None:
    surface, painter = pygame.Surface((900, 600)), Painter()
    views = MESSAGES | docked() | ground()
    painter.draw(surface, views)
    first = pixels(surface)
    painter.draw(surface, views)
    assert (pixels(surface) == first).all()


def test_goldens_stay_small() -> None:
    assert sum(path.stat().st_size for path in GOLDENS.glob("*.png")) < 1_100_000


if __name__ == "__main__":
    GOLDENS.mkdir(exist_ok=True)
    for name, (draw, size) in PICTURES.items():
        pygame.image.save(draw(size), GOLDENS / f"{name}.png")
        print(GOLDENS / f"{name}.png")

"""Every size of window has a layout in which nothing overlaps."""

from __future__ import annotations

import itertools
from collections.abc import Collection

import pygame
import pytest
from viewer_views import MESSAGES, TIMELINE, a_stacked_learning, docked, ground

from ecs_rl.session.diagnosis import Finding
from ecs_rl.viewer import palette
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.frame import Layout, Painter, arrange
from ecs_rl.viewer.mind_sheet import HEAD, plan
from ecs_rl.viewer.panels import PANELS
from ecs_rl.viewer.panels.grid import cells
from ecs_rl.viewer.panels.learning import DrawerView, places

SIZES = [(640, 400), (900, 600), (1280, 720), (1920, 1080), (1000, 400), (640, 1200), (2560, 1440), (3840, 2160)]


ALL = {"status", "mind", "learning"}


def a_layout(size: tuple[int, int], names: Collection[str] = ALL, dpi_scale: float = 1.0) -> Layout:
    """Return the layout of a window in which these panels are docked."""
    return arrange(size, [panel() for panel in PANELS if panel.name in names], dpi_scale)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("mind", "learning", "finding"), list(itertools.product((True, False), repeat=3)))
def test_the_parts_fill_the_window_without_overlapping(
    size: tuple[int, int], mind: bool, learning: bool, finding: bool
) -> None:
    shown = {name for name, there in (("mind", mind), ("learning", learning), ("finding", finding)) if there}
    layout = a_layout(size, {"status", *shown})
    parts = [layout.stage, *layout.rooms.values()]
    assert layout.rooms.keys() == {"status", *shown}
    assert sum(part.w * part.h for part in parts) == size[0] * size[1]
    for one, other in itertools.combinations(parts, 2):
        assert not one.colliderect(other)
    assert layout.stage.w >= 0.5 * size[0]
    assert layout.stage.h >= (0.38 if finding else 0.5) * size[1]


def test_hiding_the_panels_gives_their_room_to_the_stage() -> None:
    assert a_layout((1280, 720), {"status"}).stage.size == (1280, 686)
    assert a_layout((1280, 720), set()).stage.size == (1280, 720)


def test_letters_grow_with_the_window_and_with_the_density_of_the_screen() -> None:
    assert a_layout((1280, 720)).scale == 1.0
    assert a_layout((1920, 1080)).scale == 1.25
    assert a_layout((3840, 2160)).scale == 2.0
    assert a_layout((2560, 1440), dpi_scale=2.0).scale == 2.0


FINDING = Finding("a death that pays", "episodes last 14 ticks and no longer 121", "let living cost less than ending")


def texts_of(size: tuple[int, int], dpi_scale: float = 1.0) -> tuple[Layout, dict[str, pygame.Rect]]:
    """Return the layout of a window whose docks are full, and where their texts stand."""
    painter = Painter(dpi_scale)
    views = docked() | {"learning": DrawerView(a_stacked_learning(), TIMELINE), "finding": FINDING}
    painter.draw(pygame.Surface(size), views)
    layout = painter.layout(size, views)
    texts = {text: rect for rect, text in painter.canvas.texts() if rect.w and not layout.stage.contains(rect)}
    return layout, texts


@pytest.mark.parametrize(
    ("size", "dpi_scale"),
    [((900, 600), 1.0), ((640, 400), 1.0), ((1280, 720), 1.0), ((1920, 1080), 1.0), ((1800, 1200), 2.0)],
)
def test_no_text_of_a_docked_panel_lies_on_another_or_leaves_its_room(size: tuple[int, int], dpi_scale: float) -> None:
    layout, texts = texts_of(size, dpi_scale)
    assert {"DOES", "a death that pays:", "lander"} <= texts.keys()
    for text, rect in texts.items():
        assert any(room.contains(rect) for room in layout.rooms.values()), text
    for (one, rect), (other, place) in itertools.combinations(texts.items(), 2):
        common = rect.clip(place)
        assert common.w <= 1 or common.h <= 4, (one, other)  # the boxes of letters touch where lines are narrow


def test_texts_of_docked_panels_grow_on_a_large_window_and_on_a_dense_display() -> None:
    usual = texts_of((1280, 720))[1]
    for size, dpi_scale, times in (((1920, 1080), 1.0, 1.25), ((2560, 1440), 2.0, 2.0), ((1800, 1200), 2.0, 2.0)):
        texts = texts_of(size, dpi_scale)[1]
        for text in ("DOES", "Return", "stage speed"):
            assert texts[text].h == pytest.approx(times * usual[text].h, abs=2)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("others", range(7))
@pytest.mark.parametrize("stacks", range(3))
def test_plots_stay_apart_and_inside(size: tuple[int, int], others: int, stacks: int) -> None:
    layout = a_layout(size)
    room = pygame.Rect((0, 0), layout.rooms["learning"].size)
    large, small = places(room.size, others, Canvas(layout.scale), stacks)
    for part in (large, *small):
        assert room.contains(part)
    for one, other in itertools.combinations((large, *small), 2):
        assert not one.colliderect(other)
    assert large.w >= 0.35 * room.w


@pytest.mark.parametrize("height", [360, 566, 686, 1400])
@pytest.mark.parametrize("numbers", [(4, 2, 1), (8, 4, 6), (60, 12, 9), (1, 1, 1), (0, 0, 0)])
def test_the_mind_never_grows_out_of_its_panel(height: int, numbers: tuple[int, int, int]) -> None:
    canvas = Canvas()
    sizes = plan(height, *numbers, canvas)
    used = 4 * canvas.px(HEAD) + (sizes.sees + sizes.does + sizes.earned + 1) * sizes.row + sizes.plot + 36
    assert used <= height or max(sizes.sees, sizes.does, sizes.earned) <= 1
    assert sizes.plot >= canvas.px(30), "what it expects goes last"


@pytest.mark.parametrize("size", SIZES)
def test_every_size_can_be_drawn(size: tuple[int, int]) -> None:
    surface, painter = pygame.Surface(size), Painter()
    painter.draw(surface, MESSAGES | docked() | ground())


def test_the_cell_under_the_mouse_is_the_arena_that_is_shown_there() -> None:
    found = cells((960, 500), 128, 2.0, Canvas())
    for arena in range(128):
        assert found.arena_at(found.rect(arena).center, 128) == arena
    assert found.arena_at((0, 0), 128) is None
    assert cells((960, 500), 1, 2.0, Canvas()).arena_at((480, 250), 1) == 0


@pytest.mark.parametrize("arenas", [1, 2, 5, 32, 127, 128, 1024])
def test_all_cells_are_inside(arenas: int) -> None:
    found = cells((960, 500), arenas, 2.0, Canvas())
    assert all(pygame.Rect(0, 0, 960, 500).contains(found.rect(i)) for i in range(arenas))


def test_words_can_be_read_on_their_background() -> None:
    def luminance(colour: palette.Colour) -> float:  # as WCAG defines it
        r, g, b = (c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    def contrast(one: palette.Colour, other: palette.Colour) -> float:
        high, low = sorted((luminance(one), luminance(other)), reverse=True)
        return (high + 0.05) / (low + 0.05)

    assert contrast(palette.TEXT, palette.PANEL) > 12
    assert contrast(palette.DIM, palette.PANEL) > 7
    for colour in (palette.FAINT, palette.SKY, palette.ORANGE, palette.GREEN, palette.VERMILION, palette.PURPLE):
        assert contrast(colour, palette.PANEL) > 4.5


def test_only_new_numbers_are_painted() -> None:
    surface, painter = pygame.Surface((900, 600)), Painter()
    views = docked() | ground()
    painter.draw(surface, views)
    painted = painter.canvas.painted
    painter.draw(surface, views)
    assert painter.canvas.painted == painted

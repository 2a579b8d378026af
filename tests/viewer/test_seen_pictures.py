"""Many rays or cells are one small picture instead of a row each, unless somebody asks why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pygame
import pytest
from viewer_views import painted

from ecs_rl.loading import load_scene
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.mind import pictures_of
from ecs_rl.viewer.number_pictures import draw_members, draw_seen_picture, folded, label_of, rows_of
from ecs_rl.viewer.panels.mind_panel import MindPanel
from ecs_rl.viewer.view import MindView, Option, Seen, SeenPicture, Term, WhyView


def test_the_rays_of_the_racer_are_a_picture_and_its_other_numbers_are_not() -> None:
    (agent,) = load_scene("racer").describe().agents
    seen = np.arange(len(agent.observation_names), dtype=np.float32)
    (picture,) = pictures_of(agent, seen)
    names = agent.observation_names[picture.first : picture.first + picture.values.size]
    assert all(" ray " in name for name in names)
    assert not any(" ray " in name for name in set(agent.observation_names) - set(names))
    assert picture.values.ravel().tolist() == seen[picture.first : picture.first + len(names)].tolist()
    assert picture.values.shape == (1, 1, len(names))
    (lander,) = load_scene("lander").describe().agents
    assert pictures_of(lander, np.zeros(8, np.float32)) == ()


def a_mind(pictures: tuple[SeenPicture, ...]) -> MindView:
    sees = tuple(Seen(f"number {i}", i / 30) for i in range(30))
    return MindView(sees, "probabilities", (Option("go", 0.5),), earned=(Term("one", 0.0, 0.0),), pictures=pictures)


def test_what_is_in_a_picture_has_no_row_and_gets_one_where_somebody_asks_why() -> None:
    mind = a_mind((SeenPicture("rays", 2, np.zeros((1, 1, 24))),))
    assert rows_of(mind) == [0, 1, 26, 27, 28, 29]
    why = WhyView("go", 0, (0.0,) * 30, (), mind.does, 0.0)
    assert rows_of(replace(mind, why=why)) == list(range(30))


def test_members_of_a_kind_share_rows_by_what_their_names_have_in_common() -> None:
    names = ("dog x", "dog to sheep 0 x", "dog to sheep 0 y", "dog to sheep 1 x", "dog to sheep 1 y", "pen 7 open")
    assert folded(names, tuple(range(6))) == ((0,), (1, 3), (2, 4), (5,))
    assert label_of([names[1], names[3]]) == "sheep 0 to 1 x"
    assert label_of(["dog x"]) == "dog x"


def test_members_share_rows_only_where_there_is_no_room_for_a_row_each_and_expects_keeps_its_room() -> None:
    sees = tuple(Seen(f"dog to sheep {member} {what}", 0.1 * member) for member in range(8) for what in "xyz")
    mind = MindView(sees, "probabilities", (Option("go", 0.5),), earned=(Term("one", 0.0, 0.0),))
    written = [
        {text for _, text in painted(MindPanel(), pygame.Surface((300, high)), mind).texts()} for high in (900, 400)
    ]
    assert "dog to sheep 7 z" in written[0]
    assert {"sheep 0 to 7 x", "sheep 0 to 7 y", "sheep 0 to 7 z"} <= written[1]
    assert not any("more" in text for text in written[1])
    why = WhyView("go", 0, (0.0,) * 24, (), mind.does, 0.0)
    asked = painted(MindPanel(), pygame.Surface((300, 400)), replace(mind, why=why)).texts()
    assert "dog to sheep 0 x" in {text for _, text in asked}, "each number has its own knob"


def test_bars_of_members_go_up_or_down_by_their_sign() -> None:
    surface = pygame.Surface((90, 21))
    draw_members(surface, surface.get_rect(), [1.0, -0.5, np.nan], Canvas())
    up, down, none = (pygame.surfarray.array3d(surface)[x : x + 26].max(axis=(0, 2)) > 100 for x in (0, 30, 60))
    assert up[:10].all()
    assert not up[11:].any()
    assert not down[:10].any()
    assert down[11:14].all()
    assert not none.any()


def test_the_row_under_the_mouse_is_the_number_that_stands_there() -> None:
    mind = a_mind((SeenPicture("rays", 2, np.zeros((1, 1, 24))),))
    canvas = painted(MindPanel(), pygame.Surface((300, 680)), mind)
    regions = [canvas.region_at((60, y)) for y in range(30, 300, 2)]
    numbers = [region.index for region in regions if region is not None and region.part == "name"]
    assert sorted(set(numbers)) == [0, 1, 26, 27, 28, 29]


@pytest.mark.parametrize("shape", [(1, 1, 24), (2, 1, 9), (3, 11, 11)])
def test_a_picture_shows_where_its_numbers_are(shape: tuple[int, int, int]) -> None:
    dark, lit = np.zeros(shape), np.zeros(shape)
    lit[0, -1, -1] = 1.0
    drawn = []
    for values in (dark, lit):
        surface = pygame.Surface((290, 80))
        draw_seen_picture(surface, surface.get_rect(), SeenPicture("eye", 0, values), Canvas())
        drawn.append(pygame.surfarray.array3d(surface).astype(int))
    changed = np.argwhere((drawn[0] != drawn[1]).any(axis=2))
    assert len(changed)
    right = 290 if shape[1] == 1 else 290 / shape[0]
    assert changed[:, 0].mean() > right * 0.2
    if shape[1] > 1:
        assert changed[:, 1].mean() < 45, "the highest row is drawn at the top"


def test_a_panel_with_a_picture_fits_however_low_it_is() -> None:
    mind = a_mind((SeenPicture("rays", 2, np.random.default_rng(0).random((1, 1, 24))),))
    for high in (200, 260, 340, 680):
        surface = pygame.Surface((280, high))
        painted(MindPanel(), surface, mind)

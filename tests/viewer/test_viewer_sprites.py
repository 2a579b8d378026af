"""A sprite stands where its body is, as large and turned as it, and one that is no picture is refused by name."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np
import pygame
import pytest
from viewer_views import HULL, body

from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.viewer import bodies
from ecs_rl.viewer.bodies import draw_objects
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.objects import Objects, SpriteView
from ecs_rl.world import World
from ecs_rl.worlds import make_world

RED, BLUE = (220, 30, 30), (30, 60, 230)
CAMERA = Camera((0.0, 0.0), 50.0, (100.0, 100.0))
SCENE = """
from ecs_rl.scene import *
SCENE = Scene(about="a ship", max_ticks=9)
def build(arena):
    ship = arena.spawn("ship", Body(), Box(2.0, 1.0), Look(sprite="ship.png", at=(0.25, 0.0)))
    arena.agent(sees=[X(ship)], does=Levers(push=Push(ship, 1.0)), earns={"alive": 1.0})
"""


@pytest.fixture
def ship(tmp_path: Path) -> Path:
    """Twice as wide as high: its front (right) half is red, its back blue, its rim transparent."""
    picture = pygame.Surface((24, 12), pygame.SRCALPHA)
    picture.fill(BLUE, (2, 2, 10, 8))
    picture.fill(RED, (12, 2, 10, 8))
    pygame.image.save(picture, tmp_path / "ship.png")
    return tmp_path / "ship.png"


def drawn(ship: Objects, *, chosen: bool = False, camera: Camera = CAMERA) -> pygame.Surface:
    surface = pygame.Surface((200, 200))
    draw_objects(surface, ship, camera, 1.0, 0 if chosen else None)
    return surface


def at(surface: pygame.Surface, x: float, y: float) -> tuple[int, ...]:
    return tuple(surface.get_at(tuple(round(p) for p in CAMERA.pixel((x, y)))))[:3]


def a_ship(path: Path | None, angle: float = 0.0, at: tuple[float, float] = (0.2, 0.0)) -> Objects:
    sprite = None if path is None else SpriteView(str(path), 2.4, (0.2, 0.0))
    return body("ship", at, angle, outlines=(HULL,), colour=(200, 200, 200), sprite=sprite)


def test_a_sprite_lies_where_its_body_is_and_turns_with_it(ship: Path) -> None:
    level = drawn(a_ship(ship))
    assert at(level, 1.0, 0.0) == RED
    assert at(level, -0.2, 0.0) == BLUE
    assert at(level, 1.7, 0.0) == (0, 0, 0)
    assert at(level, 0.4, 0.55) == (0, 0, 0), "its rim is transparent"
    up = drawn(a_ship(ship, math.pi / 2))
    assert at(up, 0.2, 0.8) == RED
    assert at(up, 0.2, -0.4) == BLUE
    assert at(up, 1.0, 0.0) == (0, 0, 0)


def test_its_rim_has_no_dark_edge_on_a_light_ground(tmp_path: Path) -> None:
    picture = pygame.Surface((24, 12), pygame.SRCALPHA)
    picture.fill(RED, (2, 2, 20, 8))
    pygame.image.save(picture, tmp_path / "red.png")
    surface = pygame.Surface((200, 200))
    surface.fill((255, 255, 255))
    draw_objects(surface, a_ship(tmp_path / "red.png", 0.4), CAMERA, 1.0, None)
    assert pygame.surfarray.array3d(surface)[:, :, 0].min() >= 215, "only red, white, and what is between them"


def test_shapes_are_not_drawn_but_for_a_selected_body(ship: Path) -> None:
    bare = drawn(a_ship(None))
    assert at(bare, 0.2, 0.51) != (0, 0, 0), "the upper edge of the hull"
    assert at(drawn(a_ship(ship)), 0.2, 0.51) == (0, 0, 0)
    red, green, blue = at(drawn(a_ship(ship), chosen=True), 0.2, 0.51)
    assert min(red, green) > 150 > blue


def test_pictures_are_kept_and_the_oldest_go_when_there_are_too_many(ship: Path) -> None:
    first = bodies.turned_sprite(str(ship), (48, 24), 0.3)
    assert bodies.turned_sprite(str(ship), (48, 24), 0.3) is first
    assert bodies.turned_sprite(str(ship), (48, 24), 0.3 + math.tau) is first
    for i in range(2 * bodies.KEPT):
        bodies.turned_sprite(str(ship), (48, 24), i * math.tau / 150)
    assert bodies.turned_sprite(str(ship), (48, 24), 0.3) is not first


def test_zooming_in_as_far_as_it_goes_stays_cheap(ship: Path) -> None:
    for zoom in (300.0, 700.0, 4000.0):
        began = perf_counter()
        surface = drawn(a_ship(ship, 0.3), camera=replace(CAMERA, zoom=zoom))
        assert perf_counter() - began < 0.1
        assert pygame.surfarray.array3d(surface).any()


def test_a_lost_or_far_body_is_left_out(ship: Path) -> None:
    for position in ((math.nan, 0.0), (1e12, 0.0), (50.0, 0.0)):
        assert not pygame.surfarray.array3d(drawn(a_ship(ship, at=position))).any()


def made(folder: Path) -> World:
    (folder / "ship_scene.py").write_text(SCENE)
    scene = load_scene(str(folder / "ship_scene.py"))
    return make_world(scene, arenas=1, policies={"policy": lambda seen, state: np.zeros((1, 1), np.float32)})


def test_a_scene_s_sprite_is_as_wide_as_its_shapes(ship: Path) -> None:
    world = made(ship.parent)
    (objects,) = Reader(world).stage(0).objects
    world.close()
    assert objects.look.sprite == SpriteView(str(ship), 2.0, (0.25, 0.0))
    assert len(objects.look.outlines) == 1, "the grid shows its shapes"


def test_a_file_that_is_no_picture_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "ship.png").write_text("this is not a picture")
    world = made(tmp_path)
    with pytest.raises(SceneError, match=r"ship\.png cannot be read as a picture: .*PNG"):
        Reader(world)
    world.close()

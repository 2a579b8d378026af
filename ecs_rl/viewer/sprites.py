"""Sprites: pictures in place of a body's shapes, loaded once, and kept at the sizes and turns that are shown."""

from __future__ import annotations

import math
from functools import lru_cache

import pygame

from ecs_rl.errors import SceneError
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.draw import MOST, smoothed
from ecs_rl.viewer.objects import LookView
from ecs_rl.viewer.shapes import place
from ecs_rl.viewer.view import Point

LARGEST = 512
"""Pixels of a side that pictures are turned and kept at; larger ones are scaled up from that."""
BEYOND = 2000
"""Pixels of a side from which a sprite is not drawn any more: nearly all of it would be off the screen."""
KEPT = 64
"""Scaled and turned pictures, each of two megabytes at most; turning one anew takes a millisecond."""


@lru_cache(maxsize=64)
def load_sprite(path: str) -> pygame.Surface:
    """Return a picture, its colours multiplied by its opacity so that scaling leaves no dark edges; or SceneError."""
    try:
        picture = pygame.image.load(path)
    except (pygame.error, OSError) as error:
        raise SceneError(f"{path} cannot be read as a picture: {error}; a sprite must be a PNG file") from error
    # Straight onto a surface of its own: converting would need a display.
    whole = pygame.Surface(picture.get_size(), pygame.SRCALPHA, 32)
    whole.blit(picture, (0, 0))
    return whole.premul_alpha()


def draw_sprite(surface: pygame.Surface, look: LookView, at: Point, angle: float, camera: Camera) -> bool:
    """Draw a look's sprite at a place, turned; tell whether it could be: not from too near."""
    sprite = look.sprite
    if sprite is None:
        return False
    picture = load_sprite(sprite.path)
    width = sprite.width * camera.zoom
    height = width * picture.get_height() / picture.get_width()
    if max(width, height) > BEYOND:
        return False
    x, y = camera.pixel(place(at, angle, sprite.at))
    reach = math.ceil(math.hypot(width, height) / 2) + 1
    if abs(x) < MOST and abs(y) < MOST and surface.get_clip().inflate(2 * reach, 2 * reach).collidepoint(x, y):
        turned = turned_sprite(sprite.path, (max(1, round(width)), max(1, round(height))), angle)
        surface.blit(turned, turned.get_rect(center=(round(x), round(y))), special_flags=pygame.BLEND_PREMULTIPLIED)
    return True


def turned_sprite(path: str, size: tuple[int, int], angle: float) -> pygame.Surface:
    """Return a picture at a size, turned counter-clockwise by about so many radians."""
    if max(size) > LARGEST:
        share = LARGEST / max(size)
        small = turned_sprite(path, (max(1, round(size[0] * share)), max(1, round(size[1] * share))), angle)
        w, h = small.get_size()
        return smoothed(small, (round(w / share), round(h / share)))
    steps = steps_of(size)
    return _kept(path, size, round(angle / math.tau * steps) % steps)


@lru_cache(maxsize=KEPT)
def _kept(path: str, size: tuple[int, int], step: int) -> pygame.Surface:
    if not step:
        return smoothed(load_sprite(path), size)
    return pygame.transform.rotozoom(_kept(path, size, 0), step * 360.0 / steps_of(size), 1.0)


def steps_of(size: tuple[int, int]) -> int:
    """Return into how many angles a turn is cut: the rim of a picture moves about a pixel at a time."""
    return min(max(round(math.pi * math.hypot(*size)), 90), 720)

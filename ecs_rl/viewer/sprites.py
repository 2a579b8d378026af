"""Sprites: pictures in place of a body's shapes, loaded once, and kept at the sizes and turns that are shown."""

from __future__ import annotations

import math
from collections import OrderedDict
from functools import lru_cache

import pygame

from ecs_rl.errors import SceneError
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.draw import MOST
from ecs_rl.viewer.shapes import place
from ecs_rl.viewer.view import RoleView

LARGEST = 512
"""Pixels of a side that pictures are turned and kept at; larger ones are scaled up from that."""
BEYOND = 2000
"""Pixels of a side from which a sprite is not drawn any more: nearly all of it would be off the screen."""
KEPT = 48_000_000
"""Bytes of scaled and turned pictures."""


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


def draw_sprite(surface: pygame.Surface, role: RoleView, camera: Camera) -> bool:
    """Draw a role's sprite where it is, turned as it is; tell whether it could be: not from too near."""
    sprite = role.sprite
    if sprite is None:
        return False
    picture = load_sprite(sprite.path)
    width = sprite.width * camera.zoom
    height = width * picture.get_height() / picture.get_width()
    if max(width, height) > BEYOND:
        return False
    x, y = camera.pixel(place(role.position, role.angle, sprite.at))
    reach = math.hypot(width, height) / 2
    if abs(x) < MOST and abs(y) < MOST and _box(x, y, reach).colliderect(surface.get_clip()):
        turned = _pictures.get(sprite.path, (max(1, round(width)), max(1, round(height))), role.angle)
        surface.blit(turned, turned.get_rect(center=(round(x), round(y))), special_flags=pygame.BLEND_PREMULTIPLIED)
    return True


def _box(x: float, y: float, reach: float) -> pygame.Rect:
    return pygame.Rect(math.floor(x - reach), math.floor(y - reach), math.ceil(2 * reach) + 2, math.ceil(2 * reach) + 2)


class Pictures:
    """Scaled and turned pictures; the ones that were not shown for the longest time go first."""

    def __init__(self, most: int = KEPT) -> None:
        self.most, self.bytes = most, 0
        self._kept: OrderedDict[tuple[str, tuple[int, int], int], pygame.Surface] = OrderedDict()

    def get(self, path: str, size: tuple[int, int], angle: float) -> pygame.Surface:
        """Return a picture at a size, turned counter-clockwise by about so many radians."""
        if max(size) > LARGEST:
            share = LARGEST / max(size)
            small = self.get(path, (max(1, round(size[0] * share)), max(1, round(size[1] * share))), angle)
            w, h = small.get_size()
            return pygame.transform.smoothscale(small, (round(w / share), round(h / share)))
        steps = steps_of(size)
        step = round(angle / math.tau * steps) % steps
        key = (path, size, step)
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        if not step:
            return self._keep(key, pygame.transform.smoothscale(load_sprite(path), size))
        return self._keep(key, pygame.transform.rotozoom(self.get(path, size, 0.0), step * 360.0 / steps, 1.0))

    def _keep(self, key: tuple[str, tuple[int, int], int], picture: pygame.Surface) -> pygame.Surface:
        self._kept[key] = picture
        self.bytes += _weight(picture)
        while self.bytes > self.most and len(self._kept) > 1:
            _, gone = self._kept.popitem(last=False)
            self.bytes -= _weight(gone)
        return picture


def steps_of(size: tuple[int, int]) -> int:
    """Return into how many angles a turn is cut: the rim of a picture moves about a pixel at a time."""
    return min(max(round(math.pi * math.hypot(*size)), 90), 720)


def _weight(picture: pygame.Surface) -> int:
    return picture.get_width() * picture.get_height() * 4


_pictures = Pictures()

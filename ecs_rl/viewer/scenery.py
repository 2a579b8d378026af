"""What lies behind an arena: night, space, dusk or a meadow. Each is painted once for a size, and then kept."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.draw import glow, smoothed
from ecs_rl.viewer.palette import NIGHT, TEXT, Colour, mix

Stops = tuple[tuple[float, Colour], ...]
"""Colours by the height at which they are, 0 above and 1 below."""
SKIES: dict[str, Stops] = {
    "night": ((0.0, NIGHT), (0.55, (18, 25, 40)), (1.0, (34, 46, 68))),
    "space": ((0.0, (7, 8, 18)), (1.0, (13, 13, 30))),
    "dusk": ((0.0, (22, 26, 52)), (0.45, (62, 56, 98)), (0.75, (138, 84, 104)), (1.0, (222, 148, 104))),
    "meadow": ((0.0, (34, 74, 56)), (1.0, (28, 62, 48))),
}
CLOUDS: dict[str, tuple[Colour, Colour]] = {"space": ((34, 26, 62), (14, 38, 56)), "meadow": ((22, 30, 4), (0, 16, 10))}
"""Two colours that are laid over the sky in soft patches."""
STARS = {"night": 90, "space": 260}
HILLS: dict[str, tuple[tuple[float, float, Colour], ...]] = {
    "night": ((0.62, 0.16, (25, 34, 52)), (0.74, 0.12, (21, 29, 44))),
    "dusk": ((0.66, 0.12, (98, 66, 98)), (0.77, 0.1, (64, 52, 84)), (0.88, 0.08, (36, 40, 66))),
}
"""How far below the top ridges lie and how much they rise, as shares of the height, and their colours."""
FIELD = 16.0
"""Metres after which the tufts of a meadow repeat."""
TUFTS = 90


@lru_cache(maxsize=8)
def scenery(name: str, size: tuple[int, int], *, land: bool) -> pygame.Surface:
    """Return the picture behind an arena; only one with `land` has hills and, by night, stars."""
    w, h = size
    picture = pygame.Surface(size)
    at, colours = zip(*SKIES[name], strict=True)
    rows = np.stack([np.interp(np.linspace(0.0, 1.0, h), at, part) for part in np.array(colours).T], axis=1)
    pixels = np.repeat(rows[None], w, axis=0)
    for number, colour in enumerate(CLOUDS.get(name, ())):
        pixels += _patches(size, number)[..., None] * colour
    pygame.surfarray.blit_array(picture, np.clip(pixels, 0, 255).round().astype(np.uint8))
    if land or name != "night":
        _stars(picture, STARS.get(name, 0))
    if name == "dusk":
        for reach, colour in ((0.55, (60, 30, 22)), (0.12, (120, 92, 60))):
            glow(picture, (w * 0.76, h * 0.62), reach * h, colour)
    for number, (top, rise, colour) in enumerate(HILLS.get(name, ()) if land or name != "night" else ()):
        _ridge(picture, number, h * top, h * rise, colour)
    return picture


def _patches(size: tuple[int, int], number: int) -> F64:
    """Return (width, height) numbers from 0 to 1 that change slowly from place to place."""
    coarse = np.random.default_rng(number).random((10, 7))
    small = pygame.Surface((10, 7))
    pygame.surfarray.blit_array(small, np.repeat((coarse * 255).astype(np.uint8)[..., None], 3, axis=2))
    large = smoothed(smoothed(small, (40, 28)), size)
    return np.asarray(pygame.surfarray.array3d(large)[..., 0] / 255.0) ** 2


def _stars(picture: pygame.Surface, count: int) -> None:
    """Draw the same stars every time, few of them bright."""
    w, h = picture.get_size()
    count = min(count, max(6, w * h // 4000))  # a small picture would be full of them
    for x, y, light in np.random.default_rng(7).random((count, 3)).tolist():
        at, shine = (int(x * w), int(y * h)), light**4
        tint: Colour = (210, 226, 255) if x * 7 % 1 < 0.6 else (255, 232, 206)
        size = 2 if light > 0.93 else 1
        r, g, b, _ = picture.get_at(at)
        picture.fill(mix((r, g, b), tint, 0.2 + 0.7 * shine), (*at, size, size))
        if light > 0.97:
            glow(picture, at, h * 0.02, mix((0, 0, 0), tint, 0.3))


def _ridge(picture: pygame.Surface, number: int, top: float, rise: float, colour: Colour) -> None:
    """Draw a line of hills from edge to edge, and what is below it."""
    w, h = picture.get_size()
    x = np.linspace(0.0, 1.0, 97)
    phases = np.random.default_rng(number + 3).random(5) * 2 * np.pi
    waves = np.array([np.sin((2.3 + 3.1 * i + number) * x * 2 * np.pi + p) / (1 + i) for i, p in enumerate(phases)])
    y = top - rise * waves.sum(axis=0) / 2
    pygame.draw.polygon(picture, colour, [*zip((x * w).tolist(), y.tolist(), strict=True), (w, h), (0, h)])


def paint_meadow(surface: pygame.Surface, camera: Camera) -> None:
    """Draw tufts of grass and flowers, which lie at fixed places of the arena."""
    w, h = surface.get_size()
    left, low = camera.metres((0, h))
    right, high = camera.metres((w, 0))
    spots = np.random.default_rng(5).random((TUFTS, 3))
    tall = max(2.0, 0.16 * camera.zoom)
    if camera.zoom < 6:
        return  # from so far they would be a grey noise
    for column in range(int(left // FIELD), int(right // FIELD) + 1):
        for row in range(int(low // FIELD), int(high // FIELD) + 1):
            for x, y, kind in spots.tolist():
                at = camera.pixel(((column + x) * FIELD, (row + y) * FIELD))
                if -tall < at[0] < w + tall and -tall < at[1] < h + tall:
                    _tuft(surface, at, tall * (0.6 + kind), kind)


def _tuft(surface: pygame.Surface, at: tuple[float, float], tall: float, kind: float) -> None:
    if kind > 0.88:
        petal: Colour = (214, 206, 150) if kind > 0.94 else (176, 150, 196)
        size = max(1.0, tall * 0.09)
        for turn in range(5):
            way = math.cos(turn * 1.26) * size * 1.2, math.sin(turn * 1.26) * size * 1.2
            pygame.draw.aacircle(surface, petal, (at[0] + way[0], at[1] + way[1]), size)
        pygame.draw.aacircle(surface, (120, 84, 40), at, size * 0.8)
        return
    colour = mix((70, 122, 74), (44, 88, 62), kind)
    for lean in (-0.45, 0.0, 0.4):
        pygame.draw.aaline(surface, colour, at, (at[0] + lean * tall, at[1] - tall * (1.0 - abs(lean))))


def lit(size: tuple[int, int]) -> pygame.Surface:
    """Return a soft light that falls on an arena from above, to be added."""
    return _light((max(1, size[0] // 8), max(1, size[1] // 8)), size)


@lru_cache(maxsize=8)
def _light(small: tuple[int, int], size: tuple[int, int]) -> pygame.Surface:
    x, y = np.linspace(-1, 1, small[0])[:, None], np.linspace(-0.9, 1.1, small[1])[None]
    bright = np.clip(1.0 - np.hypot(x, y) / 1.2, 0.0, 1.0) ** 2 * 0.09
    picture = pygame.Surface(small)
    pygame.surfarray.blit_array(picture, (bright[..., None] * TEXT).round().astype(np.uint8))
    return smoothed(picture, size)

"""Anti-aliased shapes that move smoothly: drawn larger than they are and scaled down, so halves of pixels count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pygame

from ecs_rl.viewer.palette import Colour
from ecs_rl.viewer.view import Point

FINE, COARSE = 4, 2
"""How much larger a tile is drawn than it appears."""
FINE_AREA, COARSE_AREA = 16_000, 300_000
"""Pixels of a tile up to which these are used."""
MOST = 20_000.0
"""Pixels off the screen; what is further is left out, as pygame's coordinates are 32 bits wide."""


class Tile:
    """A small picture around some points, which polygons, strokes and discs are put on before it goes to the screen."""

    def __init__(self, points: Sequence[Point], pad: float, tint: Colour, clip: pygame.Rect) -> None:
        xs, ys = [p[0] for p in points], [p[1] for p in points]
        self.there = all(map(math.isfinite, xs)) and all(map(math.isfinite, ys))
        box = pygame.Rect(0, 0, 0, 0)
        if self.there and max(map(abs, (*xs, *ys))) < MOST:
            left, top = math.floor(min(xs) - pad), math.floor(min(ys) - pad)
            box = pygame.Rect(left, top, math.ceil(max(xs) + pad) - left, math.ceil(max(ys) + pad) - top).clip(clip)
        self.box, area = box, box.w * box.h
        self.there = area > 0
        self.factor = FINE if area <= FINE_AREA else COARSE if area <= COARSE_AREA else 1
        size = (box.w * self.factor, box.h * self.factor)
        self.large = pygame.Surface(size if self.there else (1, 1), pygame.SRCALPHA)
        self.large.fill((*tint, 0))  # what scaling mixes in at the edges has the right hue

    def _at(self, points: Sequence[Point]) -> list[Point]:
        f, (x0, y0) = self.factor, self.box.topleft
        return [((x - x0) * f, (y - y0) * f) for x, y in points]

    def polygon(self, points: Sequence[Point], colour: Colour, alpha: int = 255) -> None:
        """Fill a polygon."""
        if self.there and len(points) > 2:
            pygame.draw.polygon(self.large, (*colour, alpha), self._at(points))

    def disc(self, centre: Point, radius: float, colour: Colour, alpha: int = 255) -> None:
        """Fill a circle."""
        if self.there:
            pygame.draw.circle(self.large, (*colour, alpha), self._at([centre])[0], max(1.0, radius * self.factor))

    def stroke(self, points: Sequence[Point], colour: Colour, width: float, *, closed: bool = False) -> None:
        """Draw a line with round corners and ends."""
        if not self.there:
            return
        at, thick = self._at(points), max(1.0, width * self.factor)
        for a, b in zip(at, at[1:] + at[:1] if closed else at[1:], strict=False):
            across = _across(a, b, thick / 2)
            if across is not None:
                (ax, ay), (bx, by), (dx, dy) = a, b, across
                corners = [(ax + dx, ay + dy), (bx + dx, by + dy), (bx - dx, by - dy), (ax - dx, ay - dy)]
                pygame.draw.polygon(self.large, colour, corners)
        if thick > 2.5:
            for point in at:
                pygame.draw.circle(self.large, colour, point, thick / 2)

    def shade(self) -> None:
        """Let all that was put on it so far be darker below, as if light fell on it from above."""
        if self.there:
            shadow = smoothed(_shadow(), self.large.get_size())
            self.large.blit(shadow, (0, 0), special_flags=pygame.BLEND_RGB_MULT)

    def put(self, surface: pygame.Surface) -> None:
        """Scale down and lay it on the surface."""
        if self.there:
            small = self.large if self.factor == 1 else smoothed(self.large, self.box.size)
            surface.blit(small, self.box)


def _across(a: Point, b: Point, half: float) -> Point | None:
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = math.hypot(dx, dy)
    return (-dy / length * half, dx / length * half) if length > 0 else None


@lru_cache(maxsize=1)
def _shadow() -> pygame.Surface:
    """Return a column of greys from light to dark, two pixels wide, as `smoothed` wants it."""
    column = pygame.Surface((2, 32))
    shades = np.linspace(255, 128, 32).astype(np.uint8)
    pygame.surfarray.blit_array(column, np.broadcast_to(shades[:, None], (2, 32, 3)))
    return column


def line(surface: pygame.Surface, points: Sequence[Point], colour: Colour, width: float = 1.5) -> None:
    """Draw a smooth line with round corners and ends."""
    tile = Tile(points, width, colour, surface.get_clip())
    tile.stroke(points, colour, width)
    tile.put(surface)


def arrow_head(tail: Point, tip: Point, length: float) -> list[Point]:
    """Return the corners of an arrow's head, the tip first."""
    whole = math.hypot(tip[0] - tail[0], tip[1] - tail[1]) or 1.0
    ux, uy = (tip[0] - tail[0]) / whole, (tip[1] - tail[1]) / whole
    (x, y), side = (tip[0] - ux * length, tip[1] - uy * length), length * 0.55
    return [tip, (x - uy * side, y + ux * side), (x + uy * side, y - ux * side)]


def arrow(surface: pygame.Surface, start: Point, end: Point, colour: Colour, width: float = 2.0) -> None:
    """Draw an arrow; one that is too short for a head is left out."""
    length = math.hypot(end[0] - start[0], end[1] - start[1])
    head = min(width * 4.0, length * 0.6)
    if not length > width * 2:
        return
    corners = arrow_head(start, end, head)
    neck = (corners[1][0] + corners[2][0]) / 2, (corners[1][1] + corners[2][1]) / 2
    tile = Tile((start, end), width * 4, colour, surface.get_clip())
    tile.stroke((start, neck), colour, width)
    tile.polygon(corners, colour)
    tile.put(surface)


@lru_cache(maxsize=256)
def _glow(radius: int, colour: Colour) -> pygame.Surface:
    away = np.hypot(*np.mgrid[-radius : radius + 1, -radius : radius + 1]) / max(radius, 1)
    light = np.clip(1.0 - away, 0.0, 1.0) ** 2
    picture = pygame.Surface((2 * radius + 1, 2 * radius + 1))
    pygame.surfarray.blit_array(picture, (light[..., None] * colour).astype(np.uint8))
    return picture


def glow(surface: pygame.Surface, centre: Point, radius: float, colour: Colour, strength: float = 1.0) -> None:
    """Add a soft light."""
    steps = min(max(round(strength * 8), 0), 8)  # few different pictures, so that they are found again
    size = min(max(2, round(radius / 2) * 2), 400)
    if steps and all(map(math.isfinite, centre)) and max(map(abs, centre)) < MOST:
        r, g, b = (c * steps // 8 for c in colour)
        at = round(centre[0]) - size, round(centre[1]) - size
        surface.blit(_glow(size, (r, g, b)), at, special_flags=pygame.BLEND_RGB_ADD)


def smoothed(picture: pygame.Surface, size: tuple[int, int]) -> pygame.Surface:
    """Return a picture at another size, smoothly: pygame's own reads behind one that is a single pixel wide or high."""
    w, h = picture.get_size()
    if min(w, h) < 2:
        picture = pygame.transform.scale(picture, (max(w, 2), max(h, 2)))
    return pygame.transform.smoothscale(picture, size)


@lru_cache(maxsize=512)
def _rounded(size: tuple[int, int], radius: int, fill: Colour, edge: Colour | None, alpha: int) -> pygame.Surface:
    w, h = size
    large = pygame.Surface((w * 4, h * 4), pygame.SRCALPHA)
    large.fill((*(edge or fill), 0))
    pygame.draw.rect(large, (*(edge or fill), alpha), large.get_rect(), border_radius=radius * 4)
    if edge is not None:
        pygame.draw.rect(large, (*fill, alpha), large.get_rect().inflate(-8, -8), border_radius=max(0, radius * 4 - 4))
    return smoothed(large, size)


def rounded(
    surface: pygame.Surface,
    rect: pygame.Rect,
    fill: Colour,
    *,
    radius: int = 5,
    edge: Colour | None = None,
    alpha: int = 255,
) -> None:
    """Draw a rectangle with round corners."""
    if rect.w > 0 and rect.h > 0:
        surface.blit(_rounded(rect.size, min(radius, rect.w // 2, rect.h // 2), fill, edge, alpha), rect)


def bar(surface: pygame.Surface, rect: pygame.Rect, start: float, end: float, colour: Colour) -> None:
    """Fill a part of a track, given as shares of its width; at least a pixel wide, so that small is not nothing."""
    if math.isfinite(start) and math.isfinite(end):
        low, high = sorted((min(max(start, 0.0), 1.0), min(max(end, 0.0), 1.0)))
        x = rect.x + round(low * rect.w)
        surface.fill(colour, (x, rect.y, max(1, rect.x + round(high * rect.w) - x), rect.h))

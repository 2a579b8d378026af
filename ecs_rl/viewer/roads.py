"""Roads: the paths of a scene that are drawn, with asphalt, kerbs, a dashed middle and a line where they begin."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.draw import MOST
from ecs_rl.viewer.palette import Colour
from ecs_rl.viewer.view import RoadView

ASPHALT: Colour = (58, 62, 70)
SHOULDER: Colour = (112, 102, 78)
KERBS: tuple[Colour, Colour] = ((206, 206, 200), (196, 86, 40))
PAINT: Colour = (150, 150, 140)
KERB, DASH = 0.7, 0.9
"""Metres of a piece of kerb, and of a dash."""
LEAST = 24.0
"""Pixels of a road's width from which its kerbs and dashes are drawn."""


def draw_road(surface: pygame.Surface, road: RoadView, camera: Camera) -> None:
    """Draw a road."""
    line = np.concatenate((road.points, road.points[:1])) if road.closed else road.points
    at = camera.pixels(line)
    if len(line) < 2 or not np.isfinite(at).all() or np.abs(at).max() > MOST:
        return
    wide = road.width * camera.zoom
    _band(surface, at, wide + 0.5 * camera.zoom, SHOULDER)
    _band(surface, at, wide, ASPHALT)
    if wide < LEAST:
        return
    for side in (-1, 1):
        _pieces(surface, _beside(line, side * road.width / 2), camera, KERB, KERBS)
    _pieces(surface, line, camera, DASH, (PAINT, None))
    _begin(surface, line, road.width, camera)


def _band(surface: pygame.Surface, at: F64, wide: float, colour: Colour) -> None:
    """Draw a band with round bends along (points, 2) pixels."""
    way = np.diff(at, axis=0)
    side = np.stack((-way[:, 1], way[:, 0]), axis=1) / np.maximum(np.hypot(*way.T), 1e-9)[:, None] * wide / 2
    quads = np.stack((at[:-1] + side, at[1:] + side, at[1:] - side, at[:-1] - side), axis=1)
    for quad in quads.tolist():
        pygame.draw.polygon(surface, colour, quad)
        pygame.draw.aalines(surface, colour, True, quad)
    for x, y in at.tolist():
        pygame.draw.aacircle(surface, colour, (x, y), wide / 2)


def _beside(line: F64, metres: float) -> F64:
    """Return the line so many metres to the left."""
    way = np.gradient(line, axis=0)
    if np.array_equal(line[0], line[-1]):
        way[0] = way[-1] = line[1] - line[-2]
    return np.asarray(line + metres * np.stack((-way[:, 1], way[:, 0]), axis=1) / np.hypot(*way.T)[:, None])


def _pieces(
    surface: pygame.Surface, line: F64, camera: Camera, long: float, colours: tuple[Colour, Colour | None]
) -> None:
    """Draw pieces of equal length along a line, their colours in turn; None leaves a gap."""
    metres = np.concatenate(([0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))))
    count = max(2, 2 * round(metres[-1] / long / 2))
    ends = np.linspace(0.0, metres[-1], count + 1)
    at = camera.pixels(np.stack([np.interp(ends, metres, part) for part in line.T], axis=1)).tolist()
    thick = max(1, round((0.2 if colours[1] else 0.1) * camera.zoom))
    for number, (a, b) in enumerate(pairwise(at)):
        colour = colours[number % 2]
        if colour is not None:
            pygame.draw.line(surface, colour, a, b, thick)
            pygame.draw.aaline(surface, colour, a, b)


def _begin(surface: pygame.Surface, line: F64, width: float, camera: Camera) -> None:
    """Draw chequers across the road where it begins."""
    ahead = (line[1] - line[0]) / math.hypot(*(line[1] - line[0]))
    aside, squares = np.array((-ahead[1], ahead[0])), 8
    size = width / squares
    for row in range(2):
        for column in range(squares):
            corner = line[0] + ahead * (row - 1) * size + aside * (column - squares / 2) * size
            quad = np.array((corner, corner + ahead * size, corner + (ahead + aside) * size, corner + aside * size))
            colour: Colour = (226, 228, 226) if (row + column) % 2 else (26, 28, 32)
            pygame.draw.polygon(surface, colour, camera.pixels(quad).tolist())

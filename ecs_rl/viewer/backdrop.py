"""What stands still behind the bodies: sky, ground, rails, a metre grid and a scale; painted once and kept."""

from __future__ import annotations

import math

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import MOST, line
from ecs_rl.viewer.palette import DIM, EARTH, EARTH_DEEP, EARTH_EDGE, FAINT, NIGHT, RULE, mix
from ecs_rl.viewer.roads import draw_road
from ecs_rl.viewer.scenery import lit, paint_meadow, scenery
from ecs_rl.viewer.view import GroundView, Point

OUTSIDE = 50.0
"""Pixels beyond the edges of the picture."""
SHADES = 10
"""Steps in which the earth gets darker with depth."""


def paint_backdrop(surface: pygame.Surface, shows: tuple[GroundView, Camera], canvas: Canvas) -> None:
    """Paint the whole background of a stage."""
    ground, camera = shows
    land = any(rises(points) for points in ground.lines)
    surface.blit(scenery(ground.backdrop, surface.get_size(), land=land), (0, 0))
    if ground.backdrop == "meadow":
        paint_meadow(surface, camera)
    elif ground.backdrop == "night":
        surface.blit(lit(surface.get_size()), (0, 0), special_flags=pygame.BLEND_RGB_ADD)
        if not land:
            _paint_grid(surface, camera)
    for road in ground.roads:
        draw_road(surface, road, camera)
    for x in ground.limits:
        _limit(surface, camera.pixel((x, 0.0))[0], canvas)
    for rail in ground.rails:
        _rail(surface, camera.pixel(rail[0]), camera.pixel(rail[1]), canvas)
    for points in ground.lines:
        if ground.roads and not rises(points):
            continue  # the edge of a road has a kerb
        _earth(surface, camera.pixels(points), canvas)
    for start, end in ground.walls:
        wide = max(3.0 * canvas.scale, 0.16 * camera.zoom)
        ends = camera.pixel(start), camera.pixel(end)
        line(surface, ends, mix(NIGHT, EARTH, 0.8), wide)
        line(surface, ends, EARTH_EDGE, wide / 2)
    _scale_bar(surface, camera, canvas)


def rises(points: F64) -> bool:
    """Return whether a line goes from left to right, so that there is earth below it."""
    return bool((np.diff(points[:, 0]) > 0).all())


def _paint_grid(surface: pygame.Surface, camera: Camera) -> None:
    """Draw faint lines a round number of metres apart."""
    w, h = surface.get_size()
    step, colour = round_length(90 / camera.zoom), mix(NIGHT, RULE, 0.45)
    (x0, y0), (x1, y1) = camera.metres((0, h)), camera.metres((w, 0))
    for i in range(math.ceil(x0 / step), math.floor(x1 / step) + 1):
        surface.fill(colour, (round(camera.pixel((i * step, 0.0))[0]), 0, 1, h))
    for i in range(math.ceil(y0 / step), math.floor(y1 / step) + 1):
        surface.fill(colour, (0, round(camera.pixel((0.0, i * step))[1]), w, 1))


def round_length(metres: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least as long."""
    power = 10.0 ** math.floor(math.log10(max(metres, 1e-9)))
    return next(power * m for m in (1, 2, 5, 10) if power * m >= metres * (1 - 1e-9))


def _earth(surface: pygame.Surface, line_at: F64, canvas: Canvas) -> None:
    w, h = surface.get_size()
    if len(line_at) < 2 or not np.isfinite(line_at).all():
        return
    points: list[Point] = [tuple(p) for p in line_at.tolist()]
    if rises(line_at):
        points = _across_the_picture(line_at, w)
        depth, corners = max(1.0, h * 0.05), [(points[-1][0], h + 1), (points[0][0], h + 1)]
        for i in range(SHADES):
            colour = mix(EARTH, EARTH_DEEP, (i / (SHADES - 1)) ** 0.6)
            pygame.draw.polygon(surface, colour, [*((x, y + i * depth) for x, y in points), *corners])
    line(surface, points, EARTH_EDGE, 1.8 * canvas.scale)


def _across_the_picture(line_at: F64, width: int) -> list[Point]:
    """Return the part of a line that is seen, from edge to edge: pygame walks through every pixel of a polygon."""
    inside = (line_at[:, 0] > -OUTSIDE) & (line_at[:, 0] < width + OUTSIDE)
    x = np.concatenate(([-OUTSIDE], line_at[inside, 0], [width + OUTSIDE]))
    y = np.clip(np.interp(x, line_at[:, 0], line_at[:, 1]), -MOST, MOST)
    return [(a, b) for a, b in np.stack((x, y), axis=1).tolist()]


def _rail(surface: pygame.Surface, start: Point, end: Point, canvas: Canvas) -> None:
    length = math.hypot(end[0] - start[0], end[1] - start[1])
    if not 0 < length < MOST:
        return
    reach = 9 * canvas.scale / length
    nx, ny = -(end[1] - start[1]) * reach, (end[0] - start[0]) * reach
    ties = max(2, round(length / (22 * canvas.scale)))
    for i in range(1, ties):  # what the rail lies on
        x, y = start[0] + (end[0] - start[0]) * i / ties, start[1] + (end[1] - start[1]) * i / ties
        line(surface, ((x, y), (x + nx * 0.7, y + abs(ny) * 0.7)), mix(NIGHT, EARTH_EDGE, 0.35), 4.0 * canvas.scale)
    line(surface, (start, end), mix(NIGHT, EARTH_EDGE, 0.45), 6.0 * canvas.scale)
    line(surface, (start, end), mix(NIGHT, EARTH_EDGE, 0.95), 2.0 * canvas.scale)
    for x, y in (start, end):
        line(surface, ((x - nx, y - ny), (x + nx, y + ny)), EARTH_EDGE, 3.0 * canvas.scale)


def _limit(surface: pygame.Surface, x: float, canvas: Canvas) -> None:
    if math.isfinite(x) and -10 < x < surface.get_width() + 10:
        dash = canvas.px(7)
        for y in range(canvas.px(32), surface.get_height() - canvas.px(32), 2 * dash):  # words are above and below
            surface.fill(mix(NIGHT, FAINT, 0.65), (round(x), y, canvas.px(1), dash))


def _scale_bar(surface: pygame.Surface, camera: Camera, canvas: Canvas) -> None:
    metres = round_length(60 * canvas.scale / camera.zoom)
    left, y = canvas.px(14), surface.get_height() - canvas.px(14)
    right = left + round(metres * camera.zoom)
    tall = canvas.px(3)
    surface.fill(DIM, (left, y, right - left, canvas.px(1)))
    for x in (left, right):
        surface.fill(DIM, (x, y - tall, canvas.px(1), 2 * tall + canvas.px(1)))
    canvas.write(surface, f"{metres:g} m", (right + canvas.px(7), y), size=SMALL, colour=DIM, face="numbers")

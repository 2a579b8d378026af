"""What stands still behind the bodies: meadow, roads, sky, ground, rails, a metre grid and a scale.

A canvas paints it once and keeps the picture.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import MOST, glow, line, smoothed
from ecs_rl.viewer.palette import DIM, EARTH, EARTH_DEEP, EARTH_EDGE, FAINT, NIGHT, RULE, TEXT, Colour, mix
from ecs_rl.viewer.view import GroundView, Point, RoadView

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
ASPHALT: Colour = (58, 62, 70)
SHOULDER: Colour = (112, 102, 78)
KERBS: tuple[Colour, Colour] = ((206, 206, 200), (196, 86, 40))
PAINT: Colour = (150, 150, 140)
KERB, DASH = 0.7, 0.9
"""Metres of a piece of kerb, and of a dash."""
LEAST = 24.0
"""Pixels of a road's width from which its kerbs and dashes are drawn."""
OUTSIDE = 50.0
"""Pixels beyond the edges of the picture."""
SHADES = 10
"""Steps in which the earth gets darker with depth."""


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

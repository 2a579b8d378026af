"""Bodies, marks and sprites: single ones are drawn as they are, many of a kind from pictures that are kept."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.errors import SceneError
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.draw import MOST, Tile, glow, line, smoothed
from ecs_rl.viewer.objects import LookView, Objects
from ecs_rl.viewer.palette import DUSK, PANEL, YELLOW, Colour, mix
from ecs_rl.viewer.shapes import place
from ecs_rl.viewer.view import Point

LARGEST_SPRITE = 512
"""Pixels of a side that pictures are turned and kept at; larger ones are scaled up from that."""
BEYOND = 2000
"""Pixels of a side from which a sprite is not drawn any more: nearly all of it would be off the screen."""
KEPT_SPRITES = 64
"""Scaled and turned pictures, each of two megabytes at most; turning one anew takes a millisecond."""
Style = tuple[float, float, float]
"""Pixels per metre, the scale of the screen, and the share of a body's colour in its inside."""
WHITE: Colour = (255, 255, 255)
PARTS = 4
"""Into how many parts a pixel is cut each way by the places of kept pictures."""
LARGEST = 192
"""Pixels of a side up to which pictures are kept; larger ones are drawn anew each time, as there are few in sight."""
KEPT = 3000
"""Kept pictures, most of which are of some kilobytes."""
BRIGHT = 0.85
"""Share of a body's colour in its inside."""
GLOW = 0.45
"""Share of an object's colour in the light around it."""
MARK_FILL = 46
"""Opacity of the inside of a mark, of 255."""


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
    if max(size) > LARGEST_SPRITE:
        share = LARGEST_SPRITE / max(size)
        small = turned_sprite(path, (max(1, round(size[0] * share)), max(1, round(size[1] * share))), angle)
        w, h = small.get_size()
        return smoothed(small, (round(w / share), round(h / share)))
    steps = steps_of(size)
    return _sprite(path, size, round(angle / math.tau * steps) % steps)


@lru_cache(maxsize=KEPT_SPRITES)
def _sprite(path: str, size: tuple[int, int], step: int) -> pygame.Surface:
    if not step:
        return smoothed(load_sprite(path), size)
    return pygame.transform.rotozoom(_sprite(path, size, 0), step * 360.0 / steps_of(size), 1.0)


def steps_of(size: tuple[int, int]) -> int:
    """Return into how many angles a turn is cut: the rim of a picture moves about a pixel at a time."""
    return min(max(round(math.pi * math.hypot(*size)), 90), 720)


def turned(points: F64, position: Point, angle: float) -> F64:
    """Return (points, 2) of a body's own axes where they are in the arena."""
    cos, sin = math.cos(angle), math.sin(angle)
    return np.asarray(points @ np.array(((cos, sin), (-sin, cos))) + position)


def draw_objects(surface: pygame.Surface, objects: Objects, camera: Camera, scale: float, chosen: int | None) -> None:
    """Draw all that is here of one look; `chosen` is the number of the one that stands out."""
    look = objects.look
    if look.mark:
        for _, at, angle in objects.seen():
            draw_mark(surface, look, (at, angle), camera, scale)
        return
    if not look.many:
        for number, at, angle in objects.seen():
            draw_body(surface, look, (at, angle), camera, scale, chosen=number == chosen)
        return
    _draw_many(surface, objects, camera, scale)
    if chosen is not None:
        for number, at, angle in objects.seen():
            if number == chosen:
                draw_body(surface, look, (at, angle), camera, scale, chosen=True)


def draw_body(
    surface: pygame.Surface,
    look: LookView,
    pose: tuple[Point, float],
    camera: Camera,
    scale: float,
    *,
    chosen: bool = False,
    bright: float = BRIGHT,
) -> None:
    """Draw a body's sprite, or its shapes filled with an edge; `pose` is its position and its angle."""
    at, angle = pose
    edge = YELLOW if chosen else mix(look.colour, WHITE, 0.12)
    fill: Colour | None = mix(PANEL, look.colour, bright)
    if look.glow:
        shine(surface, look, camera.pixel(at), camera.zoom)
    if draw_sprite(surface, look, at, angle, camera):
        if not chosen:
            return
        fill = None
    width = _edge(camera, scale) * (1.5 if chosen else 1.0)
    for outline in look.outlines:
        points: list[Point] = [tuple(p) for p in camera.pixels(turned(outline, at, angle)).tolist()]
        tile = Tile(points, width + 1, edge, surface.get_clip())
        if fill is not None:
            tile.polygon(points, fill)
            tile.shade()
        tile.stroke(points, edge, width, closed=True)
        tile.put(surface)
    for disc in look.discs:
        middle, rim = turned(np.array((disc.at, (disc.at[0] + disc.radius, disc.at[1]))), at, angle)
        spoke = camera.pixel((rim[0], rim[1])) if look.turns else None
        _draw_disc(surface, disc.radius * camera.zoom, camera.pixel((middle[0], middle[1])), spoke, (fill, edge, width))


def shine(surface: pygame.Surface, look: LookView, at: Point, zoom: float) -> None:
    """Draw the light around an object."""
    glow(surface, at, (look.size + look.glow) * zoom, mix((0, 0, 0), look.colour, GLOW))


def _edge(camera: Camera, scale: float) -> float:
    """Return how many pixels an edge is wide."""
    return min(max(1.6 * scale, camera.zoom * 0.022), 4.0 * scale)


def _draw_disc(
    surface: pygame.Surface,
    radius: float,
    centre: Point,
    spoke: Point | None,
    look: tuple[Colour | None, Colour, float],
) -> None:
    fill, edge, width = look
    corners = ((centre[0] - radius, centre[1] - radius), (centre[0] + radius, centre[1] + radius))
    tile = Tile(corners, width + 1, edge, surface.get_clip())
    if fill is None:
        tile.stroke(_rim(centre, radius), edge, width, closed=True)
    else:
        tile.disc(centre, radius + width / 2, edge)
        tile.disc(centre, max(0.0, radius - width / 2), fill)
        tile.shade()
        if spoke is not None:
            tile.stroke((centre, spoke), edge, width * 0.8)
    tile.put(surface)


def _rim(centre: Point, radius: float, corners: int = 32) -> list[Point]:
    turns = np.linspace(0, 2 * np.pi, corners + 1)[:-1]
    return [(x, y) for x, y in (np.stack((np.cos(turns), np.sin(turns)), axis=1) * radius + centre).tolist()]


def draw_mark(surface: pygame.Surface, look: LookView, pose: tuple[Point, float], camera: Camera, scale: float) -> None:
    """Draw a mark: calmer than a body, its inside seen through."""
    at, angle = pose
    if draw_sprite(surface, look, at, angle, camera):
        return
    edge, width = mix(DUSK, look.colour, 0.7), min(max(1.4 * scale, camera.zoom * 0.05), 3.0 * scale)
    for points, closed in [*((o, True) for o in look.outlines), *((points, False) for points in look.lines)]:
        corners: list[Point] = [tuple(p) for p in camera.pixels(turned(points, at, angle)).tolist()]
        if closed:
            tile = Tile(corners, 1, look.colour, surface.get_clip())
            tile.polygon(corners, look.colour, MARK_FILL)
            tile.put(surface)
        for start, end in zip(corners, corners[1:] + corners[:closed], strict=closed):
            line(surface, (start, end), edge, width)
    for disc in look.discs:
        (middle,) = turned(np.array((disc.at,)), at, angle)
        centre, radius = camera.pixel((middle[0], middle[1])), disc.radius * camera.zoom
        rim = _rim(centre, radius, 32 if radius < LARGEST / 8 else 128)
        tile = Tile(rim, width + 1, look.colour, surface.get_clip())
        tile.disc(centre, radius, look.colour, MARK_FILL)
        tile.stroke(rim, edge, width, closed=True)
        tile.put(surface)


# --- many of a kind ---------------------------------------------------------------------------------------------------


def _draw_many(surface: pygame.Surface, objects: Objects, camera: Camera, scale: float) -> None:
    """Draw the members of a kind, each from the picture of its turn and of its part of a pixel."""
    look, reach = objects.look, reach_of(objects.look, camera.zoom, scale)
    here = objects.here & np.isfinite(objects.position).all(axis=1) & np.isfinite(objects.angle)
    at, angle = camera.pixels(objects.position[here]), objects.angle[here]
    left, top, width, height = surface.get_clip()
    seen = ((at > (left - reach, top - reach)) & (at < (left + width + reach, top + height + reach))).all(axis=1)
    at, angle = at[seen], angle[seen]
    if look.glow and 2 * reach <= LARGEST:
        for x, y in at.tolist():
            shine(surface, look, (x, y), camera.zoom)
    if 2 * reach > LARGEST:
        for position, turn in zip(objects.position[here][seen].tolist(), angle.tolist(), strict=True):
            draw_body(surface, look, ((position[0], position[1]), turn), camera, scale)
        return
    surface.fblits(stamped(look, at, angle, (camera.zoom, scale, BRIGHT)))


def reach_of(look: LookView, zoom: float, scale: float) -> int:
    """Return how many pixels an object of this look reaches from its middle."""
    picture = 0.0 if look.sprite is None else look.sprite.width + math.hypot(*look.sprite.at)
    return math.ceil(min(max(look.size, picture) * zoom + 4 * scale + 2, MOST))


def stamped(look: LookView, at: F64, angle: F64, style: Style) -> list[tuple[pygame.Surface, Point]]:
    """Return a kept picture and its corner for each of (objects, 2) pixels, turned by (objects,) radians."""
    reach = reach_of(look, style[0], style[1])
    steps = steps_of((reach, reach)) if look.turns or look.outlines or look.sprite else 1
    turns = np.rint(angle / math.tau * steps).astype(int) % steps
    fine = np.floor(at * PARTS).astype(int)
    whole, part = fine // PARTS, fine % PARTS
    rows = np.column_stack((whole - reach, turns, part)).tolist()
    return [(_stamp(look, style, turn / steps, (x, y)), (left, top)) for left, top, turn, x, y in rows]


@lru_cache(maxsize=KEPT)
def _stamp(look: LookView, style: Style, turn: float, part: tuple[int, int]) -> pygame.Surface:
    """Return an object turned by a share of a whole turn, its middle in one part of the middle pixel."""
    zoom, scale, bright = style
    reach = reach_of(look, zoom, scale)
    picture = pygame.Surface((2 * reach + 1, 2 * reach + 1), pygame.SRCALPHA)
    picture.fill((*mix(look.colour, WHITE, 0.12), 0))
    middle = reach + (part[0] + 0.5) / PARTS, reach + (part[1] + 0.5) / PARTS
    camera = Camera((0.0, 0.0), zoom, middle)
    draw_body(picture, replace(look, glow=0.0), ((0.0, 0.0), turn * math.tau), camera, scale, bright=bright)
    return picture

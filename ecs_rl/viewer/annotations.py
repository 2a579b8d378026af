"""What is drawn over the bodies of a stage: flames, arrows, sparks, trails, rays, and the value map."""

from __future__ import annotations

import math

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer import palette
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.canvas import FARTHEST, SMALL, Anchor, Canvas
from ecs_rl.viewer.draw import Tile, arrow, arrow_head, glow, line, rounded, smoothed
from ecs_rl.viewer.objects import Objects
from ecs_rl.viewer.view import ContactView, ForceView, MapView, Point, RayView

FLAME: tuple[tuple[float, float, palette.Colour, int], ...] = (
    (1.0, 1.0, palette.VERMILION, 150),
    (0.74, 0.72, palette.ORANGE, 215),
    (0.46, 0.44, palette.YELLOW, 245),
    (0.24, 0.22, (255, 252, 235), 255),
)
"""Length, width, colour and opacity of each layer, the outermost first."""
VELOCITY_SECONDS = 0.3
"""The arrow of a velocity shows how far the body comes in this time."""
TRAIL_PIECES = 14
SPARK: palette.Colour = (255, 226, 150)
SLOW = 0.4
"""Metres per second from which a touch throws sparks."""
RAMP: tuple[palette.Colour, ...] = (
    palette.mix(palette.NIGHT, palette.PURPLE, 0.45),
    palette.mix(palette.PURPLE, palette.BLUE, 0.6),
    palette.mix(palette.BLUE, palette.SKY, 0.5),
    palette.mix(palette.GREEN, palette.YELLOW, 0.35),
    palette.YELLOW,
)
"""From little to much: each lighter than the one before, so that greys tell them apart too."""
TINT = 105
"""Opacity of the map on the arena."""
SCALE = 18
"""Points of height of what says which colour is which value; it lies right below the caption."""


def draw_force(surface: pygame.Surface, force: ForceView, camera: Camera, canvas: Canvas, tick: int) -> None:
    """Draw what an effect does."""
    if force.kind == "thrust":
        _draw_flame(surface, force, camera, tick)
    elif force.kind == "push":
        _draw_push(surface, force, camera, canvas)
    else:
        _draw_twist(surface, force, camera, canvas)


def _draw_flame(surface: pygame.Surface, force: ForceView, camera: Camera, tick: int) -> None:
    """Draw a flame that points away from where it pushes, as long as it is strong, flickering with the ticks."""
    fx, fy = force.force
    strength = math.hypot(fx, fy)
    if not (math.isfinite(strength) and strength > 0):
        return
    flicker = 0.9 + 0.1 * math.sin(tick * 2.1) * math.cos(tick * 0.7)
    length = force.size * min(abs(force.strength), 1.5) * camera.zoom * flicker
    ux, uy = -fx / strength, fy / strength
    x, y = camera.pixel(force.at)
    middle = (x + ux * length * 0.35, y + uy * length * 0.35)
    glow(surface, middle, length * 1.1, (120, 58, 20))
    tile = Tile(_tongue((x, y), (ux, uy), length, length * 0.21), 2, FLAME[0][2], surface.get_clip())
    for long, wide, colour, alpha in FLAME:
        tile.polygon(_tongue((x, y), (ux, uy), length * long, length * 0.21 * wide), colour, alpha)
    tile.put(surface)


def _tongue(base: Point, way: Point, length: float, half: float) -> list[Point]:
    """Return a drop: narrow at the nozzle, widest after a quarter, pointed at the end."""
    left = [(0.0, 0.55), (0.1, 0.85), (0.24, 1.0), (0.42, 0.86), (0.66, 0.48), (1.0, 0.0)]
    (x, y), (ux, uy) = base, way
    shape = left + [(a, -b) for a, b in left[-2::-1]]
    return [(x + ux * a * length - uy * b * half, y + uy * a * length + ux * b * half) for a, b in shape]


def _draw_push(surface: pygame.Surface, force: ForceView, camera: Camera, canvas: Canvas) -> None:
    strength = math.hypot(*force.force)
    if not (math.isfinite(strength) and strength > 0 and force.strength):
        return
    x, y = camera.pixel(force.at)
    length = force.size * abs(force.strength) * camera.zoom
    end = (x + force.force[0] / strength * length, y - force.force[1] / strength * length)
    arrow(surface, (x, y), end, palette.mix(palette.DUSK, palette.WARN, 0.85), 2.4 * canvas.scale)


def _draw_twist(surface: pygame.Surface, force: ForceView, camera: Camera, canvas: Canvas) -> None:
    if not (math.isfinite(force.torque) and force.torque):
        return
    x, y = camera.pixel(force.at)
    radius = force.size * camera.zoom
    sweep = math.copysign(min(0.4 + 2.6 * abs(force.strength), 5.0), force.torque)
    turns = [0.6 + sweep * i / 12 for i in range(13)]
    points = [(x + radius * math.cos(a), y - radius * math.sin(a)) for a in turns]
    tile = Tile(points, 4 * canvas.scale, palette.WARN, surface.get_clip())
    calm = palette.mix(palette.DUSK, palette.WARN, 0.7)
    tile.stroke(points[:-1], calm, 1.8 * canvas.scale)
    tile.put(surface)
    arrow(surface, points[-3], points[-1], calm, 1.8 * canvas.scale)


def draw_velocity(surface: pygame.Surface, body: Objects, camera: Camera, canvas: Canvas) -> None:
    """Draw where a single body will be in a moment, and how fast it is."""
    vx, vy = body.velocity[0].tolist() if len(body.velocity) and body.here[0] else (0.0, 0.0)
    speed = math.hypot(vx, vy)
    if not (math.isfinite(speed) and speed > 0.15):
        return
    x, y = camera.pixel((float(body.position[0, 0]), float(body.position[0, 1])))
    dx, dy = vx * VELOCITY_SECONDS * camera.zoom, -vy * VELOCITY_SECONDS * camera.zoom
    length, end = math.hypot(dx, dy), (x + dx, y + dy)
    if length < 14 * canvas.scale:
        return
    arrow(surface, (x, y), end, palette.mix(palette.DUSK, palette.DIM, 0.9), 1.6 * canvas.scale)
    leftward = dx < -length * 0.5  # the words stand beside the tip, on the side that it points to
    large = max((float(np.abs(outline).max()) for outline in body.look.outlines if outline.size), default=0.0)
    gap = max(14 * canvas.scale, large * camera.zoom + 14 * canvas.scale - abs(dx))
    side: Anchor = "right" if leftward else "left"
    text = f"{speed:.1f} m/s"
    for across, down in ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0)):  # with an edge, to be read over a leg or a flame
        at = (end[0] + (-gap if leftward else gap) + across, end[1] + down)
        colour = palette.NIGHT if across or down else palette.DIM
        canvas.write(surface, text, at, size=SMALL, colour=colour, face="numbers", anchor=side)


def draw_trail(surface: pygame.Surface, trail: F64, colour: palette.Colour, camera: Camera, *, marked: bool) -> None:
    """Draw where a body was, fading with age, in pieces where a point is not finite.

    It fades to the sky, or on `marked` ground to what is there.
    """
    good = np.isfinite(trail).all(axis=1)
    at, known = camera.pixels(trail), np.flatnonzero(good)
    for run in np.split(known, np.flatnonzero(np.diff(known) > 1) + 1):
        if len(run) > 1:
            _draw_piece(surface, at[run], (run[0] / len(trail), (run[-1] + 1) / len(trail)), colour, marked=marked)


def _draw_piece(surface: pygame.Surface, at: F64, youth: Point, colour: palette.Colour, *, marked: bool) -> None:
    """Draw a line without gaps; `youth` is that of its ends, 0 the oldest there is and 1 now."""
    pieces = min(TRAIL_PIECES, len(at) - 1)
    points, below = at.tolist(), (at + 0.7).tolist()
    for i in range(pieces):
        part = slice(i * (len(at) - 1) // pieces, (i + 1) * (len(at) - 1) // pieces + 1)
        behind = _colour_at(surface, points[part.stop - 1]) if marked else palette.DUSK
        shade = palette.mix(behind, colour, 0.75 * (youth[0] + (youth[1] - youth[0]) * ((i + 1) / pieces)) ** 1.4)
        pygame.draw.aalines(surface, shade, False, points[part])
        pygame.draw.aalines(surface, palette.mix(behind, shade, 0.6), False, below[part])


def _colour_at(surface: pygame.Surface, at: list[float]) -> palette.Colour:
    x, y = (min(max(round(p), 0), most - 1) for p, most in zip(at, surface.get_size(), strict=True))
    r, g, b, _ = surface.get_at((x, y))
    return r, g, b


def draw_ray(surface: pygame.Surface, ray: RayView, camera: Camera, canvas: Canvas) -> None:
    """Draw a ray, brighter the nearer it hits, with a dot where it does."""
    near = min(max(ray.nearness if math.isfinite(ray.nearness) else 0.0, 0.0), 1.0)
    start, end = camera.pixel(ray.start), camera.pixel(ray.end)
    if not all(map(math.isfinite, (*start, *end))):
        return
    colour = palette.mix(palette.mix(palette.DUSK, palette.FAINT, 0.5), palette.SKY, near)
    pygame.draw.aaline(surface, colour, start, end)
    if near > 0:
        tile = Tile((end,), 4 * canvas.scale, colour, surface.get_clip())
        tile.disc(end, 2.6 * canvas.scale, colour)
        tile.put(surface)


def draw_contact(surface: pygame.Surface, contact: ContactView, camera: Camera, canvas: Canvas, tick: int) -> None:
    """Draw a soft light where something touches, and sparks if it does so at speed."""
    x, y = camera.pixel(contact.at)
    speed = contact.speed if math.isfinite(contact.speed) else 0.0
    glow(surface, (x, y), (7 + 3 * min(speed, 5.0)) * canvas.scale, (150, 140, 90), 0.5 + min(speed, 1.0) / 2)
    if speed < SLOW or not (math.isfinite(x) and math.isfinite(y)):
        return
    reach = (6 + 3 * min(speed, 4.0)) * canvas.scale
    for i in range(5):
        turn = math.pi * (0.14 + 0.18 * i) + 0.25 * math.sin(tick * 1.7 + i * 2.0)
        ux, uy = math.cos(turn), -math.sin(turn)
        near, far = 0.55 * reach, reach * (0.8 + 0.2 * math.sin(tick + i * 1.3))
        ends = (x + ux * near, y + uy * near), (x + ux * far, y + uy * far)
        line(surface, ends, SPARK, 1.2 * canvas.scale)


def draw_grip(surface: pygame.Surface, grip: tuple[Point, Point], camera: Camera, canvas: Canvas) -> None:
    """Draw the spring between a body and the user's hand."""
    start, end = camera.pixel(grip[0]), camera.pixel(grip[1])
    line(surface, (start, end), palette.YELLOW, 1.6 * canvas.scale)
    tile = Tile((start, end), 7 * canvas.scale, palette.YELLOW, surface.get_clip())
    tile.disc(start, 3.0 * canvas.scale, palette.YELLOW)
    tile.disc(end, 5.0 * canvas.scale, palette.YELLOW)
    tile.put(surface)


def draw_pointer(surface: pygame.Surface, at: Point, name: str, canvas: Canvas) -> None:
    """Draw a pointer that stands on a point from above, and a name over it."""
    x, y = at[0], at[1] - canvas.px(5)
    if not (abs(x) < FARTHEST and abs(y) < FARTHEST):
        return
    size = canvas.px(6)
    for more, colour in ((2, palette.NIGHT), (0, palette.YELLOW)):
        top = y - size * 1.3 - more
        pygame.draw.polygon(surface, colour, [(x, y + more), (x - size - more, top), (x + size + more, top)])
    back = pygame.Rect(0, 0, canvas.width(name, SMALL) + canvas.px(10), canvas.px(16))
    back.midbottom = round(x), round(y - size * 1.3) - canvas.px(4)
    rounded(surface, back, palette.NIGHT, radius=canvas.px(5), alpha=170)
    canvas.write(surface, name, back.center, size=SMALL, colour=palette.YELLOW, anchor="middle")


def tints(values: F64) -> F64:
    """Return (columns, rows, 3) colours of (rows, columns) from the lowest row up, top row first as screens have it."""
    good = values[np.isfinite(values)]
    low, high = (float(good.min()), float(good.max())) if good.size else (0.0, 1.0)
    share = np.nan_to_num((values - low) / max(high - low, 1e-12))
    places = np.linspace(0.0, 1.0, len(RAMP))
    channels = [np.interp(share, places, [colour[i] for colour in RAMP]) for i in range(3)]
    return np.asarray(np.stack(channels, axis=-1)[::-1].swapaxes(0, 1))


def draw_field(surface: pygame.Surface, field: MapView | None, camera: Camera, canvas: Canvas) -> None:
    """Tint the arena by what is expected there, and draw where the best action pushes, if there is a map."""
    if field is None:
        return
    (x0, y0), (x1, y1) = field.bounds
    left, top = camera.pixel((x0, y1))
    right, bottom = camera.pixel((x1, y0))
    area = pygame.Rect(round(left), round(top), round(right - left), round(bottom - top))
    if area.w < 8 or area.h < 8 or area.w > 8000 or area.h > 8000:
        return
    shows = (field, area.topleft, surface.get_size())
    picture = canvas.kept(
        "field", area.size, shows, lambda it: _paint_field(it, field, area, surface, canvas), clear=True
    )
    surface.blit(picture, area)
    place = pygame.Rect(canvas.px(14), canvas.px(31 + 5), canvas.px(120), canvas.px(SCALE - 10))
    _paint_scale(surface, field, place, canvas)


def _paint_field(
    surface: pygame.Surface, field: MapView, area: pygame.Rect, stage: pygame.Surface, canvas: Canvas
) -> None:
    """Paint the tint, and the arrows where they cover neither the caption nor the ribbon."""
    small = pygame.surfarray.make_surface(tints(field.values).astype(np.uint8))
    surface.blit(smoothed(small, surface.get_size()), (0, 0))
    pygame.surfarray.pixels_alpha(surface)[:] = TINT
    free = stage.get_rect().inflate(-canvas.px(20), 0)
    free.y, free.h = canvas.px(56), max(0, free.h - canvas.px(56 + 96))
    surface.set_clip(free.move(-area.x, -area.y))
    draw_arrows(surface, field, surface.get_rect(), canvas, every=(2, 2))
    surface.set_clip(None)


def draw_arrows(
    surface: pygame.Surface, field: MapView, area: pygame.Rect, canvas: Canvas, every: tuple[int, int]
) -> None:
    """Draw where the best action pushes, for one in so many columns and rows."""
    rows, columns = field.values.shape
    clip = surface.get_clip()
    long = 0.62 * min(area.w / columns * every[0], area.h / rows * every[1])
    for row in range(every[1] // 2, rows, every[1]):
        for column in range(every[0] // 2, columns, every[0]):
            dx, dy = field.arrows[row, column].tolist()
            x = area.x + (column + 0.5) / columns * area.w
            y = area.bottom - (row + 0.5) / rows * area.h
            if math.hypot(dx, dy) < 0.05:
                pygame.draw.aacircle(surface, palette.DIM, (x, y), 1.3 * canvas.scale)
                continue
            if not clip.inflate(-long, -long).collidepoint(x, y) or not area.inflate(-long, 0).collidepoint(x, y):
                continue
            tip = (x + dx * long / 2, y - dy * long / 2)
            tail = (x - dx * long / 2, y + dy * long / 2)
            pygame.draw.aaline(surface, palette.DIM, tail, tip)
            pygame.draw.polygon(surface, palette.TEXT, arrow_head(tail, tip, 3.2 * canvas.scale))


def _paint_scale(surface: pygame.Surface, field: MapView, place: pygame.Rect, canvas: Canvas) -> None:
    good = field.values[np.isfinite(field.values)]
    low, high = (float(good.min()), float(good.max())) if good.size else (math.nan, math.nan)
    text = f"expects {low:.4g} to {high:.4g}"
    box = pygame.Rect(place.x - canvas.px(5), place.y - canvas.px(5), place.w + canvas.px(20), place.h + canvas.px(10))
    box.w += canvas.width(text, SMALL)
    rounded(surface, box, palette.PANEL, radius=canvas.px(4), alpha=215)
    ramp = pygame.surfarray.make_surface(tints(np.linspace(0.0, 1.0, 24)[None]).astype(np.uint8))
    surface.blit(smoothed(ramp, place.size), place)
    canvas.write(surface, text, (place.right + canvas.px(8), place.centery), size=SMALL, colour=palette.DIM)

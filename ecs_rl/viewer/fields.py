"""The value map as it is drawn: colours of what an agent expects, arrows of what it does, and the arena tinted so."""

from __future__ import annotations

import math

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import arrow_head, rounded, smoothed
from ecs_rl.viewer.palette import BLUE, DIM, GREEN, NIGHT, PANEL, PURPLE, SKY, TEXT, YELLOW, Colour, mix
from ecs_rl.viewer.view_why import MapView

RAMP: tuple[Colour, ...] = (
    mix(NIGHT, PURPLE, 0.45),
    mix(PURPLE, BLUE, 0.6),
    mix(BLUE, SKY, 0.5),
    mix(GREEN, YELLOW, 0.35),
    YELLOW,
)
"""From little to much: each lighter than the one before, so that greys tell them apart too."""
TINT = 105
"""Opacity of the map on the arena."""
SCALE = 18
"""Points of height of what says which colour is which value; it lies right below the caption."""


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
                pygame.draw.aacircle(surface, DIM, (x, y), 1.3 * canvas.scale)
                continue
            if not clip.inflate(-long, -long).collidepoint(x, y) or not area.inflate(-long, 0).collidepoint(x, y):
                continue
            tip = (x + dx * long / 2, y - dy * long / 2)
            tail = (x - dx * long / 2, y + dy * long / 2)
            pygame.draw.aaline(surface, DIM, tail, tip)
            pygame.draw.polygon(surface, TEXT, arrow_head(tail, tip, 3.2 * canvas.scale))


def _paint_scale(surface: pygame.Surface, field: MapView, place: pygame.Rect, canvas: Canvas) -> None:
    good = field.values[np.isfinite(field.values)]
    low, high = (float(good.min()), float(good.max())) if good.size else (math.nan, math.nan)
    text = f"expects {low:.4g} to {high:.4g}"
    box = pygame.Rect(place.x - canvas.px(5), place.y - canvas.px(5), place.w + canvas.px(20), place.h + canvas.px(10))
    box.w += canvas.width(text, SMALL)
    rounded(surface, box, PANEL, radius=canvas.px(4), alpha=215)
    ramp = pygame.surfarray.make_surface(tints(np.linspace(0.0, 1.0, 24)[None]).astype(np.uint8))
    surface.blit(smoothed(ramp, place.size), place)
    canvas.write(surface, text, (place.right + canvas.px(8), place.centery), size=SMALL, colour=DIM)

"""The grid: all training arenas at once, small, and cheap enough for 128 of them in every frame."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.kit import Kit, part_of
from ecs_rl.viewer.numbers import short
from ecs_rl.viewer.palette import (
    DIM,
    DUSK,
    EARTH,
    EARTH_EDGE,
    FAINT,
    NIGHT,
    PANEL,
    RAISED,
    TEXT,
    YELLOW,
    Colour,
    mix,
    role_colour,
)
from ecs_rl.viewer.text import SMALL
from ecs_rl.viewer.view import GridRole, GridView

GAP = 4
STRIP = 3
"""Height of the line under each arena that tells its return."""


@dataclass(frozen=True)
class Cells:
    """Where each arena is shown: equal cells in rows."""

    columns: int
    rows: int
    width: int
    height: int
    left: int
    top: int
    gap: int

    def rect(self, arena: int) -> pygame.Rect:
        """Return the rectangle of an arena."""
        row, column = divmod(arena, self.columns)
        x, y = self.left + column * (self.width + self.gap), self.top + row * (self.height + self.gap)
        return pygame.Rect(x, y, self.width, self.height)

    def arena_at(self, pixel: tuple[float, float], arenas: int) -> int | None:
        """Return which arena a pixel of the grid's own area belongs to."""
        column = math.floor((pixel[0] - self.left) / (self.width + self.gap))
        row = math.floor((pixel[1] - self.top) / (self.height + self.gap))
        number = row * self.columns + column
        inside = 0 <= column < self.columns and 0 <= number < arenas
        return number if inside and self.rect(number).collidepoint(pixel) else None


def cells(size: tuple[int, int], arenas: int, shape: float, kit: Kit) -> Cells:
    """Return the cells that show so many arenas largest; `shape` is an arena's width over its height."""
    gap, edge = kit.px(GAP), kit.px(12)
    w, h = max(1, size[0] - 2 * edge), max(1, size[1] - 2 * edge)

    def zoom(columns: int) -> float:
        rows = math.ceil(arenas / columns)
        return min((w / columns - gap) / shape, h / rows - gap)

    columns = max(range(1, max(arenas, 1) + 1), key=zoom)
    rows = math.ceil(max(arenas, 1) / columns)
    width, height = max(2, (w + gap) // columns - gap), max(2, (h + gap) // rows - gap)
    height = min(height, max(2, round(width / shape * 1.5)))
    left = (size[0] - columns * (width + gap) + gap) // 2
    top = (size[1] - rows * (height + gap) + gap) // 2
    return Cells(columns, rows, width, height, left, top, gap)


@dataclass
class Grid:
    """Draws the grid and keeps what stands still: the ground of each arena, painted anew only where it changed."""

    _size: tuple[int, int] = (0, 0)
    _still: pygame.Surface = field(default_factory=lambda: pygame.Surface((1, 1)))
    _ground: F64 = field(default_factory=lambda: np.zeros((0, 0, 2, 2)))
    _bounds: object = None

    def draw(self, surface: pygame.Surface, area: pygame.Rect, view: GridView, kit: Kit) -> None:
        """Draw all arenas into an area."""
        arenas = len(view.returns)
        target = part_of(surface, area)
        if target is None or min(area.size) < 8 or not arenas:
            return
        (x0, y0), (x1, y1) = view.bounds
        places = cells(area.size, arenas, max(x1 - x0, 1e-6) / max(y1 - y0, 1e-6), kit)
        camera = Camera.fit(view.bounds, (0, 0, places.width, max(1, places.height - kit.px(STRIP))), margin=1)
        self._keep(area.size, view, places, camera)
        surface.blit(self._still, area)
        for number, role in enumerate(view.roles):
            _draw_role(target, role, role.colour or role_colour(number), places, camera)
        _tell(target, view, places, kit)

    def _keep(self, size: tuple[int, int], view: GridView, places: Cells, camera: Camera) -> None:
        key = (view.bounds, places)
        same = size == self._size and key == self._bounds and self._ground.shape == view.ground.shape
        if not same:
            self._size, self._bounds, self._still = size, key, pygame.Surface(size)
            self._still.fill(NIGHT)
            changed = np.arange(len(view.returns))
        else:
            changed = np.flatnonzero((self._ground != view.ground).any(axis=(1, 2, 3)))
        for arena in changed.tolist():
            cell = self._still.subsurface(places.rect(arena).clip(self._still.get_rect()))
            _paint_cell(cell, view, view.ground[arena], camera)
        self._ground = view.ground.copy()


def _paint_cell(cell: pygame.Surface, view: GridView, ground: F64, camera: Camera) -> None:
    cell.fill(mix(PANEL, DUSK, 0.5))
    w, h = cell.get_size()
    for start, end in view.rails:
        pygame.draw.aaline(cell, mix(PANEL, EARTH_EDGE, 0.6), camera.pixel(start), camera.pixel(end))
    if not len(ground) or not np.isfinite(ground).all():
        return
    at = camera.pixels(ground)
    if (at[:, 1, 0] > at[:, 0, 0]).all() and np.allclose(at[1:, 0], at[:-1, 1]):
        line = np.concatenate((at[:, 0], at[-1:, 1])).tolist()
        line = [[min(0, line[0][0]), line[0][1]], *line, [max(w, line[-1][0]), line[-1][1]]]
        pygame.draw.polygon(cell, EARTH, [*line, [line[-1][0], h], [line[0][0], h]])
        pygame.draw.aalines(cell, EARTH_EDGE, False, line)
        return
    for start, end in at.tolist():
        pygame.draw.aaline(cell, EARTH_EDGE, start, end)


def _draw_role(surface: pygame.Surface, role: GridRole, colour: Colour, places: Cells, camera: Camera) -> None:
    """Draw one role in all arenas; its corners are worked out for all of them at once."""
    arenas = len(role.angle)
    number = np.arange(arenas)
    left = places.left + number % places.columns * (places.width + places.gap)
    top = places.top + number // places.columns * (places.height + places.gap)
    corner = np.stack((left, top), axis=1)
    cos, sin = np.cos(role.angle), np.sin(role.angle)
    turn = np.stack((np.stack((cos, sin), -1), np.stack((-sin, cos), -1)), axis=1)
    middle = camera.pixels(role.position)
    inside = ((middle > 2) & (middle < (places.width - 2, places.height - 2 - STRIP))).all(axis=1)
    shown = np.flatnonzero(inside & np.isfinite(role.angle))
    polygon, edges = pygame.draw.polygon, pygame.draw.aalines
    fill = mix(PANEL, colour, 0.8)
    for outline in role.outlines:
        points = camera.pixels(np.einsum("kc,acd->akd", outline, turn) + role.position[:, None]) + corner[:, None]
        for corners in points[shown].tolist():
            polygon(surface, fill, corners)
            edges(surface, colour, True, corners)
    for disc in role.discs:
        points = camera.pixels(np.einsum("c,acd->ad", np.array(disc.at), turn) + role.position) + corner
        radius = max(1.0, disc.radius * camera.zoom)
        for centre in points[shown].tolist():
            pygame.draw.aacircle(surface, colour, centre, radius)


def _tell(surface: pygame.Surface, view: GridView, places: Cells, kit: Kit) -> None:
    """Draw each arena's return as a line under it, brighten those that have just ended, frame the selected one."""
    returns = np.where(np.isfinite(view.returns), view.returns, 0.0)
    most = max(float(np.abs(returns).max()), 1e-9)
    tall = kit.px(STRIP)
    for arena, (value, ended) in enumerate(zip((returns / most).tolist(), view.ended.tolist(), strict=True)):
        rect = places.rect(arena)
        wide = round(abs(value) * rect.w)
        surface.fill(RAISED, (rect.x, rect.bottom - tall, rect.w, tall))
        # Better is to the right and brighter, worse grows from the right: seen without colour too.
        x = rect.x if value >= 0 else rect.right - wide
        surface.fill(DIM if value >= 0 else FAINT, (x, rect.bottom - tall, wide, tall))
        if ended > 0.02:
            pygame.draw.rect(surface, mix(NIGHT, TEXT, ended), rect, kit.px(1))
    if view.selected is not None and 0 <= view.selected < len(returns):
        rect = places.rect(view.selected)
        pygame.draw.rect(surface, YELLOW, rect.inflate(2, 2), kit.px(2), border_radius=2)
        text = f"{view.selected}  {short(float(returns[view.selected]))}"
        if rect.w > kit.px(110):
            kit.text.draw(surface, text, (rect.x + kit.px(5), rect.y + kit.px(9)), size=SMALL, face="numbers")

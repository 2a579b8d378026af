"""The grid: all training arenas at once, read between two slices of the training, and drawn cheaply in every frame."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.context import SMALL, DrawContext, part_of
from ecs_rl.viewer.draw import bar
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.number_formats import short, signed
from ecs_rl.viewer.palette import (
    DIM,
    DUSK,
    EARTH,
    EARTH_EDGE,
    FAINT,
    NIGHT,
    ORANGE,
    PANEL,
    RAISED,
    SKY,
    TEXT,
    YELLOW,
    Colour,
    mix,
)
from ecs_rl.viewer.view import GridView, Point
from ecs_rl.world import World

GAP = 4
STRIP = 4
"""Height of the line under each arena that tells its return."""
LEAST, MOST_GROWTH = 0.28, 1.8
"""Share of a cell's height that the largest body should have, and how much larger than it is it may be drawn."""
FADE = 0.5
"""Seconds for which an arena shows that its episode has just ended."""
CALM = 0.5
"""Endings per second and arena that may flash brightly; more flash as much more faintly, or all would flicker."""
MEMORY = 1.5
"""Seconds over which endings are counted."""
BRIGHTEST = 0.75
SLOWEST = 0.4
"""Seconds that a line takes to follow its return when episodes last less than that; then it shows their usual one."""
GOOD_BAR, BAD_BAR = mix(PANEL, SKY, 0.75), mix(PANEL, ORANGE, 0.75)


@dataclass(frozen=True)
class Cells:
    """Where each arena is shown: equal cells in rows."""

    columns: int
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


def cells(size: tuple[int, int], arenas: int, shape: float, kit: DrawContext) -> Cells:
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
    return Cells(columns, width, height, left, top, gap)


class Grid:
    """Draws the grid and keeps what stands still: the ground of each arena, painted anew only where it changed."""

    def __init__(self) -> None:
        self._still = pygame.Surface((1, 1))
        self._ground: F64 = np.zeros((0, 0, 2, 2))
        self._key: object = None

    def draw(self, surface: pygame.Surface, area: pygame.Rect, view: GridView, kit: DrawContext) -> None:
        """Draw all arenas into an area."""
        arenas = len(view.bars)
        target = part_of(surface, area)
        if target is None or min(area.size) < 8 or not arenas:
            return
        places = cells(area.size, arenas, view.shape, kit)
        camera = Camera.fit(view.bounds, (0, 0, places.width, max(1, places.height - kit.px(STRIP))), margin=1)
        self._keep(area.size, view, places, camera)
        surface.blit(self._still, area)
        grown = _grown(_placed(view), view, camera.zoom, places.height)
        for look, role in zip(view.looks, grown, strict=True):
            _draw_role(target, role, look.colour, places, camera)
        _tell(target, view, places, kit)

    def _keep(self, size: tuple[int, int], view: GridView, places: Cells, camera: Camera) -> None:
        key = (size, view.bounds, places, view.ground.shape)
        if key == self._key:
            changed = np.flatnonzero((self._ground != view.ground).any(axis=(1, 2, 3)))
        else:
            self._key, self._still, changed = key, pygame.Surface(size), np.arange(len(view.bars))
            self._still.fill(NIGHT)
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


@dataclass
class _Placed:
    """Where one role is in all arenas, metres."""

    outlines: list[F64]
    """Each (arenas, corners, 2)."""
    discs: list[tuple[F64, float]]
    """Middles (arenas, 2), and a radius."""
    middle: F64
    """(arenas, 2)"""


def _placed(view: GridView) -> list[_Placed]:
    """Return each role's corners, worked out for all arenas at once."""
    found = []
    for look, at, angle in zip(view.looks, view.position, view.angle, strict=True):
        cos, sin = np.cos(angle), np.sin(angle)
        turn = np.stack((np.stack((cos, sin), -1), np.stack((-sin, cos), -1)), axis=1)
        outlines = [np.einsum("kc,acd->akd", outline, turn) + at[:, None] for outline in look.outlines]
        discs = [(np.einsum("c,acd->ad", np.array(disc.at), turn) + at, disc.radius) for disc in look.discs]
        found.append(_Placed(outlines, discs, at))
    return found


def _grown(placed: list[_Placed], view: GridView, zoom: float, height: int) -> list[_Placed]:
    """Return bodies that would be specks larger than they are, standing on the same spot; on rails nothing grows."""
    sizes = [float(np.ptp(o, axis=0).max()) for look in view.looks for o in look.outlines if len(o)]
    sizes += [2 * disc.radius for look in view.looks for disc in look.discs]
    grow = min(LEAST * height / max(max(sizes, default=0.0) * zoom, 1e-9), MOST_GROWTH)
    if grow <= 1.0 or view.rails:
        return placed
    foot, head = _ends(placed)
    top = view.bounds[1][1]
    over = np.where(head[:, 1] <= top, np.maximum(0.0, foot[:, 1] + (head - foot)[:, 1] * grow - top), 0.0)
    sunk = np.stack((np.zeros_like(over), over), axis=1)

    def away(points: F64) -> F64:
        base, down = (foot, sunk) if points.ndim == 2 else (foot[:, None], sunk[:, None])
        return np.asarray(base + (points - base) * grow - down)

    return [
        _Placed([away(o) for o in p.outlines], [(away(m), r * grow) for m, r in p.discs], away(p.middle))
        for p in placed
    ]


def _ends(placed: list[_Placed]) -> tuple[F64, F64]:
    """Return (arenas, 2) below and above the first body, where the lowest and the highest of all bodies are."""
    y = [outline[..., 1] for role in placed for outline in role.outlines]
    y += [middle[:, 1:] + (-radius, radius) for role in placed for middle, radius in role.discs]
    heights = np.concatenate(y, axis=1)
    x = placed[0].middle[:, 0]
    return np.stack((x, heights.min(axis=1)), axis=1), np.stack((x, heights.max(axis=1)), axis=1)


def _draw_role(surface: pygame.Surface, role: _Placed, colour: Colour, places: Cells, camera: Camera) -> None:
    """Draw one role in all arenas."""
    number = np.arange(len(role.middle))
    left = places.left + number % places.columns * (places.width + places.gap)
    top = places.top + number // places.columns * (places.height + places.gap)
    corner = np.stack((left, top), axis=1)
    middle = camera.pixels(role.middle)
    inside = ((middle > 2) & (middle < (places.width - 2, places.height - 2 - STRIP))).all(axis=1)
    polygon, edges = pygame.draw.polygon, pygame.draw.aalines
    fill = mix(PANEL, colour, 0.8)
    for outline in role.outlines:
        points = camera.pixels(outline) + corner[:, None]
        for corners in points[inside & np.isfinite(points).all(axis=(1, 2))].tolist():
            polygon(surface, fill, corners)
            edges(surface, colour, True, corners)
    for at, metres in role.discs:
        points = camera.pixels(at) + corner
        radius = max(1.0, metres * camera.zoom)
        for centre in points[inside & np.isfinite(points).all(axis=1)].tolist():
            pygame.draw.aacircle(surface, colour, centre, radius)


# --- returns ----------------------------------------------------------------------------------------------------------


def _bar(surface: pygame.Surface, track: pygame.Rect, value: float, scale: Point) -> None:
    """Draw a return as a line from nothing: to the right what is good, to the left what is bad."""
    low, high = scale
    zero, here = -low / (high - low), (value - low) / (high - low)
    surface.fill(RAISED, track)
    bar(surface, track, zero, here, GOOD_BAR if value >= 0 else BAD_BAR)
    if 0 < zero < 1:
        surface.fill(FAINT, (track.x + round(zero * track.w), track.y, 1, track.h))


def _tell(surface: pygame.Surface, view: GridView, places: Cells, kit: DrawContext) -> None:
    """Draw each arena's return as a line under it, brighten those that have just ended, frame the selected one."""
    bars, tall = view.bars, kit.px(STRIP)
    for arena, (value, ended) in enumerate(zip(bars.tolist(), view.ended.tolist(), strict=True)):
        rect = places.rect(arena)
        _bar(surface, pygame.Rect(rect.x, rect.bottom - tall, rect.w, tall), value, view.scale)
        if ended > 0.02:
            pygame.draw.rect(surface, mix(PANEL, TEXT, ended), rect, kit.px(1))
    if view.selected is not None and 0 <= view.selected < len(bars):
        rect = places.rect(view.selected)
        pygame.draw.rect(surface, YELLOW, rect.inflate(2, 2), kit.px(2), border_radius=2)
        at = (rect.x + kit.px(6), rect.y + kit.px(10))
        text = f"{view.selected}  {signed(float(bars[view.selected]))}"
        if rect.w > kit.px(90):
            kit.write(surface, text, at, size=SMALL - 0.5, face="numbers", width=rect.w - kit.px(10))


def draw_legend(surface: pygame.Surface, area: pygame.Rect, view: GridView, kit: DrawContext) -> None:
    """Say what line and frame of an arena mean, as far as there is room."""
    low, high = view.scale
    reach = f"{short(low)} to {short(high)}" if low < 0 else f"full at {short(high)}"
    reach = f"{view.counted} so far, {reach}"
    x, y = area.x, area.centery
    for kind, text in (("line", reach), ("frame", "episode has just ended")):
        mark = pygame.Rect(x, 0, kit.px(30 if kind == "line" else 16), kit.px(4 if kind == "line" else 11))
        mark.centery = y
        if mark.right + kit.px(6) + kit.width(text, SMALL) > area.right:
            return
        if kind == "line":
            _bar(surface, mark, low + (high - low) * 0.8, view.scale)
        else:
            pygame.draw.rect(surface, DIM, mark, kit.px(1))
        at = (mark.right + kit.px(6), y)
        x = kit.write(surface, text, at, size=SMALL, colour=FAINT).right + kit.px(18)


class GridWatch:
    """Looks at all arenas of a world, and at one of them in particular."""

    def __init__(self, world: World) -> None:
        self.world, self.arenas, self.selected = world, world.arenas, 0
        self._reader = Reader(world)
        self._episode = self._reader.clock.episode.copy()
        self._ended: F64 = np.zeros(world.arenas)
        self._rate: float | None = None
        """Endings per second and arena; None before the second look."""
        self._bars: F64 | None = None
        self._seen = False
        self._framed_at = -1
        """Episodes that had ended in all arenas together when the picture was last reconsidered."""
        self._low = self._high = 0.0

    def view(self, seconds: float) -> GridView:
        """Return all arenas now, so many seconds after the last look."""
        reader, roles = self._reader, self.world.arena.roles
        position, angle = np.stack([role.position for role in roles]), np.stack([role.angle for role in roles])
        self._frame(reader.outline.reach(position, angle), seconds)
        results, flashes = self.world.results.now(), self._flashes(seconds)
        return GridView(
            reader.looks,
            position,
            angle,
            reader.ground.segments.copy(),
            self._followed(results, seconds),
            self._scale(results),
            flashes,
            reader.framing.bounds(),
            reader.framing.shape,
            reader.rails,
            self.selected,
            "score" if self.world.scene.score else "return",
        )

    def _frame(self, reach: F64, seconds: float) -> None:
        """Make room for all arenas; what was visited counts until each of them has ended so many episodes."""
        framing = self._reader.framing
        if not self._seen:
            self._seen = True
            framing.jump(reach)
            return
        ended = int(self._reader.clock.episode.sum())
        if ended - self._framed_at >= self.arenas:
            self._framed_at = ended
            framing.begin()
        framing.see(reach, seconds)

    def _flashes(self, seconds: float) -> F64:
        """Return how brightly each arena shows that its episode has just ended, calmer the more of them end."""
        now = self._reader.clock.episode
        ended = now != self._episode
        if seconds > 0:
            rate = float(np.maximum(0, now - self._episode).sum()) / self.arenas / seconds
            share = 1.0 if self._rate is None else 1.0 - math.exp(-seconds / MEMORY)
            self._rate = rate if self._rate is None else self._rate + (rate - self._rate) * share
        self._episode = now.copy()
        strength = BRIGHTEST * min(1.0, CALM / max(self._rate or 0.0, 1e-9))
        self._ended = np.where(ended, strength, np.maximum(0.0, self._ended - seconds / FADE * strength))
        return self._ended

    def _followed(self, returns: F64, seconds: float) -> F64:
        """Return the returns, smoothed where episodes are too short to be followed by eye."""
        slow = SLOWEST * min(1.0, (self._rate or 0.0) * SLOWEST)
        share = 1.0 - math.exp(-seconds / slow) if slow > 0 else 1.0
        good = np.where(np.isfinite(returns), returns, 0.0)
        before = good if self._bars is None else self._bars
        self._bars = before + (good - before) * share
        return self._bars

    def _scale(self, returns: F64) -> tuple[float, float]:
        """Return the returns at both ends of the lines: full is solved, or the most that was seen."""
        good = returns[np.isfinite(returns)]
        self._low = min(self._low, float(good.min(initial=0.0)))
        self._high = max(self._high, float(good.max(initial=0.0)))
        goal = self.world.scene.solved_at
        if goal is not None and goal > 0:
            return (-goal if self._low < -0.02 * goal else 0.0), float(goal)
        return self._low, max(self._high, self._low + 1e-9)

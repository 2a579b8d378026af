"""The grid: all training arenas at once; a click brings one to the stage."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np
import pygame

from ecs_rl.arrays import F64, Bool
from ecs_rl.viewer.bodies import draw_objects, reach_of, stamped, turned
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.canvas import SMALL, STRIP, Canvas, part_of
from ecs_rl.viewer.draw import bar
from ecs_rl.viewer.number_formats import short, signed
from ecs_rl.viewer.objects import LookView, Objects
from ecs_rl.viewer.palette import DIM, EARTH, EARTH_EDGE, FAINT, NIGHT, ORANGE, PANEL, RAISED, SKY, TEXT, YELLOW, mix
from ecs_rl.viewer.panel import App, Command, Gesture, Hit, Panel
from ecs_rl.viewer.scenery import draw_road, scenery
from ecs_rl.viewer.view import GridView, Point, RoadView

GAP = 4
RETURN_LINE = 4
"""Height of the line under each arena that tells its return."""
LEAST, MOST_GROWTH = 0.28, 1.8
"""Share of a cell's height that the largest body should have, and how much larger than it is it may be drawn."""
MANY_SCALE, MARK_SCALE, BRIGHT = 0.6, 0.6, 0.8
"""How thick the edges of members and marks are, against those on a stage, and how bright bodies are inside."""
SPRITE = 7.0
"""Pixels that a single sprite reaches from its middle at least, however small its body is there."""
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


def cells(size: tuple[int, int], arenas: int, shape: float, canvas: Canvas) -> Cells:
    """Return the cells that show so many arenas largest; `shape` is an arena's width over its height."""
    gap, edge = canvas.px(GAP), canvas.px(12)
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
    """Draws the grid and keeps what stands still: ground and marks of each arena, painted anew where they changed."""

    def __init__(self) -> None:
        self._still = pygame.Surface((1, 1))
        self._stood: F64 = np.zeros((0, 0))
        self._key: object = None

    def draw(self, surface: pygame.Surface, area: pygame.Rect, view: GridView, canvas: Canvas) -> None:
        """Draw all arenas into an area."""
        arenas = len(view.bars)
        target = part_of(surface, area)
        if target is None or min(area.size) < 8 or not arenas:
            return
        places = cells(area.size, arenas, view.shape, canvas)
        camera = Camera.fit(view.bounds, (0, 0, places.width, max(1, places.height - canvas.px(RETURN_LINE))), margin=1)
        below = list(takewhile(lambda objects: objects.look.mark, view.objects))
        self._keep(area.size, view, below, places, camera)
        surface.blit(self._still, area)
        drawn = [_placed(objects, _focus(view)) for objects in view.objects[len(below) :]]
        for role in _grown(drawn, view, camera.zoom, places.height):
            _draw_role(target, role, places, camera)
        _tell(target, view, places, canvas)

    def _keep(self, size: tuple[int, int], view: GridView, below: list[Objects], places: Cells, camera: Camera) -> None:
        key, arenas = (size, view.bounds, places, len(below), view.ground.shape), len(view.bars)
        parts = [
            view.ground,
            _focus(view),
            *(points for points, _, _ in view.roads),
            *(a for t in below for a in (t.position, t.angle, t.here)),
        ]
        stands = np.concatenate([part.reshape(arenas, -1) for part in parts], axis=1)
        if key == self._key:
            changed = np.flatnonzero((self._stood != stands).any(axis=1))
        else:
            self._key, self._still, changed = key, pygame.Surface(size), np.arange(arenas)
            self._still.fill(NIGHT)
        for arena in changed.tolist():
            cell = self._still.subsurface(places.rect(arena).clip(self._still.get_rect()))
            _paint_cell(cell, view, below, arena, camera)
        self._stood = stands


def _focus(view: GridView) -> F64:
    """Return (arenas, 2) the point of each arena from which the bounds count."""
    return np.zeros((len(view.bars), 2)) if view.focus is None else view.focus


def _paint_cell(cell: pygame.Surface, view: GridView, below: list[Objects], arena: int, camera: Camera) -> None:
    """Paint what stands still in an arena: its ground, and the marks that lie on it."""
    cell.blit(scenery(view.backdrop, cell.get_size(), land=_risen(view.ground[arena])), (0, 0))
    x, y = _focus(view)[arena].tolist()
    camera = camera.onto((x, y))
    for points, width, closed in view.roads:
        draw_road(cell, RoadView(points[arena], width, closed), camera)
    for start, end in view.rails:
        pygame.draw.aaline(cell, mix(PANEL, EARTH_EDGE, 0.6), camera.pixel(start), camera.pixel(end))
    if not view.roads:
        _paint_ground(cell, view.ground[arena], camera)
    for objects in below:
        one = Objects(objects.look, objects.position[arena], objects.angle[arena], objects.here[arena])
        draw_objects(cell, one, camera, MARK_SCALE, None)


def _risen(ground: F64) -> bool:
    """Return whether (segments, 2, 2) are one line from left to right, below which there is earth."""
    return (
        len(ground) > 0
        and bool((ground[:, 1, 0] > ground[:, 0, 0]).all())
        and np.allclose(ground[1:, 0], ground[:-1, 1])
    )


def _paint_ground(cell: pygame.Surface, ground: F64, camera: Camera) -> None:
    w, h = cell.get_size()
    if not len(ground) or not np.isfinite(ground).all():
        return
    at = camera.pixels(ground)
    if _risen(ground):
        line = np.concatenate((at[:, 0], at[-1:, 1])).tolist()
        line = [[min(0, line[0][0]), line[0][1]], *line, [max(w, line[-1][0]), line[-1][1]]]
        pygame.draw.polygon(cell, EARTH, [*line, [line[-1][0], h], [line[0][0], h]])
        pygame.draw.aalines(cell, EARTH_EDGE, False, line)
        return
    for start, end in at.tolist():
        pygame.draw.aaline(cell, EARTH_EDGE, start, end)


@dataclass
class _Placed:
    """Where the objects of a look are in all arenas, metres from the focus of each."""

    look: LookView
    outlines: list[F64]
    """Each (arenas, members, corners, 2), open lines among them."""
    discs: list[tuple[F64, float]]
    """Middles (arenas, members, 2), and a radius."""
    middle: F64
    """(arenas, members, 2)"""
    angle: F64
    """(arenas, members)"""
    here: Bool
    """(arenas, members)"""


def _placed(objects: Objects, focus: F64) -> _Placed:
    """Return a look's corners, worked out for all arenas at once; of many of a kind the middles alone."""
    look, at = objects.look, objects.position - focus[:, None]
    if look.many or look.sprite:
        return _Placed(look, [], [], at, objects.angle, objects.here)
    cos, sin = np.cos(objects.angle), np.sin(objects.angle)
    turn = np.stack((np.stack((cos, sin), -1), np.stack((-sin, cos), -1)), axis=-2)
    corners = [*look.outlines, *look.lines]
    outlines = [np.einsum("kc,amcd->amkd", outline, turn) + at[:, :, None] for outline in corners]
    discs = [(np.einsum("c,amcd->amd", np.array(disc.at), turn) + at, disc.radius) for disc in look.discs]
    return _Placed(look, outlines, discs, at, objects.angle, objects.here)


def _grown(placed: list[_Placed], view: GridView, zoom: float, height: int) -> list[_Placed]:
    """Return bodies that would be specks larger than they are, standing on the same spot.

    On rails nothing grows, nor where several bodies move on their own: the ways between them would be wrong.
    """
    looks = [role.look for role in placed]
    if view.rails or sum(look.leads or look.many or look.mark for look in looks) != 1 or looks[0].many:
        return placed
    if any(look.sprite for look in looks):
        return placed
    sizes = [float(np.ptp(o, axis=0).max()) for look in looks for o in look.outlines if len(o)]
    sizes += [2 * disc.radius for look in looks for disc in look.discs]
    grow = min(LEAST * height / max(max(sizes, default=0.0) * zoom, 1e-9), MOST_GROWTH)
    if grow <= 1.0:
        return placed
    foot, head = _ends(placed)
    top = view.bounds[1][1]
    over = np.where(head[:, 1] <= top, np.maximum(0.0, foot[:, 1] + (head - foot)[:, 1] * grow - top), 0.0)
    sunk = np.stack((np.zeros_like(over), over), axis=1)

    def away(points: F64) -> F64:
        wide = (slice(None), *[None] * (points.ndim - 2))
        return np.asarray(foot[wide] + (points - foot[wide]) * grow - sunk[wide])

    return [
        replace(
            p,
            outlines=[away(o) for o in p.outlines],
            discs=[(away(m), r * grow) for m, r in p.discs],
            middle=away(p.middle),
        )
        for p in placed
    ]


def _ends(placed: list[_Placed]) -> tuple[F64, F64]:
    """Return (arenas, 2) below and above the first body, where the lowest and the highest of all bodies are."""
    arenas = len(placed[0].middle)
    y = [outline[..., 1] for role in placed for outline in role.outlines]
    y += [middle[..., 1:] + (-radius, radius) for role in placed for middle, radius in role.discs]
    heights = np.concatenate([part.reshape(arenas, -1) for part in y], axis=1)
    x = placed[0].middle[:, 0, 0]
    return np.stack((x, heights.min(axis=1)), axis=1), np.stack((x, heights.max(axis=1)), axis=1)


def _draw_role(surface: pygame.Surface, role: _Placed, places: Cells, camera: Camera) -> None:
    """Draw the objects of a look in all arenas; what would reach out of its cell is left out."""
    number = np.arange(len(role.middle))
    left = places.left + number % places.columns * (places.width + places.gap)
    top = places.top + number // places.columns * (places.height + places.gap)
    corner = np.stack((left, top), axis=1)[:, None]
    middle, look = camera.pixels(role.middle), role.look
    edge = reach_of(look, camera.zoom, MANY_SCALE) - 3 if look.many or look.sprite else 2
    inside = ((middle > edge) & (middle < (places.width - edge, places.height - edge - RETURN_LINE))).all(
        axis=-1
    ) & role.here
    if look.many and not look.sprite and 2 * edge > places.height:
        _draw_large(surface, role, places, camera)
        return
    if look.many or look.sprite:
        visible = inside & np.isfinite(role.angle)
        zoom = camera.zoom if look.many else max(camera.zoom, SPRITE / max(look.size, 1e-9))
        surface.fblits(stamped(look, (middle + corner)[visible], role.angle[visible], (zoom, MANY_SCALE, BRIGHT)))
        return
    polygon, edges = pygame.draw.polygon, pygame.draw.aalines
    fill, closed = mix(PANEL, look.colour, BRIGHT), len(look.outlines)
    for i, outline in enumerate(role.outlines):
        points = camera.pixels(outline) + corner[:, None]
        for corners in points[inside & np.isfinite(points).all(axis=(-2, -1))].tolist():
            if i < closed and not look.mark:
                polygon(surface, fill, corners)
            edges(surface, look.colour, i < closed, corners)
    for at, metres in role.discs:
        points = camera.pixels(at) + corner
        radius = max(1.0, metres * camera.zoom)
        for centre in points[inside & np.isfinite(points).all(axis=-1)].tolist():
            pygame.draw.aacircle(surface, look.colour, centre, radius, 1 if look.mark else 0)


def _draw_large(surface: pygame.Surface, role: _Placed, places: Cells, camera: Camera) -> None:
    """Draw members that reach beyond their cell, cut off at its edges."""
    look = role.look
    fill = mix(PANEL, look.colour, BRIGHT)
    for arena in range(len(role.middle)):
        cell = places.rect(arena)
        cell.h -= RETURN_LINE
        there = part_of(surface, cell)
        if there is None:
            continue
        visible = role.here[arena] & np.isfinite(role.middle[arena]).all(axis=-1) & np.isfinite(role.angle[arena])
        for at, angle in zip(role.middle[arena][visible].tolist(), role.angle[arena][visible].tolist(), strict=True):
            for outline in look.outlines:
                corners = camera.pixels(turned(outline, (at[0], at[1]), angle)).tolist()
                pygame.draw.polygon(there, fill, corners)
                pygame.draw.aalines(there, look.colour, True, corners)
            for disc in look.discs:
                (middle,) = turned(np.array((disc.at,)), (at[0], at[1]), angle)
                centre = camera.pixel((float(middle[0]), float(middle[1])))
                pygame.draw.aacircle(there, fill, centre, disc.radius * camera.zoom)


# --- returns ----------------------------------------------------------------------------------------------------------


def _bar(surface: pygame.Surface, track: pygame.Rect, value: float, scale: Point) -> None:
    """Draw a return as a line from nothing: to the right what is good, to the left what is bad."""
    low, high = scale
    zero, here = -low / (high - low), (value - low) / (high - low)
    surface.fill(RAISED, track)
    bar(surface, track, zero, here, GOOD_BAR if value >= 0 else BAD_BAR)
    if 0 < zero < 1:
        surface.fill(FAINT, (track.x + round(zero * track.w), track.y, 1, track.h))


def _tell(surface: pygame.Surface, view: GridView, places: Cells, canvas: Canvas) -> None:
    """Draw each arena's return as a line under it, brighten those that have just ended, frame the selected one."""
    bars, tall = view.bars, canvas.px(RETURN_LINE)
    for arena, (value, ended) in enumerate(zip(bars.tolist(), view.ended.tolist(), strict=True)):
        rect = places.rect(arena)
        _bar(surface, pygame.Rect(rect.x, rect.bottom - tall, rect.w, tall), value, view.scale)
        if ended > 0.02:
            pygame.draw.rect(surface, mix(PANEL, TEXT, ended), rect, canvas.px(1))
    if view.selected is not None and 0 <= view.selected < len(bars):
        rect = places.rect(view.selected)
        pygame.draw.rect(surface, YELLOW, rect.inflate(2, 2), canvas.px(2), border_radius=2)
        at = (rect.x + canvas.px(6), rect.y + canvas.px(10))
        text = f"{view.selected}  {signed(float(bars[view.selected]))}"
        if rect.w > canvas.px(90):
            canvas.write(surface, text, at, size=SMALL - 0.5, face="numbers", width=rect.w - canvas.px(10))


def draw_legend(surface: pygame.Surface, area: pygame.Rect, view: GridView, canvas: Canvas) -> None:
    """Say what line and frame of an arena mean, as far as there is room."""
    low, high = view.scale
    reach = f"{short(low)} to {short(high)}" if low < 0 else f"full at {short(high)}"
    reach = f"{view.counted} so far, {reach}"
    x, y = area.x, area.centery
    for kind, text in (("line", reach), ("frame", "episode has just ended")):
        mark = pygame.Rect(x, 0, canvas.px(30 if kind == "line" else 16), canvas.px(4 if kind == "line" else 11))
        mark.centery = y
        if mark.right + canvas.px(6) + canvas.width(text, SMALL) > area.right:
            return
        if kind == "line":
            _bar(surface, mark, low + (high - low) * 0.8, view.scale)
        else:
            pygame.draw.rect(surface, DIM, mark, canvas.px(1))
        at = (mark.right + canvas.px(6), y)
        x = canvas.write(surface, text, at, size=SMALL, colour=FAINT).right + canvas.px(18)


class AllArenas(Panel[GridView]):
    """Watches the arenas of the training, and one of them in particular."""

    name, place = "grid", "ground"

    def __init__(self) -> None:
        self._passed = 0.0
        """Seconds since the last frame."""
        self._painted = Grid()

    def advance(self, app: App, seconds: float) -> None:
        """Let what flashes fade."""
        self._passed += seconds

    def view(self, app: App) -> GridView | None:
        """Return all arenas, None while the grid is closed."""
        seconds, self._passed = self._passed, 0.0
        if app.stage.grid is None:
            return None
        problems = app.stage.grid.reader.places.problems
        while problems:
            app.say(problems.pop(0), "warn")
        return app.stage.grid.view(seconds)

    def act(self, app: App, hit: Hit, gesture: Gesture) -> None:
        """Bring the arena under the mouse to the stage."""
        if gesture.kind == "click" and app.stage.grid is not None and 0 <= hit.index < app.stage.grid.arenas:
            app.stage.grid.selected = hit.index
            self.watch(app)

    def is_on(self, app: App) -> bool:
        """Return whether all arenas are shown."""
        return app.stage.grid is not None

    def mode_hints(self, app: App) -> tuple[tuple[str, str], ...]:
        """Return the keys of the grid."""
        if app.stage.grid is None:
            return ()
        return (("[ ]", "choose"), ("Enter", "watch it"), ("G", "back to the stage"), ("F1", "all keys"))

    def leave(self, app: App) -> None:
        """Go back to the stage."""
        app.stage.grid = None

    def toggle(self, app: App) -> None:
        """Show all arenas, or the stage again."""
        work = app.run.background
        if app.stage.grid is not None:
            app.stage.grid = None
        elif work is not None and work.training.world.engine.picture is not None:
            app.say("the training's environments are not drawn: there is no grid", "warn")
        elif work is not None:
            app.stage.open_grid(work.training.world)

    def watch(self, app: App) -> None:
        """Bring the chosen arena to the stage."""
        if app.stage.grid is not None and app.run.background is not None:
            chosen = app.stage.grid.selected
            app.show.adopt(app.run.background.training.world, chosen, f"training arena {chosen}")
            app.stage.grid = app.stage.selected = None

    keys = (
        Command("Training", "G", "grid", "grid of all training arenas", toggle, (pygame.K_g,), trains=True),
        Command("Training", "", "watch arena", "", watch, trains=True),
    )

    # --- painting ---------------------------------------------------------------------------------------------------

    def arrange(self, canvas: Canvas, view: GridView, room: pygame.Rect) -> None:
        """Say where chips and hints stand: in the line below, for above they would lie over arenas."""
        strip = canvas.rooms["hints"]
        canvas.rooms["chips"] = pygame.Rect(room.x, strip.y, room.w, strip.h)

    def paint(self, canvas: Canvas, view: GridView, room: pygame.Rect) -> None:
        """Paint all arenas and, where hints leave room for it, the legend."""
        canvas.surface.fill(NIGHT, room)
        area = room.copy()
        if "hints" in canvas.panels:
            area.h = max(1, area.h - canvas.px(STRIP))
        self._painted.draw(canvas.surface, area, view, canvas)
        if "legend" in canvas.rooms:
            draw_legend(canvas.surface, canvas.rooms["legend"], view, canvas)
        arenas = len(view.bars)
        places = cells(area.size, arenas, view.shape, canvas)
        canvas.hit(area, "arena", -1, find=lambda at: places.arena_at(at, arenas))

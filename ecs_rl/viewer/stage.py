"""The stage: one arena as a picture, or two to six of them side by side at one scale, so that they can be compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

import numpy as np
import pygame

from ecs_rl.viewer.annotations import (
    draw_contact,
    draw_field,
    draw_force,
    draw_grip,
    draw_pointer,
    draw_ray,
    draw_trail,
    draw_velocity,
)
from ecs_rl.viewer.bodies import draw_objects, turned
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.canvas import LARGE, NORMAL, SMALL, WIDEST, Canvas, part_of
from ecs_rl.viewer.draw import Tile, line, rounded, smoothed
from ecs_rl.viewer.objects import Objects
from ecs_rl.viewer.palette import BAD, DIM, FAINT, GOOD, NIGHT, PANEL, RULE, TEXT, WARN, Colour, mix
from ecs_rl.viewer.particles import draw_particles
from ecs_rl.viewer.scenery import paint_backdrop, round_length
from ecs_rl.viewer.view import DrawnView, GroundView, PaneView, Point, StageView, Tone

TONES: dict[Tone, Colour] = {"plain": TEXT, "good": GOOD, "bad": BAD, "warn": WARN}
PARTED = "  ·  "
"""Stands between the parts of a caption."""
PANE_GAP, PANE_HEAD = 6, 28
"""Pixels between panes, and the height of a pane's head."""


def fitting(stage: StageView, area: pygame.Rect, canvas: Canvas) -> Camera:
    """Return the camera that shows the whole arena in an area whose upper left corner is its origin."""
    top = canvas.px(34)  # the caption is there
    room = (0, top, area.w, max(1, area.h - top))
    return Camera.fit(stage.bounds, room, margin=0 if stage.exact else min(canvas.px(16), area.w // 8))


def draw_stage(
    surface: pygame.Surface,
    area: pygame.Rect,
    stage: StageView,
    camera: Camera,
    canvas: Canvas,
    *,
    name: str = "stage",
    taken: int = 0,
) -> None:
    """Draw one arena into an area.

    `name` tells apart the kept backgrounds of several stages; `taken` pixels to the right of the caption are not free.
    """
    target = part_of(surface, area)
    if target is None:
        return
    if stage.drawn is not None:
        canvas.lay(surface, area, name, stage.drawn, paint_drawn)
        _captions(target, stage, camera, canvas, taken)
        return
    camera = camera.onto(stage.focus)
    below = tuple(takewhile(lambda objects: objects.look.mark, stage.objects))
    canvas.lay(surface, area, name, (stage.ground, camera, below), _paint_still)
    draw_field(target, stage.field, camera, canvas)
    above, selected = stage.objects[len(below) :], stage.selected
    for objects in above:
        for trail in objects.trails:
            draw_trail(target, trail, objects.look.colour, camera, marked=bool(below))
    if stage.particles is not None:
        draw_particles(target, stage.particles, camera, glowing=False)
    for ray in stage.rays:
        draw_ray(target, ray, camera, canvas)
    for force in stage.forces:
        if force.kind == "thrust":
            draw_force(target, force, camera, canvas, stage.tick)
    for start, end in stage.springs:
        draw_spring(target, camera.pixel(start), camera.pixel(end), canvas)
    for objects in above:
        chosen = selected.member if selected is not None and selected.role == objects.look.name else None
        draw_objects(target, objects, camera, canvas.scale, chosen)
    if stage.particles is not None:
        draw_particles(target, stage.particles, camera, glowing=True)
    for hinge in stage.hinges:
        draw_hinge(target, camera.pixel(hinge), camera, canvas)
    _annotate(target, stage, camera, canvas)
    _mark_watched(target, stage, camera, canvas)
    _captions(target, stage, camera, canvas, taken)


def paint_drawn(surface: pygame.Surface, drawn: DrawnView, canvas: Canvas) -> None:
    """Paint what an environment draws of itself below the caption, as large as it fits."""
    picture = drawn.pixels
    surface.fill(NIGHT)
    top = canvas.px(34)
    (w, h), (high, wide) = surface.get_size(), picture.shape[:2]
    scale = min(w / wide, max(1, h - top) / high)
    size = max(1, round(wide * scale)), max(1, round(high * scale))
    scaled = smoothed(pygame.surfarray.make_surface(picture.swapaxes(0, 1)), size)
    surface.blit(scaled, ((w - size[0]) // 2, top + (h - top - size[1]) // 2))


def _paint_still(
    surface: pygame.Surface, shows: tuple[GroundView, Camera, tuple[Objects, ...]], canvas: Canvas
) -> None:
    """Paint what stands still most of the time: the background, and the marks that lie on it."""
    ground, camera, marks = shows
    paint_backdrop(surface, (ground, camera), canvas)
    for objects in marks:
        draw_objects(surface, objects, camera, canvas.scale, None)


def _annotate(surface: pygame.Surface, stage: StageView, camera: Camera, canvas: Canvas) -> None:
    for force in stage.forces:
        if force.kind != "thrust":
            draw_force(surface, force, camera, canvas, stage.tick)
    for contact in stage.contacts:
        draw_contact(surface, contact, camera, canvas, stage.tick)
    for objects in stage.objects:
        if objects.look.leads:
            draw_velocity(surface, objects, camera, canvas)
    if stage.grip is not None:
        draw_grip(surface, stage.grip, camera, canvas)


def _mark_watched(surface: pygame.Surface, stage: StageView, camera: Camera, canvas: Canvas) -> None:
    """Mark the body of the agent whose mind is shown."""
    if stage.watched is None:
        return
    body, name = stage.watched
    for objects in stage.objects:
        places = [place for member, place, _ in objects.seen() if member == body.member]
        if objects.look.name == body.role and places:
            x, y = camera.pixel(places[0])
            draw_pointer(surface, (x, y - min(objects.look.size * camera.zoom, 200.0)), name, canvas)


def scale_bar_end(camera: Camera, canvas: Canvas) -> int:
    """Return how many pixels from the left the scale in the lower corner takes."""
    return canvas.px(14 + 7 + 56) + round(round_length(60 * canvas.scale / camera.zoom) * camera.zoom)


def draw_hinge(surface: pygame.Surface, at: Point, camera: Camera, canvas: Canvas) -> None:
    """Draw the pin that holds two bodies together."""
    radius = min(max(2.0 * canvas.scale, camera.zoom * 0.025), 6 * canvas.scale)
    tile = Tile((at,), radius + 3, TEXT, surface.get_clip())
    tile.disc(at, radius + 1.2, NIGHT)
    tile.disc(at, radius, mix(PANEL, TEXT, 0.85))
    tile.put(surface)


def draw_spring(surface: pygame.Surface, start: Point, end: Point, canvas: Canvas) -> None:
    """Draw a zigzag between two points."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy)
    if not (math.isfinite(length) and length > 0):
        return
    side = 4.0 * canvas.scale
    swing = [0.0, 0.0, *([side, -side] * 5), 0.0, 0.0]
    points = [
        (start[0] + dx * i / 13 - dy / length * s, start[1] + dy * i / 13 + dx / length * s)
        for i, s in enumerate(swing)
    ]
    line(surface, points, DIM, 1.5 * canvas.scale)


@lru_cache(maxsize=8)
def _shade(wide: int, high: int) -> pygame.Surface:
    """Return a strip for words to stand on, darkest at its top, so that no body takes their place."""
    picture = pygame.Surface((wide, high), pygame.SRCALPHA)
    for y in range(high):
        picture.fill((*NIGHT, round(205 * min(1.0, 1.6 * (1.0 - y / high)))), (0, y, wide, 1))
    return picture


def _captions(surface: pygame.Surface, stage: StageView, camera: Camera, canvas: Canvas, taken: int) -> None:
    w, h = surface.get_size()
    x, end = float(canvas.px(14)), w - canvas.px(14) - taken
    surface.blit(_shade(w, canvas.px(34)), (0, 0))
    for number, part in enumerate(stage.caption.split(PARTED)):
        at = (x, canvas.px(19))
        if number:
            x = canvas.write(surface, "·", (x + canvas.px(8), at[1]), size=SMALL + 1, colour=FAINT).right + canvas.px(8)
            at = (x, at[1])
        canvas.write(surface, part, at, size=SMALL + 1, colour=DIM, width=max(0, round(end - x)))
        changes = "." in part  # times and returns do so in every frame, and what follows them stands still
        x += canvas.width(part.translate(WIDEST) if changes else part, SMALL + 1)
        if x + canvas.px(40) > end:
            break
    if not stage.ending:
        return
    colour = TONES[stage.ending_tone]
    room = w - canvas.px(60)
    text, detail = canvas.cut(stage.ending, room, LARGE + 1), canvas.cut(stage.ending_detail, room, NORMAL)
    wide, below = max(canvas.width(text, LARGE + 1), canvas.width(detail)), canvas.px(20) if detail else 0
    box = _clear_place((wide + canvas.px(40), canvas.px(38) + below), (w, h), stage, camera, canvas)
    rounded(surface, box, PANEL, radius=canvas.px(8), edge=mix(PANEL, colour, 0.6), alpha=235)
    middle = box.centery - below // 2
    canvas.write(surface, text, (box.centerx, middle), size=LARGE + 1, colour=colour, anchor="middle")
    canvas.write(surface, detail, (box.centerx, middle + canvas.px(22)), anchor="middle")


def _clear_place(
    size: tuple[int, int], room: tuple[int, int], stage: StageView, camera: Camera, canvas: Canvas
) -> pygame.Rect:
    """Return where a sign hides no body: in the upper third if that is free, else higher or lower."""
    box = pygame.Rect((0, 0), size)
    bodies = [body for objects in stage.objects if (body := _around(objects, camera, canvas)) is not None]
    heights = (0.22, 0.36, 0.62, 0.5, 0.74)
    for share in (*heights, heights[0]):
        box.center = (room[0] // 2, round(room[1] * share) + canvas.px(16))
        if box.collidelist(bodies) < 0:
            break
    return box


def _around(objects: Objects, camera: Camera, canvas: Canvas) -> pygame.Rect | None:
    """Return the rectangle of pixels around a single body."""
    look, body = objects.look, next(iter(objects.seen()), None)
    if body is None or look.many or look.mark:
        return None
    corners = [turned(outline, body[1], body[2]) for outline in look.outlines]
    corners += [turned(np.array((disc.at,)), body[1], body[2]) for disc in look.discs]
    if not corners:
        return None
    at = camera.pixels(np.concatenate(corners))
    if not np.isfinite(at).all() or np.abs(at).max() > 1e6:
        return None
    reach = max((disc.radius for disc in look.discs), default=0.0) * camera.zoom + canvas.px(6)
    low, high = at.min(axis=0) - reach, at.max(axis=0) + reach
    return pygame.Rect(round(low[0]), round(low[1]), round(high[0] - low[0]), round(high[1] - low[1]))


def pane_places(area: pygame.Rect, panes: Sequence[PaneView], canvas: Canvas) -> list[pygame.Rect]:
    """Return where each pane is, its head included: equal rectangles in rows, as large as can be, the last centred."""
    count, gap, head = len(panes), canvas.px(PANE_GAP), canvas.px(PANE_HEAD)
    shape = panes[0].stage.shape

    def size(columns: int) -> tuple[int, int]:
        rows = math.ceil(count / columns)
        return (area.w + gap) // columns - gap, (area.h + gap) // rows - gap

    def zoom(columns: int) -> float:
        w, h = size(columns)
        return min(w / shape, float(h - head))

    columns = max(range(1, count + 1), key=zoom)
    w, h = (max(1, length) for length in size(columns))
    places = [
        pygame.Rect(area.x + i % columns * (w + gap), area.y + i // columns * (h + gap), w, h) for i in range(count)
    ]
    for place in places[count - count % columns :]:
        place.x += -count % columns * (w + gap) // 2
    return places


def _bounds(panes: Sequence[PaneView]) -> tuple[Point, Point]:
    """Return what shows the arenas of all panes."""
    low, high = zip(*(pane.stage.bounds for pane in panes), strict=True)
    return (min(x for x, _ in low), min(y for _, y in low)), (max(x for x, _ in high), max(y for _, y in high))


def pane_camera(area: pygame.Rect, panes: Sequence[PaneView], canvas: Canvas) -> Camera:
    """Return the camera of all panes; it counts pixels from the upper left corner of a pane's stage."""
    w, h = _below_head(pane_places(area, panes, canvas)[0], canvas).size
    top = canvas.px(24)  # the caption is there
    return Camera.fit(
        _bounds(panes), (0, top, w, max(1, h - top)), margin=0 if panes[0].stage.exact else min(canvas.px(6), w // 8)
    )


def stage_of(area: pygame.Rect, panes: Sequence[PaneView], number: int, canvas: Canvas) -> pygame.Rect:
    """Return where a pane's stage is, below its head."""
    return _below_head(pane_places(area, panes, canvas)[number], canvas)


def _below_head(place: pygame.Rect, canvas: Canvas) -> pygame.Rect:
    head = min(canvas.px(PANE_HEAD), place.h - 1)
    return pygame.Rect(place.x, place.y + head, place.w, place.h - head)


def draw_panes(
    surface: pygame.Surface,
    area: pygame.Rect,
    panes: Sequence[PaneView],
    canvas: Canvas,
    camera: Camera | None = None,
    *,
    taken: int = 0,
) -> None:
    """Draw all panes; `taken` pixels to the right of the upper right one's caption are not free."""
    surface.fill(NIGHT, area)
    panes_camera = camera or pane_camera(area, panes, canvas)
    places = pane_places(area, panes, canvas)
    corner = corner_of(places)
    for number, (pane, place) in enumerate(zip(panes, places, strict=True)):
        head = pygame.Rect(place.topleft, (place.w, min(canvas.px(PANE_HEAD), place.h)))
        canvas.lay(surface, head, f"pane {number} head", (pane.title, pane.note, pane.tone), _paint_head)
        stage = _below_head(place, canvas)
        used = taken if number == corner else 0
        draw_stage(surface, stage, pane.stage, panes_camera, canvas, name=f"pane {number}", taken=used)


def corner_of(places: Sequence[pygame.Rect]) -> int:
    """Return the number of the pane at the upper right."""
    return max(range(len(places)), key=lambda i: (places[i].x - places[i].y * 10_000, i))


def _paint_head(surface: pygame.Surface, shows: tuple[str, str, Tone], canvas: Canvas) -> None:
    title, note, tone = shows
    w, h = surface.get_size()
    surface.fill(PANEL)
    surface.fill(RULE, (0, h - canvas.px(1), w, canvas.px(1)))
    edge, y = canvas.px(12), h / 2
    name = canvas.write(surface, title, (edge, y), width=w - 2 * edge)
    colour = DIM if tone == "plain" else TONES[tone]
    room = w - edge - name.right - canvas.px(14)
    canvas.write(surface, note, (w - edge, y), colour=colour, face="numbers", anchor="right", width=room)

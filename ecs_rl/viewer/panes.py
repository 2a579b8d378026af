"""Panes: two to six stages side by side, all at one scale, so that checkpoints can be compared."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pygame

from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.context import DrawContext
from ecs_rl.viewer.palette import DIM, NIGHT, PANEL, RULE
from ecs_rl.viewer.stage import TONES, draw_stage
from ecs_rl.viewer.view import PaneView, Point, Tone

GAP, HEAD = 6, 28
"""Pixels between panes, and the height of a pane's head."""


def pane_places(area: pygame.Rect, panes: Sequence[PaneView], kit: DrawContext) -> list[pygame.Rect]:
    """Return where each pane is, its head included: equal rectangles in rows, as large as can be, the last centred."""
    count, gap, head = len(panes), kit.px(GAP), kit.px(HEAD)
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


def pane_camera(area: pygame.Rect, panes: Sequence[PaneView], kit: DrawContext) -> Camera:
    """Return the camera of all panes; it counts pixels from the upper left corner of a pane's stage."""
    w, h = _below_head(pane_places(area, panes, kit)[0], kit).size
    top = kit.px(24)  # the caption is there
    return Camera.fit(_bounds(panes), (0, top, w, max(1, h - top)), margin=min(kit.px(6), w // 8))


def stage_of(area: pygame.Rect, panes: Sequence[PaneView], number: int, kit: DrawContext) -> pygame.Rect:
    """Return where a pane's stage is, below its head."""
    return _below_head(pane_places(area, panes, kit)[number], kit)


def _below_head(place: pygame.Rect, kit: DrawContext) -> pygame.Rect:
    head = min(kit.px(HEAD), place.h - 1)
    return pygame.Rect(place.x, place.y + head, place.w, place.h - head)


def draw_panes(
    surface: pygame.Surface,
    area: pygame.Rect,
    panes: Sequence[PaneView],
    kit: DrawContext,
    camera: Camera | None = None,
    *,
    taken: int = 0,
) -> None:
    """Draw all panes; `taken` pixels to the right of the upper right one's caption are not free."""
    surface.fill(NIGHT, area)
    shown = camera or pane_camera(area, panes, kit)
    places = pane_places(area, panes, kit)
    corner = corner_of(places)
    for number, (pane, place) in enumerate(zip(panes, places, strict=True)):
        head = pygame.Rect(place.topleft, (place.w, min(kit.px(HEAD), place.h)))
        kit.lay(surface, head, f"pane {number} head", (pane.title, pane.note, pane.tone), _paint_head)
        stage = _below_head(place, kit)
        used = taken if number == corner else 0
        draw_stage(surface, stage, pane.stage, shown, kit, name=f"pane {number}", taken=used)


def corner_of(places: Sequence[pygame.Rect]) -> int:
    """Return the number of the pane at the upper right."""
    return max(range(len(places)), key=lambda i: (places[i].x - places[i].y * 10_000, i))


def _paint_head(surface: pygame.Surface, shows: tuple[str, str, Tone], kit: DrawContext) -> None:
    title, note, tone = shows
    w, h = surface.get_size()
    surface.fill(PANEL)
    surface.fill(RULE, (0, h - kit.px(1), w, kit.px(1)))
    edge, y = kit.px(12), h / 2
    told = kit.text.draw(surface, title, (edge, y), width=w - 2 * edge)
    colour = DIM if tone == "plain" else TONES[tone]
    room = w - edge - told.right - kit.px(14)
    kit.text.draw(surface, note, (w - edge, y), colour=colour, face="numbers", anchor="right", width=room)

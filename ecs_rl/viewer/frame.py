"""One whole frame: the rooms of a window, and its panels painted there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pygame

from ecs_rl.viewer.canvas import STRIP, Canvas
from ecs_rl.viewer.mistakes import Mistakes
from ecs_rl.viewer.palette import NIGHT, PANEL
from ecs_rl.viewer.panel import DOCKS, Panel, Panels, Place
from ecs_rl.viewer.panels import PANELS
from ecs_rl.viewer.regions import Part

T = TypeVar("T")

TOP = 38
"""Height of the captions and chips at the upper edge of the stage."""
DESIGNED = (1280, 720)
"""The size that everything was drawn for; larger windows get larger letters, half as fast as they grow."""


@dataclass(frozen=True)
class Layout:
    """The rectangles of a window."""

    scale: float
    stage: pygame.Rect
    """What the docked panels leave of the window."""
    rooms: Mapping[str, pygame.Rect]
    """The rooms of the docked panels that are shown, by their names."""


def scale_for(size: tuple[int, int], dpi_scale: float = 1.0) -> float:
    """Return how much larger than designed letters are drawn, in quarters so that few fonts are needed."""
    room = min(size[0] / DESIGNED[0], size[1] / DESIGNED[1])
    wanted = max(1.0 + (room - 1.0) / 2, dpi_scale if room >= dpi_scale * 0.6 else 1.0)
    least = 1.0 if room >= 0.6 else 0.9
    return max(least, round(wanted * 4) / 4)


def arrange(size: tuple[int, int], docked: Sequence[Panel[Any]], dpi_scale: float = 1.0) -> Layout:
    """Return the layout of a window: docked panels cut their rooms off, the stage has the rest."""
    free = pygame.Rect(0, 0, max(size[0], 320), max(size[1], 200))
    whole, scale = free.size, scale_for(free.size, dpi_scale)
    rooms = dict[str, pygame.Rect]()
    for panel in sorted(docked, key=lambda panel: DOCKS.index(panel.place)):
        rooms[panel.name], free = _cut(free, panel.place, panel.thickness(scale, whole))
    return Layout(scale, free, rooms)


def _cut(free: pygame.Rect, place: Place, thickness: int) -> tuple[pygame.Rect, pygame.Rect]:
    """Return a room at an edge of what is free, and what is free beside it."""
    room, rest = free.copy(), free.copy()
    if place == "right":
        room.w, rest.w = thickness, free.w - thickness
        room.right = free.right
    else:
        room.h, rest.h = thickness, free.h - thickness
        if place == "top":
            rest.bottom = free.bottom
        else:
            room.bottom = free.bottom
    return room, rest


def kinds_of(panels: Panels) -> dict[str, Any]:
    """Return the type of what each panel shows, by the panel's name; None is a room without a picture."""
    return {panel.name: panel.view_type() | None for panel in panels}


class Painter:
    """Draws frames of one window and keeps what can be used again for the next."""

    def __init__(self, dpi_scale: float = 1.0, panels: Panels = PANELS) -> None:
        self.dpi_scale = dpi_scale
        self.panels, self.kinds = [panel() for panel in panels], kinds_of(panels)
        self.canvas = Canvas()
        self.mistakes = Mistakes()
        self.newest: Layout | None = None
        """The layout of the newest frame."""
        self._last: tuple[pygame.Surface, Layout] | None = None
        """Where the last frame was drawn, None if something floated over its docked panels."""
        self._stands: dict[str, object] = {}
        """What each docked panel shows there."""
        self._focus: Part | None = None
        """The part that had the focus there."""

    def layout(self, size: tuple[int, int], views: Mapping[str, Any]) -> Layout:
        """Return where everything is for a size of window and what its panels show; letters grow with the window."""
        docked = [panel for panel in self.panels if panel.place in DOCKS and panel.name in views]
        layout = arrange(size, docked, self.dpi_scale)
        if layout.scale != self.canvas.scale:
            self.canvas = Canvas(layout.scale)
        return layout

    def forget(self) -> None:
        """Draw everything anew next time: the surface has lost what stood on it."""
        self._last = None

    def draw(self, surface: pygame.Surface, views: Mapping[str, Any], focus: Part | None = None) -> None:
        """Draw what panels show over the whole surface, for a keyboard that works one part."""
        self.newest = layout = self.layout(surface.get_size(), views)
        if self._last != (surface, layout):
            self._stands.clear()
        for part in (self._focus, focus) if focus != self._focus else ():
            self._stands.pop(part[0] if part is not None else "", None)  # its list may scroll
        self._focus = focus
        self.canvas.begin(surface, frozenset(views), focus)
        with np.errstate(all="ignore"):  # what is not a number is left out by whoever draws it
            self._ground(surface, layout.stage, views)
            self._docked(surface, layout, views)
            self._paint_panels(surface, layout.stage, views, "stage")
            self._paint_panels(surface, surface.get_rect(), views, "over")
        self.canvas.end()
        floats = any(panel.place == "over" and panel.name in views for panel in self.panels)
        self._last = None if floats else (surface, layout)

    # --- what there is ----------------------------------------------------------------------------------------------

    def _ground(self, surface: pygame.Surface, room: pygame.Rect, views: Mapping[str, Any]) -> None:
        """Paint what lies below all else; a room without anything is dark."""
        if not {"stage", "grid"} & views.keys():
            surface.fill(NIGHT, room)
        canvas = self.canvas
        strip = pygame.Rect(0, 0, room.w - canvas.px(28), canvas.px(STRIP))
        strip.bottomleft = (room.x + canvas.px(14), room.bottom - canvas.px(1))
        above = pygame.Rect(room.x, room.y, room.w, room.h - (canvas.px(STRIP) if "hints" in views else 0))
        canvas.rooms |= {"chips": pygame.Rect(room.x, room.y, room.w, canvas.px(TOP)), "hints": strip, "clear": above}
        for panel in self.panels:
            if views.get(panel.name) is not None:
                self.mistakes.attempt(panel.name, partial(panel.arrange, canvas, views[panel.name], room), None)
        self._paint_panels(surface, room, views, "ground")

    def _paint_panels(self, surface: pygame.Surface, room: pygame.Rect, views: Mapping[str, Any], place: Place) -> None:
        for panel in self.panels:
            if panel.name in views and panel.place == place:
                self._attempt(surface, panel.name, partial(panel.paint, self.canvas, views[panel.name], room))

    def _attempt(self, surface: pygame.Surface, part: str, draw: Callable[[], object]) -> None:
        """Draw a part; one that makes a mistake is left out, and hides nothing that is drawn after it."""
        clip = surface.get_clip()
        with self.canvas.painting(part):
            self.mistakes.attempt(part, draw, None)
        surface.set_clip(clip)

    def _docked(self, surface: pygame.Surface, layout: Layout, views: Mapping[str, Any]) -> None:
        """Paint the docked panels, but for those that stand on the surface as they are to be."""
        for panel in self.panels:
            room = layout.rooms.get(panel.name)
            if room is None:
                continue
            if panel.name in self._stands and self._stands[panel.name] == views[panel.name]:
                self.canvas.resting(panel.name)
                continue
            self._stands[panel.name] = views[panel.name]
            surface.fill(PANEL, room)
            self._attempt(surface, panel.name, partial(self._dock, panel, views[panel.name], room))

    def _dock(self, panel: Panel[T], view: T | None, room: pygame.Rect) -> None:
        self.canvas.hit(room, "panel")
        if view is not None:
            panel.paint(self.canvas, view, room)

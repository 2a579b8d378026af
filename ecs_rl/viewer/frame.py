"""One whole frame: where everything goes, and the view model drawn there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pygame

from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.canvas import STRIP, Canvas, part_of
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.fields import SCALE
from ecs_rl.viewer.ghost_marks import draw_ghosts
from ecs_rl.viewer.grid import Grid, cells, draw_legend
from ecs_rl.viewer.mistakes import Mistakes
from ecs_rl.viewer.palette import NIGHT, PANEL
from ecs_rl.viewer.panel import DOCKS, Panel, Panels, Place
from ecs_rl.viewer.panel_list import PANELS
from ecs_rl.viewer.panels.floating import (
    chip_at,
    draw_modes,
    draw_toasts,
    modes_width,
)
from ecs_rl.viewer.panels.keys import fitting_hints, hint_at, hints_width, paint_hints
from ecs_rl.viewer.stage import (
    corner_of,
    draw_panes,
    draw_stage,
    fitting,
    pane_camera,
    pane_places,
    scale_bar_end,
    stage_of,
)
from ecs_rl.viewer.view import View

if TYPE_CHECKING:
    from ecs_rl.viewer.frame_codec import Frame

T = TypeVar("T")
Draw = Callable[[pygame.Surface, pygame.Rect, T, Canvas], object]
NO_VIEWS: Mapping[str, Any] = {}

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
    """Return the type of each panel's view, by the panel's name."""
    return {panel.name: panel.view_type() for panel in panels}


class Painter:
    """Draws frames of one window and keeps what can be used again for the next."""

    def __init__(self, dpi_scale: float = 1.0, panels: Panels = PANELS) -> None:
        self.dpi_scale = dpi_scale
        self.panels, self.kinds = [panel() for panel in panels], kinds_of(panels)
        self.canvas = Canvas()
        self.grid, self.mistakes = Grid(), Mistakes()
        self._last: tuple[pygame.Surface, Layout] | None = None
        """Where the last frame was drawn, None if something floated over its docked panels."""
        self._stands: dict[str, object] = {}
        """What each docked panel shows there."""

    def layout(self, size: tuple[int, int], views: Mapping[str, Any]) -> Layout:
        """Return where everything is for a size of window and what its panels show; letters grow with the window."""
        docked = [panel for panel in self.panels if panel.place in DOCKS and panel.name in views]
        layout = arrange(size, docked, self.dpi_scale)
        if layout.scale != self.canvas.scale:
            self.canvas = Canvas(layout.scale)
        return layout

    def home(self, view: View, layout: Layout) -> Camera | None:
        """Return the camera that shows the whole arena; it counts pixels from the corner that `stage_at` gives."""
        if view.panes:
            return pane_camera(self._arena_area(view, layout), view.panes, self.canvas)
        return None if view.stage is None else fitting(view.stage, layout.stage, self.canvas)

    def cell_at(self, view: View, layout: Layout, pixel: tuple[float, float]) -> int | None:
        """Return which arena of the grid, or which pane, is under a pixel of the window."""
        area = self._arena_area(view, layout)
        if view.grid is not None:
            arenas, at = len(view.grid.bars), (pixel[0] - area.x, pixel[1] - area.y)
            return cells(area.size, arenas, view.grid.shape, self.canvas).arena_at(at, arenas)
        places = pane_places(area, view.panes, self.canvas) if view.panes else []
        return next((i for i, place in enumerate(places) if place.collidepoint(pixel)), None)

    def stage_at(self, view: View, layout: Layout, pane: int = 0) -> pygame.Rect:
        """Return where the stage is in the window, or the stage of one of the panes."""
        return stage_of(self._arena_area(view, layout), view.panes, pane, self.canvas) if view.panes else layout.stage

    def forget(self) -> None:
        """Draw everything anew next time: the surface has lost what stood on it."""
        self._last = None

    def paint(self, surface: pygame.Surface, frame: Frame) -> None:
        """Paint a frame over the whole surface."""
        self.draw(surface, frame.view, frame.camera, frame.views)

    def draw(
        self,
        surface: pygame.Surface,
        view: View,
        camera: Camera | None = None,
        views: Mapping[str, Any] = NO_VIEWS,
    ) -> None:
        """Draw a frame over the whole surface; without a camera the whole arena is shown."""
        layout = self.layout(surface.get_size(), views)
        if self._last != (surface, layout):
            self._stands.clear()
        self.canvas.begin(surface)
        with np.errstate(all="ignore"):  # what is not a number is left out by whoever draws it
            self._attempt(surface, "stage", lambda: self._arena(surface, view, layout, camera))
            self._attempt(surface, "hints", lambda: self._modes_and_hints(surface, view, layout, camera))
            self._docked(surface, layout, views)
            self._floating(surface, view, layout, views)
        self.canvas.end()
        floats = any(panel.place == "over" and panel.name in views for panel in self.panels)
        self._last = None if floats else (surface, layout)

    # --- what there is ----------------------------------------------------------------------------------------------

    def _arena_area(self, view: View, layout: Layout) -> pygame.Rect:
        """Return the room of stage, grid or panes; cells of the latter two stay clear of the hints."""
        area = layout.stage.copy()
        if view.hints and (view.grid is not None or view.panes):
            area.h = max(1, area.h - self.canvas.px(STRIP))
        return area

    def _arena(self, surface: pygame.Surface, view: View, layout: Layout, camera: Camera | None) -> None:
        canvas, area = self.canvas, self._arena_area(view, layout)
        canvas.hit(layout.stage, "panel")
        if view.grid is not None:
            surface.fill(NIGHT, layout.stage)
            self.grid.draw(surface, area, view.grid, canvas)
        elif view.panes:
            surface.fill(NIGHT, layout.stage)
            taken = modes_width(view.modes, pane_places(area, view.panes, canvas)[0].w, canvas)
            draw_panes(surface, area, view.panes, canvas, camera, taken=taken)
        elif view.stage is not None:
            shown = camera or fitting(view.stage, area, canvas)
            draw_stage(surface, area, view.stage, shown, canvas, taken=modes_width(view.modes, area.w, canvas))
            target = part_of(surface, area)
            if target is not None:
                draw_ghosts(target, view.ghosts, shown.onto(view.stage.focus), canvas)
        else:
            surface.fill(NIGHT, area)

    def key_at(self, view: View, layout: Layout, camera: Camera | None, pixel: tuple[float, float]) -> str:
        """Return the key that a chip or a hint under a pixel stands for, '' if there is none."""
        found = hint_at(view.hints, self._strip(view, layout, camera), pixel, self.canvas)
        if found or view.grid is not None:
            return found
        area = layout.stage
        if view.panes:
            places = pane_places(self._arena_area(view, layout), view.panes, self.canvas)
            area = self.stage_at(view, layout, corner_of(places))
        return chip_at(area, view.modes, pixel, self.canvas)

    def _strip(self, view: View, layout: Layout, camera: Camera | None) -> pygame.Rect:
        """Return where the hints are."""
        canvas, stage = self.canvas, layout.stage
        strip = pygame.Rect(0, 0, stage.w - canvas.px(28), canvas.px(STRIP))
        strip.bottomleft = (stage.x + canvas.px(14), stage.bottom - canvas.px(1))
        if view.grid is not None and view.hints:
            strip.w -= modes_width(view.modes, stage.w, canvas)
        elif not view.panes and view.stage is not None:
            left = scale_bar_end(camera or fitting(view.stage, stage, canvas), canvas)
            strip.w, strip.x = strip.w - left, strip.x + left
        return strip

    def _modes_and_hints(self, surface: pygame.Surface, view: View, layout: Layout, camera: Camera | None) -> None:
        canvas, stage = self.canvas, layout.stage
        strip = self._strip(view, layout, camera)
        canvas.hit(strip, "panel")
        if view.grid is not None:
            if view.hints:  # there is no room elsewhere: chips would lie over arenas
                draw_modes(surface, stage, view.modes, canvas, strip.centery)
                free = strip.w - hints_width(view.hints, canvas) - canvas.px(20)
                draw_legend(surface, pygame.Rect(strip.x, strip.y, free, strip.h), view.grid, canvas)
        elif view.panes:
            corner = corner_of(pane_places(self._arena_area(view, layout), view.panes, canvas))
            draw_modes(surface, self.stage_at(view, layout, corner), view.modes, canvas)
        else:
            draw_modes(surface, stage, view.modes, canvas)
        if view.grid is None and not view.panes and view.stage is not None:
            wide = hints_width(fitting_hints(view.hints, strip.w, canvas), canvas)
            if wide:
                back = pygame.Rect(
                    strip.right - wide - canvas.px(8),
                    strip.y + canvas.px(2),
                    wide + canvas.px(10),
                    strip.h - canvas.px(4),
                )
                rounded(surface, back, NIGHT, radius=canvas.px(6), alpha=170)
        canvas.lay(surface, strip.clip(surface.get_rect()), "hints", view.hints, paint_hints, clear=True)

    def _floating(self, surface: pygame.Surface, view: View, layout: Layout, views: Mapping[str, Any]) -> None:
        """Draw what lies over the stage, and at last over everything."""
        canvas, area = self.canvas, layout.stage

        def float_over(part: str, shows: T | None, draw: Draw[T], where: pygame.Rect = area) -> None:
            if shows is not None:
                self._attempt(surface, part, lambda: draw(surface, where, shows, canvas))

        rooms = {"stage": area, "over": surface.get_rect()}
        for place, room in rooms.items():
            for panel in self.panels:
                if panel.place == place and panel.name in views:
                    self._attempt(surface, panel.name, partial(panel.paint, canvas, views[panel.name], room))
            if place == "stage":
                self._attempt(surface, "toasts", lambda: self._toasts(surface, view, layout))

    def _toasts(self, surface: pygame.Surface, view: View, layout: Layout) -> None:
        canvas, area = self.canvas, layout.stage
        tinted = view.stage is not None and view.stage.field is not None and not view.panes
        top = self.stage_at(view, layout).y + (canvas.px(SCALE) if tinted else 0)
        above = pygame.Rect(
            area.x, top, area.w, area.bottom - top - (canvas.px(STRIP) - canvas.px(8) if view.hints else 0)
        )
        draw_toasts(surface, above, view.toasts, canvas)

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

    def _dock(self, panel: Panel[T], view: T, room: pygame.Rect) -> None:
        self.canvas.hit(room, "panel")
        panel.paint(self.canvas, view, room)

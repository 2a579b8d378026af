"""One whole frame: the view model laid out and drawn."""

from __future__ import annotations

import numpy as np
import pygame

from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.grid import Grid
from ecs_rl.viewer.kit import Kit
from ecs_rl.viewer.layout import Layout, arrange
from ecs_rl.viewer.palette import NIGHT, PANEL
from ecs_rl.viewer.panels import (
    both_fit,
    draw_help,
    draw_inspector,
    draw_learning,
    draw_mind,
    draw_modes,
    draw_profile,
    draw_status,
    draw_toasts,
    modes_width,
)
from ecs_rl.viewer.stage import draw_stage, fitting
from ecs_rl.viewer.view import View


class Painter:
    """Draws frames of one window and keeps what can be used again for the next."""

    def __init__(self, dpi_scale: float = 1.0) -> None:
        self.dpi_scale = dpi_scale
        self.kit = Kit()
        self.grid = Grid()

    def layout(self, size: tuple[int, int], *, mind: bool = True, learning: bool = True) -> Layout:
        """Return where everything is for a size of window; letters change their size with it."""
        layout = arrange(size, mind=mind, learning=learning, dpi_scale=self.dpi_scale)
        if layout.scale != self.kit.scale:
            self.kit = Kit(layout.scale)
        return layout

    def home(self, view: View, layout: Layout) -> Camera | None:
        """Return the camera that shows the whole arena; it counts pixels from the stage's upper left corner."""
        return None if view.stage is None else fitting(view.stage, layout.stage, self.kit)

    def draw(self, surface: pygame.Surface, view: View, layout: Layout, camera: Camera | None = None) -> None:
        """Draw a frame over the whole surface; without a camera the whole arena is shown."""
        with np.errstate(all="ignore"):  # what is not a number is left out by whoever draws it
            self._arena(surface, view, layout, camera)
            self._panels(surface, view, layout)
            self._floating(surface, view, layout)

    def _arena(self, surface: pygame.Surface, view: View, layout: Layout, camera: Camera | None) -> None:
        kit = self.kit
        if view.grid is not None:
            surface.fill(NIGHT, layout.stage)
            self.grid.draw(surface, layout.stage, view.grid, kit)
        elif view.stage is not None:
            shown = camera or fitting(view.stage, layout.stage, kit)
            draw_stage(surface, layout.stage, view.stage, shown, kit, taken=modes_width(view.modes, kit))
        else:
            surface.fill(NIGHT, layout.stage)

    def _floating(self, surface: pygame.Surface, view: View, layout: Layout) -> None:
        kit = self.kit
        if view.grid is None:
            draw_modes(surface, layout.stage, view.modes, kit)
        if view.profile is not None and (view.inspector is None or both_fit(layout.stage, kit)):
            draw_profile(surface, layout.stage, view.profile, kit)
        if view.inspector is not None:
            draw_inspector(surface, layout.stage, view.inspector, kit)
        draw_toasts(surface, layout.stage, view.toasts, kit)
        if view.help is not None:
            draw_help(surface, view.help, kit)

    def _panels(self, surface: pygame.Surface, view: View, layout: Layout) -> None:
        draw_status(surface, layout.status, view.status, self.kit)
        for area, panel in ((layout.mind, view.mind), (layout.learning, view.learning)):
            if area is not None and panel is None:
                surface.fill(PANEL, area)
        if layout.mind is not None and view.mind is not None:
            draw_mind(surface, layout.mind, view.mind, self.kit)
        if layout.learning is not None and view.learning is not None:
            draw_learning(surface, layout.learning, view.learning, self.kit)

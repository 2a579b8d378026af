"""The value map of two numbers that are no place, as a small plot in a corner of the stage."""

from __future__ import annotations

import math

import numpy as np
import pygame

from ecs_rl.viewer.annotations import draw_arrows, tints
from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import smoothed
from ecs_rl.viewer.palette import DIM, FAINT, NIGHT, PANEL, RULE, TEXT
from ecs_rl.viewer.panel import App, Panel
from ecs_rl.viewer.view import MapView

WIDE, TALL, EDGE = 210, 147, 30
"""Size of the plot, and the room around it."""


class ValuePlot(Panel[MapView]):
    """Shows what the agent expects over two of the numbers that it sees."""

    name = "plot"

    def view(self, app: App) -> MapView | None:
        """Return the map, None unless somebody asks for it."""
        asked = app.show.overlay.map if app.stage.is_single else None
        return None if asked is None or asked.on_stage else asked

    def paint(self, canvas: Canvas, view: MapView, room: pygame.Rect) -> None:
        """Paint the map, and a dot where the numbers are now."""
        edge, free = canvas.px(EDGE), canvas.free(room)
        free.w = room.w // 2 - (free.x - room.x)
        card = canvas.place_in(free, "top left", (canvas.px(WIDE) + 2 * edge, canvas.px(TALL) + 2 * edge))
        if card is None:
            return
        canvas.lay(canvas.surface, card, self.name, view, _paint)
        area = card.inflate(-2 * edge, -2 * edge)
        (x0, y0), (x1, y1) = view.bounds
        x = area.x + (view.here[0] - x0) / max(x1 - x0, 1e-12) * area.w
        y = area.bottom - (view.here[1] - y0) / max(y1 - y0, 1e-12) * area.h
        if math.isfinite(x) and math.isfinite(y) and area.inflate(4, 4).collidepoint(x, y):
            pygame.draw.aacircle(canvas.surface, NIGHT, (x, y), canvas.px(5))
            pygame.draw.aacircle(canvas.surface, TEXT, (x, y), canvas.px(3.5))


def _paint(surface: pygame.Surface, view: MapView, canvas: Canvas) -> None:
    surface.fill(PANEL)
    pygame.draw.rect(surface, RULE, surface.get_rect(), canvas.px(1))
    canvas.hit(surface.get_rect(), "panel")
    area = surface.get_rect().inflate(-2 * canvas.px(EDGE), -2 * canvas.px(EDGE))
    small = pygame.surfarray.make_surface(tints(view.values).astype(np.uint8))
    surface.blit(smoothed(small, area.size), area)
    draw_arrows(surface, view, area, canvas, every=(3, 3))
    (x0, y0), (x1, y1) = view.bounds
    below, left = area.bottom + canvas.px(12), area.x
    canvas.write(surface, f"{x0:.3g}", (left, below), size=SMALL - 1, colour=FAINT, face="numbers")
    canvas.write(
        surface, f"{x1:.3g}", (area.right, below), size=SMALL - 1, colour=FAINT, face="numbers", anchor="right"
    )
    for number, y in ((f"{y0:.3g}", area.bottom - canvas.px(6)), (f"{y1:.3g}", area.y + canvas.px(6))):
        canvas.write(
            surface, number, (area.x - canvas.px(3), y), size=SMALL - 2, colour=FAINT, face="numbers", anchor="right"
        )
    canvas.write(
        surface, view.names[0], (area.centerx, below), size=SMALL, colour=DIM, anchor="middle", width=area.w // 2
    )
    canvas.write(surface, view.names[1], (left, area.y - canvas.px(14)), size=SMALL, colour=DIM, width=area.w // 2)
    good = view.values[np.isfinite(view.values)]
    text = f"expects {good.min():.3g} to {good.max():.3g}" if good.size else "expects nothing"
    canvas.write(surface, text, (area.right, area.y - canvas.px(14)), size=SMALL - 0.5, colour=FAINT, anchor="right")

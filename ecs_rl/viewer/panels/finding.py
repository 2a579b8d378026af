"""The finding: what is wrong with the training and what to do about it, between the stage and the drawer."""

from __future__ import annotations

import pygame

from ecs_rl.session.diagnosis import Finding
from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.palette import DIM, PANEL, TEXT, WARN, mix
from ecs_rl.viewer.panel import App, Gesture, Hit, Panel

LINE, EDGE = 18, 14
SIGN = 16
"""Width of the sign before the words."""


class FindingLine(Panel[Finding]):
    """Shows what the diagnosis of the training has found, until a click hides it."""

    name = "finding"
    place = "line"
    filmed = False

    def __init__(self) -> None:
        self.hidden = set[str]()
        """The names of the findings that were clicked away."""

    def view(self, app: App) -> Finding | None:
        """Return what is wrong, unless the user has hidden it."""
        finding = None if app.run.background is None else app.run.background.training.finding
        return None if finding is None or finding.name in self.hidden else finding

    def thickness(self, scale: float, size: tuple[int, int]) -> int:
        """Return the height of two lines."""
        return round((2 * LINE + 8) * scale)

    def act(self, app: App, hit: Hit, gesture: Gesture) -> None:
        """Hide the finding until there is another one."""
        finding = self.view(app)
        if gesture.kind == "click" and finding is not None:
            self.hidden.add(finding.name)

    def paint(self, canvas: Canvas, view: Finding, room: pygame.Rect) -> None:
        """Paint what is wrong in one line, and what to do in another."""
        if room.w > canvas.px(120):
            canvas.lay(canvas.surface, room, self.name, view, _paint)


def _paint(surface: pygame.Surface, finding: Finding, canvas: Canvas) -> None:
    w, h = surface.get_size()
    surface.fill(mix(PANEL, WARN, 0.14))
    surface.fill(mix(PANEL, WARN, 0.6), (0, 0, canvas.px(3), h))
    left, right = canvas.px(EDGE), w - canvas.px(EDGE)
    first, second = h / 2 - canvas.px(LINE) / 2, h / 2 + canvas.px(LINE) / 2
    _sign(surface, (left + canvas.px(6), first), canvas)
    x = left + canvas.px(SIGN) + canvas.px(4)
    hide = canvas.write(surface, "click hides it", (right, first), size=SMALL - 0.5, colour=DIM, anchor="right")
    x += canvas.write(surface, f"{finding.name}:", (x, first), size=SMALL + 0.5, colour=WARN).w + canvas.px(6)
    canvas.write(surface, finding.told, (x, first), size=SMALL + 0.5, colour=TEXT, width=hide.left - canvas.px(10) - x)
    x = left + canvas.px(SIGN) + canvas.px(4)
    cure, room = f"try: {finding.cure}", right - x
    link = canvas.width(finding.link, SMALL - 0.5) + canvas.px(16)
    if link + canvas.width(cure, SMALL + 0.5) < room:  # the cure matters more than the link
        canvas.write(surface, finding.link, (right, second), size=SMALL - 0.5, colour=DIM, anchor="right")
    canvas.write(surface, cure, (x, second), size=SMALL + 0.5, colour=mix(PANEL, TEXT, 0.8), width=room)


def _sign(surface: pygame.Surface, middle: tuple[float, float], canvas: Canvas) -> None:
    """Draw a triangle with a mark in it."""
    (x, y), r = middle, 7 * canvas.scale
    corners = [(x, y - r), (x + r, y + r * 0.8), (x - r, y + r * 0.8)]
    pygame.draw.polygon(surface, WARN, corners)
    pygame.draw.aalines(surface, WARN, True, corners)
    dark, wide = mix(PANEL, WARN, 0.1), max(1, canvas.px(1.6))
    surface.fill(dark, (round(x - wide / 2), round(y - r * 0.35), wide, round(r * 0.6)))
    surface.fill(dark, (round(x - wide / 2), round(y + r * 0.42), wide, wide))

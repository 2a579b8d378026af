"""The ways not gone, as they are drawn on the stage."""

from __future__ import annotations

import numpy as np
import pygame

from ecs_rl.arrays import F64
from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.canvas import SMALL, Canvas
from ecs_rl.viewer.draw import line, rounded
from ecs_rl.viewer.palette import DIM, NIGHT, PANEL, TEXT, Colour, mix, role_colour
from ecs_rl.viewer.stage import TONES
from ecs_rl.viewer.view_why import GhostView

FARTHEST = 20_000
"""Pixels; what is further off is left out."""


def draw_ghosts(surface: pygame.Surface, ghosts: tuple[GhostView, ...], camera: Camera, canvas: Canvas) -> None:
    """Draw the ways as dots, the policy's own as a line, each with its name where it comes to after a second."""
    taken: list[pygame.Rect] = []
    for number, ghost in reversed(list(enumerate(ghosts))):
        colour = role_colour(number - 1) if ghost.name else TEXT
        ways = [camera.pixels(path) for path in ghost.paths]
        ways = [at for at in ways if len(at) > 1 and np.isfinite(at).all() and np.abs(at).max() < FARTHEST]
        for at in ways:
            _draw_way(surface, at, colour, canvas, own=not ghost.name)
        if ways:
            taken.append(_draw_end(surface, ghost, (ways[0][-1], colour), canvas, taken))


def _draw_way(surface: pygame.Surface, at: F64, colour: Colour, canvas: Canvas, *, own: bool) -> None:
    points = [(float(x), float(y)) for x, y in at]
    if own:
        line(surface, points, colour, 1.6 * canvas.scale)
        return
    step = max(1, round(len(points) / 16))
    for x, y in points[step::step]:
        pygame.draw.aacircle(surface, NIGHT, (x, y), 2.6 * canvas.scale)
        pygame.draw.aacircle(surface, colour, (x, y), 1.8 * canvas.scale)


def _draw_end(
    surface: pygame.Surface, ghost: GhostView, end: tuple[F64, Colour], canvas: Canvas, taken: list[pygame.Rect]
) -> pygame.Rect:
    """Draw a way's name, and a cross where the episode ends on it; return where the name stands, clear of others."""
    (x, y), colour = end[0].tolist(), end[1]
    if ghost.tone is not None:
        size, edge = canvas.px(4), TONES[ghost.tone] if ghost.tone != "plain" else DIM
        for dy in (size, -size):
            pygame.draw.aaline(surface, edge, (x - size, y - dy), (x + size, y + dy), canvas.px(2))
    name = ghost.name or "as it would"
    box = pygame.Rect(0, 0, canvas.width(name, SMALL) + canvas.px(10), canvas.px(16))
    box.midleft = round(x) + canvas.px(8), round(y)
    box.clamp_ip(surface.get_rect())
    for _ in taken:
        hit = box.collidelist(taken)
        if hit < 0:
            break
        box.top = taken[hit].bottom + canvas.px(2)
    rounded(surface, box, PANEL, radius=canvas.px(4), edge=mix(PANEL, colour, 0.6), alpha=215)
    canvas.write(surface, name, box.center, size=SMALL, colour=colour, anchor="middle")
    return box

"""A moment of joy: confetti falls over the stage once the scene is solved."""

from __future__ import annotations

import math

import numpy as np
import pygame

from ecs_rl.viewer.canvas import LARGE, Canvas
from ecs_rl.viewer.draw import rounded
from ecs_rl.viewer.palette import BLUE, GOOD, GREEN, ORANGE, PANEL, PURPLE, SKY, YELLOW, mix
from ecs_rl.viewer.panel import App, Panel

PIECES = 140
"""Of confetti."""
LASTS = 3.5
"""Seconds that it takes them to fall."""


def is_free(app: App) -> bool:
    """Return whether a surprise may take the stage: nothing else is there, and nobody looks or holds closely."""
    show, stage = app.show, app.stage
    is_held = show.paused or show.hand.role is not None or stage.hands is not None
    return stage.is_single and stage.aside is None and not (is_held or show.resting or "tour" in app.open_panels)


class Joy(Panel[float]):
    """Celebrates a scene that was solved while the window was open."""

    name = "joy"

    def __init__(self) -> None:
        self._was_solved: bool | None = None
        """Whether the scene was solved when this looked last; None before the first look."""
        self._waits = False
        """It was solved, and is to be celebrated once the stage is free."""
        self._seconds = 0.0
        """Since the celebration began."""

    def look(self, app: App, seconds: float) -> None:
        """Notice that the training solves its scene; after the celebration compare with the untrained policy."""
        solved = app.run.background is not None and app.run.background.training.solved
        if solved and self._was_solved is False:
            self._waits = True
            app.say("solved!" if is_free(app) else "solved! B shows it untrained and now", "good")
        self._was_solved = solved
        if self.name in app.open_panels:
            self._seconds += seconds
            if self._seconds >= LASTS:
                self.leave(app)
                if is_free(app) and app.run.untrained is not None:
                    app.do("before and after")
        elif self._waits and is_free(app):
            self._waits, self._seconds = False, 0.0
            app.open_panels |= {self.name}

    def view(self, app: App) -> float | None:
        """Return the seconds since the celebration began, None while there is none."""
        return self._seconds if self.name in app.open_panels else None

    def paint(self, canvas: Canvas, view: float, room: pygame.Rect) -> None:
        """Let confetti fall over the stage, and say that it is solved."""
        surface = canvas.surface
        chance = np.random.default_rng(7)  # always the same: it is a picture, and nothing that learns sees it
        x, late, sway, turn = (chance.random(PIECES) for _ in range(4))
        clip = surface.get_clip()
        surface.set_clip(room.clip(clip))
        colours = (SKY, ORANGE, GREEN, YELLOW, BLUE, PURPLE)
        for i in range(PIECES):
            done = (view - late[i]) / (LASTS - 1.0)
            if not 0.0 < done < 1.0:
                continue
            at_x = room.x + x[i] * room.w + math.sin(6.0 * (done + sway[i])) * 14 * canvas.scale
            at_y = room.y + done * room.h
            half_w, half_h = 4.0 * canvas.scale, 2.5 * canvas.scale * math.cos(14.0 * (done + turn[i]))
            angle = 5.0 * (done + turn[i])
            ux, uy = math.cos(angle), math.sin(angle)
            corners = [
                (at_x + a * half_w * ux - b * half_h * uy, at_y + a * half_w * uy + b * half_h * ux)
                for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))
            ]
            pygame.draw.polygon(surface, colours[i % len(colours)], corners)
        surface.set_clip(clip)
        if view < LASTS - 0.5 and room.w > canvas.px(160):
            box = pygame.Rect(0, 0, canvas.width("Solved!", LARGE + 10) + canvas.px(48), canvas.px(56))
            box.center = (room.centerx, room.y + round(room.h * 0.3))
            rounded(surface, box, PANEL, radius=canvas.px(12), edge=mix(PANEL, GOOD, 0.8), alpha=235)
            canvas.write(surface, "Solved!", box.center, size=LARGE + 10, colour=GOOD, anchor="middle")

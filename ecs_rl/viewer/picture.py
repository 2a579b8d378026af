"""A world's arenas as arrays of pixels: for whoever wants a picture and has no window."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pygame
from numpy.typing import NDArray

from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.live.screen import Display
from ecs_rl.viewer.stage import draw_stage, fitting
from ecs_rl.world import World

SIZE = (960, 540)
"""Pixels."""


class Picture:
    """Draws one arena at a time, the first one with its trails; `look` after every tick."""

    def __init__(self, world: World, size: tuple[int, int] = SIZE) -> None:
        pygame.font.init()
        self.reader, self.surface, self.canvas = Reader(world), pygame.Surface(size), Canvas(1.0)
        self.display: Display | None = None
        """The window of `show`, once it is open."""
        self._due = 0.0
        self.look()

    def look(self) -> None:
        """Note where objects are."""
        self.reader.follow(0)

    def draw(self, arena: int, surface: pygame.Surface) -> None:
        """Draw an arena onto a surface."""
        stage, area = self.reader.stage(arena), surface.get_rect()
        draw_stage(surface, area, stage, fitting(stage, area, self.canvas), self.canvas, name=f"arena {arena}")

    def pixels(self, arena: int) -> NDArray[np.uint8]:
        """Return an arena as (height, width, 3) numbers from 0 to 255; a copy."""
        self.draw(arena, self.surface)
        return np.ascontiguousarray(pygame.surfarray.array3d(self.surface).swapaxes(0, 1))

    def show(self, arena: int, seconds: float) -> None:
        """Show an arena in a window, not before the last picture has stood for so long."""
        if self.display is None:
            self.display = Display(self.reader.world.scene.name, SIZE)
        self.display.events()
        self.draw(arena, self.display.surface)
        pygame.time.wait(max(0, round(1000 * (self._due - perf_counter()))))
        self.display.flip()
        self._due = max(self._due, perf_counter()) + seconds

    def close(self) -> None:
        """Take the window away."""
        if self.display is not None:
            self.display.close()
            self.display = None

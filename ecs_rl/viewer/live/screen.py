"""A screen: frames are painted in a window, and what the user does there comes back as inputs.

`play.py` calls it directly; a training has it in a process of its own, behind `ScreenProcess`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pygame

from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.live.display import Display
from ecs_rl.viewer.panel import Gesture, Panels
from ecs_rl.viewer.panel_list import PANELS
from ecs_rl.viewer.pointer import OF_MOUSE, Pointer
from ecs_rl.viewer.reports import Report, Reports
from ecs_rl.viewer.tips import ASK, Tips, draw_tip

if TYPE_CHECKING:
    from ecs_rl.viewer.frame_codec import Frame

Input = pygame.event.Event | Gesture | Report
"""What the user does: keys, gamepads and the window by pygame's events, the mouse by gestures; and reports."""
RESIZED = (pygame.WINDOWRESIZED, pygame.WINDOWSIZECHANGED)


class Screen:
    """Paints in one display, and knows what the mouse hits in the frame that the user sees."""

    ready = True
    """Whether a frame that is shown now is painted without delay."""

    def __init__(self, display: Display, panels: Panels = PANELS) -> None:
        self.display, self.painter, self.pointer = display, Painter(display.dpi_scale, panels), Pointer()
        self.tips = Tips(self.painter.panels)
        self._views: Mapping[str, Any] = {}
        """What the panels show in the newest frame."""
        self._reported = Reports()
        self.driver, self.dpi_scale, self.seen = display.driver, display.dpi_scale, display.seen

    @classmethod
    def open(cls, title: str, size: tuple[int, int] | None = None, panels: Panels = PANELS) -> Screen:
        """Return a screen in a new window."""
        return cls(Display(title, size), panels)

    @property
    def size(self) -> tuple[int, int]:
        """The size of the window, pixels."""
        return self.display.size

    @property
    def is_minimised(self) -> bool:
        """Whether the window is out of sight."""
        return self.display.is_minimised

    @property
    def is_full(self) -> bool:
        """Whether the window fills the screen."""
        return self.display.is_full

    def inputs(self) -> list[Input]:
        """Return what the user did since the last call."""
        canvas = self.painter.canvas
        inputs = [found for event in self.display.events() for found in self._inputs_of(event)]
        return [*inputs, *self.pointer.point(canvas), *self._reported.news(canvas.reports)]

    def _inputs_of(self, event: pygame.event.Event) -> Iterator[Input]:
        yield from self.pointer.gestures(event, self.painter.canvas)
        if event.type not in OF_MOUSE and not self._is_answered(event):
            yield event
        if event.type in RESIZED:
            self.painter.forget()
        elif event.type == pygame.WINDOWEXPOSED:
            self.display.flip()

    def show(self, frame: Frame) -> None:
        """Paint a frame and show it; one for another size of the window is left out."""
        if self.paint(frame):
            self.display.flip()

    def paint(self, frame: Frame) -> bool:
        """Paint a frame without showing it yet; return whether it fits the window."""
        if frame.size != self.size:
            return False
        self.painter.draw(self.display.surface, frame.views)
        self._views = frame.views
        self.painter.mistakes.attempt("tip", self._tip, None)
        return True

    def _tip(self) -> None:
        canvas = self.painter.canvas
        lines = self.tips.lines(self.pointer, canvas, self._views)
        if lines:
            draw_tip(self.display.surface, self.pointer.at, lines, canvas)
            self.painter.forget()  # what the tip covers is painted anew

    def _is_answered(self, event: pygame.event.Event) -> bool:
        """Return whether a key asks what is under the mouse, and a tip says so."""
        if event.type != pygame.KEYDOWN or not ASK.is_given_by(event):
            return False
        ask = partial(self.tips.ask, self.pointer, self.painter.canvas, self._views)
        return self.painter.mistakes.attempt("tip", ask, False)

    def picture(self) -> pygame.Surface:
        """Return the frame that was shown last."""
        return self.display.picture()

    def toggle_full_screen(self) -> None:
        """Fill the screen, or go back to the size from before."""
        self.display.toggle_full_screen()
        self.painter.forget()

    def open_pads(self) -> None:
        """Listen to gamepads, those that are plugged in later too."""
        self.display.open_pads()

    def close(self) -> None:
        """Take the window away."""
        self.display.close()

"""A screen: frames are painted in a window, and what the user does there comes back as inputs.

`play.py` calls it directly; a training has it in a process of its own, behind `ScreenProcess`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from time import perf_counter

import pygame

from ecs_rl.viewer.focus import Focus
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.frame_codec import Frame
from ecs_rl.viewer.live.display import Display
from ecs_rl.viewer.panel import CTRL, Gesture, Panels
from ecs_rl.viewer.panel_list import PANELS
from ecs_rl.viewer.pointer import OF_MOUSE, Pointer
from ecs_rl.viewer.regions import Report, Reports
from ecs_rl.viewer.tips import ASK, Tips, lay_tip
from ecs_rl.viewer.top_layer import TopLayer, light, ring

Input = pygame.event.Event | Gesture | Report
"""What the user does: keys, gamepads and the window by pygame's events, the mouse by gestures; and reports."""
SLOW = 0.05
"""Seconds without a frame after which what lies over the last one is looked at again."""
RESIZED = (pygame.WINDOWRESIZED, pygame.WINDOWSIZECHANGED)


class Screen:
    """Paints in one display, and knows what the mouse hits in the frame that the user sees."""

    ready = True
    """Whether a frame that is shown now is painted without delay."""

    def __init__(self, display: Display, panels: Panels = PANELS) -> None:
        self.display, self.painter, self.pointer = display, Painter(display.dpi_scale, panels), Pointer()
        self.tips = Tips(self.painter.panels)
        self.focus, self._top = Focus(), TopLayer()
        self._frame = Frame((0, 0))
        self._laid: tuple[object, ...] = ()
        """What lies over the newest frame."""
        self._painted_at = math.inf
        """When something was painted, or looked at again; never, by this, on a surface that is new."""
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
        canvas, answer = self.painter.canvas, None
        yield from self.pointer.gestures(event, canvas)
        if event.type in OF_MOUSE:
            self.focus.take_mouse(event, canvas, self.pointer.region(canvas))
            return
        if event.type == pygame.KEYDOWN:
            answer = self.painter.mistakes.attempt("focus", partial(self._answer, event), None)
        yield from [event] if answer is None else answer
        if event.type in RESIZED:
            self._forget()
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
        self._top.lift(self.display.surface)
        self.painter.draw(self.display.surface, frame.views, self.focus.part)
        self._frame = frame
        self.painter.mistakes.attempt("tip", partial(self._lay, anew=True), None)
        return True

    def refresh(self) -> None:
        """Show at once what the mouse points at and the keyboard works, where frames are slow to come."""
        now = perf_counter()
        if now - self._painted_at > SLOW:
            self._painted_at = now
            if self.painter.mistakes.attempt("tip", partial(self._lay, anew=False), False):
                self.display.flip()

    def _lay(self, *, anew: bool) -> bool:
        """Light the part under the mouse, and lay the focus and the tip over the frame; return whether that is new."""
        canvas, surface, at = self.painter.canvas, self.display.surface, self.pointer.at
        self.focus.look(canvas)
        pointed, focused = self.pointer.region(canvas), self.focus.region(canvas)
        lit = pointed.reach if pointed is not None and pointed.lights_up else None
        ringed = None if focused is None else focused.reach
        lines = self.tips.lines(self.pointer, canvas, self._frame.views)
        before, self._laid = self._laid, (lit, ringed, lines, lines and at)
        if not anew and self._laid == before:
            return False
        self._top.lift(surface)
        for place, draw in ((lit, light), (ringed, ring)):
            if place is not None:
                self._top.lay(surface, place, partial(draw, surface, place, canvas))
        if lines:
            lay_tip(self._top, surface, at, lines, canvas)
        self._painted_at = perf_counter()
        return True

    def _forget(self) -> None:
        """Paint everything anew: the surface has lost what stood on it."""
        self.painter.forget()
        self._top.forget()
        self._painted_at = math.inf

    def _answer(self, event: pygame.event.Event) -> Sequence[Gesture] | None:
        """Return what a pressed key does here: a tip, or gestures at the part with the focus; None: it does nothing."""
        canvas = self.painter.canvas
        if ASK.is_given_by(event) and self.tips.ask(self.pointer, canvas, self._frame.views):
            return ()
        if self._frame.driven and not event.mod & CTRL:
            return None
        return self.focus.gestures(event, canvas, self.pointer.region(canvas))

    def picture(self) -> pygame.Surface:
        """Return the frame that was shown last."""
        return self.display.picture()

    def toggle_full_screen(self) -> None:
        """Fill the screen, or go back to the size from before."""
        self.display.toggle_full_screen()
        self._forget()

    def open_pads(self) -> None:
        """Listen to gamepads, those that are plugged in later too."""
        self.display.open_pads()

    def close(self) -> None:
        """Take the window away."""
        self.display.close()

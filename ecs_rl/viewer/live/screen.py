"""A screen: frames are painted in a window, and what the user does there comes back as inputs.

`play.py` calls it directly; a training has it in a process of its own, behind `ScreenProcess`.
"""

from __future__ import annotations

import atexit
import ctypes
import ctypes.util
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Any

import pygame

from ecs_rl.console import tell
from ecs_rl.errors import CommandError
from ecs_rl.viewer.frame import DESIGNED, Painter
from ecs_rl.viewer.frame_codec import Frame
from ecs_rl.viewer.mistakes import DisplayLost
from ecs_rl.viewer.palette import NIGHT, ORANGE, SKY, TEXT
from ecs_rl.viewer.panel import CTRL, Gesture, Panels
from ecs_rl.viewer.panels import PANELS
from ecs_rl.viewer.regions import Report, Reports
from ecs_rl.viewer.top_layer import ASK, OF_MOUSE, Focus, Pointer, Tips, TopLayer, lay_tip, light, ring

UNSEEN = ("dummy", "offscreen")
"""Drivers without a screen: nobody sees the window, nobody can close it."""
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
"""What names a screen on Linux."""
SETTLES = 1.0
"""Seconds in which a window manager has changed a window that was full."""
ORDINARY_HEIGHT = 1080
"""Screens with more lines than this get a larger window with larger letters."""
_KEPT: list[Any] = []
Input = pygame.event.Event | Gesture | Report
"""What the user does: keys, gamepads and the window by pygame's events, the mouse by gestures; and reports."""
SLOW = 0.05
"""Seconds without a frame after which what lies over the last one is looked at again."""
RESIZED = (pygame.WINDOWRESIZED, pygame.WINDOWSIZECHANGED)


class NoDisplay(CommandError):
    """There is no screen to open a window on."""


def no_screen() -> str:
    """Return why there can be no window, as far as that is known without asking for one; '' otherwise."""
    named = any(map(os.environ.get, SCREENS))  # SDL's libraries complain before they say so
    return "there is no display to open a window on" if sys.platform.startswith("linux") and not named else ""


class Display:
    """The one window of the program."""

    def __init__(self, title: str, size: tuple[int, int] | None = None, *, is_all: bool = False) -> None:
        """Open a window; `is_all` says that the program is nothing else, and may end with its screen."""
        os.environ.setdefault("SDL_WINDOWS_DPI_AWARENESS", "permonitorv2")
        if sys.platform.startswith("linux"):  # by way of OpenGL the same pixels take twenty times as long
            os.environ.setdefault("SDL_FRAMEBUFFER_ACCELERATION", "0")
        os.environ.setdefault("SDL_NO_SIGNAL_HANDLERS", "1")  # ours save the run; SDL would make an event of SIGTERM
        if why := no_screen():
            raise NoDisplay(why)
        try:
            pygame.display.init()
            pygame.font.init()
        except pygame.error as error:
            raise NoDisplay(f"there is no display to open a window on ({error})") from None
        self.driver = pygame.display.get_driver()
        if self.driver == "offscreen" and os.environ.get("SDL_VIDEODRIVER") != "offscreen":
            pygame.display.quit()  # SDL's way to say that it found nothing
            raise NoDisplay("there is no display to open a window on")
        desktop = (pygame.display.get_desktop_sizes() or [DESIGNED])[0]
        self.dpi_scale = max(1.0, round(desktop[1] / ORDINARY_HEIGHT * 4) / 4) if self.seen else 1.0
        self._windowed = size or (_fitting(desktop, self.dpi_scale) if self.seen else DESIGNED)
        """Its size while it does not fill the screen."""
        self._place = (0, 0)
        self.is_full = self.is_minimised = False
        self._settled_at = 0.0
        """Until then, by `perf_counter`, a window manager may still change what was asked for."""
        try:
            pygame.display.set_icon(_icon())
            self.surface = pygame.display.set_mode(self._windowed, pygame.RESIZABLE)
        except pygame.error as error:
            pygame.display.quit()
            raise NoDisplay(f"the display refuses a window ({error})") from None
        pygame.display.set_caption(title)
        self._guard = _X11Guard(tells=not is_all) if self.driver == "x11" else None
        self._pads: list[Any] | None = None
        """The gamepads; one that nobody holds tells nothing. None: nobody has asked for them."""

    @property
    def size(self) -> tuple[int, int]:
        """How large it is now, pixels."""
        return self.surface.get_size()

    @property
    def seen(self) -> bool:
        """Whether anybody can see the window."""
        return self.driver not in UNSEEN

    def events(self) -> list[pygame.event.Event]:
        """Return what happened since the last look."""
        events = self._try(pygame.event.get)
        for event in events:
            if event.type == pygame.JOYDEVICEADDED and self._pads is not None:
                with suppress(pygame.error):  # it was pulled out again
                    self._pads.append(pygame.joystick.Joystick(event.device_index))
            elif event.type in (pygame.WINDOWMINIMIZED, pygame.WINDOWHIDDEN):
                self.is_minimised = True
            elif event.type in (pygame.WINDOWRESTORED, pygame.WINDOWSHOWN, pygame.WINDOWEXPOSED):
                self.is_minimised = False
            elif event.type == pygame.WINDOWSIZECHANGED and not self.is_full and perf_counter() < self._settled_at:
                self._settled_at = 0.0
                self._come_back()
        self.surface = pygame.display.get_surface() or self.surface
        return list(events)

    def flip(self) -> None:
        """Show what was drawn."""
        self._try(pygame.display.flip)

    def picture(self) -> pygame.Surface:
        """Return what was drawn last."""
        return self.surface

    def open_pads(self) -> None:
        """Let gamepads tell what is done with them, those too that are plugged in later."""
        if self._pads is None:
            self._pads = []
            self._try(pygame.joystick.init)  # tells of those that are there as of new ones

    def toggle_full_screen(self) -> None:
        """Fill the screen, or go back to the size from before."""
        if not self.is_full:
            self._windowed, self._place = self.size, pygame.display.get_window_position()
        self.is_full = not self.is_full
        self._set_mode()
        self._settled_at = perf_counter() + SETTLES

    def _come_back(self) -> None:
        """Take size and place from before once more: some window managers keep the screen's size at first."""
        if pygame.display.get_window_size() != self._windowed:
            self._set_mode()
        with suppress(pygame.error):  # not every window system tells a window its place
            pygame.display.set_window_position(self._place)

    def _set_mode(self) -> None:
        """Ask for the size that the window should have."""
        size, flags = ((0, 0), pygame.FULLSCREEN) if self.is_full else (self._windowed, pygame.RESIZABLE)
        with warnings.catch_warnings():  # pygame warns where a window manager does not obey: see `events`
            warnings.simplefilter("ignore", RuntimeWarning)
            self.surface = self._try(lambda: pygame.display.set_mode(size, flags))

    def _try(self, what: Callable[[], Any]) -> Any:
        try:
            done = what()
        except pygame.error as error:
            raise DisplayLost(str(error)) from None
        if self._guard is not None and self._guard.is_lost:
            raise DisplayLost("the connection to the screen broke")
        return done

    def close(self) -> None:
        """Take the window away; one whose screen is gone cannot be given back, and asking for it would wait forever."""
        if self._guard is not None:
            with suppress(DisplayLost):
                self._try(pygame.event.pump)  # so that a screen which went just now is known to be gone
            atexit.unregister(pygame.quit)
            if self._guard.is_lost:
                return
        pygame.display.quit()


class _X11Guard:
    """Keeps the program alive when the X server goes away; Xlib would end the process, and with it the training."""

    def __init__(self, *, tells: bool) -> None:
        self.is_lost = False
        name = ctypes.util.find_library("X11")
        x11 = ctypes.CDLL(name) if name else None
        if x11 is None or not hasattr(x11, "XSetIOErrorExitHandler"):  # before libX11 1.7 there is no way
            if tells:
                tell("this window takes the program along should the screen go away", sys.stderr)
            return
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        screen = get(pygame.display.get_wm_info()["display"], b"display")
        # Both must outlive this object: X11 calls them.
        self._error = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._lose)
        self._exit = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(lambda screen, data: None)
        _KEPT.append((self._error, self._exit))
        x11.XSetIOErrorHandler(self._error)
        x11.XSetIOErrorExitHandler(ctypes.c_void_p(screen), self._exit, None)

    def _lose(self, screen: int | None) -> int:
        self.is_lost = True
        return 0


def _fitting(desktop: tuple[int, int], scale: float) -> tuple[int, int]:
    """Return the designed size at this scale, no larger than nine tenths of the screen."""
    share = min(scale, 0.9 * desktop[0] / DESIGNED[0], 0.9 * desktop[1] / DESIGNED[1])
    return max(640, round(DESIGNED[0] * share)), max(360, round(DESIGNED[1] * share))


def _icon() -> pygame.Surface:
    """Return the program's picture: a pole on a cart."""
    icon = pygame.Surface((64, 64))
    icon.fill(NIGHT)
    pygame.draw.rect(icon, SKY, (12, 42, 40, 14), border_radius=3)
    pygame.draw.line(icon, ORANGE, (32, 44), (42, 8), 7)
    pygame.draw.circle(icon, TEXT, (32, 46), 4)
    return icon


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

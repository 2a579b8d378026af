"""The program that draws a training's window: it receives frames, and sends what the user does.

A process of its own, so that the training never waits for a picture, and loses nothing but its window when this ends.
It lives as long as the connection to the process that started it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from time import perf_counter, sleep
from typing import Any

import msgspec
import numpy.ma  # noqa: F401 - the first quantile would load it in the midst of a frame
import pygame

from ecs_rl.garbage import small_collections
from ecs_rl.viewer.frame_codec import FrameReader
from ecs_rl.viewer.live.display import Display, NoDisplay
from ecs_rl.viewer.live.screen import Screen
from ecs_rl.viewer.mistakes import DisplayLost
from ecs_rl.viewer.panel import Gesture, Panels
from ecs_rl.viewer.regions import Report

FRAME, PICTURE, FULL_SCREEN, PADS = b"F", b"P", b"S", b"G"
"""The first byte of a message: a frame follows, send the picture, fill the screen or do not, open the gamepads."""
DELAY = 0.016
"""Seconds after its time that a frame is shown. One that comes late, or takes long to draw, is in time all the same."""
LOOK = 0.004
"""Seconds between two looks at what the user does."""
PLAIN = (bool, int, float, str, tuple)
"""The types of an event's values that are sent."""
PARENT_DEATH = 1
"""Linux's name of the signal that a process gets when its parent ends (sys/prctl.h)."""


class Opened(msgspec.Struct):
    """The first message: the window that was opened."""

    driver: str = ""
    dpi_scale: float = 1.0
    size: tuple[int, int] = (0, 0)
    refused: str = ""
    """Why there is none."""


class SentEvent(msgspec.Struct, tag=True):
    """An event of pygame's."""

    kind: int
    values: dict[str, Any]


class News(msgspec.Struct, omit_defaults=True):
    """What has happened since the last message."""

    size: tuple[int, int]
    is_minimised: bool = False
    inputs: list[SentEvent | Gesture | Report] = []
    shown: float | None = None
    """When a frame was shown, by this machine's `perf_counter`, or would have been, had it still fitted the window."""
    picture: tuple[tuple[int, int], bytes] | None = None
    """Size, and red, green and blue of each pixel, of the last frame, if somebody has asked for it."""
    lost: str | None = None
    """Why the window is gone."""


class ScreenServer:
    """A screen at the end of a connection."""

    def __init__(self, connection: Connection, screen: Screen) -> None:
        self.connection, self.screen = connection, screen
        self.reader = FrameReader(screen.painter.kinds)
        self._before = News(screen.size)
        self._send(Opened(screen.driver, screen.dpi_scale, screen.size))

    def run(self) -> None:
        """Draw until the connection ends, or the window does."""
        try:
            with small_collections():
                while True:
                    self.step()
        except DisplayLost as lost:
            self._send(News(self._before.size, lost=str(lost)))

    def step(self) -> None:
        """Carry out the next message, if one comes before the next look, and send what has happened."""
        news = News(self._before.size)
        if self.connection.poll(LOOK):
            self._answer(self.connection.recv_bytes(), news)
        else:
            self.screen.refresh()
        news.inputs = [
            SentEvent(found.type, _plain(found.dict)) if isinstance(found, pygame.event.Event) else found
            for found in self.screen.inputs()
        ]
        news.size, news.is_minimised = self.screen.size, self.screen.is_minimised
        if news != self._before:
            self._send(news)
            self._before = News(news.size, news.is_minimised)

    def _answer(self, message: bytes, news: News) -> None:
        kind = message[:1]
        if kind == FRAME:
            frame = self.reader.frame(message[1:])
            if self.screen.paint(frame):
                sleep(min(max(0.0, frame.due - perf_counter()), DELAY))
                self.screen.display.flip()
            news.shown = perf_counter()
        elif kind == PICTURE:
            picture = self.screen.picture()
            news.picture = picture.get_size(), pygame.image.tobytes(picture, "RGB")
        elif kind == FULL_SCREEN:
            self.screen.toggle_full_screen()
        elif kind == PADS:
            self.screen.open_pads()

    def _send(self, message: Opened | News) -> None:
        self.connection.send_bytes(msgspec.msgpack.encode(message))


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if isinstance(value, PLAIN)}


def names_of(panels: Panels) -> list[str]:
    """Return what `panels_named` finds these panels by, in another process."""
    return [f"{panel.__module__}:{panel.__qualname__}" for panel in panels]


def panels_named(names: Sequence[str]) -> Panels:
    """Return the panels of these names."""
    return [getattr(import_module(module), panel) for module, panel in (name.split(":") for name in names)]


def main(descriptor: int, title: str, size: tuple[int, int] | None, panels: Sequence[str]) -> None:
    """Open a window for the process at the other end of a connection, draw there until either is gone, and end."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # they are the training's, which ends this too
        signal.signal(each, signal.SIG_IGN)
    if sys.platform.startswith("linux"):  # also while a screen keeps this waiting for an answer
        ctypes.CDLL(None).prctl(PARENT_DEATH, int(signal.SIGKILL))
    os.set_inheritable(descriptor, False)
    connection = Connection(descriptor)
    with suppress(EOFError, OSError):  # nobody is there any more
        try:
            ScreenServer(connection, Screen(Display(title, size, is_all=True), panels_named(panels))).run()
        except NoDisplay as none:
            connection.send_bytes(msgspec.msgpack.encode(Opened(refused=str(none))))
    connection.close()
    os._exit(0)  # SDL's own farewell waits forever for a screen that is gone; X takes the window back by itself

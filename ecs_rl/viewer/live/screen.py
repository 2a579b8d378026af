"""The program that draws a training's window: it is sent frames, and tells what the user does.

A process of its own, so that the training never waits for a picture, and loses nothing but its window when this ends.
It lives as long as the connection to whoever started it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from time import perf_counter, sleep
from typing import Any

import msgspec
import numpy.ma  # noqa: F401 - the first quantile would load it in the midst of a frame
import pygame

from ecs_rl.garbage import small_collections
from ecs_rl.viewer.frame import Painter
from ecs_rl.viewer.frame_codec import FrameReader
from ecs_rl.viewer.live.display import Display, NoDisplay
from ecs_rl.viewer.mistakes import DisplayLost

FRAME, PICTURE, FULL_SCREEN, PADS = b"F", b"P", b"S", b"G"
"""The first byte of a message: a frame follows, send the picture, fill the screen or do not, open the gamepads."""
DELAY = 0.016
"""Seconds after its time that a frame is shown. One that comes late, or takes long to draw, is in time all the same."""
LOOK = 0.004
"""Seconds between two looks at what the user does."""
RESIZED = (pygame.WINDOWRESIZED, pygame.WINDOWSIZECHANGED)
TOLD = (bool, int, float, str, tuple)
"""What of an event can be told."""
PARENT_DEATH = 1
"""Linux's name of the signal that a process gets when its parent ends (sys/prctl.h)."""


class Opened(msgspec.Struct):
    """The first answer: which window there is."""

    driver: str = ""
    dpi_scale: float = 1.0
    size: tuple[int, int] = (0, 0)
    refused: str = ""
    """Why there is none."""


class Told(msgspec.Struct, omit_defaults=True):
    """What has happened since the last answer."""

    size: tuple[int, int]
    is_minimised: bool = False
    events: list[tuple[int, dict[str, Any]]] = []
    """The type of each, and what pygame tells of it."""
    shown: float | None = None
    """When a frame was shown, by this machine's `perf_counter`, or would have been, had it still fitted the window."""
    text: str = ""
    """What is written where the mouse points."""
    picture: tuple[tuple[int, int], bytes] | None = None
    """Size, and red, green and blue of each pixel, of the last frame, if somebody has asked for it."""
    lost: str | None = None
    """Why the window is gone."""


class Screen:
    """A window, and whom it is drawn for."""

    def __init__(self, connection: Connection, display: Display) -> None:
        self.connection, self.display = connection, display
        self.painter, self.reader = Painter(display.dpi_scale), FrameReader()
        self._at = (-1.0, -1.0)
        """Where the mouse points."""
        self._before = Told(display.size)
        opened = Opened(display.driver, display.dpi_scale, display.size)
        connection.send_bytes(msgspec.msgpack.encode(opened))

    def run(self) -> None:
        """Draw until the connection ends, or the window does."""
        try:
            with small_collections():
                while True:
                    self.step()
        except DisplayLost as lost:
            self._send(Told(self._before.size, lost=str(lost)))

    def step(self) -> None:
        """Do what is asked for, if anything is before the next look, and tell what has happened."""
        told = Told(self._before.size)
        if self.connection.poll(LOOK):
            self._answer(self.connection.recv_bytes(), told)
        events = self.display.events()
        for event in events:
            self._at = getattr(event, "pos", self._at)
            if event.type in RESIZED:
                self.painter.forget()
            elif event.type == pygame.WINDOWEXPOSED:
                self.display.flip()
        told.events = [(event.type, _plain(event.dict)) for event in events]
        told.size, told.is_minimised = self.display.size, self.display.is_minimised
        told.text = self.painter.canvas.text_at(self._at)
        if told != self._before:
            self._send(told)
            self._before = Told(told.size, told.is_minimised, text=told.text)

    def _answer(self, message: bytes, told: Told) -> None:
        kind = message[:1]
        if kind == FRAME:
            self._draw(message[1:])
            told.shown = perf_counter()
        elif kind == PICTURE:
            picture = self.display.picture()
            told.picture = picture.get_size(), pygame.image.tobytes(picture, "RGB")
        elif kind == FULL_SCREEN:
            self.display.toggle_full_screen()
            self.painter.forget()
        elif kind == PADS:
            self.display.open_pads()

    def _draw(self, packed: bytes) -> None:
        frame = self.reader.frame(packed)
        if frame.size != self.display.size:
            return  # the window has changed its size since: the next one will fit
        layout = self.painter.layout(frame.size, mind=frame.mind, learning=frame.learning, finding=frame.finding)
        self.display.draw(self.painter, frame.view, layout, frame.camera)
        sleep(min(max(0.0, frame.due - perf_counter()), DELAY))
        self.display.flip()

    def _send(self, told: Told) -> None:
        self.connection.send_bytes(msgspec.msgpack.encode(told))


def _plain(of_event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in of_event.items() if isinstance(value, TOLD)}


def main(descriptor: int, title: str, size: tuple[int, int] | None) -> None:
    """Open a window for whoever is at the other end of a connection, draw there until either is gone, and end."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # they are the training's, which ends this too
        signal.signal(each, signal.SIG_IGN)
    if sys.platform.startswith("linux"):  # also while a screen keeps this waiting for an answer
        ctypes.CDLL(None).prctl(PARENT_DEATH, int(signal.SIGKILL))
    os.set_inheritable(descriptor, False)
    connection = Connection(descriptor)
    with suppress(EOFError, OSError):  # nobody is there any more
        try:
            Screen(connection, Display(title, size, is_all=True)).run()
        except NoDisplay as none:
            connection.send_bytes(msgspec.msgpack.encode(Opened(refused=str(none))))
    connection.close()
    os._exit(0)  # SDL's own farewell waits forever for a screen that is gone; X takes the window back by itself

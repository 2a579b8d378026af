"""A screen in a process of its own, for a window behind which something trains.

The program of that process stands first; `ScreenProcess` starts it, sends it frames and takes its inputs.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from time import perf_counter, sleep
from typing import Any, TypeAlias

import msgspec
import pygame

from ecs_rl.console import tell
from ecs_rl.errors import CommandError
from ecs_rl.garbage import small_collections
from ecs_rl.viewer.frame import kinds_of
from ecs_rl.viewer.frame_codec import Frame, FrameReader, FrameWriter
from ecs_rl.viewer.live.screen import UNSEEN, Display, Input, NoDisplay, Screen, no_screen
from ecs_rl.viewer.mistakes import DisplayLost
from ecs_rl.viewer.panel import Gesture, Panels
from ecs_rl.viewer.panels import PANELS
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
AnyScreen: TypeAlias = "Screen | ScreenProcess"
"""What a window is shown on."""
PROGRAM = """\
import json, sys
sys.path[:], descriptor, title, size, panels = json.loads(sys.argv[1])
from ecs_rl.viewer.live.screen_process import main
main(descriptor, title, size and tuple(size), panels)
"""
UNDER_WAY = 2
"""Frames that may have been sent and not shown yet: one is drawn while the next is made."""
SOON, PATIENCE = 5.0, 60.0
"""Seconds after which it is said that the window is not there yet, and in all that it may take to open."""
PROMPT = 2.0
"""Seconds in which a picture must be here."""
STILL = 10.0
"""Seconds without an answer to a frame after which that is said."""
FAREWELL = 5.0
"""Seconds in which the program must have ended."""
KEPT = 10_000
"""Moments of frames that are remembered."""


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
    import numpy.ma  # noqa: F401 - the first quantile would load it in the midst of a frame

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # they are the training's, which ends this too
        signal.signal(number, signal.SIG_IGN)
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


class ScreenProcess:
    """A `Screen` behind a socket: frames go to a program that draws, and what the user does comes back."""

    def __init__(
        self, end: socket.socket, program: subprocess.Popen[bytes] | None = None, panels: Panels = PANELS
    ) -> None:
        """Take an end of a connection at whose other one a window is being opened, and the program that opens it."""
        pygame.font.init()  # where things are depends on how wide their letters are
        self._socket, self._program, self._writer = end, program, FrameWriter(kinds_of(panels))
        self._connection = Connection(os.dup(end.fileno()))
        self._news = select.poll()
        self._news.register(self._connection.fileno(), select.POLLIN)
        self._outgoing = SimpleQueue[bytes]()
        """What a thread sends: whoever draws may be busy, and the training must not wait for that."""
        self._inputs: list[Input] = []
        self._under_way, self._heard, self._is_still = 0, perf_counter(), False
        self._picture: pygame.Surface | None = None
        """The last frame, as it was drawn there, if somebody has asked for it."""
        self.is_full = self.is_minimised = False
        self.shown = deque[float](maxlen=KEPT)
        """When frames were shown, by `perf_counter`, for whoever measures it."""
        try:
            opened = self._opened()
        except BaseException:
            self.kill()
            raise
        self.driver, self.dpi_scale, self.size = opened.driver, opened.dpi_scale, opened.size
        self._thread = Thread(target=self._send_all, name="screen", daemon=True)
        self._thread.start()

    @classmethod
    def start(cls, title: str, size: tuple[int, int] | None = None, panels: Panels = PANELS) -> ScreenProcess:
        """Start a program that opens a window."""
        if why := no_screen():
            raise NoDisplay(why)
        try:
            ours, theirs = socket.socketpair()
            with theirs:
                paths = [path for path in sys.path if isinstance(path, str)]
                settings = json.dumps([paths, theirs.fileno(), title, size, names_of(panels)])
                program = subprocess.Popen(
                    [sys.executable, "-P", "-c", PROGRAM, settings],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    start_new_session=True,
                )
        except OSError as error:
            raise NoDisplay(f"the program that draws cannot be started: {error}") from None
        return cls(ours, program, panels)

    def _opened(self) -> Opened:
        try:
            if not self._connection.poll(SOON):
                tell("waiting for the screen to open a window", sys.stderr)
                if not self._connection.poll(PATIENCE - SOON):
                    raise NoDisplay(f"the display has not opened a window within {PATIENCE:.0f} s")
            opened = msgspec.msgpack.decode(self._connection.recv_bytes(), type=Opened)
        except (EOFError, OSError):
            raise NoDisplay("the program that draws has not started") from None
        if opened.refused:
            raise NoDisplay(opened.refused)
        return opened

    @property
    def seen(self) -> bool:
        """Whether anybody can see the window."""
        return self.driver not in UNSEEN

    @property
    def ready(self) -> bool:
        """Whether a frame that is sent now is drawn without delay."""
        return self._under_way < UNDER_WAY

    # --- from there -------------------------------------------------------------------------------------------------

    def inputs(self) -> list[Input]:
        """Return what the user did since the last call."""
        while self._hear(0.0):
            pass
        if self._under_way and not self._is_still and perf_counter() - self._heard > STILL:
            self._is_still = True
            tell("the program that draws the window does not answer: what trains goes on", sys.stderr)
        inputs, self._inputs = self._inputs, []
        return inputs

    def _hear(self, seconds: float) -> bool:
        """Take the next message that comes within so many seconds; return whether one came."""
        try:
            if not self._news.poll(1000.0 * seconds):  # the connection's own takes ten times as long
                return False
            news = msgspec.msgpack.decode(self._connection.recv_bytes(), type=News)
        except (EOFError, OSError):
            raise DisplayLost("the program that draws has ended") from None
        if news.lost is not None:
            raise DisplayLost(news.lost)
        self.size, self.is_minimised = news.size, news.is_minimised
        self._inputs += [_event(found) if isinstance(found, SentEvent) else found for found in news.inputs]
        if news.shown is not None:
            self._under_way -= 1
            self.shown.append(news.shown)
        if news.picture is not None:
            size, pixels = news.picture
            self._picture = pygame.image.frombytes(pixels, size, "RGB")
        self._heard = perf_counter()
        return True

    def picture(self) -> pygame.Surface:
        """Return the last frame, as it was drawn there; CommandError if it does not come."""
        self._picture = None
        self._outgoing.put(PICTURE)
        until = perf_counter() + PROMPT
        while self._picture is None:
            if not self._hear(max(0.0, until - perf_counter())):
                raise CommandError("there is no picture: the program that draws the window does not answer")
        return self._picture

    # --- to there ---------------------------------------------------------------------------------------------------

    def show(self, frame: Frame) -> None:
        """Send a frame; the program shows it once it is drawn, and due."""
        if not self._under_way:
            self._heard = perf_counter()
        self._under_way += 1
        self._outgoing.put(FRAME + self._writer.bytes_of(replace(frame, due=frame.due + DELAY)))

    def toggle_full_screen(self) -> None:
        """Fill the screen, or go back to the size from before."""
        self.is_full = not self.is_full
        self._outgoing.put(FULL_SCREEN)

    def open_pads(self) -> None:
        """Let gamepads tell what is done with them, those too that are plugged in later."""
        self._outgoing.put(PADS)

    def _send_all(self) -> None:
        """Send what there is to send until the connection ends; whoever listens next hears of that."""
        with suppress(OSError):
            while message := self._outgoing.get():
                self._connection.send_bytes(message)

    def close(self) -> None:
        """Take the window away."""
        with suppress(OSError):  # it has ended by itself
            self._socket.shutdown(socket.SHUT_RDWR)
        self._outgoing.put(b"")
        self._thread.join()
        self._connection.close()
        self._socket.close()
        if self._program is not None:
            try:
                self._program.wait(FAREWELL)
            except subprocess.TimeoutExpired:  # its screen hangs
                self.kill()

    def kill(self) -> None:
        """End the program at once."""
        self._connection.close()
        self._socket.close()
        if self._program is not None:
            self._program.kill()
            self._program.wait()


def _event(sent: SentEvent) -> pygame.event.Event:
    """Return an event as pygame makes it: with tuples where msgpack has lists."""
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in sent.values.items()}
    return pygame.event.Event(sent.kind, values)

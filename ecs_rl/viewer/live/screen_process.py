"""A screen in a process of its own, for a window behind which something trains; `screen_program.py` is that process."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
from collections import deque
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from time import perf_counter
from typing import TypeAlias

import msgspec
import pygame

from ecs_rl.console import tell
from ecs_rl.errors import CommandError
from ecs_rl.viewer.frame import kinds_of
from ecs_rl.viewer.frame_codec import Frame, FrameWriter
from ecs_rl.viewer.live.display import UNSEEN, NoDisplay, no_screen
from ecs_rl.viewer.live.screen import Input, Screen
from ecs_rl.viewer.live.screen_program import (
    DELAY,
    FRAME,
    FULL_SCREEN,
    PADS,
    PICTURE,
    News,
    Opened,
    SentEvent,
    names_of,
)
from ecs_rl.viewer.mistakes import DisplayLost
from ecs_rl.viewer.panel import Panels
from ecs_rl.viewer.panel_list import PANELS

AnyScreen: TypeAlias = "Screen | ScreenProcess"
"""What a window is shown on."""
PROGRAM = """\
import json, sys
sys.path[:], descriptor, title, size, panels = json.loads(sys.argv[1])
from ecs_rl.viewer.live.screen_program import main
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

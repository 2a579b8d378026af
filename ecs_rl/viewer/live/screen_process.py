"""A display in a process of its own, for a window behind which something trains: see `screen.py`, the other end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from socket import socketpair
from typing import Any, TypeAlias, TypeVar

import msgspec
import pygame

from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.frame import Layout, Painter
from ecs_rl.viewer.frame_codec import Frame, FrameWriter
from ecs_rl.viewer.live.display import UNSEEN, Display, DisplayLost, NoDisplay, no_screen
from ecs_rl.viewer.live.screen import DELAY, FRAME, FULL_SCREEN, PADS, PICTURE, Opened, Told
from ecs_rl.viewer.view import View

T = TypeVar("T")
AnyDisplay: TypeAlias = "Display | ScreenProcess"
"""What a window is shown on."""
PROGRAM = """\
import json, sys
sys.path[:], descriptor, title, size = json.loads(sys.argv[1])
from ecs_rl.viewer.live.screen import main
main(descriptor, title, size and tuple(size))
"""
UNDER_WAY = 2
"""Frames that may have been sent and not shown yet: one is drawn while the next is made."""
PATIENCE = 60.0
"""Seconds in which the program must have opened its window; a busy machine takes some to start it."""
FAREWELL = 5.0
"""Seconds in which it must have ended."""
KEPT = 10_000
"""Moments of frames that are remembered."""


class ScreenProcess:
    """What a `Display` is, by a program that draws; frames go there, and what the user does comes back."""

    def __init__(self, connection: Connection, program: subprocess.Popen[bytes] | None = None) -> None:
        """Take a connection at whose other end a window is being opened, and the program that opens it."""
        pygame.font.init()  # where things are depends on how wide their letters are
        self._connection, self._program, self._writer = connection, program, FrameWriter()
        self._events: list[pygame.event.Event] = []
        self._under_way = 0
        self._text = ""
        self._picture: pygame.Surface | None = None
        """The last frame, as it was drawn there, if somebody has asked for it."""
        self.is_full = self.is_minimised = False
        self.due = 0.0
        """When the next frame is to be shown, by `perf_counter`."""
        self.shown = deque[float](maxlen=KEPT)
        """When frames were shown, by `perf_counter`."""
        opened = self._opened()
        self.driver, self.dpi_scale, self.size = opened.driver, opened.dpi_scale, opened.size

    @classmethod
    def start(cls, title: str, size: tuple[int, int] | None = None) -> ScreenProcess:
        """Start a program that opens a window."""
        if why := no_screen():
            raise NoDisplay(why)
        ours, theirs = socketpair()
        with theirs:
            settings = json.dumps([sys.path, theirs.fileno(), title, size])
            program = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, settings],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        return cls(Connection(ours.detach()), program)

    def _opened(self) -> Opened:
        try:
            if not self._connection.poll(PATIENCE):
                raise EOFError
            opened = msgspec.msgpack.decode(self._connection.recv_bytes(), type=Opened)
        except (EOFError, ConnectionError):
            opened = Opened(refused="the program that draws has not started")
        if opened.refused:
            self.close()
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

    def events(self) -> list[pygame.event.Event]:
        """Return what happened since the last look."""
        while self._try(self._connection.poll):
            self._hear()
        found, self._events = self._events, []
        return found

    def _hear(self) -> None:
        told = msgspec.msgpack.decode(self._try(self._connection.recv_bytes), type=Told)
        if told.lost is not None:
            raise DisplayLost(told.lost)
        self.size, self.is_minimised, self._text = told.size, told.is_minimised, told.text
        self._events += [pygame.event.Event(kind, _as_pygame_has_it(of_event)) for kind, of_event in told.events]
        self._under_way -= len(told.shown)
        self.shown.extend(told.shown)
        if told.picture is not None:
            self._picture = pygame.image.frombytes(told.picture, told.size, "RGB")

    def picture(self) -> pygame.Surface:
        """Return the last frame, as it was drawn there."""
        self._picture = None
        self._send(PICTURE)
        while self._picture is None:
            self._hear()
        return self._picture

    def text_at(self, painter: Painter, pixel: tuple[float, float]) -> str:
        """Return the whole text that is written where the mouse points, '' if there is none."""
        return self._text

    def plan(self, at: float) -> None:
        """Let the next frame be the one of this moment, by `perf_counter`."""
        self.due = at + DELAY

    # --- to there ---------------------------------------------------------------------------------------------------

    def draw(self, painter: Painter, view: View, layout: Layout, camera: Camera | None) -> None:
        """Send a frame; it is shown as soon as it is drawn."""
        mind, learning, finding = (area is not None for area in (layout.mind, layout.learning, layout.finding))
        frame = Frame(view, self.size, mind, learning, finding, camera, self.due)
        self._under_way += 1
        self._send(FRAME + self._writer.bytes_of(frame))

    def flip(self) -> None:
        """Do nothing: what was drawn is shown there."""

    def toggle_full_screen(self) -> None:
        """Fill the screen, or go back to the size from before."""
        self.is_full = not self.is_full
        self._send(FULL_SCREEN)

    def open_pads(self) -> None:
        """Let gamepads tell what is done with them, those too that are plugged in later."""
        self._send(PADS)

    def _send(self, message: bytes) -> None:
        self._try(lambda: self._connection.send_bytes(message))

    def _try(self, what: Callable[[], T]) -> T:
        try:
            return what()
        except (EOFError, ConnectionError):
            raise DisplayLost("the program that draws has ended") from None

    def close(self) -> None:
        """Take the window away."""
        self._connection.close()
        if self._program is None:
            return
        try:
            self._program.wait(FAREWELL)
        except subprocess.TimeoutExpired:  # its screen hangs
            self._program.kill()
            self._program.wait()


def _as_pygame_has_it(of_event: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in of_event.items()}

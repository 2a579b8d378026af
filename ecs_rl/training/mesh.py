"""Connections between all processes of a training, by which each tells every other the same message.

Plain sockets, read by the thread that waits for them: an engine that reads on threads of its own (torch.distributed's
gloo) wakes three of them for a message, which takes ten to thirty times as long where all cores are busy
(`tests/bench/bench_workers.py` measures both).
"""

from __future__ import annotations

import hmac
import os
import secrets
import selectors
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic, sleep

from ecs_rl.errors import WorkerLostError

AWAKE = 0.002
"""Seconds for which a process that waits for the others keeps awake: to be woken takes longer than most messages."""
give_way: Callable[[], None] = getattr(os, "sched_yield", partial(sleep, 0))
"""Let whoever else wants this core have it."""
HEAD = 8
"""Bytes before each message, which say how many follow."""
MEETING, GREETING = 120.0, 5.0
"""Seconds in which all must have connected, and in which who connects must say who it is."""
SECRET = 32
"""Bytes of what the processes of one training know, and nobody else."""
ALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 30_000}
"""Half a minute after which a machine that answers no question of the system's counts as gone.

Seconds of silence, seconds between questions, how many, and milliseconds for which what was sent may go unconfirmed.
"""
Address = tuple[str, int]


@dataclass(frozen=True)
class Meeting:
    """Where all processes of a training find each other."""

    addresses: list[Address]
    """Where each of them listens, in the order of their ranks."""
    secret: bytes = field(default_factory=partial(secrets.token_bytes, SECRET))
    """What proves that one belongs to them."""

    @property
    def is_near(self) -> bool:
        """Whether all are on one machine."""
        return len({host for host, _ in self.addresses}) == 1


def listening(host: str) -> socket.socket:
    """Return a socket to which the other processes can connect, at any free port of this host."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, 0), family=family)


def address_of(own: socket.socket) -> Address:
    """Return where it listens."""
    host, port = own.getsockname()[:2]
    return str(host), int(port)


class Mesh:
    """The connections of the process of this rank; `close` ends them."""

    def __init__(self, rank: int, links: Sequence[Link], patience: float, *, is_near: bool = True) -> None:
        """Take a link to each other process in the order of their ranks, and for how many seconds to wait for one."""
        self.rank, self.size, self.patience, self.is_near = rank, len(links) + 1, patience, is_near
        self._links = list(links)

    @classmethod
    def connect(cls, rank: int, own: socket.socket, meeting: Meeting, patience: float) -> Mesh:
        """Connect to all others, and close the socket at which this process listens.

        All of them listen already: a process connects to those before it, and those behind it connect to it.
        """
        found: dict[int, socket.socket] = {}
        with own:
            try:
                for other in range(rank):
                    found[other] = socket.create_connection(meeting.addresses[other], timeout=MEETING)
                    found[other].sendall(meeting.secret + rank.to_bytes(HEAD, "little"))
                own.settimeout(MEETING)
                while len(found) < len(meeting.addresses) - 1:
                    asking, _ = own.accept()
                    who = _who(asking, meeting.secret)
                    if who is not None:
                        found[who] = asking
            except OSError as error:
                raise WorkerLostError(f"the processes of this training do not reach each other: {error}") from error
        return cls(rank, [Link(other, found[other]) for other in sorted(found)], patience, is_near=meeting.is_near)

    def gather(self, message: bytes) -> list[memoryview]:
        """Return the message of every process, in the order of their ranks; this is the own one.

        WorkerLostError where one is gone, or has said nothing for too long.
        """
        whole = memoryview(len(message).to_bytes(HEAD, "little") + message)
        for link in self._links:
            link.begin(whole)
        began, waiting = monotonic(), self._links
        while waiting := [link for link in waiting if not link.done]:
            moved = [link.move() for link in waiting]
            if any(moved):
                continue
            if monotonic() < began + AWAKE:
                give_way()
            else:
                self._wait(waiting)
        told = [link.message for link in self._links]
        return [*told[: self.rank], whole[HEAD:], *told[self.rank :]]

    def _wait(self, waiting: Sequence[Link]) -> None:
        """Sleep until one of these can go on."""
        with selectors.DefaultSelector() as ready:
            for link in waiting:
                ready.register(link.socket, link.events)
            if not ready.select(self.patience):
                silent = ", ".join(str(link.other) for link in waiting)
                raise WorkerLostError(f"worker {silent} has said nothing for {self.patience:.0f} seconds")

    def close(self) -> None:
        """End all connections."""
        for link in self._links:
            link.socket.close()


class Link:
    """A connection to one other process, over which both say one message at a time; nothing here waits."""

    def __init__(self, other: int, connected: socket.socket) -> None:
        self.other, self.socket = other, connected
        connected.setblocking(False)
        with suppress(OSError):  # no connection by TCP, such as a pair of sockets
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in ALIVE.items():
                if hasattr(socket, name):
                    connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self.begin(memoryview(b""))

    def begin(self, out: memoryview) -> None:
        """Have this to send, and a message to receive."""
        self._out, self._into, self._at_head = out, memoryview(bytearray(HEAD)), True
        self.message = self._into

    @property
    def done(self) -> bool:
        """Whether all is sent and all is received."""
        return not (self._out or self._into)

    @property
    def events(self) -> int:
        """What to wait for where nothing moves."""
        return (selectors.EVENT_WRITE if self._out else 0) | (selectors.EVENT_READ if self._into else 0)

    def move(self) -> bool:
        """Send and receive what goes at once; tell whether anything did."""
        try:
            sent, received = self._send(), self._receive()
        except OSError as error:
            raise WorkerLostError(f"worker {self.other} is gone: {error}") from error
        return sent or received

    def _send(self) -> bool:
        try:
            sent = self.socket.send(self._out) if self._out else 0
        except BlockingIOError:
            return False
        self._out = self._out[sent:]
        return sent > 0

    def _receive(self) -> bool:
        moved = False
        while self._into:
            try:
                received = self.socket.recv_into(self._into)
            except BlockingIOError:
                break
            if received == 0:
                raise ConnectionError("it has closed the connection")
            moved, self._into = True, self._into[received:]
            if self._at_head and not self._into:
                self.message = memoryview(bytearray(int.from_bytes(self.message, "little")))
                self._into, self._at_head = self.message, False
        return moved


def _who(asking: socket.socket, secret: bytes) -> int | None:
    """Return the rank of who connects, or None for a stranger, who is sent away."""
    said = b""
    with suppress(OSError):
        asking.settimeout(GREETING)
        while len(said) < SECRET + HEAD and (more := asking.recv(SECRET + HEAD - len(said))):
            said += more
    if len(said) == SECRET + HEAD and hmac.compare_digest(said[:SECRET], secret):
        return int.from_bytes(said[SECRET:], "little")
    asking.close()
    return None

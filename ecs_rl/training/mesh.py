"""Connections between all processes of a training, by which each tells every other the same message.

Plain sockets, read by the thread that waits for them: an engine that reads on threads of its own (torch.distributed's
gloo) wakes several of them for a message, which takes ten times as long or more where all cores are busy
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

from ecs_rl.errors import CommandError, WorkerLostError

AWAKE = 0.002
"""Seconds for which a process that waits for the others keeps awake: to be woken takes longer than most messages."""
give_way: Callable[[], None] = getattr(os, "sched_yield", partial(sleep, 0))
"""Let whoever else wants this core have it."""
HEAD = 8
"""Bytes before each message, which say how many follow."""
MEETING, GREETING = 120.0, 5.0
"""Seconds in which all must have connected, and in which who connects must say who it is."""
TALK, ALARM = range(2)
"""The two connections between two processes: for messages, and one on which nothing is said (see `Link`)."""
SECRET = 32
"""Bytes of what the processes of one training know, and nobody else."""
ALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4}
"""Seconds of silence, seconds between questions and how many of them, after which a machine counts as gone."""
Address = tuple[str, int]


def check_shares(arenas: int, size: int) -> None:
    """Refuse arenas that so many processes cannot share out evenly."""
    if arenas % size:
        fitting = size * max(1, round(arenas / size))
        told = f"{arenas} arenas cannot be shared out evenly among {size} processes"
        raise CommandError(f"--workers {size}: {told}: take --arenas {fitting}")


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
        found: dict[tuple[int, int], socket.socket] = {}
        others, until = [each for each in range(len(meeting.addresses)) if each != rank], monotonic() + MEETING
        wanted = [(other, kind) for other in others for kind in (TALK, ALARM)]
        with own:
            try:
                for other, kind in wanted[: 2 * rank]:
                    found[other, kind] = socket.create_connection(meeting.addresses[other], until - monotonic())
                    found[other, kind].sendall(meeting.secret + (2 * rank + kind).to_bytes(HEAD, "little"))
                while len(found) < len(wanted):
                    own.settimeout(max(0.001, until - monotonic()))
                    asking, _ = own.accept()
                    who = _who(asking, meeting.secret)
                    if who is not None:
                        found[divmod(who, 2)] = asking
            except (OSError, ValueError) as error:  # a negative time is a ValueError
                missing = {other for other, kind in wanted if (other, kind) not in found}
                where = ", ".join(f"{host}:{port}" for host, port in (meeting.addresses[each] for each in missing))
                for each in found.values():
                    each.close()
                raise CommandError(f"--workers: process {rank} and those at {where} do not connect: {error}") from error
        links = [Link(other, found[other, TALK], found[other, ALARM]) for other in others]
        return cls(rank, links, patience, is_near=meeting.is_near)

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
                if link.alarm is not None:
                    ready.register(link.alarm, selectors.EVENT_READ, link)
            found = [key.data for key, _ in ready.select(self.patience)]
        if not found:
            silent = ", ".join(str(link.other) for link in waiting)
            raise WorkerLostError(f"worker {silent} has said nothing for {self.patience:.0f} seconds")
        for link in filter(None, found):
            link.look()

    def close(self) -> None:
        """End all connections."""
        for link in self._links:
            link.close()


class Link:
    """A connection to one other process, over which both say one message at a time; nothing here waits.

    A second connection, the alarm, stays silent, so that the system asks every few seconds whether the other machine
    is still there. On the first it would do so only while all that was said is confirmed, which a process that rests
    for days leaves open as one that is gone does.
    """

    def __init__(self, other: int, connected: socket.socket, alarm: socket.socket | None = None) -> None:
        self.other, self.socket, self.alarm = other, connected, alarm
        for each in (connected, alarm) if alarm else ():
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in ALIVE.items():
                if hasattr(socket, name):
                    each.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        for each in filter(None, (connected, alarm)):
            each.setblocking(False)
        self.begin(memoryview(b""))

    def look(self) -> None:
        """See why the alarm was raised: the other machine is gone, or its process ended, which the first tells too."""
        assert self.alarm is not None
        try:
            self.alarm.recv(1)
        except BlockingIOError:
            return
        except OSError as error:
            raise WorkerLostError(f"worker {self.other} is gone: {error}") from error
        self.alarm.close()
        self.alarm = None

    def close(self) -> None:
        """End both connections."""
        for each in filter(None, (self.socket, self.alarm)):
            each.close()

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
    """Return the number that who connects gives, or None for a stranger, who is sent away."""
    said, until = b"", monotonic() + GREETING
    with suppress(OSError, ValueError):
        while len(said) < SECRET + HEAD:
            asking.settimeout(max(0.001, until - monotonic()))
            if monotonic() > until or not (more := asking.recv(SECRET + HEAD - len(said))):
                break
            said += more
    if len(said) == SECRET + HEAD and hmac.compare_digest(said[:SECRET], secret):
        return int.from_bytes(said[SECRET:], "little")
    asking.close()
    return None

"""A group of several processes over `torch.distributed`: started here, by torchrun, by Slurm, or on a cluster of Ray.

Nothing is pickled. Every sum is made in one order, so the same processes come to the same bits. A process that ends is
noticed at once, since its connections close; a machine that vanishes, within `LOST` seconds by its missing heartbeat.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from datetime import timedelta
from math import inf
from time import monotonic, perf_counter
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from ecs_rl.distributed.cores import let_wait_their_turn, place_on_machine, threads
from ecs_rl.distributed.group import Group
from ecs_rl.distributed.place import JOINING
from ecs_rl.errors import CommandError, WorkerLostError

TOGETHER = 120.0
"""Seconds in which all processes must have joined."""
SOON = 0.05
"""Seconds between two looks while they join."""
LOOK, BEAT, LOST = 0.5, 5.0, 25.0
"""Seconds between two looks at whether all are still there, between two heartbeats, and after which one is lost."""
SHORT, LENGTH = 4096, 8
"""Bytes of a message that go at once with its length, and of the length; a longer message needs a second one."""
DIRECT = 1 << 20
"""Bytes that a process sends at most where sums go directly from each to each other."""
PATIENCE = timedelta(days=7)
"""How long a process waits for others that are there: a person may pause the window for so long."""
SIOCGIFADDR = 0x8915
"""Asks Linux for the address of a network interface."""


class Processes(Group):
    """Several processes; WorkerLostError where one of them is gone."""

    def __init__(
        self, rank: int, size: int, lost: Callable[[], str] = str, here: tuple[int, int] | None = None
    ) -> None:
        """Take the default process group of `torch.distributed`; `lost` says which process no longer answers."""
        self.rank, self.size, self._lost = rank, size, lost
        self.here = here
        """Which process of this machine this is, and of how many; None where nobody says it."""
        self._buffers: dict[tuple[str, int, torch.dtype], Tensor] = {}
        self.seconds, self.bytes, self.messages = 0.0, 0, 0
        """What was spent on messages so far: seconds, the waiting included, bytes of this process, and how many."""

    def mean(self, *tensors: Tensor, weight: float = 1.0) -> None:
        """Overwrite float32 tensors with their means over all processes, in which this one counts `weight`."""
        sizes = [*(tensor.numel() for tensor in tensors), 1]
        buffer = self._buffer("own", sum(sizes), torch.float32)
        parts = torch.split(buffer, sizes)
        for tensor, part in zip(tensors, parts, strict=False):
            torch.mul(tensor.flatten(), weight, out=part)
        buffer[-1] = weight
        self._sum(buffer)
        buffer[:-1].div_(buffer[-1].clamp_(min=1e-30))
        for tensor, part in zip(tensors, parts, strict=False):
            tensor.copy_(part.view_as(tensor))

    def total(self, numbers: Tensor) -> Tensor:
        """Return the sums of these numbers over all processes, added in the order of the ranks."""
        whole = numbers.to(torch.float64, copy=True)
        self._sum(whole)
        return whole.to(numbers.dtype)

    def moments(self, parts: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
        """Return standard deviation and mean of each part's numbers, those of all processes together."""
        sums = torch.zeros(3, len(parts), dtype=torch.float64)
        for column, part in zip(sums.T, parts, strict=True):
            numbers = part.to(torch.float64)
            column.copy_(torch.stack([torch.tensor(float(len(part))), numbers.sum(), (numbers * numbers).sum()]))
        self._sum(sums)
        count, total, squares = sums
        count = count.clamp(min=1.0)
        mean = total / count
        std = (squares / count - mean * mean).clamp_(min=0.0).sqrt_()
        return [*zip(std.to(torch.float32), mean.to(torch.float32), strict=True)]

    def everyone(self, message: bytes) -> list[bytes]:
        """Return the message of every process, in the order of their ranks, in every process."""
        sizes, messages = self._beginnings(message)
        if (longest := max(sizes)) > SHORT:
            parts = self._room(longest)
            self._wait(dist.all_gather, [*parts], _padded(message, longest), amount=longest)
            messages = [part.numpy()[:size].tobytes() for part, size in zip(parts, sizes, strict=True)]
        return messages

    def to_first(self, message: bytes) -> list[bytes]:
        """Return the message of every process in process 0, and nothing in the others."""
        sizes, messages = self._beginnings(message)
        if (longest := max(sizes)) > SHORT:
            parts = self._room(longest if self.rank == 0 else 0)
            self._wait(dist.gather, _padded(message, longest), None if self.rank else [*parts], amount=longest)
            messages = [part.numpy()[:size].tobytes() for part, size in zip(parts, sizes, strict=True)]
        return [] if self.rank else messages

    def from_first(self, message: bytes) -> bytes:
        """Return the message of process 0 in every process."""
        envelope = _envelope(message)
        self._wait(dist.broadcast, envelope, 0, amount=len(envelope))
        size, beginning = _opened(envelope)
        if size <= SHORT:
            return beginning
        content = _padded(message if self.rank == 0 else b"", size)
        self._wait(dist.broadcast, content, 0, amount=size)
        return content.numpy().tobytes()

    def spent(self) -> dict[str, float]:
        """Return what messages took so far, by name."""
        return {"seconds_gathering": self.seconds, "bytes_sent": self.bytes, "messages": self.messages}

    def _beginnings(self, message: bytes) -> tuple[list[int], list[bytes]]:
        """Return how long the messages of all processes are, and their first `SHORT` bytes."""
        parts = self._room(SHORT + LENGTH)
        self._wait(dist.all_gather, [*parts], _envelope(message), amount=SHORT + LENGTH)
        sizes, messages = zip(*map(_opened, parts), strict=True)
        return [*sizes], [*messages]

    def _room(self, length: int) -> Tensor:
        """Return room for as many bytes of each process."""
        return torch.empty(self.size, length, dtype=torch.uint8)

    def _buffer(self, name: str, length: int, dtype: torch.dtype) -> Tensor:
        """Return a buffer of so many numbers, the same one each time."""
        key = name, length, dtype
        if key not in self._buffers:
            self._buffers[key] = torch.empty(length, dtype=dtype)
        return self._buffers[key]

    def _sum(self, numbers: Tensor) -> None:
        """Overwrite contiguous numbers with their sums over all processes, added in one order.

        Few numbers go directly from each process to each other: half the rounds of a ring, which takes fewer bytes.
        """
        if (self.size - 1) * numbers.nbytes > DIRECT:
            self._wait(dist.all_reduce, numbers, amount=2 * numbers.nbytes * (self.size - 1) // self.size)
            return
        own = numbers.flatten()
        parts = self._buffer("all", self.size * len(own), own.dtype).view(self.size, -1)
        self._wait(dist.all_gather, [*parts], own, amount=(self.size - 1) * own.nbytes)
        torch.sum(parts, 0, out=own)

    def _wait(self, collective: Callable[..., Any], *arguments: Any, amount: int) -> None:
        """Carry out what all processes do at the same time, and look now and then whether they are all there."""
        began = perf_counter()
        try:
            work = collective(*arguments, async_op=True)
            while not self._is_done(work):
                if lost := self._lost():
                    raise WorkerLostError(lost)
        except RuntimeError as error:
            raise WorkerLostError(f"a worker is gone: {str(error).splitlines()[0][:200]}") from error
        self.seconds += perf_counter() - began
        self.bytes, self.messages = self.bytes + amount, self.messages + 1

    @staticmethod
    def _is_done(work: Any) -> bool:
        """Wait for a while; return whether it is done, and raise RuntimeError where it failed."""
        try:
            work.wait(timedelta(seconds=LOOK))
        except RuntimeError:  # the time is over, or it failed, or it was done just after that
            if not work.is_completed():
                return False
            work.wait()
        return True


def _padded(message: bytes, size: int) -> Tensor:
    """Return a message as a tensor of so many bytes."""
    content = np.zeros(size, np.uint8)
    content[: len(message)] = np.frombuffer(message, np.uint8)
    return torch.from_numpy(content)


def _envelope(message: bytes) -> Tensor:
    """Return the length of a message and its first `SHORT` bytes."""
    return _padded(len(message).to_bytes(LENGTH, "little") + message[:SHORT], LENGTH + SHORT)


def _opened(envelope: Tensor) -> tuple[int, bytes]:
    """Return the length of a message and its first `SHORT` bytes."""
    content = envelope.numpy().tobytes()
    size = int.from_bytes(content[:LENGTH], "little")
    return size, content[LENGTH : LENGTH + min(size, SHORT)]


# --- joining ----------------------------------------------------------------------------------------------------------


@contextmanager
def joined(
    rank: int, size: int, backend: str, meeting: str | None, look: Callable[[], None] = lambda: None
) -> Iterator[Processes]:
    """Be one of the processes that meet there, or where the environment says: yields their group once all came.

    Calls `look` now and then before that, which may raise.
    """
    if not dist.is_backend_available(backend):
        raise CommandError(f"--backend {backend}: this torch has none of that name: take gloo")
    address = meeting or f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
    if meeting is None and not {"MASTER_ADDR", "MASTER_PORT"} <= os.environ.keys():
        raise CommandError("RANK is set, and MASTER_ADDR or MASTER_PORT is not: start it by torchrun, or set them too")
    interface = os.environ.get("GLOO_SOCKET_IFNAME") or interface_towards(meeting)
    before, own = connections(), threads()
    try:
        if interface:
            os.environ["GLOO_SOCKET_IFNAME"] = interface
        meets = Future[Any]()
        place = meets, rank, size, backend, meeting or "env://"
        threading.Thread(target=_meet, args=place, daemon=True, name=JOINING).start()
        until = monotonic() + TOGETHER + 1.0
        while not meets.done():  # torch would not let a signal through
            wait([meets], SOON)
            look()
            if monotonic() > until:  # one has come and is gone: torch waits for it as long as for a message
                raise TimeoutError(f"not all were there after {TOGETHER:.0f} seconds")
        store = meets.result()
    except (RuntimeError, ValueError, OSError) as error:
        problem = str(error).splitlines()[0][:200]
        raise CommandError(f"process {rank} of {size} found not all others at {address}: {problem}") from error
    made = connections()
    let_wait_their_turn(threads() - own)  # gloo's; they may have no names yet
    heart = None if meeting else Heart(store, rank, size)
    here = (rank, size) if meeting else place_on_machine(os.environ)
    group = Processes(rank, size, str if heart is None else lambda: heart.lost, here)
    try:
        group.everyone(b"")  # who left before all are connected would look lost
        yield group
    finally:
        if heart is not None:
            heart.stop()
            if heart.lost:  # a message to who is gone would be waited for
                shut({file: link for file, link in made.items() if file not in before or before[file] != link})
        dist.destroy_process_group()  # the others notice it at once


def _meet(meets: Future[Any], rank: int, size: int, backend: str, url: str) -> None:
    """Let the result be the store of the process group, once all are in it."""
    together = timedelta(seconds=TOGETHER)
    try:
        store, _, _ = next(rendezvous(url, rank, size, timeout=together))
        store = PrefixStore(attempt(os.environ), store)
        store.set_timeout(together)
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=PATIENCE)
        meets.set_result(store)
    except Exception as error:
        meets.set_exception(error)


def attempt(environment: Mapping[str, str]) -> str:
    """Return a prefix for what processes say in a store that outlives them: torchrun's still holds that of the dead.

    With torchrun on several machines only the one on which a process died counts a restart.
    """
    alone = environment.get("GROUP_WORLD_SIZE") == "1"
    return f"attempt{environment.get('TORCHELASTIC_RESTART_COUNT', '0') if alone else 0}"


def interface_towards(meeting: str | None) -> str:
    """Return the network interface on which the others reach this process; '' where the system must choose."""
    if meeting is not None:
        return next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))  # nothing is sent
            own = probe.getsockname()[0]
            for _, name in socket.if_nameindex():
                asked = struct.pack("256s", name.encode()[:15])
                with_address = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, asked)
                if socket.inet_ntoa(with_address[20:24]) == own:
                    return name
        except (OSError, ValueError):
            return ""
    return ""


def connections() -> dict[int, str]:
    """Return the sockets of this process, each by its file descriptor with what tells it from a later one."""
    links = dict[int, str]()
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # the listing's own is closed by now
            links[int(name)] = os.readlink(f"/dev/fd/{name}")
    return {file: link for file, link in links.items() if link.startswith("socket:")}


def shut(sockets: Mapping[int, str]) -> None:
    """Shut down the connections among these sockets: what waits for them fails at once."""
    for file, _ in sockets.items() & connections().items():
        with suppress(OSError), socket.socket(fileno=os.dup(file)) as connection:
            connection.getpeername()  # fails for one that listens, which must stay as it is
            connection.shutdown(socket.SHUT_RDWR)


class Heart:
    """Says every few seconds that this process is there, and notices which other one no longer does.

    Process 0 looks at all others, and these at process 0, which tells them of a loss.
    """

    def __init__(self, store: Any, rank: int, size: int) -> None:
        self._store, self._rank, self._over = store, rank, threading.Event()
        self._others = [*range(1, size)] if rank == 0 else [0]
        self._lost, self._asked_at = "", inf
        store.set_timeout(timedelta(seconds=LOST))
        self._thread = threading.Thread(target=self._beat, daemon=True, name="heartbeat")
        self._thread.start()

    @property
    def lost(self) -> str:
        """Which process no longer answers; empty while all do."""
        silent = monotonic() - self._asked_at > LOST
        return self._lost or (f"process 0 has not answered for {LOST:.0f} seconds" if silent else "")

    def _beat(self) -> None:
        beats, seen = 0, dict.fromkeys(self._others, (b"", monotonic()))
        while not self._over.wait(BEAT) and not self._lost:
            beats, self._asked_at = beats + 1, monotonic()
            try:
                self._store.set(f"beat/{self._rank}", str(beats))
                for other, (before, since) in seen.items():
                    beat = f"beat/{other}"
                    now = self._store.get(beat) if self._store.check([beat]) else b""  # `get` would wait for the first
                    seen[other] = (now, monotonic()) if now != before else (before, since)
                    if monotonic() - seen[other][1] > LOST:
                        self._store.set("lost", f"worker {other} has not answered for {LOST:.0f} seconds")
                if self._store.check(["lost"]):
                    self._lost = self._store.get("lost").decode()
            except RuntimeError as error:
                self._lost = f"the store at process 0 is gone: {str(error).splitlines()[0][:120]}"
            self._asked_at = inf

    def stop(self) -> None:
        """End the heartbeat."""
        self._over.set()

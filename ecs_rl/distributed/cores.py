"""On which cores the threads of a process run that trains with others. It changes no result.

gloo has threads of its own. Its loop looks again and again at a connection while another of its threads holds the
connection's lock. Where the loop wakes up on that thread's core and takes its place, the message waits until the kernel
ends the loop's turn: 4 ms instead of 0.3. So none of them takes another's place, and where the processes of a training
fill a machine, each keeps to cores of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

THREADS = Path("/proc/self/task")


def threads() -> set[int]:
    """Return the threads of this process; none where the system does not say."""
    return {int(folder.name) for folder in THREADS.glob("*")}


def let_wait_their_turn(some: set[int]) -> None:
    """Let none of these threads take the place of a thread that runs."""
    for thread in some:
        with suppress(OSError):  # it has just ended
            os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))


def place_on_machine(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """Return which process of this machine a launcher says this is, and of how many."""
    with suppress(KeyError, ValueError):
        return int(environment["LOCAL_RANK"]), int(environment["LOCAL_WORLD_SIZE"])
    return None


@contextmanager
def own_cores(place: tuple[int, int] | None, threads_of_each: int) -> Iterator[None]:
    """Keep this process to its share of the cores, if the processes on this machine need all of them."""
    if place is None or not THREADS.exists():
        yield
        return
    (rank, size), cores = place, sorted(os.sched_getaffinity(0))
    share = len(cores) // size
    if not 0 < share <= threads_of_each:
        yield
        return
    keep_to(cores[rank * share : (rank + 1) * share])
    try:
        yield
    finally:
        keep_to(cores)


def keep_to(cores: list[int]) -> None:
    """Let all threads of this process run on these cores."""
    for thread in threads():
        with suppress(OSError):  # it has just ended
            os.sched_setaffinity(thread, cores)

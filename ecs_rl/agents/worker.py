"""Threads for learning: jobs that know nothing of each other, such as the networks' passes over parts of a batch.

Torch's own threads share out every single operation and wait for each other by spinning, so that two of them are twenty
times slower than one as soon as anything else runs on the machine. Whole passes side by side meet once a minibatch
instead. Which jobs there are never depends on the threads, and what they give is put together in the order of the jobs:
the number of threads never changes a result.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import TypeVar

import torch

ENOUGH_ROWS = 512
"""Rows from which waking another thread costs less than it saves."""

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
"""glibc's names of what `mallopt` sets (malloc.h)."""
T = TypeVar("T")


@cache
def keep_memory() -> None:
    """Let what is freed be at hand for the next one who asks, and not go back to the system.

    The activations of a part of a minibatch are some hundred kilobytes each. glibc takes such from the system every
    time, whose page faults threads of one process take one after the other: two of them lost a tenth by it.
    """
    with suppress(OSError, AttributeError, TypeError):  # another C library has its own ways
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MMAP_THRESHOLD, 32 << 20)
        mallopt(TRIM_THRESHOLD, 256 << 20)


class Workers:
    """Runs jobs on so many threads, the caller's included, where there are enough rows to make it worth while."""

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(1)
        keep_memory()
        self._helpers = threads - 1
        self._pool = ThreadPoolExecutor(threads - 1, "learning", torch.set_num_threads, (1,)) if threads > 1 else None

    def all(self, jobs: Sequence[Callable[[], T]], rows: int) -> list[T]:
        """Return the results of the jobs in their order; `rows` is how many all of them work on."""
        if self._pool is None or rows < ENOUGH_ROWS:
            return [job() for job in jobs]
        waiting, done = deque(enumerate(jobs)), dict[int, T]()

        @torch.inference_mode()
        def work() -> None:
            while waiting:
                try:
                    number, job = waiting.popleft()
                except IndexError:  # another thread took the last one in between
                    return
                done[number] = job()

        others = [self._pool.submit(work) for _ in range(min(self._helpers, len(jobs) - 1))]
        try:
            work()
        finally:
            for other in others:
                other.result()
        return [done[number] for number in range(len(jobs))]

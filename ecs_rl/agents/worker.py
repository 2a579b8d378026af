"""A second thread for half of the work: the value network beside the policy.

Torch's own threads share out every single operation and wait for each other by spinning, so that two of them are twenty
times slower than one as soon as anything else runs on the machine. Two networks side by side meet once a minibatch
instead, and give the same bits as one after the other: the number of threads never changes a result.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

import torch

ENOUGH_ROWS = 512
"""Rows from which waking the other thread costs less than it saves."""

P = ParamSpec("P")
T = TypeVar("T")


class Worker:
    """Runs functions on a thread of its own if there are two to use and enough rows, and at once otherwise."""

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(1)
        self._pool = ThreadPoolExecutor(1, "aside", torch.set_num_threads, (1,)) if threads > 1 else None

    def start(self, rows: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Callable[[], T]:
        """Start the work; what is returned waits for it and gives its result."""
        if self._pool is None or rows < ENOUGH_ROWS:
            result = work(*args, **kwargs)
            return lambda: result
        return self._pool.submit(torch.inference_mode()(work), *args, **kwargs).result

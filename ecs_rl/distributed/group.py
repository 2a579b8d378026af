"""The processes of one training, as a learner sees them. A process that trains alone is a group of one.

Each process has its own arenas, rollout and replay memory, and all have the same policy: gradients and statistics are
added up over the processes, so every process takes the same step. `Group` is a group of one, where every sum is the
number itself; `Processes` is a group of several. An algorithm calls the same methods of both.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class Group:
    """A group of one: nothing is sent. It is also what a group of several looks like from within an algorithm."""

    rank: int = 0
    """The number of this process; 0 writes the run."""
    size: int = 1
    """How many processes there are."""

    def mean(self, *tensors: Tensor, weight: float = 1.0) -> None:
        """Overwrite float32 tensors with their means over all processes, in which this one counts `weight`."""

    def total(self, numbers: Tensor) -> Tensor:
        """Return the sums of these numbers over all processes, added in the order of the ranks."""
        return numbers

    def moments(self, parts: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
        """Return standard deviation and mean of each part's numbers, those of all processes together."""
        return [torch.std_mean(part, correction=0) for part in parts]

    def share(self, amount: int) -> int:
        """Return this process's share of an amount that all processes have together: rounded up, at least 1."""
        return max(1, -(-amount // self.size))

    def everyone(self, message: bytes) -> list[bytes]:
        """Return the message of every process, in the order of their ranks, in every process."""
        return [message]

    def to_first(self, message: bytes) -> list[bytes]:
        """Return the message of every process in process 0, and nothing in the others."""
        return [message]

    def from_first(self, message: bytes) -> bytes:
        """Return the message of process 0 in every process."""
        return message

    def spent(self) -> dict[str, float]:
        """Return what messages took so far, by name."""
        return {}


ALONE = Group()
"""The group of a process that trains by itself."""

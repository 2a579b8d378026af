"""A sum tree: rows are drawn in proportion to their weights, many at a time, in a few numpy calls per level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FAN = 16
"""Children of a node. Two would take four times as many levels, and a level costs the same few calls at any width."""


class SumTree:
    """The weights of `capacity` rows, at first 0, and the sums of 16, of 256, ... of them up to the sum of all.

    A node is always the running sum of its children from the left, so equal weights give equal bits in whatever order
    they came: a tree that is made anew from its weights continues like the original.
    """

    def __init__(self, capacity: int) -> None:
        sizes = [capacity]
        while sizes[-1] > 1:
            sizes.append(-(-sizes[-1] // FAN))
        padded = [-(-size // FAN) * FAN for size in sizes[:-1]] + [1]
        self._levels = [np.zeros(size) for size in padded]
        self._families = [level.reshape(-1, FAN) for level in self._levels[:-1]]
        # For each child what lies before it, and at last the sum of all.
        self._before = [np.zeros((len(family), FAN + 1)) for family in self._families]
        self.weights: NDArray[np.float64] = self._levels[0][:capacity]
        """(capacity,) Read only: `set` changes them."""

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self._levels[-1][0])

    def set(self, rows: NDArray[np.int64], weights: NDArray[np.float64] | float) -> None:
        """Give rows new weights, finite and not negative; of a row that is named twice the last one counts."""
        self._levels[0][rows] = weights
        for family, before, above in zip(self._families, self._before, self._levels[1:], strict=True):
            rows = rows // FAN
            sums = family.take(rows, axis=0).cumsum(axis=1)
            before[rows, 1:] = sums
            above[rows] = sums[:, -1]

    def find(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the row in which each point from 0 up to the total lies, when the weights lie side by side.

        A row of weight 0 is never found, whatever rounding does to the sums; there must be a weight above 0.
        """
        if not self.total > 0.0:
            raise ValueError("a sum tree without any weight has no row to draw")
        rows, left = np.zeros(len(points), np.int64), points.copy()
        for level in reversed(self._before):
            before = level.take(rows, axis=0)
            # Below the sum, so that the last child that begins at or before the point has a weight of its own.
            np.minimum(left, np.nextafter(before[:, -1], 0.0), out=left)
            child = (before <= left[:, None]).argmin(axis=1) - 1
            left -= level.take(rows * (FAN + 1) + child)
            rows = rows * FAN + child
        return rows

    def draw(self, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return one row from each of equally heavy strata, (count,) random numbers from 0 to 1 saying where in it."""
        count = len(uniform)
        return self.find((np.arange(count) + uniform) * (self.total / count))

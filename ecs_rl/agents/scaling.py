"""How running statistics scale what is seen: which numbers share theirs, and what is subtracted and divided by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ecs_rl.spaces import Layout, Picture

LIMIT = 10.0
"""Nothing normalised leaves this range, so that one wild value cannot wreck a gradient."""
EPSILON = 1e-8

Moments = NDArray[np.float64]


def deviation(count: NDArray[np.floating], squares: Moments) -> Moments:
    """Return the standard deviation of each number, a trifle more than 0; 1 before the first batch."""
    variance = squares / count if count else np.ones_like(squares)
    return np.asarray(np.sqrt(variance + EPSILON))


class Groups:
    """Which numbers of an observation share their statistics.

    The cells of a picture's layer are one group, and so is each number of a set's members: what is the same thing
    elsewhere must look the same. Whether a member is there stays 1 or 0.
    """

    def __init__(self, layout: Layout, width: int, plain: Sequence[int] = ()) -> None:
        """`plain` numbers are not scaled."""
        groups, self._as_they_are = np.arange(width), np.zeros(width, bool)
        self._as_they_are[[*plain]] = True
        for form in layout:
            numbers = np.arange(form.size)
            if isinstance(form, Picture):
                groups[form.first + numbers] = form.first + numbers // (form.up * form.across)
            else:
                groups[form.first + numbers] = form.first + numbers % form.numbers
                self._as_they_are[form.first + numbers[:: form.numbers]] = True
        self._groups = np.unique(groups, return_inverse=True)[1] if layout or plain else None

    def scales(self, mean: Moments, spread: Moments) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return what is subtracted from each number, and by what it is multiplied then."""
        groups = self._groups
        if groups is not None:
            many = np.bincount(groups)
            middle = (np.bincount(groups, mean) / many)[groups]
            variance = (np.bincount(groups, spread**2 + (mean - middle) ** 2) / many)[groups]
            mean = np.where(self._as_they_are, 0.0, middle)
            spread = np.where(self._as_they_are, 1.0, np.sqrt(variance))
        return mean.astype(np.float32), (1.0 / spread).astype(np.float32)

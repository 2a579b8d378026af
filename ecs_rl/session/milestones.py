"""The steps at which a run keeps its policy for good: about twenty, ever further apart, for most is learned early."""

from __future__ import annotations

from functools import lru_cache

EARLIEST = 18
"""Marks between the start and the whole training, each half as far again as the one before."""


@lru_cache(maxsize=4)
def mark_after(step: int, whole: int) -> int:
    """Return the first mark past a step, of a training that is `whole` after so many steps; the first of all is 0.

    The others are `whole * 1.5**k` from k = -18 on, rounded up: also beyond the whole, for a run may go on.
    """
    if step < 0:
        return 0
    power = -EARLIEST
    while (mark := _mark(whole, power)) <= step:
        power += 1
    return mark


def _mark(whole: int, power: int) -> int:
    # In whole numbers: a rounding error would put the last mark past the last step.
    grown, shrunk = (3, 2) if power >= 0 else (2, 3)
    steps: int = -(-whole * grown ** abs(power) // shrunk ** abs(power))
    return steps

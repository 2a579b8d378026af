"""When a run keeps its policy for good, about twenty times and ever less often, and how often it is evaluated."""

from __future__ import annotations

from functools import lru_cache

EARLIEST = 18
"""Marks between the start and the whole training, each half as far again as the one before."""
USUAL_EVAL_EVERY = 25_000
"""Steps between two evaluations where episodes are short."""
TIMES_AN_EVALUATION = 10
"""Steps between two evaluations, as multiples of the steps that an evaluation takes at most."""


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


def usual_eval_every(max_ticks: int, episodes: int, whole: int) -> int:
    """Return the steps between two evaluations of so many episodes, where nobody says them.

    Ten times what an evaluation takes at most, so that evaluations stay a small share of a training with long
    episodes; but at least two in a training that is `whole` after so many steps.
    """
    return max(USUAL_EVAL_EVERY, min(TIMES_AN_EVALUATION * max_ticks * episodes, whole // 2))

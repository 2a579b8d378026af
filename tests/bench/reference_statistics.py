"""How sure a comparison of two algorithms is: the probability of improvement, as rliable defines it.

See Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice" (2021), section 4.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.session.bootstrap import CONFIDENCE

REPETITIONS = 2_000
"""Resampled sets of runs, as many as the example on the page of rliable takes for this number."""

Task = tuple[Sequence[float], Sequence[float]]
"""The results of the runs of X and of Y on one task."""


class Improvement(NamedTuple):
    """The probability that a run of X beats a run of Y, and both ends of its 95 % interval."""

    probability: float
    low: float
    high: float


def probability_of_improvement(tasks: Sequence[Task], repetitions: int = REPETITIONS) -> Improvement:
    """Return the mean over the tasks of P(X > Y) + P(X = Y) / 2, each over all pairs of a run of X and one of Y.

    The interval is that of the stratified percentile bootstrap: the runs of each algorithm on each task are drawn with
    replacement by themselves. The generator begins with the same seed each time.
    """
    random = np.random.default_rng(0)
    tables = [_wins(np.sort(np.array(x, np.float64)), np.sort(np.array(y, np.float64))) for x, y in tasks]
    resampled = np.mean([_resampled(wins, repetitions, random) for wins in tables], axis=0)
    low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Improvement(float(np.mean([wins.mean() for wins in tables])), float(low), float(high))


def _wins(x: F64, y: F64) -> F64:
    """Return (runs of X, runs of Y): 1 where X is larger, one half where they are equal."""
    return np.asarray((x[:, None] > y) + 0.5 * (x[:, None] == y))


def _resampled(wins: F64, repetitions: int, random: np.random.Generator) -> F64:
    """Return (repetitions,) the mean of `wins` over resampled runs: how often each run is drawn is its weight."""
    drawn_x, drawn_y = (random.multinomial(n, np.full(n, 1 / n), repetitions) / n for n in wins.shape)
    return np.asarray(((drawn_x @ wins) * drawn_y).sum(1))

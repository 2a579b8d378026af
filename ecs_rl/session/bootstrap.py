"""What several seeds come to: the interquartile mean and its bootstrap interval, as rliable defines them.

See Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice" (2021). A seed's result is
one number and all are of one task, so the bootstrap's only stratum is that task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ecs_rl.arrays import F64

REPETITIONS = 50_000
"""Resampled sets of runs, as many as rliable takes by default."""
CONFIDENCE = 0.95
AT_ONCE = 1_000_000
"""Numbers that are resampled in one go: eight megabytes."""


class Summary(NamedTuple):
    """The result of several runs in five numbers."""

    mean: float
    iqm: float
    """Interquartile mean."""
    median: float
    low: float
    """The lower end of the bootstrap interval of the interquartile mean."""
    high: float


def iqm(numbers: F64) -> F64:
    """Return (...) the interquartile mean over the last axis of (..., runs): a quarter is cut off at either end.

    Of `runs / 4` the whole part is cut, as scipy's `trim_mean` does: of up to three runs it is the mean.
    """
    cut = numbers.shape[-1] // 4
    ordered = np.sort(numbers, axis=-1)
    return np.asarray(ordered[..., cut : numbers.shape[-1] - cut].mean(axis=-1))


def interval(numbers: F64, repetitions: int = REPETITIONS) -> tuple[F64, F64]:
    """Return (points,), (points,) both ends of the 95 % interval of the interquartile mean of (points, runs).

    The percentile bootstrap: runs are drawn with replacement, the same ones for every point, by a generator that begins
    with the same seed each time. The order of the runs does not matter where there is one point.
    """
    points, runs = numbers.shape
    if points == 1:
        numbers = np.sort(numbers)
    random = np.random.default_rng(0)
    resampled = np.empty((points, repetitions))
    at_once = max(1, AT_ONCE // numbers.size)
    for first in range(0, repetitions, at_once):
        last = min(first + at_once, repetitions)
        resampled[:, first:last] = iqm(numbers[:, random.integers(0, runs, (last - first, runs))])
    low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=1)
    return low, high


def summary(numbers: Sequence[float]) -> Summary | None:
    """Return the five numbers of the runs that have a result, None where none has."""
    if not numbers:
        return None
    values = np.array(numbers, np.float64)
    low, high = interval(values[None])
    return Summary(float(values.mean()), float(iqm(values)), float(np.median(values)), float(low[0]), float(high[0]))

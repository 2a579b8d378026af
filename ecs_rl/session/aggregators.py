"""Ways to make one number of many: give it values one by one with `add`, ask for the result with `value`."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Protocol


class Aggregator(Protocol):
    """Anything that takes numbers one by one; only finite ones arrive."""

    def add(self, value: float) -> None:
        """Take one more value."""

    def value(self) -> float:
        """Return the result so far, NaN while there is none."""


class Resumable:
    """An aggregator that a resumed run finds again as it was: all that it knows is a list of finite numbers."""

    _known: deque[float] | list[float]

    def state(self) -> list[float]:
        """Return what it knows."""
        return list(self._known)

    def restore(self, state: Sequence[float]) -> None:
        """Go on from what `state` returned."""
        self._known.clear()
        self._known.extend(state)


class _Summary(Resumable):
    """Knows a fixed number of numbers, all zero at first; the first counts the values."""

    _size = 1

    def __init__(self) -> None:
        self._known = [0] * self._size

    def restore(self, state: Sequence[float]) -> None:
        """Go on from what `state` returned."""
        if len(state) != self._size:
            raise ValueError(f"it knows {self._size}")
        super().restore(state)


class Count(_Summary):
    """How many values there were."""

    def add(self, value: float) -> None:
        """Take one more value."""
        self._known[0] += 1

    def add_many(self, values: Sequence[float]) -> None:
        """Take many values."""
        self._known[0] += len(values)

    def value(self) -> float:
        """Return how many there were."""
        return float(self._known[0])


class Mean(_Summary):
    """The mean of all values."""

    _size = 2

    def add(self, value: float) -> None:
        """Take one more value."""
        count, mean = self._known
        self._known = [count + 1, mean + (value - mean) / (count + 1)]

    def value(self) -> float:
        """Return the mean, NaN while there is none."""
        count, mean = self._known
        return mean if count else math.nan


class Std(_Summary):
    """The standard deviation of all values themselves (divided by n), by Welford's method."""

    _size = 3

    def add(self, value: float) -> None:
        """Take one more value."""
        count, before, squares = self._known
        mean = before + (value - before) / (count + 1)
        self._known = [count + 1, mean, squares + (value - before) * (value - mean)]

    def value(self) -> float:
        """Return the deviation, NaN while there is none."""
        count, _, squares = self._known
        return math.sqrt(squares / count) if count else math.nan


class _Rolling(Resumable):
    def __init__(self, window: int) -> None:
        if window < 1:
            raise ValueError(f"a window of {window} values holds nothing; use 1 or more")
        self._known: deque[float] = deque(maxlen=window)

    def add(self, value: float) -> None:
        """Take one more value and forget the one that leaves the window."""
        self._known.append(value)

    def add_many(self, values: Sequence[float]) -> None:
        """Take many values, in order."""
        self._known.extend(values)


def _mean(values: Sequence[float]) -> float:
    try:
        return math.fsum(values) / len(values)
    except OverflowError:  # the sum of large values has no float, their mean has
        return math.fsum(value / len(values) for value in values)


class RollingMean(_Rolling):
    """The mean of the newest `window` values."""

    def value(self) -> float:
        """Return the mean, NaN while there is none."""
        # Summed afresh: a running sum would gather rounding errors over millions of episodes.
        return _mean(self._known) if self._known else math.nan


class RollingStd(_Rolling):
    """The standard deviation of the newest `window` values themselves (divided by n)."""

    def value(self) -> float:
        """Return the deviation, NaN while there is none."""
        if not self._known:
            return math.nan
        mean = _mean(self._known)
        return math.hypot(*(value - mean for value in self._known)) / math.sqrt(len(self._known))


class RollingMax(_Rolling):
    """The largest of the newest `window` values."""

    def value(self) -> float:
        """Return the largest, NaN while there is none."""
        return max(self._known, default=math.nan)


class Last(Resumable):
    """The newest value."""

    def __init__(self) -> None:
        self._known = deque(maxlen=1)

    def add(self, value: float) -> None:
        """Take one more value."""
        self._known.append(value)

    def value(self) -> float:
        """Return what is kept, NaN while there is none."""
        return self._known[0] if self._known else math.nan


class Max(Last):
    """The largest value."""

    def add(self, value: float) -> None:
        """Take one more value."""
        self._known.append(max([value, *self._known]))


class Min(Last):
    """The smallest value."""

    def add(self, value: float) -> None:
        """Take one more value."""
        self._known.append(min([value, *self._known]))

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


class Resumable(Protocol):
    """An aggregator that a resumed run finds again as it was; all of ours are, yours may be."""

    def state(self) -> list[float]:
        """Return what it knows as finite numbers."""

    def restore(self, state: Sequence[float]) -> None:
        """Go on from there."""


class Mean:
    """The mean of all values."""

    def __init__(self) -> None:
        self._count = 0
        self._mean = 0.0

    def add(self, value: float) -> None:
        """Take one more value."""
        self._count += 1
        self._mean += (value - self._mean) / self._count

    def value(self) -> float:
        """Return the mean, NaN while there is none."""
        return self._mean if self._count else math.nan

    def state(self) -> list[float]:
        """Return count and mean."""
        return [self._count, self._mean]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from there."""
        self._count, self._mean = int(state[0]), state[1]


class Std:
    """The standard deviation of all values themselves (divided by n), by Welford's method."""

    def __init__(self) -> None:
        self._count = 0
        self._mean = 0.0
        self._squares = 0.0

    def add(self, value: float) -> None:
        """Take one more value."""
        self._count += 1
        delta = value - self._mean
        self._mean += delta / self._count
        self._squares += delta * (value - self._mean)

    def value(self) -> float:
        """Return the deviation, NaN while there is none."""
        return math.sqrt(self._squares / self._count) if self._count else math.nan

    def state(self) -> list[float]:
        """Return count, mean and the sum of squared deviations."""
        return [self._count, self._mean, self._squares]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from there."""
        self._count, self._mean, self._squares = int(state[0]), state[1], state[2]


class Last:
    """The newest value."""

    def __init__(self) -> None:
        self._value = math.nan

    def add(self, value: float) -> None:
        """Take one more value."""
        self._value = value

    def value(self) -> float:
        """Return the newest value, NaN while there is none."""
        return self._value

    def state(self) -> list[float]:
        """Return the value, if there is one."""
        return [] if math.isnan(self._value) else [self._value]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from there."""
        self._value = state[0] if state else math.nan


class Max(Last):
    """The largest value."""

    def add(self, value: float) -> None:
        """Take one more value."""
        if not value <= self._value:  # also true while there is only NaN
            self._value = value


class Min(Last):
    """The smallest value."""

    def add(self, value: float) -> None:
        """Take one more value."""
        if not value >= self._value:
            self._value = value


class Count:
    """How many values there were."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, value: float) -> None:
        """Take one more value."""
        self._count += 1

    def add_many(self, values: Sequence[float]) -> None:
        """Take many values."""
        self._count += len(values)

    def value(self) -> float:
        """Return how many there were."""
        return float(self._count)

    def state(self) -> list[float]:
        """Return the count."""
        return [self._count]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from there."""
        self._count = int(state[0])


class _Rolling:
    def __init__(self, window: int) -> None:
        if window < 1:
            raise ValueError(f"a window of {window} values holds nothing; use 1 or more")
        self._values: deque[float] = deque(maxlen=window)

    def add(self, value: float) -> None:
        """Take one more value and forget the one that leaves the window."""
        self._values.append(value)

    def add_many(self, values: Sequence[float]) -> None:
        """Take many values, in order."""
        self._values.extend(values)

    def state(self) -> list[float]:
        """Return the window."""
        return list(self._values)

    def restore(self, state: Sequence[float]) -> None:
        """Go on from there."""
        self._values.clear()
        self._values.extend(state)


class RollingMean(_Rolling):
    """The mean of the newest `window` values."""

    def value(self) -> float:
        """Return the mean, NaN while there is none."""
        # Summed afresh: a running sum would gather rounding errors over millions of episodes.
        return math.fsum(self._values) / len(self._values) if self._values else math.nan


class RollingStd(_Rolling):
    """The standard deviation of the newest `window` values themselves (divided by n)."""

    def value(self) -> float:
        """Return the deviation, NaN while there is none."""
        if not self._values:
            return math.nan
        mean = math.fsum(self._values) / len(self._values)
        return math.hypot(*(value - mean for value in self._values)) / math.sqrt(len(self._values))


class RollingMax(_Rolling):
    """The largest of the newest `window` values."""

    def value(self) -> float:
        """Return the largest, NaN while there is none."""
        return max(self._values, default=math.nan)

"""How fast the training behind a window may go: slow, in real time, flat out, or opening up by itself.

What decides is how long the arenas have lived, in their own time, and never the clock or how well it learns: the same
training gets the same updates at any pace.
"""

from __future__ import annotations

import math
from time import perf_counter

FLAT_OUT = "max"
PACES = {"slow": 0.25, "1x": 1.0, FLAT_OUT: math.inf}
"""How many times faster than real time each training arena lives."""
OPENS = "opens"
"""The pace that begins in real time and doubles."""
DOUBLES, WIDE_OPEN = 5.0, 6
"""Seconds of each arena's life after which the pace doubles, and how often it does before it is flat out."""
CATCHES_UP = 0.05
"""Seconds' worth of ticks that may be made up for at once, after a long update."""


def times_real(pace: str, lived: float) -> float:
    """Return how many times faster than real time the arenas live, after so many seconds of each one's life."""
    if pace != OPENS:
        return PACES[pace]
    doubled = int(lived / DOUBLES)
    return 2.0**doubled if doubled < WIDE_OPEN else math.inf


class Pace:
    """Lets ticks begin, at a rate."""

    def __init__(self, name: str) -> None:
        self.name = name
        """`slow`, `1x`, `max` or `opens`."""
        self._credit = 1.0
        self._looked = perf_counter()

    def may_tick(self, rate: float) -> bool:
        """Return whether the next tick may begin now, at so many a second; if so it is counted."""
        now = perf_counter()
        passed, self._looked = now - self._looked, now
        if math.isinf(rate):
            return True
        self._credit = min(self._credit + passed * rate, max(1.0, rate * CATCHES_UP))
        if self._credit < 1.0:
            return False
        self._credit -= 1.0
        return True

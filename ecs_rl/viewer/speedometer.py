"""How fast a show really plays."""

from __future__ import annotations

MEASURE = 0.5
"""Seconds over which the reached speed is measured."""


class Speedometer:
    """Measures times real time; what was reached of another speed is forgotten when a new one is asked for."""

    def __init__(self) -> None:
        self.reached = 1.0
        self._asked = 1.0
        self._seconds = self._passed = 0.0

    def note(self, asked: float, seconds: float, passed: float) -> float:
        """Take in so many seconds of real time, and of the show's; return what is reached."""
        if asked != self._asked:
            self._asked = self.reached = asked
            self._seconds = self._passed = 0.0
        self._seconds += seconds
        self._passed += passed
        if self._seconds >= MEASURE:
            self.reached = self._passed / self._seconds
            self._seconds = self._passed = 0.0
        return self.reached

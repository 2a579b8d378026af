"""The profiler: where the time of ticks and frames goes, averaged so that it can be read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

MEAN = 1.0
"""Seconds that means go back."""
RENEW = 0.25
"""Seconds for which shown numbers stay as they are: faster than this nobody can read them."""


@dataclass(frozen=True)
class ProfileRow:
    """What one stage of the tick costs."""

    name: str
    now: float
    """Milliseconds in the last frame."""
    mean: float
    share: float


@dataclass(frozen=True)
class ProfileView:
    """Where the time goes."""

    rows: tuple[ProfileRow, ...]
    frame: tuple[tuple[str, float], ...] = ()
    """Where the last frame went: name and milliseconds."""
    budget: float = 1000 / 60
    """Milliseconds that a frame may take."""


class Profiler:
    """Is told of each frame, and tells what it cost."""

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._before: dict[str, float] = {}
        self._frames: deque[tuple[float, dict[str, float], dict[str, float]]] = deque()
        """When, seconds of each stage, seconds of each part: the last second's frames, at least one."""
        self._last = clock()
        self._view = ProfileView(())
        self._viewed = -RENEW

    def frame(self, seconds_in: Mapping[str, float], parts: Mapping[str, float]) -> None:
        """Note a frame: the seconds that each stage has taken so far, and those of this frame's own parts."""
        now = self._clock()
        self._last = now
        spent = {name: seconds - self._before.get(name, seconds) for name, seconds in seconds_in.items()}
        spent = {name: max(0.0, seconds) for name, seconds in spent.items()}  # another world begins at nothing
        self._before = dict(seconds_in)
        self._frames.append((now, spent, dict(parts)))
        while len(self._frames) > 1 and self._frames[0][0] <= now - MEAN:
            self._frames.popleft()

    def view(self) -> ProfileView:
        """Return what to show; the same object for a quarter of a second."""
        if self._frames and self._last - self._viewed >= RENEW:
            self._viewed = self._last
            self._view = self._measured()
        return self._view

    def _measured(self) -> ProfileView:
        _, spent, parts = self._frames[-1]
        count = len(self._frames)
        total = sum(sum(stages.values()) for _, stages, _ in self._frames) or 1.0
        rows = []
        for name, seconds in spent.items():
            mean = sum(stages.get(name, 0.0) for _, stages, _ in self._frames) / count
            rows.append(ProfileRow(name, seconds * 1e3, mean * 1e3, mean * count / total))
        means = {name: sum(stages.get(name, 0.0) for _, _, stages in self._frames) / count for name in parts}
        return ProfileView(tuple(rows), tuple((name, mean * 1e3) for name, mean in means.items()))

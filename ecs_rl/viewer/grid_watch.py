"""From the world of a training to the grid's part of the view model, read between two slices of it."""

from __future__ import annotations

import math

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.results import Results
from ecs_rl.viewer.camera import Following, Framing
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.shapes import Placement
from ecs_rl.viewer.view import GridView
from ecs_rl.world import World

FADE = 0.5
"""Seconds for which an arena shows that its episode has just ended."""
CALM = 0.5
"""Endings per second and arena that may flash brightly; more flash as much more faintly, or all would flicker."""
MEMORY = 1.5
"""Seconds over which endings are counted."""
BRIGHTEST = 0.75
SLOWEST = 0.4
"""Seconds that a line takes to follow its return when episodes last less than that; then it shows their usual one."""


class GridWatch:
    """Looks at all arenas of a world, and at one of them in particular."""

    def __init__(self, world: World) -> None:
        self.world, self.arenas, self.selected = world, world.arenas, 0
        self.reader = Reader(world)
        self._episode = self.reader.clock.episode.copy()
        self._ended: F64 = np.zeros(world.arenas)
        self._rate: float | None = None
        """Endings per second and arena; None before the second look."""
        self._bars: F64 | None = None
        self._seen = False
        self._framed_at = -1
        """Episodes that had ended in all arenas together when the picture was last reconsidered."""
        self._low = self._high = 0.0

    def view(self, seconds: float) -> GridView:
        """Return all arenas now, so many seconds after the last look."""
        reader = self.reader
        placement = reader.places.at(slice(None))
        focus = self._frame(placement, seconds)
        results = Results(self.world).now()
        flashes = self._flashes(seconds)
        return GridView(
            tuple(reader.places.objects(placement).values()),
            reader.ground.segments.copy(),
            self._followed(results, seconds),
            self._scale(results),
            flashes,
            reader.framing.bounds(),
            reader.framing.shape,
            reader.rails,
            self.selected,
            "score" if self.world.scene.score else "return",
            focus,
            tuple((line.points.copy(), line.road, line.closed) for line in self.world.arena.paths if line.road),
            self.world.scene.backdrop,
        )

    def _frame(self, placement: Placement, seconds: float) -> F64 | None:
        """Make room for all arenas; what was visited counts until each of them has ended so many episodes.

        Where the scene's camera follows something, return (arenas, 2) where that is.
        """
        framing = self.reader.framing
        if isinstance(framing, Following):
            return np.nan_to_num(framing.targets(placement))
        if not isinstance(framing, Framing) or framing.outline is None:
            return None
        reach = framing.outline.reach(placement)
        if not self._seen:
            self._seen = True
            framing.jump(reach)
            return None
        ended = int(self.reader.clock.episode.sum())
        if ended - self._framed_at >= self.arenas:
            self._framed_at = ended
            framing.begin()
        framing.see(reach, seconds)
        return None

    def _flashes(self, seconds: float) -> F64:
        """Return how brightly each arena shows that its episode has just ended, calmer the more of them end."""
        now = self.reader.clock.episode
        ended = now != self._episode
        if seconds > 0:
            rate = float(np.maximum(0, now - self._episode).sum()) / self.arenas / seconds
            share = 1.0 if self._rate is None else 1.0 - math.exp(-seconds / MEMORY)
            self._rate = rate if self._rate is None else self._rate + (rate - self._rate) * share
        self._episode = now.copy()
        strength = BRIGHTEST * min(1.0, CALM / max(self._rate or 0.0, 1e-9))
        self._ended = np.where(ended, strength, np.maximum(0.0, self._ended - seconds / FADE * strength))
        return self._ended

    def _followed(self, returns: F64, seconds: float) -> F64:
        """Return the returns, smoothed where episodes are too short to be followed by eye."""
        slow = SLOWEST * min(1.0, (self._rate or 0.0) * SLOWEST)
        share = 1.0 - math.exp(-seconds / slow) if slow > 0 else 1.0
        good = np.where(np.isfinite(returns), returns, 0.0)
        before = good if self._bars is None else self._bars
        self._bars = before + (good - before) * share
        return self._bars

    def _scale(self, returns: F64) -> tuple[float, float]:
        """Return the returns at both ends of the lines: full is solved, or the most that was seen."""
        good = returns[np.isfinite(returns)]
        self._low = min(self._low, float(good.min(initial=0.0)))
        self._high = max(self._high, float(good.max(initial=0.0)))
        goal = self.world.scene.solved_at
        if goal is not None and goal > 0:
            return (-goal if self._low < -0.02 * goal else 0.0), float(goal)
        return self._low, max(self._high, self._low + 1e-9)

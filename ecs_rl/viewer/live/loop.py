"""The loop: one thread, sixty looks a second, and what is left of each goes to the training."""

from __future__ import annotations

import gc
import time
import traceback
from collections.abc import Callable
from time import perf_counter

from ecs_rl.errors import EcsRlError
from ecs_rl.viewer.live.display import DisplayLost
from ecs_rl.viewer.live.window import Window

FRAME = 1 / 60
"""Seconds between two frames."""
TURBO_FRAME = 1 / 4
"""Seconds between two frames in turbo; the keyboard is answered as often as ever."""
WHILE_TRAINING, ALONE = 0.25, 0.7
"""Share of a frame that the stage may take, with a training behind it and without."""
LEAST = 0.5
"""Share of a frame's time that the training gets in any case, however long a slow screen takes to draw."""
LONGEST = 0.25
"""Seconds of real time that a single frame can stand for."""


class Loop:
    """Runs a window until it is closed, or somebody else has had enough."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.parts: dict[str, float] = {}
        self.frames = 0
        self.drawn_at = self._marked = self._next = perf_counter()

    def run(self, over: Callable[[], bool]) -> None:
        """Go on until it is over."""
        gc.collect()
        gc.freeze()  # what is here stays: looking through all of it again takes longer than a frame
        try:
            while not (self.window.closing or over()):
                self.frame()
        finally:
            gc.unfreeze()

    def frame(self) -> None:
        """Answer the user, draw if it is time to, and let the training have the rest."""
        self._marked = perf_counter()
        try:
            self._look()
        except DisplayLost:
            raise
        except Exception as error:  # a mistake of the window's own must not take the training along
            if self.window.background is None:
                raise
            if isinstance(error, EcsRlError):
                raise DisplayLost(str(error)) from error
            traceback.print_exc()
            raise DisplayLost(f"a mistake of ours: {error!r}") from error
        work = self.window.background
        least = LEAST if work is not None and work.busy else 0.0
        self._next = max(self._next + FRAME, self._marked + least * FRAME)
        self._work(self._next)

    def _look(self) -> None:
        window = self.window
        window.answer()
        if window.history is not None:
            window.history.read()  # also while nothing is drawn: what is new does not pile up
        self._mark("events")
        due = window.stale or not window.turbo or self._marked - self.drawn_at >= TURBO_FRAME * 0.9
        if due and not window.display.is_minimised:
            self._draw()

    def _draw(self) -> None:
        window, work = self.window, self.window.background
        passed = min(self._marked - self.drawn_at, LONGEST)
        self.drawn_at = self._marked
        share = WHILE_TRAINING if work is not None and work.busy else ALONE
        window.advance(passed, (TURBO_FRAME if window.turbo else FRAME) * share)
        self._mark("stage")
        window.draw(passed)
        self._mark("draw")
        window.display.flip()
        window.recorder.add(window)
        self._mark("show")
        self.frames += 1
        source = work.training.world if work is not None and not work.is_saved else window.show.world
        window.profiler.frame(source.seconds_in, self.parts)
        self.parts = {}

    def _work(self, until: float) -> None:
        work = self.window.background
        if work is not None:
            work.run(until)
            self._mark("train")
        rest = until - perf_counter()
        if rest > 0:
            time.sleep(rest)
        self._mark("idle")

    def _mark(self, part: str) -> None:
        """Count the time since the last mark to a part of the frame."""
        now = perf_counter()
        self.parts[part] = self.parts.get(part, 0.0) + now - self._marked
        self._marked = now

"""What all stages share: they gather their columns once, and their time is measured."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import esper

A_MOMENT = 0.001
"""Seconds; a stage that takes less than this goes on to the next one without a pause."""


class Stage(esper.Processor):
    """A stage of the tick. Columns never move while a world lives, so each stage gathers its own when it is made."""

    seconds: float = 0.0
    """How long the stage has run so far."""
    can_leave: bool = False
    """Whether the tick may be left between the present two slices, to be taken up with this stage's beginning later."""

    def process(self) -> None:
        """Run the stage and count its time."""
        began = perf_counter()
        self.run()
        self.seconds += perf_counter() - began

    def slices(self) -> Iterator[None]:
        """Do the same in slices, so that a window can draw in between; most stages are a part of one."""
        before = self.seconds
        self.process()
        if self.seconds - before > A_MOMENT:
            yield

    def run(self) -> None:
        """Do this stage's part of the tick."""
        raise NotImplementedError


class LongStage(Stage):
    """A stage whose part of the tick may take long, and comes in slices."""

    def work(self) -> Iterator[None]:
        """Do this stage's part of the tick, stopping now and then."""
        raise NotImplementedError

    def run(self) -> None:
        """Do all of it."""
        for _ in self.work():
            pass

    def slices(self) -> Iterator[None]:
        """Do it in slices, counting the time."""
        return self.timed(self.work())

    def timed(self, work: Iterator[None]) -> Iterator[None]:
        """Pass on the slices of some work, counting the time that is spent in them."""
        while True:
            began = perf_counter()
            try:
                next(work)
            except StopIteration:
                return
            finally:
                self.seconds += perf_counter() - began
            yield

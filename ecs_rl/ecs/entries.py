"""Stages of the tick and their declarations, and the check that nothing is read before it is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import esper

from ecs_rl.errors import EcsRlError

if TYPE_CHECKING:
    from ecs_rl.ecs.context import Context

A_MOMENT = 0.001
"""Seconds; a stage that takes less than this goes on to the next one without a pause."""


class Stage(esper.Processor):
    """A stage of the tick. It gathers its columns when it is made, since arrays never move while a world lives."""

    context: Context
    """The context whose tick this stage belongs to; the runner sets it."""
    entry: Entry
    """The stage's row of the schedule; the runner sets it."""
    seconds: float = 0.0
    """How long the stage has run so far."""
    can_leave: bool = False
    """Whether the tick may be left between the present two slices, to be taken up with this stage's beginning later."""

    def process(self) -> None:
        """Run the stage and count its time; esper calls this once a tick."""
        began = perf_counter()
        self.take_turn()
        try:
            self.run()
        finally:
            self.context.asking = False
            self.seconds += perf_counter() - began

    def take_turn(self) -> None:
        """Note in the context whether this stage only asks rules, so that they may share what they compute."""
        context, asks = self.context, self.entry.asks
        context.asking = asks
        context.version += not asks

    def slices(self) -> Iterator[None]:
        """Run the stage in slices, between which a window can draw; most stages take less than one slice."""
        before = self.seconds
        self.process()
        if self.seconds - before > A_MOMENT:
            yield

    def run(self) -> None:
        """Do this stage's part of the tick."""
        raise NotImplementedError


class LongStage(Stage):
    """A stage that may take long and runs in slices."""

    def work(self) -> Iterator[None]:
        """Do this stage's part of the tick, yielding between slices."""
        raise NotImplementedError

    def run(self) -> None:
        """Do all of it."""
        for _ in self.work():
            pass

    def slices(self) -> Iterator[None]:
        """Do it in slices, counting the time."""
        self.take_turn()
        return self.timed(self.work())

    def timed(self, work: Iterator[None]) -> Iterator[None]:
        """Yield the slices of some work and count their seconds."""
        while True:
            began = perf_counter()
            try:
                next(work)
            except StopIteration:
                return
            finally:
                self.seconds += perf_counter() - began
            yield


class ScheduleError(EcsRlError):
    """Raised if a component is read before it is written, or if a stage does not do what it declares."""


@dataclass(frozen=True)
class Entry:
    """One stage of the tick."""

    name: str
    processor: Callable[[Any], Stage]
    about: str
    reads: tuple[type, ...] = ()
    """Components that an earlier stage of this tick wrote."""
    keeps: tuple[type, ...] = ()
    """Components read as the last tick left them: a stage at or after this one writes them."""
    writes: tuple[type, ...] = ()
    plays: bool = False
    """Part of the game itself: it runs in every world, and again when a world is brought back by its actions."""
    asks: bool = False
    """It asks rules, and writes nothing that a rule can see: what they share is worked out once."""
    after: str = ""
    """The stage after which a system of the scene's own was placed."""


def check(schedule: Sequence[Entry], outside: Collection[type]) -> None:
    """Raise ScheduleError if a stage reads a component before it is written, or keeps one that no stage writes again.

    `outside` are the components that are set between the ticks.
    """
    written: set[type] = set(outside)
    for i, entry in enumerate(schedule):
        for component in entry.reads:
            if component not in written:
                raise ScheduleError(f"'{entry.name}' reads {component.__name__} before any stage has written it")
        later = {component for other in schedule[i:] for component in other.writes} | set(outside)
        for component in entry.keeps:
            if component not in later:
                raise ScheduleError(f"'{entry.name}' keeps {component.__name__} of the last tick: none writes it after")
            if component in written - set(outside):
                raise ScheduleError(f"'{entry.name}' wants {component.__name__} of the last tick, it is overwritten")
        written |= set(entry.writes)

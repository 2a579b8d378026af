"""The runner makes the stages of a context esper's processors and runs a tick of them, whole or in slices.

`esper.process()` runs the same tick. A processor that a user adds through esper runs in its place by esper's priority:
after the stages unless it asks for a higher one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from itertools import dropwhile

import esper

from ecs_rl.ecs.context import Context
from ecs_rl.ecs.entries import Entry, ScheduleError, Stage
from ecs_rl.ecs.system import SystemStage

LAST = -1_000_000
"""esper's priority of the processor that counts ticks: below any that a user would choose."""


class Runner:
    """Runs the processors of one context: the stages in the order of their entries, and those that a user adds.

    Any stage may run rules of a scene, which may read the components `rules_read`.
    """

    def __init__(
        self, context: Context, entries: Sequence[Entry], *, rules_read: Collection[type] = (), debug: bool = False
    ) -> None:
        self.context, self.rules_read, self.debug = context, frozenset(rules_read), debug
        self.stages: dict[str, Stage] = {}
        for entry in entries:
            context.queried.clear()
            self.stages[entry.name] = stage = entry.processor(context)
            stage.context, stage.entry = context, entry
            self._check_reads(entry)
        context.enter()
        for stage in self.stages.values():
            esper.add_processor(stage)
        esper.add_processor(CountTicks(context), priority=LAST)

    def tick(self) -> None:
        """Run every processor once."""
        if self.debug:
            self._watched()
        else:
            esper.process()

    def slices(self, first: str = "") -> Iterator[str]:
        """Run one tick in slices, or the rest of one from the stage `first` on; yield the name of the stage at work.

        Between two slices other contexts may run. A debug run takes the whole tick in one go.
        """
        if self.debug:
            self.tick()
            return
        waiting = self.stages.get(first)
        for processor in dropwhile(
            lambda stage: waiting is not None and stage is not waiting, processors(self.context)
        ):
            if not isinstance(processor, Stage):
                processor.process()
                continue
            for _ in processor.slices():
                yield processor.entry.name
                self.context.enter()

    def replay(self, without: str) -> None:
        """Run the stages that play the game, except `without`, whose result is known."""
        for stage in self.stages.values():
            if stage.entry.plays and stage.entry.name != without:
                stage.take_turn()
                try:
                    stage.run()
                finally:
                    self.context.asking = False

    def _check_reads(self, entry: Entry, looks: Set[type] = frozenset()) -> None:
        """Refuse a query for a component that the stage does not declare, and a look at one by a rule that it ran."""
        declared = {*entry.reads, *entry.keeps, *entry.writes}
        for verb, secret in (("queries", self.context.queried - declared), ("reads", looks - declared)):
            if secret:
                names = ", ".join(sorted(kind.__name__ for kind in secret))
                raise ScheduleError(f"'{entry.name}' {verb} {names} without saying so in the schedule")

    def _watched(self) -> None:
        """Compare what each stage really changes and reads with what its entry declares."""
        before = self.context.digests()
        for processor in processors(self.context):
            self.context.noted.clear()
            self.context.queried.clear()
            processor.process()
            self.context.enter()  # the processor may have run another context
            after = self.context.digests()
            if isinstance(processor, Stage):
                changed = {kind for name, kind in after if after[name, kind] != before.get((name, kind))}
                secret = sorted(kind.__name__ for kind in changed - set(processor.entry.writes))
                if secret:
                    changes = f"'{processor.entry.name}' changes {', '.join(secret)}"
                    raise ScheduleError(f"{changes} without saying so in the schedule")
                looks = frozenset[type]() if isinstance(processor, SystemStage) else self.context.noted
                self._check_reads(processor.entry, looks - self.rules_read)
            if isinstance(processor, SystemStage):
                processor.check_reads()
            before = after


class CountTicks(esper.Processor):
    """Counts the ticks of a context that ran to their end."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def process(self) -> None:
        """Count this tick."""
        self.context.ticks += 1


def processors(context: Context) -> list[esper.Processor]:
    """Return a context's processors in the order in which `esper.process` runs them."""
    context.enter()
    return list(esper._processors)  # esper 3 has no public name for this list

"""The runner: the one way in which the stages of a tick are run, whole or in slices, watched or not, again or anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import esper

from ecs_rl.ecs.context import Context
from ecs_rl.ecs.schedule import Entry, ScheduleError, Stage
from ecs_rl.ecs.system import SystemStage


class Runner:
    """Runs the stages of one context in the order of their entries."""

    def __init__(self, context: Context, entries: Sequence[Entry], *, debug: bool = False) -> None:
        self.context, self.entries, self.debug = context, tuple(entries), debug
        self.stages: dict[str, Stage] = {entry.name: entry.processor(context) for entry in entries}
        context.enter()
        for stage in self.stages.values():
            esper.add_processor(stage)

    def tick(self) -> None:
        """Run every stage once."""
        if self.debug:
            self._watched()
            return
        try:
            for entry, stage in zip(self.entries, self.stages.values(), strict=True):
                self._turn_to(entry)
                stage.process()
        finally:
            self.context.asking = False

    def _turn_to(self, entry: Entry) -> None:
        """Say what the coming stage may do to what rules have in common."""
        self.context.asking = entry.asks
        if not entry.asks:
            self.context.version += 1

    def slices(self, first: str = "") -> Iterator[str]:
        """Run one tick in slices, or the rest of one from the stage `first` on; yield the name of the stage at work.

        Between two slices other contexts may run. A debug run takes the whole tick in one go.
        """
        if self.debug:
            self.tick()
            return
        names = list(self.stages)
        try:
            for entry in self.entries[names.index(first) if first else 0 :]:
                self._turn_to(entry)
                for _ in self.stages[entry.name].slices():
                    self.context.asking = False  # the stage has asked, and others may do anything now
                    yield entry.name
                    self.context.enter()
        finally:
            self.context.asking = False

    def replay(self, without: str) -> None:
        """Run the stages that are part of the game, but for the one whose result is known."""
        try:
            for entry in self.entries:
                if entry.plays and entry.name != without:
                    self._turn_to(entry)
                    self.stages[entry.name].run()
        finally:
            self.context.asking = False

    def _watched(self) -> None:
        """Compare what each stage really changes with what its entry declares, and what a system really reads."""
        before = self.context.digests()
        for entry in self.entries:
            stage = self.stages[entry.name]
            self.context.noted.clear()
            self._turn_to(entry)
            try:
                stage.process()
            finally:
                self.context.asking = False
            self.context.enter()  # the stage may have run another context
            after = self.context.digests()
            changed = {kind for name, kind in after if after[name, kind] != before.get((name, kind))}
            secret = sorted(kind.__name__ for kind in changed - set(entry.writes))
            if secret:
                raise ScheduleError(f"'{entry.name}' changes {', '.join(secret)} without saying so in the schedule")
            if isinstance(stage, SystemStage):
                stage.check_reads()
            before = after

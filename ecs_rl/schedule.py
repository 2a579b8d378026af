"""READ FIRST: the tick. One pass of these stages, in this order, and every arena has taken one decision.

Each stage is one processor (in `processors/`, named by its verb) and says which components it reads and writes.
`check` refuses an order in which something is read before it is written; `World(..., debug=True)` compares what a stage
really changes with what it says here. Training, evaluation and play run this same schedule with stages left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ecs_rl.components import (
    Action,
    Chance,
    Clock,
    Ending,
    Episodes,
    Exam,
    Explosion,
    Force,
    Ground,
    Journal,
    Memory,
    Motion,
    NextObservation,
    Observation,
    Policy,
    Pose,
    Reward,
    RowEnds,
    Session,
    Touch,
)
from ecs_rl.processors.actuate import Actuate
from ecs_rl.processors.base import Stage
from ecs_rl.processors.decide import Decide
from ecs_rl.processors.evaluate import Evaluate
from ecs_rl.processors.guard import Guard
from ecs_rl.processors.judge import Judge
from ecs_rl.processors.learn import Learn
from ecs_rl.processors.record import Record
from ecs_rl.processors.respawn import Respawn
from ecs_rl.processors.sense import Sense
from ecs_rl.processors.simulate import Simulate
from ecs_rl.processors.tally import Tally
from ecs_rl.processors.write import Write


class ScheduleError(Exception):
    """A schedule in which something is read before it is written, or written otherwise than it says."""


@dataclass(frozen=True)
class Entry:
    """One stage of the tick."""

    name: str
    processor: type[Stage]
    reads: tuple[type, ...]
    """Components that an earlier stage of this tick wrote."""
    writes: tuple[type, ...]
    about: str
    keeps: tuple[type, ...] = ()
    """Components read as the last tick left them: a stage at or after this one writes them."""


SCHEDULE: tuple[Entry, ...] = (
    Entry("decide", Decide, (), (Action,), "one batched forward pass for all arenas", keeps=(Observation, Policy)),
    Entry("actuate", Actuate, (Action,), (Force,), "clips; nothing non-finite gets past here", keeps=(Pose, Motion)),
    Entry("simulate", Simulate, (Force,), (Pose, Motion, Touch), "fixed dt, n substeps", keeps=(Ground,)),
    Entry("guard", Guard, (Pose, Motion, Touch), (Pose, Motion, Touch, Explosion), "an arena that exploded is cut"),
    Entry("sense", Sense, (Pose, Motion, Touch, Explosion), (NextObservation,), "before respawn: what an end looked like", keeps=(Ground, Chance)),
    Entry("judge", Judge, (Pose, Motion, Touch, Explosion), (Reward, Ending, RowEnds, Memory, Episodes, Clock), "named terms; terminated is never truncated", keeps=(Chance, Ground)),
    Entry("record", Record, (Action, NextObservation, Reward, RowEnds), (Session,), "the only writer of transitions; copies", keeps=(Observation,)),
    Entry("respawn", Respawn, (Ending, NextObservation, Episodes, Memory, Clock), (Pose, Motion, Touch, Ground, Chance, Clock, Memory, Episodes, Observation), "ended arenas start again, seeded per arena and episode"),
    Entry("learn", Learn, (Session,), (Session, Policy), "an update in slices, once enough is recorded"),
    Entry("tally", Tally, (Episodes, Session), (Session,), "ended episodes into statistics and log"),
    Entry("evaluate", Evaluate, (Session, Policy), (Session, Exam), "greedy, in a world of its own, fixed seeds", keeps=(Journal,)),
    Entry("write", Write, (Session, Exam, Explosion), (Session, Journal), "checkpoints, metrics and logs into the run directory"),
)  # fmt: skip

TRAINING = tuple(entry.name for entry in SCHEDULE)
PLAYING = ("decide", "actuate", "simulate", "guard", "sense", "judge", "respawn")
"""Everything that happens in the arenas, and nothing that learns or writes."""


def check(schedule: Sequence[Entry]) -> None:
    """Refuse a schedule that reads something before it is written in the tick, or keeps what nobody writes again."""
    written: set[type] = {Policy}
    for i, entry in enumerate(schedule):
        for component in entry.reads:
            if component not in written:
                raise ScheduleError(f"'{entry.name}' reads {component.__name__} before any stage has written it")
        later = {component for other in schedule[i:] for component in other.writes} | {Policy}
        for component in entry.keeps:
            if component not in later:
                raise ScheduleError(f"'{entry.name}' keeps {component.__name__} of the last tick: none writes it after")
            if component in written - {Policy}:
                raise ScheduleError(f"'{entry.name}' wants {component.__name__} of the last tick, it is overwritten")
        written |= set(entry.writes)


def chosen(names: Sequence[str]) -> tuple[Entry, ...]:
    """Return the schedule with only these stages."""
    return tuple(entry for entry in SCHEDULE if entry.name in names)


def tick_table() -> str:
    """Return the schedule as the README's table."""
    rows = ["| stage | reads | writes | what it does |", "|---|---|---|---|"]
    for entry in SCHEDULE:
        reads = ", ".join([c.__name__ for c in entry.reads] + [f"*{c.__name__}*" for c in entry.keeps])
        rows.append(f"| {entry.name} | {reads} | {', '.join(c.__name__ for c in entry.writes)} | {entry.about} |")
    return "\n".join(rows)

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
    Films,
    Force,
    Ground,
    Hand,
    Journal,
    Memory,
    Motion,
    NextObservation,
    Observation,
    Onlooker,
    Policy,
    Pose,
    Reward,
    RowEnds,
    Session,
    Touch,
    Trail,
)
from ecs_rl.processors.actuate import Actuate
from ecs_rl.processors.base import Stage
from ecs_rl.processors.decide import Decide
from ecs_rl.processors.evaluate import Evaluate
from ecs_rl.processors.film import Film
from ecs_rl.processors.guard import Guard
from ecs_rl.processors.judge import Judge
from ecs_rl.processors.learn import Learn
from ecs_rl.processors.meddle import Meddle
from ecs_rl.processors.record import Record
from ecs_rl.processors.render import Render
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
    about: str
    reads: tuple[type, ...] = ()
    """Components that an earlier stage of this tick wrote."""
    keeps: tuple[type, ...] = ()
    """Components read as the last tick left them: a stage at or after this one writes them."""
    writes: tuple[type, ...] = ()


# fmt: off
SCHEDULE: tuple[Entry, ...] = (
    Entry("decide", Decide, "one batched forward pass for all arenas",
          keeps=(Observation, Policy), writes=(Action,)),
    Entry("actuate", Actuate, "clips; nothing that is not finite gets past here",
          reads=(Action,), keeps=(Pose, Motion), writes=(Force,)),
    Entry("meddle", Meddle, "a person's hand pulls or kicks; on a window's stage only",
          reads=(Force,), keeps=(Pose, Motion, Hand), writes=(Force,)),
    Entry("simulate", Simulate, "fixed dt, n substeps",
          reads=(Force,), keeps=(Ground,), writes=(Pose, Motion, Touch)),
    Entry("guard", Guard, "an arena that exploded is cut",
          reads=(Pose, Motion, Touch), keeps=(Chance,), writes=(Pose, Motion, Touch, Explosion)),
    Entry("sense", Sense, "before respawn, so that the last sight of an episode survives",
          reads=(Pose, Motion, Touch, Explosion), keeps=(Ground, Chance, Memory), writes=(NextObservation,)),
    Entry("judge", Judge, "named terms; terminated and truncated are never mixed up",
          reads=(Pose, Motion, Touch, Explosion), keeps=(Ground, Chance),
          writes=(Reward, Ending, RowEnds, Memory, Episodes, Clock)),
    Entry("record", Record, "the only writer of transitions; learners copy",
          reads=(Action, NextObservation, Reward, RowEnds), keeps=(Observation,), writes=(Session, Trail)),
    Entry("render", Render, "the window or the film sees the tick; on a stage only, a pure observer",
          reads=(Pose, Motion, Touch, Action, Reward, Ending, Episodes), keeps=(Observation, Onlooker)),
    Entry("respawn", Respawn, "ended arenas start again, seeded per arena and episode",
          reads=(Ending, NextObservation, Episodes, Memory, Clock),
          writes=(Pose, Motion, Touch, Ground, Chance, Clock, Memory, Episodes, Observation)),
    Entry("learn", Learn, "an update in slices, once enough is recorded",
          reads=(Session,), writes=(Session, Policy)),
    Entry("tally", Tally, "ended episodes into statistics and log",
          reads=(Episodes, Session), writes=(Session,)),
    Entry("evaluate", Evaluate, "greedy, in a world of its own, on seeds that never change",
          reads=(Session, Policy), keeps=(Journal,), writes=(Session, Exam)),
    Entry("film", Film, "a clip of the policy, if asked for; a pure observer in a world of its own",
          reads=(Session, Policy), writes=(Films,)),
    Entry("write", Write, "checkpoints, metrics and logs into the run directory",
          reads=(Session, Exam, Explosion, Trail), writes=(Session, Journal, Trail)),
)
# fmt: on

PLAYING = ("decide", "actuate", "simulate", "guard", "sense", "judge", "respawn")
"""Everything that happens in the arenas, and nothing that learns or writes."""
ON_STAGE = (*PLAYING, "meddle", "render")
"""A world that somebody watches, and may touch."""
TRAINING = tuple(entry.name for entry in SCHEDULE if entry.name not in ("meddle", "render", "film"))

OUTSIDE = {Policy, Hand, Onlooker}
"""Set from outside, before or between the ticks."""


def check(schedule: Sequence[Entry]) -> None:
    """Refuse a schedule that reads something before it is written in the tick, or keeps what nobody writes again."""
    written: set[type] = set(OUTSIDE)
    for i, entry in enumerate(schedule):
        for component in entry.reads:
            if component not in written:
                raise ScheduleError(f"'{entry.name}' reads {component.__name__} before any stage has written it")
        later = {component for other in schedule[i:] for component in other.writes} | OUTSIDE
        for component in entry.keeps:
            if component not in later:
                raise ScheduleError(f"'{entry.name}' keeps {component.__name__} of the last tick: none writes it after")
            if component in written - OUTSIDE:
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

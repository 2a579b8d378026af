"""READ FIRST: the tick. One pass of these stages, in this order, and every arena has taken one decision.

Each stage is one processor, named by its verb: those of the game in `processors/`, those of a training in
`training_stages/`. It declares which components it reads and writes. `check` refuses an order in which something is
read before it is written. A debug run compares what a stage really changes with what it declares here. Training,
evaluation and play run this same schedule with stages left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ecs_rl.components import (
    Acting,
    Action,
    ActionLog,
    Amount,
    Chance,
    Clock,
    Done,
    EndRules,
    EpisodeEnd,
    Explosion,
    Extras,
    Finished,
    Force,
    Ground,
    Here,
    Motion,
    MotorSpeed,
    NextObservation,
    Observation,
    Policy,
    PolicyState,
    Pose,
    Rated,
    Reward,
    RewardWeights,
    Snapshots,
    Terms,
    Touch,
    UserInput,
)
from ecs_rl.ecs.entries import Entry, ScheduleError, check
from ecs_rl.ecs.system import placed
from ecs_rl.errors import nearest
from ecs_rl.processors.actuate import Actuate
from ecs_rl.processors.decide import Decide
from ecs_rl.processors.guard import Guard
from ecs_rl.processors.interact import Interact
from ecs_rl.processors.judge import Judge
from ecs_rl.processors.render import Render
from ecs_rl.processors.respawn import Respawn
from ecs_rl.processors.sense import Sense
from ecs_rl.processors.simulate import Simulate
from ecs_rl.scene.forces import Jumped
from ecs_rl.training_stages.evaluate import Evaluate
from ecs_rl.training_stages.film import Film
from ecs_rl.training_stages.learn import Learn
from ecs_rl.training_stages.record import Record
from ecs_rl.training_stages.resources import Evaluation, Films, MetricsSchedule, Session
from ecs_rl.training_stages.snapshot import Snapshot
from ecs_rl.training_stages.tally import Tally
from ecs_rl.training_stages.write import Write
from ecs_rl.world import World

# fmt: off
SCHEDULE: tuple[Entry, ...] = (
    Entry("decide", Decide, "one batched forward pass for all arenas; refuses what is not an action", plays=True,
          keeps=(Observation, Policy, PolicyState, UserInput), writes=(Action, Extras, PolicyState, ActionLog)),
    Entry("actuate", Actuate, "actions become forces; so do wind, springs and drag", plays=True,
          reads=(Action,), keeps=(Pose, Motion, Here, Touch, Ground, Chance),
          writes=(Action, Acting, Amount, Force, MotorSpeed)),
    Entry("interact", Interact, "a person's hand pulls or kicks, wind blows; on a window's stage only",
          reads=(Force,), keeps=(Pose, Motion, UserInput), writes=(Force, UserInput)),
    Entry("simulate", Simulate, "fixed dt, n substeps", plays=True,
          reads=(Force, MotorSpeed), keeps=(Ground, Here), writes=(Pose, Motion, Touch)),
    Entry("guard", Guard, "an arena that exploded is cut", plays=True,
          reads=(Pose, Motion, Touch), keeps=(Ground, Chance), writes=(Pose, Motion, Here, Touch, Explosion)),
    Entry("sense", Sense, "before respawn, so that the last sight of an episode survives", plays=True,
          reads=(Action, Amount, Pose, Motion, Here, Touch, Explosion), keeps=(Ground, Chance),
          writes=(NextObservation,), asks=True),
    Entry("judge", Judge, "named terms; terminated and truncated are never mixed up", plays=True,
          reads=(Action, Acting, Amount, Pose, Motion, Here, Touch, Explosion),
          keeps=(Ground, Chance, RewardWeights, Rated),
          writes=(Reward, EndRules, EpisodeEnd, Done, Terms, Finished, Clock), asks=True),
    Entry("record", Record, "the only way to a learner: complete transitions; learners copy",
          reads=(Action, Extras, NextObservation, Reward, Done, Explosion), keeps=(Observation,), writes=(Session,)),
    Entry("render", Render, "the window or the film sees the tick; on a stage only, a pure observer",
          reads=(Pose, Motion, Here, Touch, Action, Amount, Reward, EpisodeEnd, Terms, Finished), keeps=(Observation,)),
    Entry("respawn", Respawn, "who is out leaves; ended arenas start again, seeded per arena and episode", plays=True,
          reads=(Finished, NextObservation, Terms, Clock, Acting, Done),
          writes=(Pose, Motion, Here, Touch, Ground, Chance, Clock, Terms, Action, Amount, PolicyState, Observation)),
    Entry("learn", Learn, "an update in slices, once enough is recorded",
          reads=(Session,), writes=(Session, Policy)),
    Entry("tally", Tally, "ended episodes into statistics and log",
          reads=(Finished, Clock, Session), writes=(Session,)),
    Entry("evaluate", Evaluate, "greedy, in a world of its own, on seeds that never change",
          reads=(Session, Policy), keeps=(MetricsSchedule,), writes=(Session, Policy, Evaluation)),
    Entry("film", Film, "a clip of the policy, if asked for; a pure observer in a world of its own",
          reads=(Session, Policy, Evaluation), writes=(Films,)),
    Entry("snapshot", Snapshot, "where a checkpoint is due, the physics is made anew from the columns",
          reads=(Session, ActionLog, Pose, Motion, Here, Touch, Ground), writes=(ActionLog, Snapshots)),
    Entry("write", Write, "checkpoints, metrics and logs into the run directory",
          reads=(Session, Evaluation, Explosion, ActionLog, Snapshots), writes=(Session, MetricsSchedule)),
)
# fmt: on

PLAYING = tuple(entry.name for entry in SCHEDULE if entry.plays)
"""Everything that happens in the arenas, and nothing that learns or writes."""
ON_STAGE = (*PLAYING, "interact", "render")
"""A world that somebody watches, and may touch."""
TRAINING = tuple(entry.name for entry in SCHEDULE if entry.name not in ("interact", "render", "film"))

OUTSIDE = {Policy, Rated, RewardWeights, UserInput}
"""Set from outside, before or between the ticks."""
OF_SYSTEMS = {Pose, Motion, Here, Force}
"""The components of ours that a scene's systems may write."""


def chosen(names: Sequence[str]) -> tuple[Entry, ...]:
    """Return the schedule with only these stages."""
    known = [entry.name for entry in SCHEDULE]
    for name in names:
        if name not in known:
            raise ScheduleError(f"there is no stage '{name}': {nearest(name, known)}")
    return tuple(entry for entry in SCHEDULE if entry.name in names)


def tick_of(world: World, names: Sequence[str]) -> list[Entry]:
    """Return the tick of a world: the stages of these names, and every system of the scene's own in its place."""
    arena, left_out = world.arena, set(SCHEDULE) - set(chosen(names))
    entries = [e for e in placed(SCHEDULE, arena.systems, world.moving, OF_SYSTEMS) if e not in left_out]
    own: dict[str, list[type]] = {"respawn": arena.kinds, "actuate": [Jumped] if arena.jumps else []}
    entries = [replace(e, writes=(*e.writes, *own.get(e.name, []))) for e in entries]
    check(chosen(names), OUTSIDE)  # `placed` has looked at the systems
    return entries

"""Population based training: the worst members go on from the best, exactly, with settings a little changed.

Ten times in a training the members rest until all are there, and each of the worst quarter takes over the whole state
of one of the best quarter: policy, optimiser, normalisers, buffers, random numbers, and the arenas in the middle of
their episodes. Who takes over is a new run from then on, with the rows and policies that the other one has had so far.
A member between two exchanges is a job. At rest its run is closed, so an exchange copies files that do not change.
"""

from __future__ import annotations

import math
import random
import shutil
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.cli.plan import Plan
from ecs_rl.console import tell
from ecs_rl.errors import CommandError, StorageError
from ecs_rl.many.jobs import Job, JobReport
from ecs_rl.many.ranges import Axis, OneOf, Setting, in_words
from ecs_rl.many.sweep_file import BROKEN, Row, SweepFile, TakenOver
from ecs_rl.many.table import Table
from ecs_rl.many.trials import SweepRows
from ecs_rl.runs.fork import fork_run
from ecs_rl.runs.layout import CHECKPOINTS
from ecs_rl.tasks.assemble import assemble
from ecs_rl.tasks.resume_run import FIXED_OF_THE_AGENT, newest_checkpoint_file

ROUNDS = 10
"""So often the members are compared in a training, the last time at its end."""
QUARTER = 0.25
"""Share of the members that take over, and share of those that are taken over from."""
FACTORS = (0.8, 1.25)
"""A number that changes is multiplied by one of these."""
ANEW = 0.25
"""How likely a setting is drawn anew instead."""
RESTING = "resting"
BEGUN = ("rollout",)
"""Settings of an algorithm by which it may be in the middle of something."""


def round_steps(settings: TrainSettings) -> int:
    """Return how many steps lie between two exchanges: whole evaluations."""
    return settings.eval_every * max(1, round(settings.steps / settings.eval_every / ROUNDS))


def refuse_what_cannot_change(axes: Sequence[Axis], plan: Plan) -> None:
    """Refuse a population that could exchange nothing, and settings that a training cannot change on its way."""
    settings = plan.settings
    if settings.population == 1:
        raise CommandError("--population 1: nobody is there to take over from: take at least 2, better 8")
    for flag in ("trials", "seeds"):
        if getattr(settings, flag):
            raise CommandError(f"--population cannot be used with --{flag}: it says how many trainings there are")
    if round_steps(settings) >= settings.steps:
        reason = f"there is no evaluation before its {settings.steps:,} steps are over"
        raise CommandError(f"--population: {reason}: give a smaller --eval-every")
    usual = None
    for axis in axes:
        table, _, name = axis.name.rpartition(".")
        refusal = f"--population: '{axis.name}' cannot change in a training that goes on: vary it by --sweep alone"
        if not table or name in (*FIXED_OF_THE_AGENT, *BEGUN):
            raise CommandError(refusal)
        ends = axis.values if isinstance(axis, OneOf) else (axis.at(0.0), axis.at(1.0))
        usual = usual or _shapes(plan)
        for value in ends:
            config = replace(getattr(settings, settings.agent), **{name: value})
            if _shapes(plan.changed(**{settings.agent: config})) != usual:
                raise CommandError(refusal)


def _shapes(plan: Plan) -> dict[str, tuple[int, ...]]:
    """Return the shape of all that an agent with these settings must hand on."""
    _, training = assemble(plan)
    try:
        return {name: tuple(tensor.shape) for name, tensor in training.session.agent.state().items()}
    finally:
        training.close()


class Population(SweepRows):
    """A job for each member and round."""

    restarts = 3

    def __init__(self, file: SweepFile, axes: Sequence[Axis], settings: TrainSettings, table: Table) -> None:
        super().__init__(file, table)
        self._axes, self._round_steps = axes, round_steps(settings)
        self._evaluations: dict[int, float] = {}
        """The newest evaluation of each member that rests, by its number."""
        self._waiting = deque[Row]()
        """Members that train in this round and have not begun it."""
        self._running: set[int] = set()
        self._begin_round(row for row in file.sweep.rows if row.state in BROKEN or not row.over)

    def next(self) -> Job | None:
        """Return the job of the next member of this round; after the last one the members are compared."""
        if not self._waiting and not self._running and self._evaluations and not self.must_stop:
            self._exchange()
        if not self._waiting:
            return None
        row = self._waiting.popleft()
        self._running.add(row.trial)
        is_new = not row.steps
        job = replace(self.start(row), seeds=(self._sweep.seed + row.trial,))
        if is_new:
            self.show(row)
        return job

    def take(self, job: Job, report: JobReport) -> str:
        """Take a report; a member that has reached the end of its round rests."""
        row = self._rows[job.number]
        if report.state == RESTING:
            self._evaluations[row.trial] = report.last_eval
            self._running.discard(row.trial)
            self.note(row, replace(report, state="running"))
            return ""
        if report.is_over or report.is_round:
            self.note(row, report)
        if report.is_over:
            self._running.discard(row.trial)
            if report.state in BROKEN:
                self._evaluations[row.trial] = -math.inf
        is_there = report.evaluated_at // self._round_steps > self._sweep.rounds
        return RESTING if is_there and not report.is_over else ""

    def lost(self, job: Job, exit_code: int, lines: list[str]) -> None:
        """End the population, which can go on: the others would wait for this member for ever."""
        row = self._rows[job.number]
        self._running.discard(row.trial)
        self.note_lost(row, "interrupted")
        tell(f"member {row.trial} cannot go on: the others save and end", self._table.stream)
        self.must_stop = True

    def _begin_round(self, rows: Iterable[Row]) -> None:
        """Let these members train until the next exchange; broken ones wait for it."""
        self._evaluations.clear()
        for row in rows:
            if row.state in BROKEN:
                self._evaluations[row.trial] = -math.inf
            else:
                self._waiting.append(row)

    def _exchange(self) -> None:
        """Compare all members and let the worst take over from the best; then the next round begins.

        The file is written when all is done: a sweep that was killed before makes the same exchange again.
        """
        members = sorted(self._evaluations)
        if all(self._evaluations[number] == -math.inf for number in members):
            self._evaluations.clear()  # nobody is left to take over from
            return
        random_numbers = random.Random(f"{self._sweep.seed} {self._sweep.rounds}")
        lower, upper = quarters(self._evaluations)
        taken = {}
        try:
            for number in lower:
                donor = self._rows[random_numbers.choice(upper)]
                setting = changed(donor.setting, self._axes, random_numbers)
                if donor.state not in BROKEN:
                    taken[number] = donor, setting, fork(Path(donor.runs[0]))
        except (OSError, StorageError) as error:
            for _, _, run in taken.values():
                shutil.rmtree(run, ignore_errors=True)
            self.give_up(str(error))
            return
        for number, (donor, setting, run) in taken.items():
            self._take_over(self._rows[number], donor, setting, run)
        self._sweep.rounds += 1
        self._begin_round([self._rows[number] for number in members])
        self.write()

    def _take_over(self, row: Row, donor: Row, setting: Setting, run: Path) -> None:
        row.setting, row.runs, row.state, row.message = setting, [str(run)], "running", ""
        row.steps, row.value, row.curve = donor.steps, donor.value, list(donor.curve)
        row.summaries, row.solved = [{**summary, "run": str(run)} for summary in donor.summaries], donor.solved
        row.taken_over.append(TakenOver(donor.steps, donor.trial, setting))
        words = f"takes over from member {donor.trial} at {donor.steps:,} steps"
        self._table.state(row.trial, f"{words}: {in_words(setting)}")


def quarters(evaluations: dict[int, float]) -> tuple[list[int], list[int]]:
    """Return the members that take over and those that are taken over from, each the worst first."""
    ranked = sorted(sorted(evaluations), key=lambda number: evaluations[number])
    size = min(math.ceil(QUARTER * len(ranked)), len(ranked) // 2)
    return ranked[:size], ranked[len(ranked) - size :]


def changed(setting: Setting, axes: Sequence[Axis], random_numbers: random.Random) -> Setting:
    """Return a setting with each value a little changed, or drawn anew."""
    new = dict(setting)
    for axis in axes:
        is_anew = random_numbers.random() < ANEW
        if isinstance(axis, OneOf):
            if is_anew:
                new[axis.name] = random_numbers.choice(axis.values)
            else:
                place = axis.values.index(setting[axis.name]) + random_numbers.choice((-1, 1))
                new[axis.name] = axis.values[min(max(place, 0), len(axis.values) - 1)]
        elif is_anew:
            new[axis.name] = axis.at(random_numbers.random())
        else:
            new[axis.name] = axis.nearest(setting[axis.name] * random_numbers.choice(FACTORS))
    return new


def fork(run: Path) -> Path:
    """Return a new run that goes on where a closed one stands."""
    best = run / CHECKPOINTS / "best.safetensors"
    version, runs_dir = run.parent.name, run.parent.parent.parent
    return fork_run(
        run, newest_checkpoint_file(run), best if best.exists() else None, version=version, runs_dir=runs_dir
    )

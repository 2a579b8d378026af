"""A job: one training, or the trainings of several seeds with the same settings. It runs inside a worker.

A worker answers each call with a report. Every training is what `train.py` with these settings is, and writes an
ordinary run. What a report means is decided elsewhere.
"""

from __future__ import annotations

import math
import shutil
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from ecs_rl.cli.plan import Plan, plan_of
from ecs_rl.errors import ActionError, CheckpointError, DivergedError, EcsRlError, StorageError, visible
from ecs_rl.files import is_refused
from ecs_rl.garbage import passing_over
from ecs_rl.runs import read_metadata
from ecs_rl.runs.recorders import recorders_of
from ecs_rl.scene.scene import Scene
from ecs_rl.tasks.assemble import assemble, recorded
from ecs_rl.tasks.progress import PlainLines, plain_line
from ecs_rl.tasks.resume_run import newest_checkpoint_file
from ecs_rl.tasks.run_training import close_broken, snapshot
from ecs_rl.tasks.same_everywhere import contents, refuse_other_files, refuse_other_versions, versions
from ecs_rl.tasks.train_report import summary
from ecs_rl.tasks.training_messages import CollapseMessages, FindingMessages, LessonMessages, RecorderMessages

UNSOLVED = 2
"""A seed that was not solved counts as one that took so many times its steps (the PAR2 score)."""
REPORT_EVERY = PlainLines.interval
"""Seconds after which a job reports although no evaluation is over."""
ONE = {"sweep": (), "trials": 0, "seeds": 0, "population": 0, "early_stopping": True, "resume": None}
"""Settings that make one training of a command for many."""
LONGEST_MESSAGE = 500
"""Characters of why a job failed."""


@dataclass(frozen=True)
class JobCommand:
    """What all jobs of one command share."""

    flag: str
    """`--seeds` or `--sweep`, for messages."""
    argv: tuple[str, ...]
    """The words of the command."""
    program: str
    """The word in front of them."""
    over: Mapping[str, Any]
    """Settings that override these flags."""
    files: Mapping[str, str]
    """SHA-256 by the path of a file that the jobs run: the same where a job runs."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of the project and its libraries, the same where a job runs; empty on this machine."""
    cwd: str = ""
    """On a cluster, the folder in which relative paths of the words begin."""
    stop_file: str = ""
    """On a cluster, the file that asks all jobs to save and end."""

    def plan(self, setting: Mapping[str, Any], seed: int, run: str | None = None, loaded: Scene | None = None) -> Plan:
        """Return the plan of one training: a new one, or one that resumes a run. A `loaded` scene is its scene."""
        over = {**ONE, **self.over, **setting, "seed": seed}
        if run is not None:
            none = dict.fromkeys(("init_from", "imitate", "remember"))
            over |= {"resume": run, "seed": read_metadata(Path(run)).seed, **none}
        return plan_of(self.argv, over, loaded)


@dataclass(frozen=True)
class Job:
    """What a worker is to train."""

    number: int
    """Of the seed, trial or member."""
    seeds: tuple[int, ...]
    setting: Mapping[str, Any]
    """The settings that vary between jobs."""
    runs: tuple[str, ...] = ()
    """The runs to resume, in the order of the seeds; empty for a new job."""


@dataclass(frozen=True)
class Call:
    """What a worker is to do next."""

    method: str
    """`begin` the job, `advance` until the next evaluation or for a few seconds, or `close`: save and end."""
    job: Job | None = None
    """The job that begins."""


@dataclass(frozen=True)
class JobReport:
    """Where a job stands."""

    state: str
    """`running`, or how it ended: `interrupted`, `finished`, `solved`, `diverged` or `failed`."""
    steps: int = 0
    """Of the seed that has most."""
    runs: tuple[str, ...] = ()
    summaries: tuple[dict[str, Any], ...] = ()
    """The JSON object of each run, as `train.py --json` ends with it."""
    solved: int = 0
    """How many seeds are solved."""
    is_round: bool = True
    """Whether every seed has been evaluated as often as the others."""
    best_eval: float | None = None
    """Mean over the seeds of the best evaluation; None before the first one."""
    solved_step: float | None = None
    """Mean over the seeds of the steps to solve."""
    last_eval: float = -math.inf
    """The newest evaluation of the first seed."""
    evaluated_at: int = 0
    """The step of that evaluation."""
    progress: str = ""
    """How far the first seed is, in one line."""
    message: str = ""
    """Why it diverged or failed."""
    traceback: str = ""
    """Of a bug."""
    exit_code: int = 0
    """What `train.py` would have returned."""
    is_full: bool = False
    """Whether the disk refused a write: no setting's fault."""

    @property
    def is_over(self) -> bool:
        """Whether the job has ended and its runs are closed."""
        return self.state != "running"


class SeedRun:
    """One training of a job."""

    def __init__(self, plan: Plan) -> None:
        recorders = recorders_of(plan.settings.recorders)
        self.problem = ""
        """Why it diverged, "" if it did not."""
        self.is_closed = False
        self.progress = ""
        """How far it was at the last look, in one line."""
        plan, self.training = assemble(plan)
        self.settings = plan.settings
        try:
            self.record = recorded(self.training, plan, recorders)
        except BaseException:
            self.training.close()
            raise
        self.training.session.write_behind()
        training = self.training
        self._messages = (
            *(CollapseMessages(training), FindingMessages(training), LessonMessages(training)),
            RecorderMessages(self.record),
        )

    def advance(self, must_stop: Callable[[], bool]) -> bool:
        """Train until the next evaluation or the end, and return True; return False if it takes long."""
        training, before, until = self.training, self.training.evaluation.taken_at, monotonic() + REPORT_EVERY
        try:
            while not training.done and training.evaluation.taken_at == before and monotonic() < until:
                training.tick()
                for messages in self._messages:
                    messages.update()
                if must_stop():
                    training.stop = signal.SIGINT.name
            self.progress = plain_line(snapshot(training, self.settings))
            if training.done:
                self.close()
        except (DivergedError, ActionError) as error:
            self.problem = str(error)
            self._close_broken(error, "diverged")
        except BaseException as error:
            self._close_broken(error, "failed")
            raise
        return self.is_closed or training.evaluation.taken_at != before

    def interrupt(self) -> None:
        """Save and end as at Ctrl-C, if there is anything left to do."""
        self.training.stop = signal.SIGINT.name
        self.close()

    def close(self) -> None:
        """Save and end; delete a run that took no step."""
        if self.is_closed:
            return
        self.is_closed = True
        self.training.close()
        self._messages[-1].update()
        if not self.training.session.total_steps:
            shutil.rmtree(self.record.path, ignore_errors=True)

    def _close_broken(self, error: BaseException, status: str) -> None:
        self.is_closed = True
        close_broken(self.training, error, status)

    @property
    def unfilmed(self) -> str:
        """Why filming was given up, "" if it was not."""
        films = self.training.films
        return "" if films is None else films.problem


class Trainee:
    """Does one job after another; lives in a worker."""

    def __init__(self, command: JobCommand, must_stop: Callable[[], bool]) -> None:
        """`must_stop` is asked after each tick whether all is to be saved and to end."""
        self._command, self._must_stop = command, must_stop
        self._runs: list[SeedRun] = []
        self._round: deque[SeedRun] = deque()
        """Trainings that the present round of evaluations still needs."""

    def do(self, call: Call) -> JobReport:
        """Do what a call says and report. An error ends the job, and not the worker."""
        if call.job is not None:
            self._runs, self._round = [], deque()
            if self._must_stop():
                return JobReport("interrupted", runs=call.job.runs)
        try:
            if call.job is not None:
                self._begin(call.job)
            elif call.method == "advance":
                self._advance()
            else:
                self._close()
            return report_of(self._runs, is_round=not self._round)
        except Exception as error:
            return self._report_error(error)

    def _begin(self, job: Job) -> None:
        command = self._command
        if command.versions:
            refuse_other_versions([versions(with_ray="ray" in command.versions)], command.versions, command.flag)
        refuse_other_files([contents(list(command.files))], command.files, command.flag)
        for i, seed in enumerate(job.seeds):
            sys.argv[:] = [command.program, *command.argv, "--seed", str(seed)]  # as a scene's file may read it
            resumed = i < len(job.runs) and can_go_on(Path(job.runs[i]))  # the disk may have refused the others
            self._runs.append(SeedRun(command.plan(job.setting, seed, job.runs[i] if resumed else None)))

    def _advance(self) -> None:
        if not self._round:
            self._round.extend(run for run in self._runs if not run.is_closed)
        if self._round:
            with passing_over():
                if self._round[0].advance(self._must_stop):
                    self._round.popleft()
        if self._must_stop():
            for run in self._runs:
                run.interrupt()
        elif any(run.problem for run in self._runs):  # with these settings it is of no use
            self._close()

    def _close(self) -> None:
        for run in self._runs:
            run.close()

    def _report_error(self, error: Exception) -> JobReport:
        """End the job, and return why."""
        is_full = is_refused(error)
        report = JobReport(
            "interrupted" if is_full else "failed",
            max((run.training.session.total_steps for run in self._runs), default=0),
            tuple(str(run.record.path) for run in self._runs),
            message=in_one_line(error),
            traceback="" if isinstance(error, EcsRlError) else as_text(traceback.format_exc()),
            exit_code=error.exit_code if isinstance(error, EcsRlError) else 1,
            is_full=is_full,
        )
        with suppress(StorageError):  # the first one is in the report, and earlier checkpoints stay
            self._close()
        self._runs = []
        return report


def can_go_on(run: Path) -> bool:
    """Return whether a run has a checkpoint from which it can be resumed."""
    try:
        newest_checkpoint_file(run)
    except CheckpointError:
        return False
    return True


def report_of(runs: list[SeedRun], *, is_round: bool) -> JobReport:
    """Return where the trainings of a job stand together."""
    first = runs[0].training.evaluation
    summaries = tuple(summary(run.training, run.record, run.settings) for run in runs)
    states = {item["status"] for item in summaries}
    report = JobReport(
        state=next((state for state in ("running", "interrupted", "finished") if state in states), "solved"),
        steps=max(item["steps"] for item in summaries),
        runs=tuple(item["run"] for item in summaries),
        summaries=summaries,
        solved=sum(item["solved_step"] is not None for item in summaries),
        is_round=is_round,
        last_eval=first.last if first.last is not None and math.isfinite(first.last) else -math.inf,
        evaluated_at=first.taken_at,
        progress=next((run.progress for run in runs if run.progress), ""),
    )
    problem = next((run.problem for run in runs if run.problem), "")
    if problem:
        return replace(report, state="diverged", message=problem, exit_code=DivergedError.exit_code)
    unfilmed = next((run.unfilmed for run in runs if run.unfilmed), "")
    if unfilmed and report.is_over:
        message = f"filming was given up, training was not: {unfilmed}"
        report = replace(report, message=message, exit_code=StorageError.exit_code)
    if any(item["best_eval"] is None for item in summaries):
        return report
    steps = [item["solved_step"] or UNSOLVED * run.settings.steps for item, run in zip(summaries, runs, strict=True)]
    best_eval = sum(item["best_eval"] for item in summaries) / len(runs)
    return replace(report, best_eval=best_eval, solved_step=sum(steps) / len(runs))


def as_text(text: str) -> str:
    """Return a text that UTF-8 can hold, whatever is in the names of somebody's files."""
    return text.encode(errors="backslashreplace").decode()


def in_one_line(error: Exception) -> str:
    """Return what went wrong; of a bug also where."""
    if isinstance(error, EcsRlError):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    message = f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    return visible(" ".join(message.split()), LONGEST_MESSAGE)

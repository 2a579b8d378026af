"""The runner: lets workers do the jobs of a source, and waits for whichever answers first.

A signal lets all jobs save and end. A worker that dies is started again, and its job resumes from the newest
checkpoint. What a report means is the source's to decide.
"""

from __future__ import annotations

import re
import signal
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Protocol

from ecs_rl.cli.called import program
from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.cli.parse import cores
from ecs_rl.cli.process import Answer, say_now
from ecs_rl.many.job_workers import Event, Worker
from ecs_rl.many.jobs import Call, Job, JobReport
from ecs_rl.many.table import Table
from ecs_rl.tasks.run_training import SAVING

DRAW_EVERY = 0.1
"""Seconds after which the table is drawn again although no worker has sent anything."""
KEPT_LINES = 60
"""Lines of a worker's stderr to keep for the case that it dies."""
NOT_BEGUN = (0, -signal.SIGTERM, -signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGINT)
"""Exit codes of a worker that was stopped before it could answer; 0 is that of an actor."""
MESSAGE = re.compile(r"(?:train\.py|ecs-rl train): (.*)")


def at_once(settings: TrainSettings, jobs: int) -> int:
    """Return how many of these jobs run at the same time on this machine: each takes `--threads` of its cores."""
    return max(1, min(jobs, cores() // settings.threads))


class Source(Protocol):
    """Where jobs come from, and where their reports go."""

    restarts: int
    """How often a job begins again after its worker died."""
    all_jobs: str
    """What its jobs are called together, with a verb: `all are`."""
    must_stop: bool
    """Whether all jobs must save and end now."""

    def next(self) -> Job | None:
        """Return the job to begin now; None while there is none. If no job runs, None means that all is over."""

    def take(self, job: Job, report: JobReport) -> str:
        """Take a report. Return "" if the job goes on, else the state in which it is to end now."""

    def on_message(self, job: Job, message: str) -> None:
        """Take a message that a training printed on its way."""

    def lost(self, job: Job, exit_code: int, lines: list[str]) -> None:
        """Take note that the worker of a job died once too often, with the last lines of its stderr."""


@dataclass
class Task:
    """A job that a worker does."""

    job: Job
    restarts: int
    """How often it may still begin again."""
    end_state: str = ""
    """The state in which the source lets it end, "" while it goes on."""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))
    """The last lines of stderr that are no messages."""


class JobRunner:
    """Lets up to `at_once` workers do the jobs of a source."""

    def __init__(
        self, source: Source, table: Table, at_once: int, start: Callable[[SimpleQueue[Event]], Worker]
    ) -> None:
        """`start` starts a worker whose events come into this queue."""
        self._source, self._table, self._at_once, self._start = source, table, at_once, start
        self.is_stopping = False
        """Whether all jobs were asked to save and end."""
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._idle: list[Worker] = []
        self._tasks: dict[Worker, Task] = {}

    def run(self, answer: Answer) -> None:
        """Do all jobs; the first signal stops them. No worker is left at the end."""
        answer.first = self._stop_at
        try:
            self._run()
        finally:
            workers = [*self._idle, *self._tasks]
            for worker in workers:
                worker.leave()
            for worker in workers:
                worker.join()

    def stop(self) -> None:
        """Let every job save and end; may be called in the handler of a signal."""
        self.is_stopping = True
        for worker in list(self._tasks):
            worker.stop()

    def _stop_at(self, number: signal.Signals) -> None:
        self.stop()
        say_now(f"{program('train')}: {number.name}: {self._source.all_jobs} {SAVING}")

    def _run(self) -> None:
        while True:
            while not self.is_stopping and len(self._tasks) < self._at_once and (job := self._source.next()):
                self._begin(Task(job, self._source.restarts))
            if self._source.must_stop and not self.is_stopping:
                self.stop()
            if not self._tasks:
                return
            try:
                self._handle(self._events.get(timeout=DRAW_EVERY))
            except Empty:
                self._table.draw()

    def _begin(self, task: Task) -> None:
        worker = self._idle.pop() if self._idle else self._start(self._events)
        self._tasks[worker] = task
        if self.is_stopping:  # the signal came while it was started
            worker.stop()
        worker.call(Call("begin", task.job))

    def _handle(self, event: Event) -> None:
        task = self._tasks.get(event.worker)
        if task is None:
            if event.is_end:
                self._idle = [worker for worker in self._idle if worker is not event.worker]
        elif event.is_end:
            del self._tasks[event.worker]
            self._lost(task, event.exit_code)
        elif event.report is not None:
            self._take(event.worker, task, event.report)
        elif message := MESSAGE.fullmatch(event.line):
            self._source.on_message(task.job, message[1])
        else:
            task.lines.append(event.line)

    def _take(self, worker: Worker, task: Task, report: JobReport) -> None:
        if task.end_state and report.state == "interrupted":  # it was closed
            report = replace(report, state=task.end_state)
        task.job = replace(task.job, runs=report.runs or task.job.runs)
        end_state = self._source.take(task.job, report)
        if report.is_over:
            del self._tasks[worker]
            self._idle.append(worker)
            return
        task.end_state = task.end_state or end_state
        worker.call(Call("close" if task.end_state else "advance"))

    def _lost(self, task: Task, exit_code: int) -> None:
        if self.is_stopping and exit_code in NOT_BEGUN:
            self._source.take(task.job, JobReport("interrupted", runs=task.job.runs))
        elif self.is_stopping or not task.restarts:
            self._source.lost(task.job, exit_code, list(task.lines))
        else:
            self._table.message(task.job.number, "its process died: going on from its newest checkpoints")
            self._begin(replace(task, restarts=task.restarts - 1))

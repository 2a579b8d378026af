"""The runner: who does which job, what happens when a worker dies, and how all of it stops."""

from __future__ import annotations

import io
import signal
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

from ecs_rl.cli.process import Answer
from ecs_rl.many.job_runner import JobRunner
from ecs_rl.many.job_workers import Event
from ecs_rl.many.jobs import Call, Job, JobReport
from ecs_rl.many.table import Table

Reply = Callable[[str, Job], JobReport | None]


class Played:
    """A worker that answers at once by a function, which returns None where the worker dies."""

    def __init__(self, events: SimpleQueue[Event], reply: Reply, log: list[str]) -> None:
        self.events, self.reply, self.log = events, reply, log
        self.stopped = False
        log.append("start")

    def call(self, call: Call) -> None:
        if call.job is not None:
            self.job = call.job
        report = self.reply("stopped" if self.stopped else call.method, self.job)
        self.log.append(f"{call.method} {self.job.number}")
        self.events.put(Event(self, is_end=True, exit_code=-9) if report is None else Event(self, report=report))

    def stop(self) -> None:
        self.stopped = True

    def leave(self) -> None:
        self.log.append("leave")

    def join(self) -> None:
        pass


class Numbers:
    """A source of jobs that keeps what it hears."""

    restarts, all_jobs = 1, "all are"

    def __init__(self, jobs: int) -> None:
        self.must_stop = False
        self.waiting = deque(Job(number, (number,), {}) for number in range(jobs))
        self.reports: list[tuple[int, str]] = []
        self.died: list[tuple[int, int]] = []
        self.ends = dict[int, str]()

    def next(self) -> Job | None:
        return self.waiting.popleft() if self.waiting else None

    def take(self, job: Job, report: JobReport) -> str:
        self.reports.append((job.number, report.state))
        return self.ends.get(job.number, "")

    def on_message(self, job: Job, message: str) -> None:
        pass

    def lost(self, job: Job, exit_code: int, lines: list[str]) -> None:
        self.died.append((job.number, exit_code))


def played(source: Numbers, reply: Reply, at_once: int = 1) -> tuple[JobRunner, list[str]]:
    log = list[str]()
    runner = JobRunner(source, Table(io.StringIO()), at_once, lambda events: Played(events, reply, log))
    runner.run(Answer(lambda number: None))
    return runner, log


def by_method(method: str, job: Job) -> JobReport:
    states = {"begin": "running", "advance": "finished"}
    return JobReport(states.get(method, "interrupted"), runs=("run",))


def test_one_worker_does_one_job_after_another() -> None:
    source = Numbers(2)
    _, log = played(source, by_method)
    assert log == ["start", "begin 0", "advance 0", "begin 1", "advance 1", "leave"]
    assert source.reports == [(0, "running"), (0, "finished"), (1, "running"), (1, "finished")]


def test_as_many_workers_as_may_work_at_once_are_started() -> None:
    assert played(Numbers(5), by_method, at_once=3)[1].count("start") == 3
    assert played(Numbers(2), by_method, at_once=3)[1].count("start") == 2


def test_a_job_that_its_source_ends_is_closed_and_gets_that_state() -> None:
    source = Numbers(1)
    source.ends[0] = "stopped early"
    _, log = played(source, by_method)
    assert log == ["start", "begin 0", "close 0", "leave"]
    assert source.reports == [(0, "running"), (0, "stopped early")]


def test_a_job_whose_worker_died_begins_again_with_its_runs_and_has_failed_after_that() -> None:
    source, jobs = Numbers(2), list[Job]()

    def dies(method: str, job: Job) -> JobReport | None:
        jobs.append(job)
        return None if (method, job.number) == ("advance", 0) else by_method(method, job)

    _, log = played(source, dies)
    assert log.count("start") == 3, "the third worker is for the other job"
    assert source.died == [(0, -9)]
    assert [job.runs for job in jobs if job.number == 0] == [(), (), ("run",), ("run",)]
    assert source.reports[-1] == (1, "finished")


def test_a_source_that_must_stop_stops_what_runs_and_begins_nothing_more() -> None:
    source = Numbers(3)

    def stops(method: str, job: Job) -> JobReport:
        source.must_stop = True
        return JobReport("interrupted" if method == "stopped" else "running")

    runner, log = played(source, stops, at_once=2)
    assert runner.is_stopping
    assert sorted(source.reports) == [(0, "interrupted"), (0, "running"), (1, "interrupted"), (1, "running")]
    assert (len(source.waiting), log.count("leave")) == (1, 2)


def test_a_worker_that_was_stopped_before_it_could_answer_leaves_its_job_to_go_on_with() -> None:
    source = Numbers(1)
    answer = Answer(lambda number: None)

    class Stopped(Played):
        def call(self, call: Call) -> None:
            answer.first(signal.SIGINT)
            self.events.put(Event(self, is_end=True, exit_code=-signal.SIGTERM))

    runner = JobRunner(source, Table(io.StringIO()), 1, lambda events: Stopped(events, by_method, []))
    runner.run(answer)
    assert (source.reports, source.died) == ([(0, "interrupted")], [])

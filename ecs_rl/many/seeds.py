"""`train.py SCENE --seeds K`: the same training with K seeds, and one report."""

from __future__ import annotations

import signal
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ecs_rl.cli.called import program
from ecs_rl.cli.plan import Plan, difference_in_arenas
from ecs_rl.cli.process import Answer
from ecs_rl.console import tell
from ecs_rl.many.job_runner import JobRunner, at_once
from ecs_rl.many.job_workers import LocalWorker
from ecs_rl.many.jobs import Job, JobCommand, JobReport
from ecs_rl.many.seeds_report import Outcome, report, seeds_in_words
from ecs_rl.many.table import Table, open_table, with_threads
from ecs_rl.tasks.assemble import assemble
from ecs_rl.tasks.init_from import start_from
from ecs_rl.tasks.same_everywhere import contents, own_files


def run_seeds(argv: Sequence[str], plan: Plan, answer: Answer) -> int:
    """Train all seeds and report; return the exit code of the first run that failed, 0 if none did."""
    plan = checked(plan)
    settings = plan.settings
    if difference := difference_in_arenas(plan):
        tell(f"{program('train')}: {difference}", sys.stderr)
    stream = sys.stderr if settings.json else sys.stdout
    seeds = range(settings.seed, settings.seed + settings.seeds)
    together = at_once(settings, settings.seeds)
    heading = f"{settings.scene}: {settings.seeds} runs, seeds {seeds_in_words(seeds)}, {together} at a time"
    command = command_of(argv, plan, "--seeds", {})
    with open_table(stream, f"{heading} {with_threads(settings)}", "seed", seeds) as table:
        source = Seeds(seeds, table)
        runner = JobRunner(source, table, together, partial(LocalWorker, command))
        runner.run(answer)
    if runner.is_stopping and not any(outcome.summary for outcome in source.outcomes.values()):
        raise KeyboardInterrupt
    code = report(plan, list(source.outcomes.values()), stream, interrupted=runner.is_stopping)
    return source.exit_code or code


def checked(plan: Plan) -> Plan:
    """Return the plan with its opponents named by their files; what is wrong is raised here, once for all jobs."""
    plan, training = assemble(plan)
    try:
        if plan.settings.init_from is not None:
            start_from(training, plan.settings.init_from)
    finally:
        training.close()
    return plan


def command_of(argv: Sequence[str], plan: Plan, flag: str, over: Mapping[str, Any], **cluster: Any) -> JobCommand:
    """Return what all jobs of a command share; `cluster` is what a job on another machine needs besides."""
    settings = plan.settings
    over = {**over, "threads": settings.threads}
    if settings.against:
        over["against"] = settings.against
    return JobCommand(flag, tuple(argv), sys.argv[0], over, contents(own_files(plan)), **cluster)


class Seeds:
    """A job for each seed."""

    restarts = 1
    all_jobs = "every run is"
    must_stop = False

    def __init__(self, seeds: Sequence[int], table: Table) -> None:
        self._waiting, self._table = deque(seeds), table
        self.outcomes = {seed: Outcome(seed) for seed in seeds}
        self.exit_code = 0
        """Of the first run that failed."""

    def next(self) -> Job | None:
        """Return the job of the next seed."""
        if not self._waiting:
            return None
        seed = self._waiting.popleft()
        self._table.state(seed, "training")
        return Job(seed, (seed,), {})

    def take(self, job: Job, report: JobReport) -> str:
        """Show how far the run is, and keep how it ended."""
        if report.progress:
            self._table.progress(job.number, report.progress)
        if report.is_over:
            summary = next(iter(report.summaries), None)
            if summary is not None and not summary["steps"]:  # its folder is deleted
                summary = None
            message = f"training diverged: {report.message}" if report.state == "diverged" else report.message
            if report.traceback:
                tell(report.traceback, sys.stderr)
            self._end(Outcome(job.number, summary, report.exit_code, message), f"exit code {report.exit_code}")
        return ""

    def on_message(self, job: Job, message: str) -> None:
        """Pass on a message of a run."""
        self._table.message(job.number, message)

    def lost(self, job: Job, exit_code: int, lines: list[str]) -> None:
        """Keep that the process of a run died."""
        last = next((line for line in reversed(lines) if line.strip()), "it said nothing")
        if any(line.startswith("Traceback") for line in lines):
            tell("\n".join(lines), sys.stderr)
        reason = f"ended by {signal.Signals(-exit_code).name}" if exit_code < 0 else f"exit code {exit_code}"
        self._end(Outcome(job.number, None, exit_code if exit_code > 0 else 128 - exit_code, last), reason)

    def _end(self, outcome: Outcome, reason: str) -> None:
        self.outcomes[outcome.seed] = outcome
        if outcome.code:
            self.exit_code = self.exit_code or outcome.code
            tell(f"{program('train')}: seed {outcome.seed} failed, {reason}: {outcome.message}", sys.stderr)
        self._table.state(outcome.seed, outcome.state)

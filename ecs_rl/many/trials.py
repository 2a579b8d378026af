"""The jobs of a sweep: a trial for each setting. What came of each goes into `sweep.json` and the table."""

from __future__ import annotations

from collections import deque
from itertools import count

from ecs_rl.console import number
from ecs_rl.errors import StorageError
from ecs_rl.many.jobs import Job, JobReport
from ecs_rl.many.ranges import in_words
from ecs_rl.many.search import Search
from ecs_rl.many.sweep_file import BEST_EVAL, Row, SweepFile
from ecs_rl.many.table import Table

STOPPED_EARLY = "stopped early"


class SweepRows:
    """What trials and members have in common: their rows, and what stops all of them."""

    restarts = 1
    all_jobs = "all are"

    def __init__(self, file: SweepFile, table: Table) -> None:
        self._file, self._sweep, self._table = file, file.sweep, table
        self._rows = {row.trial: row for row in file.sweep.rows}
        self.must_stop = False
        self.problem = ""
        """What the disk refused: the sweep stops, and goes on once there is room."""

    def on_message(self, job: Job, message: str) -> None:
        """Pass on no message: most settings of a sweep have something wrong with them."""

    def write(self, *, now: bool = True) -> None:
        """Write the sweep's file; all stop if the disk refuses that."""
        try:
            self._file.write(now=now)
        except StorageError as error:
            self.give_up(str(error))

    def give_up(self, problem: str) -> None:
        """Stop because the disk refused a write."""
        self.problem, self.must_stop = self.problem or problem, True

    def start(self, row: Row) -> Job:
        """Return the job of a row that begins or goes on now."""
        row.state, row.message = "running", ""
        seeds = tuple(self._sweep.seed + i for i in range(self._sweep.seeds))
        return Job(row.trial, seeds, row.setting, tuple(row.runs))

    def note(self, row: Row, report: JobReport) -> None:
        """Write a report into its row, its file and the table."""
        before, steps = row.state, row.steps
        take_report(row, report, self._sweep.measure)
        if report.is_full:
            self.give_up(report.message)
        if row.curve and row.steps > steps:
            solved = f", {row.solved} of {len(row.runs)} solved" if row.solved else ""
            best = number(row.curve[-1][1])
            self._table.progress(row.trial, f"{row.steps:,} steps, best evaluation {best}{solved}")
        if report.message:
            self._table.message(row.trial, report.message)
        if row.state != before and (row.steps or not self.must_stop):
            self.show(row)
        self.write(now=row.state != before)

    def show(self, row: Row) -> None:
        """Show how a row is."""
        state = "training" if row.state == "running" else row.state
        self._table.state(row.trial, f"{state}, {in_words(row.setting)}")

    def note_lost(self, row: Row, state: str) -> None:
        """Note that the worker of a row died for good."""
        row.state, row.message = state, self.problem or "its process died"
        self.write()
        self.show(row)
        self._table.message(row.trial, row.message)


class Trials(SweepRows):
    """A job for each trial."""

    def __init__(self, file: SweepFile, search: Search, table: Table) -> None:
        super().__init__(file, table)
        self._search = search
        self._unfinished = deque(row for row in file.sweep.rows if not row.over)

    def next(self) -> Job | None:
        """Return the job of the next trial, None while its setting is not known."""
        if self._unfinished:
            row = self._unfinished.popleft()
        elif len(self._rows) < self._sweep.trials:
            trial = next(trial for trial in count() if trial not in self._rows)  # one that had not begun comes again
            setting = self._search.ask(trial)
            if setting is None:
                return None
            row = self._rows[trial] = Row(trial=trial, setting=setting)
            self._sweep.rows.append(row)
        else:
            return None
        job = self.start(row)
        self.show(row)
        return job

    def take(self, job: Job, report: JobReport) -> str:
        """Take a report; a trial that is worse than most ends here."""
        row = self._rows[job.number]
        if report.is_over or report.is_round:
            self.note(row, report)
        if report.is_over:
            self._search.tell(row)
            return ""
        is_worse = report.is_round and report.best_eval is not None and self._search.stops(row)
        return STOPPED_EARLY if is_worse else ""

    def lost(self, job: Job, exit_code: int, lines: list[str]) -> None:
        """Note that the process of a trial died once too often; one on a full disk can go on."""
        row = self._rows[job.number]
        self.note_lost(row, "interrupted" if self.problem else "failed")
        self._search.tell(row)


def take_report(row: Row, report: JobReport, measure: str) -> None:
    """Write a report into its row."""
    row.state, row.message = report.state, report.message
    row.steps, row.runs = max(row.steps, report.steps), list(report.runs or row.runs)
    row.summaries = list(report.summaries or row.summaries)
    row.solved = report.solved if report.summaries else row.solved
    if report.best_eval is None or report.solved_step is None:
        return
    row.value = report.best_eval if measure == BEST_EVAL else report.solved_step
    point = (row.steps, report.best_eval)
    if row.curve and row.curve[-1][0] >= row.steps:
        row.curve[-1] = point
    else:
        row.curve.append(point)

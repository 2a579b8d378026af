"""What Ray Tune asks of a sweep while it runs: the next setting, what came of each, and whether to stop.

These are Tune's Searcher, Callback and Stopper but for their base classes; `run.py` gives them those.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any

from ecs_rl.console import number
from ecs_rl.errors import StorageError, WorkerLostError
from ecs_rl.many.table import Table
from ecs_rl.sweeps.ranges import Setting, in_words
from ecs_rl.sweeps.record import Row, SweepFile
from ecs_rl.sweeps.search import Settings, Suggestions
from ecs_rl.sweeps.trial import BEST_EVAL, FULL, STOPPING

FINISHED = "FINISHED"
"""Tune's word for a search that has nothing more to suggest."""


ROOM = "room"
"""A file that is written to see whether there is room."""
GO_ON = "the same command with --resume goes on to the same result"
AT_REST = 10 * 60.0
"""Seconds after which a sweep on this machine ends in which no trial runs: a process comes up within one minute."""


class Driver:
    """The state of a sweep that runs: all that Tune's parts below share."""

    def __init__(self, file: SweepFile, source: Settings | Suggestions, shown: Table) -> None:
        self.file, self.source, self.shown = file, source, shown
        self.stopping = False
        self.problem = ""
        """What the disk refused: the sweep stops, and goes on once there is room."""
        self.lost_exchange = ""
        """Why the members of a population cannot be compared and go on."""
        self.is_alone = False
        """Whether nobody else may hold the cores that its trials wait for."""
        sweep = file.sweep
        self.rows = {row.trial: row for row in sweep.rows}
        self._go_on = deque(row for row in sweep.rows if not row.over)
        self._running: set[int] = set()
        self._of_trial: dict[str, Row] = {}
        """By Tune's own identifier."""
        self.trials: Sequence[Any] = ()
        """Tune's own, as of its newest step."""

    def stop(self) -> None:
        """Ask all trials to save and end, and begin no more; called from within a signal's handler."""
        self.stopping = True
        with suppress(OSError):  # the folder is gone, and the trials fail by themselves
            (self.file.path / STOPPING).touch()

    def give_up(self, problem: str) -> None:
        """Stop because the disk refused a write."""
        self.problem = self.problem or problem
        self.stop()

    def write(self, *, now: bool = True) -> None:
        """Write the sweep's file; an error in here would be Tune's, and end the trial it was told of."""
        try:
            self.file.write(now=now)
        except StorageError as error:
            self.give_up(str(error))

    def require_room(self) -> None:
        """Raise StorageError if the disk has no room for one more checkpoint: Tune does not say why a save failed."""
        runs = [Path(run) for row in self.file.sweep.rows for run in row.runs]
        sizes = [0]
        for path in (path for run in runs for path in run.glob("checkpoints/*.safetensors")):
            with suppress(FileNotFoundError):  # older ones are deleted meanwhile
                sizes.append(path.stat().st_size)
        self.file.put(ROOM, bytes(2 * max(sizes))).unlink()  # in the run, and a copy for who takes over

    def next_row(self) -> Row | None:
        """Return the trial to begin, or to go on with; None where it is too early to say."""
        if self._go_on:
            return self._go_on.popleft()
        trial = next(each for each in count() if each not in self.rows)  # one that had not begun is drawn again
        setting = self.source.ask(trial)
        return None if setting is None else self._new(trial, setting)

    def _new(self, trial: int, setting: Setting) -> Row:
        row = Row(trial=trial, setting=setting)
        self.rows[trial] = row
        self.file.sweep.rows.append(row)
        return row

    @property
    def exhausted(self) -> bool:
        """Whether there is nothing more to begin."""
        return self.stopping or (not self._go_on and len(self.rows) >= self.file.sweep.trials)

    @property
    def quiet(self) -> bool:
        """Whether no trial is at work any more."""
        return not self._running

    def row(self, trial_id: str) -> Row:
        """Return the row behind one of Tune's trials."""
        return self._of_trial[trial_id]

    # --- what Tune tells -------------------------------------------------------------------------------------------

    def begin(self, trial_id: str) -> Row | None:
        """Note which row is behind Tune's next trial."""
        row = self.next_row()
        if row is not None:
            self._of_trial[trial_id] = row
        return row

    def started(self, trial_id: str) -> None:
        """Note that a trial is at work."""
        row = self.row(trial_id)
        row.state, row.message = "running", ""
        self._running.add(row.trial)
        if not self.stopping:
            self._show_state(row, "training")

    def reported(self, trial_id: str, result: Mapping[str, Any]) -> None:
        """Take the newest report of a trial into the table."""
        row, done = self.row(trial_id), bool(result.get("done"))
        before = row.state
        take_report(row, result, self.file.sweep.measure)
        if done and row.state == "running":  # it was the scheduler that ended it
            row.state = "interrupted" if self.stopping else "stopped early"
        if row.value is not None:
            best = row.curve[-1][1]
            solved = f", {row.solved} of {len(row.runs)} solved" if row.solved else ""
            self.shown.progress(row.trial, f"{row.steps:,} steps, best evaluation {number(best)}{solved}")
        if row.message:
            self.shown.message(row.trial, row.message)
        if done:
            self._running.discard(row.trial)
        if done and (row.steps or not self.stopping):
            self._show_state(row, row.state)
        if result.get(FULL):
            self.give_up(row.message)
        self.write(now=done or before != row.state)

    def lost(self, trial_id: str) -> None:
        """Note that the process of a trial is gone, and again when it was begun anew; one that was over stays so."""
        row = self.row(trial_id)
        if row.over:
            return
        row.state, row.message = "failed", "its process died"
        self._running.discard(row.trial)
        self.write()
        if self.problem:  # Tune could write nothing, either
            row.state, row.message = "interrupted", self.problem
        self._show_state(row, row.state)
        self.shown.message(row.trial, row.message)

    def gone(self, trial_id: str) -> None:
        """Do what must be done where a trial was lost for good: the others go on."""

    def _show_state(self, row: Row, state: str) -> None:
        self.shown.state(row.trial, f"{state}, {in_words(row.setting)}")

    def ended(self, trial_id: str) -> None:
        """Let the search know how a trial went."""
        self.source.tell(self.row(trial_id))


def take_report(row: Row, result: Mapping[str, Any], measure: str) -> None:
    """Write what a trial reports into its row."""
    row.state, row.message = result["state"], result.get("message", "")
    row.steps, row.runs = max(row.steps, result["steps"]), list(result.get("runs") or row.runs)
    row.told, row.solved = list(result.get("told") or row.told), result.get("solved", row.solved)
    if BEST_EVAL in result:
        row.value = float(result[measure])
        if not row.curve or row.curve[-1][0] < row.steps:
            row.curve.append((row.steps, float(result[BEST_EVAL])))
        else:
            row.curve[-1] = (row.steps, float(result[BEST_EVAL]))


class NextSetting:
    """Tune's Searcher: which setting is next."""

    driver: Driver

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        """Return what a trial is made with; None for not yet."""
        if self.driver.exhausted:
            return FINISHED
        row = self.driver.begin(trial_id)
        return None if row is None else {"trial": row.trial, "setting": row.setting, "runs": row.runs}

    def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None:
        """Hear that a trial is over, however it ended."""
        if error:
            self.driver.lost(trial_id)
        self.driver.ended(trial_id)

    def set_search_properties(self, metric: Any, mode: Any, config: Any, **spec: Any) -> bool:
        """Take no orders: what is judged by what is known already."""
        return True

    def save_to_dir(self, checkpoint_dir: str, session_str: str = "") -> None:
        """Save nothing: `sweep.json` has it all."""


class Reports:
    """Tune's Callback: what came of the trials."""

    driver: Driver

    def __init__(self) -> None:
        self._at_rest_since = monotonic()

    def on_trial_start(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Hear that a trial has a process of its own now."""
        self.driver.started(trial.trial_id)

    def on_trial_result(self, iteration: int, trials: Any, trial: Any, result: Mapping[str, Any], **info: Any) -> None:
        """Hear what a trial reports."""
        self.driver.reported(trial.trial_id, result)

    def on_trial_recover(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Hear that a trial whose process died is begun anew."""
        number = self.driver.row(trial.trial_id).trial
        self.driver.shown.message(number, "its process died: going on from its newest checkpoints")

    def on_trial_error(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
        """Hear that a trial was lost for good."""
        self.driver.gone(trial.trial_id)

    def on_step_end(self, iteration: int, trials: Any, **info: Any) -> None:
        """Draw what is shown anew; WorkerLostError where trials are left and Tune begins none of them."""
        self.driver.trials = trials
        self.driver.shown.draw()
        if self.driver.lost_exchange:
            self.driver.require_room()
            raise WorkerLostError(f"{self.driver.lost_exchange}: {GO_ON}")
        left = [trial for trial in trials if not trial.is_finished()]
        if not left or any(trial.status == "RUNNING" for trial in left):
            self._at_rest_since = monotonic()
        elif self.driver.is_alone and monotonic() - self._at_rest_since > AT_REST:
            told = f"{len(left)} of {len(trials)} {self.driver.file.sweep.each}s are left, and none has begun for"
            raise WorkerLostError(f"{told} {AT_REST / 60:g} minutes: {GO_ON}")


class Stop:
    """Tune's Stopper: when all is over before the last trial has ended."""

    driver: Driver

    def __call__(self, trial_id: str, result: Any) -> bool:
        """Stop no trial by itself."""
        return False

    def stop_all(self) -> bool:
        """Stop everything once each trial has saved what it has."""
        return self.driver.stopping and self.driver.quiet

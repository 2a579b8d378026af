"""One trial of a sweep, in a process that Ray started: a training for each seed, all with the same settings.

They take turns, an evaluation each, and after each round Tune hears how they do on average. Every one of them is what
`train.py` with these settings is, and writes an ordinary run.
"""

from __future__ import annotations

import os
import shutil
import signal
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from ecs_rl.cli.settings import TrainSettings
from ecs_rl.errors import ActionError, DivergedError, EcsRlError, StorageError, visible
from ecs_rl.runs.files import is_refused

if TYPE_CHECKING:
    from ecs_rl.runs import TrainingRun
    from ecs_rl.training.training import Training

SOLVED_STEP, BEST_EVAL = "solved_step", "best_eval"
"""What a trial may be judged by: the mean over its seeds of the steps to solve, or of the best evaluation."""
UNSOLVED = 2
"""A seed that was not solved counts as one that took so many times its steps (the PAR2 score)."""
FULL = "full"
"""Whether a trial ended because the disk refused a write."""
STOPPING = "stopping"
"""The file in a sweep's folder that asks all of its trials to save and end."""
LONGEST_MESSAGE = 500
"""Characters of why a trial failed."""
LOOK_EVERY = 0.2
"""Seconds between two looks for that file."""
POINTER = "trial.json"
"""What Tune keeps of a trial to begin it again elsewhere: where its runs are."""


@dataclass(frozen=True)
class Order:
    """What all trials of a sweep have in common."""

    argv: tuple[str, ...]
    """The flags of the command but for those of the sweep itself."""
    over: Mapping[str, Any]
    """Settings that count more than these."""
    seeds: tuple[int, ...]
    folder: str
    """The sweep's, as an absolute path."""
    cwd: str
    """Where relative paths of the flags begin."""
    versions: Mapping[str, str]
    """Of the project and its libraries where the command was given: elsewhere they must be the same."""
    files: Mapping[str, str]
    """SHA-256 by the path of what the trials run besides: the same everywhere too."""

    def settings(self, setting: Mapping[str, Any], more: Mapping[str, Any]) -> TrainSettings:
        """Return what one training of a trial is to be; an earlier run's settings where it is to go on."""
        from ecs_rl.cli.parse import parse_train
        from ecs_rl.cli.plan import earlier_settings, recipes_of

        found = parse_train(self.argv, recipes_of, earlier_settings, {**self.over, **setting, **more})
        return replace(found, sweep=(), trials=0, seeds=0, population=0, early_stopping=True)


class SeedRun:
    """One training of a trial."""

    def __init__(self, settings: TrainSettings) -> None:
        from ecs_rl.commands.assemble import ready, recorded
        from ecs_rl.runs.recorders import recorders_of

        recorders = recorders_of(settings.recorders)
        self.problem = ""
        """Why it diverged, '' if it did not."""
        self.settings: TrainSettings
        self.training: Training
        self.settings, self.training = ready(settings)
        try:
            self.record: TrainingRun = recorded(self.training, self.settings, recorders)
        except BaseException:
            self.training.close()
            raise
        self.training.session.write_behind()
        self.ended = False

    def advance(self, asked_to_stop: Callable[[], bool]) -> None:
        """Train until the next evaluation is over, or the training is."""
        training, before = self.training, self.training.evaluation.taken_at
        if self.ended:
            return
        try:
            while not training.done and training.evaluation.taken_at == before:
                training.tick()
                if asked_to_stop():
                    training.stop = signal.SIGINT.name
            if training.done:
                self.close()
        except (DivergedError, ActionError) as error:
            self.problem = str(error)
            self._close_broken(error, "diverged")
        except BaseException as error:
            self._close_broken(error, "failed")
            raise

    def interrupt(self) -> None:
        """Save and end as at Ctrl-C, if there is anything left to do."""
        self.training.stop = signal.SIGINT.name
        self.close()

    def close(self) -> None:
        """Save and end; a run that took no step is taken away again."""
        if self.ended:
            return
        self.ended = True
        self.training.close()
        if not self.training.session.total_steps:
            shutil.rmtree(self.record.path, ignore_errors=True)

    def _close_broken(self, error: BaseException, status: str) -> None:
        from ecs_rl.commands.train import close_broken

        self.ended = True
        close_broken(self.training, error, status)

    @property
    def told(self) -> dict[str, Any]:
        """The JSON object of this run, as `train.py --json` ends with it."""
        from ecs_rl.commands.train_report import summary

        return summary(self.training, self.record, self.settings)


class SweepTrial:
    """What Tune calls a Trainable, but for its base class; `step` is a round of evaluations."""

    config: dict[str, Any]
    """`trial` is its number, `setting` what it trains with, `runs` those to go on with, one for each seed or none."""

    def setup(self, config: dict[str, Any], order: Order) -> None:
        """Be ready for a first trial."""
        self.order = order
        self.runs: list[SeedRun] | None = None
        self._earlier: list[str] = []
        self._looked_at = 0.0
        self._stops = self._checked = False
        os.chdir(order.cwd)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Be ready for the next trial in the same process."""
        self.cleanup()
        self._earlier = []
        return True

    def step(self) -> dict[str, Any]:
        """Train every seed until its next evaluation is over, and tell how they do."""
        try:
            if self._asked_to_stop() and self.runs is None:
                return {"state": "interrupted", "runs": self._to_go_on(), "steps": 0, "done": True}
            if self.runs is None:
                self._begin()
            assert self.runs is not None
            self.advance()
            if any(run.problem for run in self.runs):  # with these settings it is of no use
                for run in self.runs:
                    run.close()
            found = report_of(self.runs)
        except Exception as error:  # a row of the table, and not the end of the sweep
            full = is_refused(error)  # which is no setting's fault: the trial goes on once there is room
            state, message = "interrupted" if full else "failed", in_one_line(error)
            found = {"state": state, "message": message, "runs": self._paths(), "steps": self._steps(), FULL: full}
            with suppress(StorageError):  # the first one is told, and earlier checkpoints stay
                self.cleanup()
            self.runs = None
        return {**found, "done": found["state"] != "running"}

    def setting(self) -> dict[str, Any]:
        """Return what it trains with."""
        return dict(self.config["setting"])

    def seeds(self) -> Sequence[int]:
        """Return the seeds of its trainings."""
        return self.order.seeds

    def advance(self) -> None:
        """Train until each training has been evaluated once more; one that was asked to stop in the end stops here."""
        for run in self.runs or ():
            run.advance(self._asked_to_stop)
        if self._asked_to_stop():
            for run in self.runs or ():
                run.interrupt()

    def cleanup(self) -> None:
        """Save and end what is still training: the trial is over, or stopped because it is worse than others."""
        for run in self.runs or ():
            run.close()
        self.runs = None

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Note where the runs are: whoever begins this trial again goes on with them."""
        Path(checkpoint_dir, POINTER).write_bytes(msgspec.json.encode({"runs": self._paths()}))

    def load_checkpoint(self, checkpoint_dir: str) -> None:
        """Go on with the runs of this trial, whose process was lost."""
        self._earlier = msgspec.json.decode(Path(checkpoint_dir, POINTER).read_bytes())["runs"]

    def _begin(self) -> None:
        from ecs_rl.commands.same_everywhere import contents, refuse_other_files, refuse_other_versions, versions

        if not self._checked:
            refuse_other_versions([versions()], self.order.versions, "--sweep")
            refuse_other_files([contents(list(self.order.files))], self.order.files, "--sweep")
            self._checked = True
        self.runs, earlier = [], self._to_go_on()
        for i, seed in enumerate(self.seeds()):
            there = i < len(earlier) and can_go_on(Path(earlier[i]))  # the disk may have refused the others
            more = {"resume": earlier[i]} if there else {"seed": seed}
            self.runs.append(SeedRun(self.order.settings(self.setting(), more)))

    def _to_go_on(self) -> list[str]:
        return self._earlier or list(self.config.get("runs", ()))

    def _paths(self) -> list[str]:
        return [str(run.record.path) for run in self.runs or ()]

    def _steps(self) -> int:
        return max((run.training.session.total_steps for run in self.runs or ()), default=0)

    def _asked_to_stop(self) -> bool:
        now = monotonic()
        if not self._stops and now - self._looked_at > LOOK_EVERY:
            self._looked_at = now
            self._stops = Path(self.order.folder, STOPPING).exists()
        return self._stops


def can_go_on(run: Path) -> bool:
    """Tell whether a run has a checkpoint from which it can be resumed."""
    from ecs_rl.commands.resume import newest_checkpoint_file
    from ecs_rl.errors import CheckpointError

    try:
        newest_checkpoint_file(run)
    except CheckpointError:
        return False
    return True


def report_of(runs: Sequence[SeedRun]) -> dict[str, Any]:
    """Return what Tune and the table hear of a trial."""
    told = [run.told for run in runs]
    problems = [run.problem for run in runs if run.problem]
    states = {each["status"] for each in told}
    found: dict[str, Any] = {
        "state": next((state for state in ("running", "interrupted", "finished") if state in states), "solved"),
        "steps": max(each["steps"] for each in told),
        "runs": [each["run"] for each in told],
        "told": told,
        "solved": sum(each["solved_step"] is not None for each in told),
    }
    if problems:
        return {**found, "state": "diverged", "message": problems[0]}
    if all(each["best_eval"] is not None for each in told):
        found[BEST_EVAL] = sum(each["best_eval"] for each in told) / len(told)
        steps = [each["solved_step"] or UNSOLVED * run.settings.steps for each, run in zip(told, runs, strict=True)]
        found[SOLVED_STEP] = sum(steps) / len(steps)
    return found


def in_one_line(error: Exception) -> str:
    """Return what went wrong; of a bug also where."""
    if isinstance(error, EcsRlError):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    told = f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    return visible(" ".join(told.split()), LONGEST_MESSAGE)

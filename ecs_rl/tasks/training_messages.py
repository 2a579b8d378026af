"""What `train.py` says on the way: of a policy that collapses, of what is wrong, and of a recorder that fails."""

from __future__ import annotations

import sys

from ecs_rl.console import number, tell
from ecs_rl.runs import TrainingRun
from ecs_rl.training.training import Training


class CollapseMessages:
    """Tells when a policy collapses, recovers, or is replaced by the best one."""

    def __init__(self, training: Training) -> None:
        self._evaluation, self._session = training.evaluation, training.session
        self._collapsed, self._restored = self._now()

    def _now(self) -> tuple[bool, int]:
        return self._evaluation.trend.collapsed, self._evaluation.trend.restored

    def update(self) -> None:
        """Say what has changed since the last call."""
        (before, times), (collapsed, restored) = (self._collapsed, self._restored), self._now()
        self._collapsed, self._restored = collapsed, restored
        best, at = number(self._session.best_eval), f"at step {self._session.total_steps:,}"
        if restored > times:
            tell(f"train.py: {at} the policy had collapsed: it goes on from the best one's ({best})", sys.stderr)
        elif collapsed and not before:
            tell(
                f"train.py: {at} the policy has collapsed: its newest evaluations are far below the best ({best}); "
                "`best` keeps that one, and --restore-best goes back to it",
                sys.stderr,
            )
        elif before and not collapsed:
            tell(f"train.py: {at} the policy has recovered", sys.stderr)


class FindingMessages:
    """Tells what the diagnosis has found, each thing once."""

    def __init__(self, training: Training) -> None:
        self._training = training
        self._reported = set[str]()

    def update(self) -> None:
        """Say what was found since the last call."""
        finding = self._training.finding
        if finding is not None and finding.name not in self._reported:
            self._reported.add(finding.name)
            tell(f"train.py: at step {self._training.session.total_steps:,} {finding}", sys.stderr)


class LessonMessages:
    """Tells when a lesson of the scene goes one step further."""

    def __init__(self, training: Training) -> None:
        self._training = training
        self._steps = [part.step for part in training.lessons.parts]

    def update(self) -> None:
        """Say which lessons have gone on since the last call."""
        parts = self._training.lessons.parts
        for i, part in enumerate(parts):
            if part.step != self._steps[i]:
                self._steps[i] = part.step
                full = ": the full task" if part.step == part.lesson.steps else ""
                tell(f"train.py: at step {self._training.session.total_steps:,} lesson {part}{full}", sys.stderr)


class RecorderMessages:
    """Tells of each recorder that has failed, once: the training goes on without it."""

    def __init__(self, record: TrainingRun) -> None:
        self._waiting = record.recordings

    def update(self) -> None:
        """Say what has failed since the last call."""
        for recording in [recording for recording in self._waiting if recording.problem]:
            self._waiting = [other for other in self._waiting if other is not recording]
            tell(
                f"train.py: the recorder {recording.name} was given up, training was not: {recording.problem}",
                sys.stderr,
            )

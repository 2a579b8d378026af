"""The evaluation that is being gathered, episode by episode, until it is judged."""

from __future__ import annotations

from ecs_rl.runs import EvalSettings
from ecs_rl.session.records import EpisodeRecord, EvalReport


class PendingEvaluation:
    """Episodes of one evaluation; the first one after `end` begins the next."""

    def __init__(self) -> None:
        self.step = 0
        """Total steps when the evaluation began."""
        self.is_over = True
        self._records: list[EpisodeRecord] = []
        self._seed: int | None = None

    def add(self, record: EpisodeRecord, seed: int | None, total_steps: int) -> None:
        """Take one episode, at this many steps of training."""
        if self.is_over:
            self._records, self._seed, self.step, self.is_over = [], seed, total_steps, False
        self._records.append(record)

    def end(self) -> None:
        """Let the next episode begin a new evaluation."""
        self.is_over = True

    def report(self) -> EvalReport | None:
        """Return the report on this evaluation, or on the last one if it is over; None before the first."""
        return EvalReport.of(self._records, self.step) if self._records else None

    def settings(self) -> EvalSettings | None:
        """Return how it was measured, None if nothing is pending."""
        return None if self.is_over else EvalSettings(seed=self._seed, episodes=len(self._records))

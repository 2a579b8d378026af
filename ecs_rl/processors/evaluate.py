"""evaluate: Session, Policy -> Exam, Session."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING

from ecs_rl.components import Exam, Journal, Session
from ecs_rl.ecs import Stage
from ecs_rl.session.records import opposed

if TYPE_CHECKING:
    from ecs_rl.world import World


class Evaluate(Stage):
    """Examine the policies on episodes that never change, in a world of its own, and keep the best."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.session, self.exam, self.journal = world.one(Session), world.one(Exam), world.one(Journal)
        self.can_leave = False  # only while the episodes are played: nothing is told before all of them are over

    def run(self) -> None:
        """Hold an exam at the first tick at or past each multiple of `every`."""
        for _ in self.examine():
            pass

    def slices(self) -> Iterator[None]:
        """Stop after each tick of an exam."""
        return self.timed(self.examine())

    def examine(self) -> Iterator[None]:
        """Hold an exam if one is due."""
        exam = self.exam
        if self.session.training.total_steps // exam.every > exam.taken_at // exam.every:
            yield from self.hold()

    def hold(self) -> Iterator[None]:
        """Play the episodes, tell the session, and note whether the scene is solved."""
        exam, training = self.exam, self.session.training
        steps = training.total_steps
        film = self.world.stages.get("film")
        trained = perf_counter() - self.journal.began - self.seconds - (film.seconds if film else 0.0)
        self.can_leave = True
        try:
            yield
            records = yield from exam.play(exam.seeds)
        finally:
            self.can_leave = False
        exam.taken_at = steps
        for seed, record in zip(exam.seeds, records, strict=True):
            training.on_eval_episode(record.total_reward, record.length, record.status, record.extras, seed)
        report = training.eval_report()
        assert report is not None
        exam.last = report.mean_return
        yield  # the disk takes a slice of its own
        training.maybe_save_best(newest=opposed(records))
        if exam.solved_at is not None and exam.last >= exam.solved_at and exam.solved_step is None:
            exam.solved_step, exam.solved_second = steps, trained

"""evaluate: Session, Policy -> Evaluation, Session."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING

from ecs_rl.components import Evaluation, MetricsSchedule, Session
from ecs_rl.ecs import Stage
from ecs_rl.session.records import opposed

if TYPE_CHECKING:
    from ecs_rl.world import World


class Evaluate(Stage):
    """Examine the policies on episodes that never change, in a world of its own, and keep the best."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.session, self.evaluation, self.metrics_schedule = (
            world.one(Session),
            world.one(Evaluation),
            world.one(MetricsSchedule),
        )
        self.can_leave = False  # only while the episodes are played: nothing is told before all of them are over

    def run(self) -> None:
        """Hold an evaluation at the first tick at or past each multiple of `every`."""
        for _ in self.evaluate():
            pass

    def slices(self) -> Iterator[None]:
        """Stop after each tick of an evaluation."""
        return self.timed(self.evaluate())

    def evaluate(self) -> Iterator[None]:
        """Hold an evaluation if one is due."""
        evaluation = self.evaluation
        if self.session.training.total_steps // evaluation.every > evaluation.taken_at // evaluation.every:
            yield from self.hold()

    def hold(self) -> Iterator[None]:
        """Play the episodes, tell the session, and note whether the scene is solved."""
        evaluation, training = self.evaluation, self.session.training
        steps = training.total_steps
        film = self.world.stages.get("film")
        trained = perf_counter() - self.metrics_schedule.began - self.seconds - (film.seconds if film else 0.0)
        self.can_leave = True
        try:
            yield
            records = yield from evaluation.play(evaluation.seeds)
        finally:
            self.can_leave = False
        evaluation.taken_at = steps
        for seed, record in zip(evaluation.seeds, records, strict=True):
            training.on_eval_episode(record.total_reward, record.length, record.status, record.extras, seed)
            for told in self.metrics_schedule.listeners:
                told({"total_steps_at_eval": steps, "total_reward": record.total_reward})
        report = training.eval_report()
        assert report is not None
        evaluation.last = report.mean_return
        yield  # the disk takes a slice of its own
        training.maybe_save_best(newest=opposed(records))
        if (
            evaluation.solved_at is not None
            and evaluation.last >= evaluation.solved_at
            and evaluation.solved_step is None
        ):
            evaluation.solved_step, evaluation.solved_second = steps, trained

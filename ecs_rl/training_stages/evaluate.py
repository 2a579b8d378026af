"""evaluate: Session, Policy -> Evaluation, Session, Policy."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from ecs_rl.agents.base import Restartable
from ecs_rl.ecs import LongStage
from ecs_rl.records import opposed
from ecs_rl.training_stages.resources import Evaluation, MetricsSchedule, Session
from ecs_rl.world import World


class Evaluate(LongStage):
    """Evaluate the policies on fixed episodes in a world of its own, and keep the best."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.session, self.evaluation = world.one(Session), world.one(Evaluation)
        self.metrics_schedule = world.one(MetricsSchedule)
        names = [agent.name for agent in world.arena.agents]
        self.agents = names if len(names) > 1 else []

    def work(self) -> Iterator[None]:
        """Evaluate at the first tick at or past each multiple of `every`, yielding after its ticks."""
        evaluation = self.evaluation
        if self.session.training.total_steps // evaluation.every > evaluation.taken_at // evaluation.every:
            yield from self.hold()
            self.restore_best()

    def hold(self) -> Iterator[None]:
        """Play the episodes, tell the session, and note whether the scene is solved."""
        evaluation, training = self.evaluation, self.session.training
        steps = training.total_steps
        film = self.world.stages.get("film")
        trained = perf_counter() - self.metrics_schedule.began - self.seconds - (film.seconds if film else 0.0)
        self.can_leave = True  # only while the episodes are played: nothing is told before all of them are over
        try:
            yield
            records = yield from self.world.callbacks.evaluate(evaluation.seeds)
        finally:
            self.can_leave = False
        evaluation.taken_at = steps
        for seed, record in zip(evaluation.seeds, records, strict=True):
            training.on_eval_episode(record.total_reward, record.length, record.status, record.extras, seed)
            if self.metrics_schedule.fresh is not None:
                row = {"total_steps_at_eval": steps, "total_reward": record.total_reward, "extras": record.extras}
                self.metrics_schedule.fresh.append(row)
        evaluation.last = training.evaluated()
        assert evaluation.last is not None
        yield  # the disk takes a slice of its own
        elo = getattr(training.agent, "elo", None)  # self-play goes by it: no score is the same against other opponents
        newest = elo is None and not evaluation.comparable and opposed(records)
        training.maybe_save_best(elo, newest=newest)
        report = training.eval_report()
        assert report is not None
        for agent in evaluation.trend.add_own(report.returns, steps):
            if elo is None and agent in self.agents:  # the sides of self-play are one learner
                training.save_best_of(agent)
        spread, unlike = training.evaluated_spread(), newest or elo is not None
        training_mean = self.world.callbacks.trained(training.trained())
        is_best = evaluation.trend.add(
            evaluation.last, spread, training_mean, mean_return=report.mean_return, newest=unlike
        )
        if is_best and evaluation.restores:
            evaluation.best_policy = training.agent.policy_state()
        solved = evaluation.solved_at is not None and evaluation.last >= evaluation.solved_at
        if solved and evaluation.solved_step is None:
            evaluation.solved_step, evaluation.solved_second = steps, trained

    def restore_best(self) -> None:
        """Restore the best policy if the present one has collapsed and the settings ask for it."""
        evaluation, agent = self.evaluation, self.session.training.agent
        if evaluation.best_policy and evaluation.trend.collapsed:
            assert isinstance(agent, Restartable)
            agent.restart(evaluation.best_policy)
            evaluation.trend.restore()

"""write: Session, Evaluation -> the run directory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import perf_counter

from ecs_rl.components import Explosion
from ecs_rl.ecs import LongStage
from ecs_rl.records import OF_AGENT, SCORE
from ecs_rl.training_stages.resources import Evaluation, MetricsSchedule, Session
from ecs_rl.world import World

FLUSH_EVERY = 2.0
"""Seconds after which log rows reach the disk for whoever reads along; no result depends on it."""


class Write(LongStage):
    """Write checkpoints, metrics and logs when they are due, or queue them for the writer thread."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.session, self.evaluation, self.schedule = (
            world.one(Session),
            world.one(Evaluation),
            world.one(MetricsSchedule),
        )
        self.explosion = world.one(Explosion)
        self.flushed = 0.0

    def work(self) -> Iterator[None]:
        """Write what is due; a checkpoint waits in slices for the write before it."""
        training, schedule = self.session.training, self.schedule
        if training.run is None:
            if training.saves and training.is_due():
                training.save_checkpoint()
            return
        training.writes.raise_problem()
        steps = training.total_steps
        evaluated = self.evaluation.taken_at > schedule.evaluated_at and schedule.written_at < steps
        if evaluated or steps // schedule.every > schedule.written_at // schedule.every:
            self.log_row(evaluated)
        training.keep_milestone()
        if training.is_due():  # last, so that the checkpoint counts this tick's row
            yield from training.checkpoint_written()
            training.save_checkpoint()

    def log_row(self, evaluated: bool) -> None:
        """Add a row of metrics, with the last evaluation's numbers if there was one since the row before."""
        training, schedule = self.session.training, self.schedule
        if training.run is None:
            return
        schedule.written_at, schedule.evaluated_at = training.total_steps, self.evaluation.taken_at
        now, row = perf_counter(), self.metrics(evaluated)
        log = partial(training.run.log_metrics, training.total_steps, now - schedule.began, row)
        metrics = {"total_steps": training.total_steps, **row}
        if schedule.diagnosis is not None:
            schedule.diagnosis.add(metrics)
        if schedule.fresh is not None:
            schedule.fresh.append(metrics)
        training.writes.later(log)
        if now - self.flushed > FLUSH_EVERY:
            self.flushed = now
            training.writes.do(training.run.flush)

    def metrics(self, evaluated: bool) -> dict[str, float]:
        """Return one row of numbers by name."""
        training = self.session.training
        row = {f"rollout/{name}": value for name, value in training.stats_summary().items()}
        row |= {f"train/{name}": value for name, value in training.agent.metrics().items()}
        row["time/steps_per_second"] = training.steps_per_sec
        row |= {f"time/{name}": seconds for name, seconds in self.world.seconds_in.items()}
        row["env/explosions"] = float(self.explosion.count)
        row |= self.world.callbacks.lesson_metrics()
        report = training.eval_report() if evaluated else None
        if report is not None:
            trend = self.evaluation.trend
            row["eval/collapsed"] = float(trend.collapsed)
            if self.evaluation.restores:
                row["eval/restored"] = float(trend.restored)
            row |= {f"eval/{key}": getattr(report, key) for key in ("mean_return", "std_return", "mean_length")}
            row |= {f"eval/{OF_AGENT}{agent}": value for agent, value in report.returns.items()}
            row |= {f"eval/best_{OF_AGENT}{agent}": value for agent, value in trend.own_best.items()}
            row |= {f"eval/{SCORE}{name}": value for name, value in report.scores.items()}
        return row

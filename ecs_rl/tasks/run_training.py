"""`train.py SCENE`: put the training together, tick until it is done, say how it went."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.cli.plan import Plan, difference_in_arenas
from ecs_rl.cli.process import Answer, say_now
from ecs_rl.console import tell
from ecs_rl.errors import ActionError, DivergedError, EcsRlError, StorageError, WorkerLostError
from ecs_rl.garbage import passing_over
from ecs_rl.runs import TrainingRun
from ecs_rl.runs.recorders import recorders_of
from ecs_rl.tasks.assemble import assemble, recorded
from ecs_rl.tasks.check import check_scene
from ecs_rl.tasks.progress import ProgressDisplay, ProgressSnapshot
from ecs_rl.tasks.train_report import say_how_it_went, what_is_used_up
from ecs_rl.tasks.training_messages import CollapseMessages, FindingMessages, LessonMessages, RecorderMessages
from ecs_rl.training.training import Training

Watch = Callable[[Path, Callable[[], None]], None]
"""Trains in a window: with the run's folder, and what to call after each tick."""


def run(plan: Plan, answer: Answer) -> int:
    """Carry out the command; from the moment at which there is a run, signals stop the training and not the process."""
    settings = plan.settings
    if settings.check:
        return check_scene(plan.scene, settings, lambda: assemble(plan)[1])
    recorders = recorders_of(settings.recorders)
    plan, training = assemble(plan)
    if settings.pace and not settings.watch:
        tell("train.py: --pace is for --watch: without a window training goes flat out", sys.stderr)
    if settings.watch:
        from ecs_rl.tasks.watch_training import train_in_window  # the door to pygame

        return train_in_window(plan, training, recorders, answer)
    answer.first = partial(stop, training)
    return train(training, recorded(training, plan, recorders), plan.settings)


SAVING = "saving after this tick; again to end at once"
"""What is said at the first signal."""


def stop(training: Training, number: signal.Signals) -> None:
    """Stop a training as soon as it can be saved."""
    training.stop, training.reloads = number.name, False
    say_now(f"train.py: {number.name}: {SAVING}")


def train(training: Training, record: TrainingRun, settings: TrainSettings, watch: Watch | None = None) -> int:
    """Tick until the training is done, in a window if there is one to `watch` it in, then save, and report."""
    stream = sys.stderr if settings.json else sys.stdout
    problem: EcsRlError | None = None
    training.session.write_behind()
    if settings.resume is None and (difference := difference_in_arenas(Plan(settings, training.world.scene))):
        tell(f"train.py: {difference}", sys.stderr)
    if settings.resume is not None and training.done:
        tell(f"train.py: nothing is left to train: {what_is_used_up(training, record)}", sys.stderr)
    with passing_over(), ProgressDisplay(stream, scene=settings.scene, run=str(record.path)) as progress:
        draw = partial(progress.update, partial(snapshot, training, settings))
        recorders = RecorderMessages(record)
        messages = CollapseMessages(training), FindingMessages(training), LessonMessages(training), recorders

        def update() -> None:
            for message in messages:
                message.update()
            draw()

        try:
            if watch is not None:
                watch(record.path, update)
            while not training.done:
                training.tick()
                update()
        except (DivergedError, ActionError) as error:  # an agent acts out of shape when its numbers ran away
            problem = error
            close_broken(training, error, "diverged")
        except BaseException as error:
            close_broken(training, error, "failed")
            raise
    if problem is None:
        training.close()
        recorders.update()
        if not training.session.total_steps:  # a signal came when the run's directory was just made
            shutil.rmtree(record.path, ignore_errors=True)
            raise KeyboardInterrupt
    else:
        recorders.update()
        tell(f"train.py: training diverged: {problem}", sys.stderr)
    if training.reloads and problem is None:
        tell(f"train.py: at step {training.session.total_steps:,} it goes on in the scene as it is now", sys.stderr)
        return 0
    no_films = training.films.problem if training.films is not None else ""
    if no_films:
        tell(f"train.py: filming was given up, training was not: {no_films}", sys.stderr)
    say_how_it_went(training, record, settings, stream)
    if problem is not None:
        return DivergedError.exit_code
    return StorageError.exit_code if no_films else 0


def close_broken(training: Training, problem: BaseException, status: str) -> None:
    """Save the last good policy and end; nobody can go on from the middle of a tick, so earlier checkpoints stay.

    A second failure is told as well, and never in place of the first.
    """
    steps: list[Callable[[], None]] = [partial(training.close, status)]
    if not isinstance(problem, StorageError | WorkerLostError) and training.session.agent.is_finite():
        steps.insert(0, training.session.save_policy)
    for step in steps:
        try:
            step()
        except EcsRlError as second:
            if second is not problem:
                tell(f"train.py: nor could it be saved: {second}", sys.stderr)


def snapshot(training: Training, settings: TrainSettings) -> ProgressSnapshot:
    """Return what the progress display shows."""
    session, evaluation = training.session, training.evaluation
    stats = session.stats_summary()
    metrics = session.agent.metrics()
    done = "solved" if training.solved else "training"
    if evaluation.trend.collapsed:
        done = "collapsed"
    if training.films is not None and training.films.problem:
        done += ", filming was given up"
    return ProgressSnapshot(
        steps=session.total_steps,
        total_steps=settings.steps,
        seconds=training.seconds,
        steps_per_second=session.total_steps / training.seconds if training.seconds else 0.0,
        episodes=session.total_episodes,
        mean_return=stats["mean_return"],
        mean_length=stats["mean_length"],
        mean_score=stats.get(f"score/{training.world.scene.score}"),
        last_eval=evaluation.last,
        elo=getattr(session.agent, "elo", None),
        best_eval=session.best_eval,
        best_step=session.best_step,
        finding=str(training.finding or ""),
        lessons=str(training.lessons),
        losses={name: metrics[name] for name in metrics if "loss" in name or name in ("entropy", "epsilon")},
        most_seconds=60 * settings.minutes or None,
        state=f"stopping ({training.stop})" if training.stop else done,
    )

"""`train.py`: read the command, put the training together, tick until it is done, say how it went."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ecs_rl.commands.called import asks_for_version, versions_in_words
from ecs_rl.commands.init_from import PILOT, start_from
from ecs_rl.commands.messages import CollapseMessages, FindingMessages, LessonMessages, RecorderMessages
from ecs_rl.commands.parse import Recipes, parse_train, refuse_what_is_no_text
from ecs_rl.commands.process import NOTHING_SAVED, Answer, carry_out, say_now
from ecs_rl.commands.progress import Progress, ProgressSnapshot
from ecs_rl.commands.resume import earlier_settings, resume, with_its_network
from ecs_rl.commands.settings import TrainSettings, settings_as_dict
from ecs_rl.commands.train_report import say_how_it_went, what_is_used_up
from ecs_rl.console import deliver, tell
from ecs_rl.errors import (
    ActionError,
    CheckpointError,
    CommandError,
    DivergedError,
    EcsRlError,
    SceneError,
    StorageError,
    WorkerLostError,
)
from ecs_rl.garbage import passing_over

if TYPE_CHECKING:
    from ecs_rl.runs import TrainingRun
    from ecs_rl.runs.recorders import Recorder
    from ecs_rl.scene.scene import Scene
    from ecs_rl.training.opponent import Opponent
    from ecs_rl.training.selfplay import SelfPlaySettings
    from ecs_rl.training.together import Group
    from ecs_rl.training.training import Training
    from ecs_rl.viewer.live.watch import WatchWindow


_OF_THE_TRAINING = (
    *("arenas", "steps", "schedule_steps", "seed", "threads", "eval_every", "eval_episodes", "checkpoint_every"),
    *("keep", "until_solved", "plateau", "minutes", "restore_best"),
)
"""Settings that `prepare` takes by the same names."""


def main(argv: Sequence[str]) -> int:
    """Run `train.py` with these arguments and return its exit code."""

    def command(answer: Answer) -> int:
        if asks_for_version(argv):
            deliver(versions_in_words())
            return 0
        refuse_what_is_no_text(argv)
        settings = parse_train(argv, recipes_of, earlier_settings)
        refuse_unreadable_files(settings)
        if settings.sweep or settings.trials or settings.population:
            from ecs_rl.sweeps.run import run_sweep

            return run_sweep(argv, settings, answer)
        if settings.workers > 1 and not settings.check:
            from ecs_rl.commands.workers import run_together

            return run_together(settings, answer)
        if settings.seeds:
            from ecs_rl.many.seeds import run_seeds

            return run_seeds(argv, settings, answer)
        return run(settings, answer)

    return carry_out("train", NOTHING_SAVED, command)


def refuse_unreadable_files(settings: TrainSettings) -> None:
    """Refuse a file that a flag names and that cannot be read, before torch is loaded, which takes seconds."""
    from ecs_rl.runs import read_manifest
    from ecs_rl.runs.rows import changes_of

    if settings.changes is not None:
        changes_of(settings.changes)
    if settings.init_from is not None and str(settings.init_from) != PILOT:
        read_manifest(settings.init_from)
    if settings.imitate is not None and not settings.imitate.exists():
        raise CheckpointError(f"--imitate: there is no demonstration {settings.imitate}: check the path")


def recipes_of(scene: str) -> Recipes:
    """Return what a scene suggests for its training, for each agent."""
    from ecs_rl.loading import load_scene
    from ecs_rl.training.own_network import recipes_by_name

    return recipes_by_name(load_scene(scene))


def run(settings: TrainSettings, answer: Answer) -> int:
    """Carry out the command; from the moment at which there is a run, signals stop the training and not the process."""
    from ecs_rl.commands.reload import with_scene_of_before, with_scene_of_now
    from ecs_rl.loading import load_scene
    from ecs_rl.runs.recorders import recorders_of

    if settings.check:
        from ecs_rl.commands.check import check_scene

        return check_scene(load_scene(settings.scene), settings, lambda: put_together(settings)[1])
    recorders = recorders_of(settings.recorders)
    settings, training = ready(settings)
    if settings.pace and not settings.watch:
        tell("train.py: --pace is for --watch: without a window training goes flat out", sys.stderr)
    window = opened(training, settings.pace or ("max" if settings.json else "")) if settings.watch else None
    before: Scene | None = None
    while True:
        answer.first = partial(stop, training)
        code, problem = 1, None
        try:
            record = recorded(training, settings, recorders)
            code = train(training, record, settings, window)
        except SceneError as error:
            if before is None:
                raise
            problem = error
        finally:
            if window is not None and problem is None and (not training.reloads or code):
                window.close()
        if window is not None and before is not None and problem is not None:
            settings, training, window = with_scene_of_before(settings, record, window, before, problem)
            before = None
        elif window is not None and training.reloads and not code:
            going, before = with_scene_of_now(settings, record, window, training.world.scene)
            settings, training, window = going
        else:
            return code
        recorders = recorders_of(settings.recorders)


def ready(
    settings: TrainSettings, group: Group | None = None, scene: Scene | None = None
) -> tuple[TrainSettings, Training]:
    """Return the settings with all that they name looked up, and their training, which writes nothing yet.

    In a `group` of processes it is this one's share of it. Without a `scene` it is the one that the settings name.
    """
    if settings.record_every:
        from ecs_rl.viewer.films.encoder import require_encoder

        require_encoder("--record-every")
        clips = settings.steps // max(settings.record_every, settings.arenas)
        if clips > MOST_CLIPS:
            told = f"--record-every {settings.record_every} asks for {clips:,} clips in {settings.steps:,} steps"
            raise CommandError(f"{told}: at most {MOST_CLIPS:,}, so take {-(-settings.steps // MOST_CLIPS)} or more")
    return put_together(settings, group, scene)


MOST_CLIPS = 1_000
"""Clips of a training; each takes about a second or two."""
SAVING = "saving after this tick; again to end at once"
"""What is said at the first signal."""


def stop(training: Training, number: signal.Signals) -> None:
    """Stop a training as soon as it can be saved."""
    training.stop, training.reloads = number.name, False
    say_now(f"train.py: {number.name}: {SAVING}")


def opened(training: Training, pace: str) -> WatchWindow:
    """Return the window of `--watch`."""
    from ecs_rl.viewer.live.display import Display, NoDisplay
    from ecs_rl.viewer.live.screen_process import ScreenProcess
    from ecs_rl.viewer.live.watch import WatchWindow

    show = ScreenProcess.start if os.name == "posix" else Display  # which elsewhere cannot be handed a connection
    try:
        display = show(f"{training.world.scene.name} - ecs_rl")
    except NoDisplay as none:
        raise NoDisplay(f"--watch: {none}: train without --watch, and see it later with play.py --record") from None
    try:
        return WatchWindow.open(training, display, pace=pace)
    except BaseException:
        display.close()
        raise


def recorded(
    training: Training, settings: TrainSettings, recorders: Mapping[str, Recorder] | None = None
) -> TrainingRun:
    """Return the run that the training writes from now on, a new one or the one to go on with, and let others hear."""
    record = resume(training, settings) if settings.resume is not None else begun(training, settings)
    for name, recorder in (recorders or {}).items():
        record.open_recorder(name, recorder)
    if settings.resume is None:
        training.write_to(record)
    return record


def begun(training: Training, settings: TrainSettings) -> TrainingRun:
    """Return a new run for a training."""
    from ecs_rl.runs import TrainingRun

    if settings.init_from is not None:
        start_from(training, settings.init_from)
    if settings.imitate is not None:
        from ecs_rl.training.imitate import imitate

        tell(f"train.py: {imitate(training, settings.imitate)}", sys.stderr)
    # Only now is everything known to work: a refused command leaves no run directory behind.
    scene = training.world.scene
    record = TrainingRun.create(
        settings.name,
        settings.version,
        settings.runs,
        scene=scene.reference,
        scene_sha256=scene.sha256,
        agent=settings.agent,
        seed=settings.seed,
    )
    record.scene_data = scene.data
    record.write_config(settings_as_dict(settings))
    return record


def put_together(
    settings: TrainSettings, group: Group | None = None, scene: Scene | None = None
) -> tuple[TrainSettings, Training]:
    """Return the training that the settings describe, and those with its opponents by their files.

    A run tells those, and not what was the newest run or the current folder then.
    """
    from ecs_rl.commands.playing import opponent_meant
    from ecs_rl.loading import load_scene

    scene = scene or load_scene(settings.scene)
    opponent = opponent_meant(scene, settings.against, settings.runs)
    if opponent is not None:
        settings = replace(settings, against=opponent.reference)
    settings = with_its_network(settings, scene)
    if not settings.self_play:
        return settings, prepared(settings, opponent, group=group, scene=scene)
    from ecs_rl.agents.selfplay import PoolSettings
    from ecs_rl.training.selfplay import settings_of

    pool = PoolSettings(settings.pool_size, settings.pool_every, settings.pool_latest)
    self_play = settings_of(settings.pool_also, pool)
    return replace(settings, pool_also=self_play.also_reference), prepared(settings, opponent, self_play, group, scene)


def prepared(
    settings: TrainSettings,
    opponent: Opponent | None = None,
    self_play: SelfPlaySettings | None = None,
    group: Group | None = None,
    scene: Scene | None = None,
) -> Training:
    """Return the training that the settings describe, which writes nothing yet."""
    from ecs_rl.loading import load_scene
    from ecs_rl.runs.rows import changes_of
    from ecs_rl.training.prepare import prepare
    from ecs_rl.viewer.films.clips import Clips

    training = prepare(
        scene or load_scene(settings.scene),
        settings.algorithm,
        getattr(settings, settings.agent),
        opponent=opponent,
        self_play=self_play,
        group=group,
        filming=Clips(settings.record_every) if settings.record_every else None,
        **{name: getattr(settings, name) for name in _OF_THE_TRAINING},
    )
    if settings.changes is not None:
        training.live.plan(changes_of(settings.changes))
    return training


def train(training: Training, record: TrainingRun, settings: TrainSettings, window: WatchWindow | None = None) -> int:
    """Tick until the training is done, in a window if there is one, then save, and report."""
    stream = sys.stderr if settings.json else sys.stdout
    problem: EcsRlError | None = None
    training.session.write_behind()
    if settings.resume is not None and training.done:
        tell(f"train.py: nothing is left to train: {what_is_used_up(training, record)}", sys.stderr)
    with passing_over(), Progress(stream, scene=settings.scene, run=str(record.path)) as progress:
        draw = partial(progress.update, partial(snapshot, training, settings))
        recorders = RecorderMessages(record)
        messages = CollapseMessages(training), FindingMessages(training), LessonMessages(training), recorders

        def shown() -> None:
            for each in messages:
                each.update()
            draw()

        try:
            if window is not None:
                from ecs_rl.viewer.live.watch import watch_training

                watch_training(window, training, record.path, after_tick=shown, attended=not settings.json)
            while not training.done:
                training.tick()
                shown()
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

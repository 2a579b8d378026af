"""A training put together for a command: its world, its agents and its run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ecs_rl.agents.selfplay import PoolSettings
from ecs_rl.cli.settings import PlaySettings, TrainSettings, settings_as_dict
from ecs_rl.cli.target import checkpoint_meant
from ecs_rl.commands.init_from import start_from
from ecs_rl.commands.resume import resume, with_its_network
from ecs_rl.console import tell
from ecs_rl.errors import CommandError
from ecs_rl.loading import load_scene
from ecs_rl.runs import TrainingRun
from ecs_rl.runs.recorders import Recorder
from ecs_rl.runs.rows import changes_of
from ecs_rl.scene.scene import Scene
from ecs_rl.training.imitate import imitate
from ecs_rl.training.opponent import Opponent, opponent_of
from ecs_rl.training.prepare import prepare
from ecs_rl.training.selfplay import SelfPlaySettings, settings_of
from ecs_rl.training.together import Group
from ecs_rl.training.training import Training
from ecs_rl.viewer.films.clips import Clips
from ecs_rl.viewer.films.ffmpeg import require_encoder

MOST_CLIPS = 1_000
"""Clips of a training; each takes about a second or two."""


def ready(
    settings: TrainSettings, group: Group | None = None, scene: Scene | None = None
) -> tuple[TrainSettings, Training]:
    """Return the settings with all that they name looked up, and their training, which writes nothing yet.

    In a `group` of processes it is this one's share of it. Without a `scene` it is the one that the settings name.
    """
    if settings.record_every:
        require_encoder("--record-every")
        clips = settings.steps // max(settings.record_every, settings.arenas)
        if clips > MOST_CLIPS:
            told = f"--record-every {settings.record_every} asks for {clips:,} clips in {settings.steps:,} steps"
            raise CommandError(f"{told}: at most {MOST_CLIPS:,}, so take {-(-settings.steps // MOST_CLIPS)} or more")
    return put_together(settings, group, scene)


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
    if settings.init_from is not None:
        start_from(training, settings.init_from)
    if settings.imitate is not None:
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
    scene = scene or load_scene(settings.scene)
    opponent = opponent_meant(scene, settings.against, settings.runs)
    if opponent is not None:
        settings = replace(settings, against=opponent.reference)
    settings = with_its_network(settings, scene)
    if not settings.self_play:
        return settings, prepared(settings, opponent, group=group, scene=scene)
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
    training = prepare(
        scene or load_scene(settings.scene),
        settings.algorithm,
        getattr(settings, settings.agent),
        settings,
        opponent=opponent,
        self_play=self_play,
        group=group,
        filming=Clips(settings.record_every) if settings.record_every else None,
    )
    if settings.changes is not None:
        training.live.plan(changes_of(settings.changes))
    return training


def opponent_meant(scene: Scene, text: str, runs: Path) -> Opponent | None:
    """Return the opponent that `--against` names: random, a checkpoint file, or the best one of a run."""
    if not text:
        return None
    return opponent_of(scene, text, lambda name: checkpoint_meant(PlaySettings(target=name, runs=runs)))

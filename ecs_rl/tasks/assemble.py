"""A training put together for a command: its world, its agents and its run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from ecs_rl.adapters.minari_data import read_minari
from ecs_rl.cli.command_settings import PlaySettings, TrainSettings, settings_as_dict
from ecs_rl.cli.plan import Plan
from ecs_rl.cli.target import checkpoint_meant
from ecs_rl.console import tell
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.runs import TrainingRun
from ecs_rl.runs.demonstrations import Demonstrations
from ecs_rl.runs.recorders import Recorder
from ecs_rl.runs.rows import changes_of
from ecs_rl.scene.scene import Scene
from ecs_rl.tasks.init_from import start_from
from ecs_rl.tasks.resume_run import resume, with_its_network
from ecs_rl.training.imitate import imitate, remember, remember_all
from ecs_rl.training.matches import settings_of
from ecs_rl.training.opponent import Opponent, opponent_of
from ecs_rl.training.prepare import prepare
from ecs_rl.training.self_play import PoolSettings
from ecs_rl.training.together import Together
from ecs_rl.training.training import Training
from ecs_rl.viewer.films.clips import Clips
from ecs_rl.viewer.films.ffmpeg import require_encoder

MOST_CLIPS = 1_000
"""Clips of a training; each takes about a second or two."""


def assemble(plan: Plan, together: Together | None = None) -> tuple[Plan, Training]:
    """Return the training that a plan describes, which writes nothing yet; `together` it is this process's share.

    The plan comes back with its network loaded and its opponents named by their files: a run keeps those, and not what
    was the newest run or the current folder then.
    """
    refuse_too_many_clips(plan.settings)
    opponent = opponent_meant(plan.scene, plan.settings.against, plan.settings.runs)
    if opponent is not None:
        plan = plan.changed(against=opponent.reference)
    plan = with_its_network(plan)
    settings, self_play = plan.settings, None
    if settings.self_play:
        pool = PoolSettings(settings.pool_size, settings.pool_every, settings.pool_latest)
        self_play = settings_of(settings.pool_also, pool)
        plan = plan.changed(pool_also=self_play.also_reference)
    training = prepare(
        plan.scene,
        settings.algorithm,
        getattr(settings, settings.agent),
        settings,
        opponent=opponent,
        self_play=self_play,
        together=together,
        filming=Clips(settings.record_every) if settings.record_every else None,
    )
    if settings.changes is not None:
        training.live.plan(changes_of(settings.changes))
    return plan, training


def refuse_too_many_clips(settings: TrainSettings) -> None:
    """Refuse `--record-every` where there is no encoder, or so many clips that they take longer than the training."""
    if not settings.record_every:
        return
    require_encoder("--record-every")
    clips = settings.steps // max(settings.record_every, settings.arenas)
    if clips > MOST_CLIPS:
        problem = f"--record-every {settings.record_every} asks for {clips:,} clips in {settings.steps:,} steps"
        raise CommandError(f"{problem}: at most {MOST_CLIPS:,}, so take {-(-settings.steps // MOST_CLIPS)} or more")


def recorded(training: Training, plan: Plan, recorders: Mapping[str, Recorder] | None = None) -> TrainingRun:
    """Return the run that the training writes from now on, a new one or the one to resume, with these recorders."""
    is_new = plan.settings.resume is None
    record = begun(training, plan.settings) if is_new else resume(training, plan)
    for name, recorder in (recorders or {}).items():
        record.open_recorder(name, recorder)
    if is_new:
        training.write_to(record)
    return record


def prepared(training: Training, settings: TrainSettings) -> None:
    """Let the agents of a new run learn from what the settings name before its first tick."""
    if settings.init_from is not None:
        start_from(training, settings.init_from)
    if settings.imitate is not None:
        tell(f"train.py: {imitate(training, settings.imitate)}", sys.stderr)
    if settings.offline is not None:
        tell(f"train.py: {remember(training, settings.offline)}", sys.stderr)
    if settings.remember is not None:
        tell(f"train.py: {remember(training, settings.remember, stay=True)}", sys.stderr)
    if settings.minari:
        tell(f"train.py: {remember_minari(training, settings.minari)}", sys.stderr)


def begun(training: Training, settings: TrainSettings) -> TrainingRun:
    """Return a new run for a training."""
    prepared(training, settings)
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


def remember_minari(training: Training, name: str) -> str:
    """Let the agent of the scene's first policy remember a data set; return that in words."""
    scene = training.world.scene
    agent = training.agents[training.world.arena.agents[0].policy]
    episodes = read_minari(name, agent.spec)
    data = Demonstrations(scene.reference, scene.sha256, agent.spec, episodes)
    if not data.ticks:
        raise CheckpointError(f"--minari {name}: it holds no decision: name another")
    return remember_all(agent, f"--minari {name}", data)


def opponent_meant(scene: Scene, text: str, runs: Path) -> Opponent | None:
    """Return the opponent that `--against` names: random, a checkpoint file, or the best one of a run."""
    if not text:
        return None
    return opponent_of(scene, text, lambda name: checkpoint_meant(PlaySettings(target=name, runs=runs)))

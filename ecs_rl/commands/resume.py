"""`train.py SCENE --resume [RUN]`: which run is meant, what it was told, and its newest checkpoint that can be used."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ecs_rl.commands.pipes import tell
from ecs_rl.commands.settings import AGENTS, TrainSettings, settings_as_dict
from ecs_rl.errors import CheckpointError, CommandError, quoted

FIXED = ("seed", "arenas", "eval_episodes")
"""Settings that a run keeps for good: seeds name episodes, and a best score compares only with its like."""
FIXED_OF_THE_AGENT = ("hidden", "activation", "normalise_observations", "normalise_rewards")

if TYPE_CHECKING:
    from ecs_rl.agents.base import State
    from ecs_rl.runs import Manifest, TrainingRun
    from ecs_rl.training import Training


def run_meant(settings: TrainSettings) -> Path:
    """Return the directory of the run to go on with: the one named, or the newest of the run's name."""
    from ecs_rl.runs import find_run

    found = find_run(settings.resume or newest_of(settings), settings.runs)
    for skipped in found.skipped:
        tell(f"train.py: {skipped}", sys.stderr)
    return found.path


def newest_of(settings: TrainSettings) -> str:
    """Return what `--resume` alone means: any version of the name, unless another than the first was asked for."""
    return settings.name if settings.version == "v1" else f"{settings.name}/{settings.version}"


def earlier_settings(settings: TrainSettings) -> Mapping[str, Any]:
    """Return the settings that the run to resume was started with."""
    from ecs_rl.runs import settings_of

    run = run_meant(settings)
    found = settings_of(run)
    agent = found.get("agent", "")
    if agent not in ("", *AGENTS):
        raise CheckpointError(f"{run}: its settings name {quoted(agent)}, which is no agent: mend its config.json")
    return found


def newest_checkpoint(run: Path) -> tuple[Manifest, State]:
    """Return the newest checkpoint of a run from which training can go on; damaged ones are told and passed over."""
    from ecs_rl.runs import read_checkpoint
    from ecs_rl.runs.layout import CHECKPOINTS, step_checkpoints

    steps = step_checkpoints(run)
    found = None
    for path in [*(steps[step] for step in sorted(steps, reverse=True)), run / CHECKPOINTS / "latest.safetensors"]:
        if found is not None and path.stem != "latest":
            break
        try:
            manifest, tensors = read_checkpoint(path)
            if manifest.full:
                manifest.facts()
        except CheckpointError as error:
            tell(f"train.py: passed over: {error}", sys.stderr)
            continue
        if manifest.full and (found is None or manifest.step > found[0].step):
            found = manifest, tensors
    if found is None:
        raise CheckpointError(f"{run} has no checkpoint to go on from: start a new run, or --init-from its best policy")
    return found


def resume(training: Training, settings: TrainSettings) -> TrainingRun:
    """Bring a prepared training to where the run's newest checkpoint stands, and write on there."""
    from ecs_rl.runs import TrainingRun, read_metadata

    run = run_meant(settings)
    before = read_metadata(run).status
    record = TrainingRun.resume(run)  # the lock first: another writer could still be saving
    try:
        _go_on(training, record, settings)
    except BaseException:
        record.abandon(before)
        raise
    return record


def _go_on(training: Training, record: TrainingRun, settings: TrainSettings) -> None:
    from ecs_rl.playback import check_same
    from ecs_rl.resume import go_on, source_sha256
    from ecs_rl.runs.films import cut_clips

    run, scene = record.path, training.world.scene
    manifest, tensors = newest_checkpoint(run)
    if manifest.scene != scene.reference:
        raise CommandError(f"{run} trains '{manifest.scene}', not '{settings.scene}': name that scene to resume it")
    if manifest.agent != settings.agent:
        raise CommandError(f"{run} trains {manifest.agent}, not {settings.agent}: leave --agent out to resume it")
    check_same(run, manifest, training.world.specs, scene.name)
    refuse_changes(record, settings)
    facts = manifest.facts()
    if facts.scene_sha256 != source_sha256(scene):
        tell(f"train.py: {scene.file} has changed since: old and new scores may not compare", sys.stderr)
    training.write_to(record)
    go_on(training, manifest, tensors)
    # Only now is everything known to fit: a refused resume leaves the run as it was.
    record.cut_logs(msgspec.to_builtins(facts.logs))
    cut_clips(run, manifest.step)
    record.write_config(_config_of(record, settings))


def refuse_changes(record: TrainingRun, settings: TrainSettings) -> None:
    """Refuse settings that would make the run another one: what is learnt so far would mean something else."""
    before, now = record.config, settings_as_dict(settings)
    agent = settings.agent
    pairs = [(f"--{name.replace('_', '-')}", before, now, name) for name in FIXED]
    table = before.get(agent, {})
    pairs += [(f"--{agent}.{name.replace('_', '-')}", table, now[agent], name) for name in FIXED_OF_THE_AGENT]
    for flag, old, new, name in pairs:
        if name in old and old[name] != new.get(name):
            raise CommandError(
                f"{flag} is {new.get(name)}, and {record.path} was started with {old.get(name)}: "
                "leave it out to go on, or start a new run"
            )


def _config_of(record: TrainingRun, settings: TrainSettings) -> dict[str, Any]:
    """Return what holds from now on: a new --steps must still hold when the run is resumed once more."""
    own = {name: record.config[name] for name in ("name", "version", "runs", "init_from") if name in record.config}
    return settings_as_dict(replace(settings, resume=None)) | own

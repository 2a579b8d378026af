"""`train.py SCENE --resume [RUN]`: which run is meant, what it was told, and its newest checkpoint that can be used."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from ecs_rl.agents.base import State
from ecs_rl.cli.command_settings import TrainSettings, settings_as_dict
from ecs_rl.cli.plan import PROGRAMS, Plan, run_meant
from ecs_rl.console import tell
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.runs import Manifest, TrainingRun, read_checkpoint, read_manifest, read_metadata, section, versions_here
from ecs_rl.runs.layout import CHECKPOINTS, cut_clips, step_checkpoints
from ecs_rl.runs.rows import changes_in, rows_of
from ecs_rl.training.exact_resume import go_on
from ecs_rl.training.own_network import with_network, with_trusted_network
from ecs_rl.training.same_policies import check_same
from ecs_rl.training.training import Training
from ecs_rl.training.trust import difference
from ecs_rl.user_files.named import is_reference

FIXED = ("seed", "arenas", "eval_episodes", "against", "self_play", "pool_size", "pool_also", "offline", "minari")
"""Settings that a run keeps for good: seeds name episodes, and a best score compares only with its like."""
FIXED_OF_THE_AGENT = (
    *("network", "state", "shared", "hidden", "activation", "normalise_observations", "normalise_rewards"),
)


def newest_checkpoint(run: Path) -> tuple[Manifest, State]:
    """Return the newest checkpoint of a run from which training can go on; damaged ones are told and passed over."""
    _, manifest, tensors = _newest(run)
    return manifest, tensors


def newest_checkpoint_file(run: Path) -> Path:
    """Return the file of that one."""
    return _newest(run)[0]


def _newest(run: Path) -> tuple[Path, Manifest, State]:
    steps, latest = step_checkpoints(run), run / CHECKPOINTS / "latest.safetensors"
    paths = [steps[step] for step in sorted(steps, reverse=True)]
    newest, refused = None, list[str]()
    for path in [*paths, *([latest] if latest.exists() or not paths else [])]:
        if newest is not None and (path is not latest or latest.samefile(newest[0])):
            break
        try:
            manifest, tensors = read_checkpoint(path)
            if manifest.full:
                manifest.facts()
        except CheckpointError as error:
            tell(f"train.py: passed over: {error}", sys.stderr)
            refused.append(str(error))
            continue
        if manifest.full and (newest is None or manifest.step > newest[1].step):
            newest = path, manifest, tensors
    if newest is None:
        why = refused[0] if refused else "all of them hold a policy alone"
        raise CheckpointError(f"{run} has no checkpoint to go on from ({why}): start a new run, or use --init-from")
    return newest


def with_its_network(plan: Plan) -> Plan:
    """Return the plan with its network loaded: one that was named, or the very file that was trained with."""
    settings, scene = plan.settings, plan.scene
    config = getattr(settings, settings.agent)
    if settings.resume is None or settings.network:
        config = with_network(config, scene)
    elif ":" in getattr(config, "network", ""):
        run = plan.run or run_meant(settings, scene)
        checkpoint = run.path / CHECKPOINTS / "latest.safetensors"
        config = with_trusted_network(config, scene, checkpoint, run.manifest or read_manifest(checkpoint))
    return plan.changed(**{settings.agent: config})


def _own_name(table: Mapping[str, Any]) -> str:
    """Return the name behind the file of a network of a user's own, '' for one that comes with the project."""
    network = str(table.get("network", ""))
    return network.rpartition(":")[2] if ":" in network else ""


def resume(training: Training, plan: Plan) -> TrainingRun:
    """Bring a prepared training to where the run's newest checkpoint stands, and write on there."""
    run = plan.run or run_meant(plan.settings, plan.scene)
    for message in run.skipped:
        tell(f"train.py: {message}", sys.stderr)
    before = read_metadata(run.path).status
    record = TrainingRun.resume(run.path)  # the lock first: another writer could still be saving
    try:
        _go_on(training, record, plan.settings)
    except BaseException:
        record.abandon(before)
        raise
    return record


def _go_on(training: Training, record: TrainingRun, settings: TrainSettings) -> None:
    run, scene = record.path, training.world.scene
    manifest, tensors = newest_checkpoint(run)
    differs, versions = difference(manifest, scene), versions_here()
    learns_otherwise = manifest.config.get("agent_sha256", "") != settings.algorithm.sha256
    if differs is None:
        raise CommandError(f"{run} trains '{manifest.scene}', not '{settings.scene}': name that scene to resume it")
    if manifest.agent != settings.agent:
        raise CommandError(f"{run} trains {manifest.agent}, not {settings.agent}: leave --agent out to resume it")
    check_same(run, manifest, training.world.specs, scene.name)
    refuse_changes(record, settings)
    before = manifest.versions or record.metadata.versions
    changed = [name for name in before if name in versions and before[name] != versions[name]]
    facts = manifest.facts()
    training.write_to(record)
    try:
        exactly = not (differs or learns_otherwise or changed or settings.inexact)
        as_it_was = go_on(training, manifest, tensors, exactly=exactly)
    except CheckpointError as error:
        raise CheckpointError(f"{run}: {error}") from error
    if not training.world.engine.starts_midway and not as_it_was:
        tell(f"train.py: {run}: its episodes do not come back as they were: all begin anew", sys.stderr)
    if facts.workers != settings.workers:
        change = f"{facts.workers} process{'es' if facts.workers > 1 else ''} trained it, and {settings.workers} go on"
        tell(f"train.py: {run}: {change}: its arenas are shared out anew, and bits will differ", sys.stderr)
    if differs:
        tell(f"train.py: {differs}: old and new scores may not compare", sys.stderr)
    if learns_otherwise:
        tell(f"train.py: {settings.algorithm.file} has changed since: it may learn otherwise from here on", sys.stderr)
    if changed:
        other = ", ".join(f"{name} was {before[name]} and is {versions[name]}" for name in changed)
        tell(f"train.py: {run}: {other}: bits may differ from an uninterrupted run", sys.stderr)
    metrics = run / "metrics.jsonl"
    training.live.plan(changes_in(metrics, facts.logs.metrics))  # made after the checkpoint: made again at their steps
    # Only now is everything known to fit: a refused resume leaves the run as it was.
    record.cut_logs(msgspec.to_builtins(facts.logs))
    for row in rows_of(metrics):
        training.diagnose(row)
    training.session.return_to_best_of(manifest)
    own = {agent.name: training.evaluation.trend.own_step.get(agent.name) for agent in training.world.arena.agents}
    training.session.return_to_bests_of(manifest.step, own)
    if settings.restore_best and not training.evaluation.best_policy:
        training.evaluation.best_policy = best_policy(record, manifest.step)
    cut_clips(run, manifest.step)
    # A new --steps must still hold when the run is resumed once more.
    own_settings = {
        name: record.config[name]
        for name in ("name", "version", "runs", "init_from", "imitate", "remember")
        if name in record.config
    }
    record.write_config(settings_as_dict(replace(settings, resume=None, inexact=False, changes=None)) | own_settings)
    record.scene_data = scene.data
    record.update_metadata(scene=scene.reference, scene_sha256=scene.sha256, versions=versions)


def best_policy(record: TrainingRun, step: int) -> State:
    """Return the best policy that a run has on disk, if it is not from after this step; empty otherwise.

    Checkpoints have it only if they were written with `--restore-best`.
    """
    path = record.best_checkpoint()
    if path is None:
        return {}
    try:
        manifest, tensors = read_checkpoint(path)
    except CheckpointError as error:
        tell(f"train.py: passed over: {error}", sys.stderr)
        return {}
    return section(tensors, "policy") if manifest.step <= step else {}


def refuse_changes(record: TrainingRun, settings: TrainSettings) -> None:
    """Refuse settings that would make the run another one: what is learnt so far would mean something else."""
    before, now = (
        {"against": "", "self_play": False, "offline": None, "minari": "", **record.config},
        settings_as_dict(settings),
    )
    agent = settings.agent
    if _own_name(now[agent]) == _own_name(before.get(agent, {})) != "":  # a file may move
        now[agent]["network"] = before[agent]["network"]
    for name in PROGRAMS:  # and so may an opponent's
        if is_reference(str(now[name])) and Path(str(now[name])).name == Path(str(before.get(name, ""))).name:
            now[name] = before[name]
    tables = (("", before, now, FIXED), (f"{agent}.", before.get(agent, {}), now[agent], FIXED_OF_THE_AGENT))
    for prefix, old, new, names in tables:
        for name in names:
            if name in old and old[name] != new.get(name):
                flag = f"--{prefix}{name.replace('_', '-')}"
                if name in PROGRAMS and not new.get(name) and is_reference(str(old[name])):
                    message = f"{record.path} was started with {flag} {old[name]}, and no run names a program to be run"
                    raise CommandError(f"{message}: if you trust it, name it again")
                raise CommandError(
                    f"{flag} is {new.get(name)}, and {record.path} was started with {old[name] or 'none'}: "
                    "leave it out to go on, or start a new run"
                )

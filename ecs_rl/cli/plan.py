"""What a command names, looked up before torch is loaded: its scene, its files, and the run to go on with."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from ecs_rl.cli.called import typed
from ecs_rl.cli.command_settings import PILOT, TrainSettings
from ecs_rl.cli.parse import Recipes, cores, difference_from_recipe, parse_train
from ecs_rl.distributed.place import check_shares
from ecs_rl.errors import CheckpointError, CommandError, install, quoted
from ecs_rl.loading import load_scene
from ecs_rl.runs import FoundRun, Manifest, find_run, list_runs, read_manifest, settings_of
from ecs_rl.runs.layout import CHECKPOINTS
from ecs_rl.runs.rows import changes_of
from ecs_rl.scene.scene import Scene
from ecs_rl.training.own_network import recipes_by_name
from ecs_rl.training.same_policies import check_same
from ecs_rl.training.trust import difference, trusted_algorithm
from ecs_rl.user_files.named import is_reference, parted
from ecs_rl.world import policy_specs

PROGRAMS = ("against", "pool_also", "recorder")
"""Settings that may name a file which is run: a run's word for it is not enough, whoever resumes it names it again."""
MOST_ON_A_CORE = 8
"""Processes for each core of this machine at most: all of them are busy all the time."""


@dataclass(frozen=True)
class Plan:
    """A command of `train.py`: its settings and what they name, looked up once and handed on."""

    settings: TrainSettings
    scene: Scene
    run: FoundRun | None = None
    """The run to resume, if there is one."""

    def changed(self, **settings: Any) -> Plan:
        """Return the plan with other settings, which name the same scene and the same run."""
        return replace(self, settings=replace(self.settings, **settings))

    def resuming(self, run: Path, **more: Any) -> Plan:
        """Return the plan that goes on with this run, with other settings."""
        return replace(self.changed(resume=str(run), init_from=None, **more), run=FoundRun(run, [], None))


def plan_of(argv: Sequence[str], over: Mapping[str, Any] | None = None, loaded: Scene | None = None) -> Plan:
    """Return the plan of a command; settings in `over` count more than those of its flags.

    A `loaded` scene is the one that the command names, and is not loaded again.
    """
    lookup = _Lookup(loaded)
    settings = parse_train(argv, lookup.recipes_of, lookup.earlier_settings, over)
    return Plan(settings, lookup.scene, lookup.run)


def plan_in_group(argv: Sequence[str], size: int, environment: Mapping[str, str]) -> Plan:
    """Return the plan of a command whose processes a launcher has started; started again it resumes its run."""
    words = [*argv, "--workers", str(size)]
    if int(environment.get("TORCHELASTIC_RESTART_COUNT", "0")):
        with suppress(CheckpointError):  # it broke before there was anything to go on with
            return plan_of([*words, "--resume"])
    plan = plan_of(words)
    if any(word.split("=")[0] == "--workers" for word in argv) or plan.settings.ray:
        raise CommandError(f"WORLD_SIZE is {size}: a launcher has started the processes: leave --workers and --ray out")
    return plan


class _Lookup:
    """Loads the scene of a command and finds the run that it resumes, each once."""

    scene: Scene
    run: FoundRun | None = None

    def __init__(self, loaded: Scene | None) -> None:
        self._loaded = loaded

    def recipes_of(self, scene: str) -> Recipes:
        """Return what the scene suggests for its training, for each agent."""
        self.scene = self._loaded or load_scene(scene)
        return recipes_by_name(self.scene)

    def earlier_settings(self, settings: TrainSettings) -> Mapping[str, Any]:
        """Return the settings of the run to resume; `agent` is an `Algorithm` where a user's file defines it."""
        if settings.sweep:
            return {}  # each training of the sweep is resumed by itself
        if settings.seeds:
            refuse_several(settings)
        self.run = run_meant(settings, self.scene)
        return settings_of_run(self.run, settings)


def difference_in_arenas(plan: Plan) -> str:
    """Return in words how a plan learns in more or fewer arenas than its scene's recipe, "" if it learns alike."""
    return difference_from_recipe(plan.settings, recipes_by_name(plan.scene))


def recipes_of(scene: str) -> Recipes:
    """Return what a scene suggests for its training, for each agent."""
    return recipes_by_name(load_scene(scene))


def refuse_unreadable_files(settings: TrainSettings) -> None:
    """Refuse a file that a flag names and that cannot be read, before torch is loaded, which takes seconds."""
    if settings.changes is not None:
        changes_of(settings.changes)
    if settings.init_from is not None and str(settings.init_from) != PILOT:
        read_manifest(settings.init_from)
    if settings.imitate is not None and not settings.imitate.exists():
        raise CheckpointError(f"--imitate: there is no demonstration {settings.imitate}: check the path")
    for flag, data in (("--offline", settings.offline), ("--remember", settings.remember)):
        if data is not None and settings.resume is None and not data.exists():
            raise CheckpointError(f"{flag}: there is no data {data}: check the path")
    if is_reference(settings.network) and not (file := parted("--network", settings.network)[0]).is_file():
        raise CommandError(f"--network {settings.network}: there is no file {file}: check the path")


def refuse_what_is_not_shared(plan: Plan) -> None:
    """Refuse what cannot be shared out, each in one sentence."""
    settings = plan.settings
    reasons = {
        "--seeds: those are trainings of their own": bool(settings.seeds),
        f"{settings.scene}: environments of Gymnasium live in one process": not plan.scene.can_be_shared,
    }
    for reason, holds in reasons.items():
        if holds:
            raise CommandError(f"--workers cannot be used with {reason}; leave one of them out")
    most = MOST_ON_A_CORE * cores()
    if not settings.ray and settings.workers > most:
        problem = f"this machine has {cores()} cores, and more processes wait for each other"
        raise CommandError(f"--workers {settings.workers}: {problem}: take at most {most}")
    check_shares(settings.arenas, settings.workers)
    if settings.ray and importlib.util.find_spec("ray") is None:
        raise CommandError(f"--ray needs ray: {install('ray')}, or leave --ray out")


def run_meant(settings: TrainSettings, scene: Scene) -> FoundRun:
    """Return the run to go on with: the one whose directory is named, or the newest of a name that trains the scene."""
    # `--resume` alone means any version of the name, unless another than the first was asked for.
    newest = settings.name if settings.version == "v1" else f"{settings.name}/{settings.version}"
    return find_run(settings.resume or newest, settings.runs, unfit=partial(not_meant, scene))


def not_meant(scene: Scene, run: Path, manifest: Manifest) -> str:
    """Return why a run that was found by its name is not one of this scene, '' if it is.

    A scene file that is not the one that was trained, but is called like it, has moved only if the other has gone.
    """
    differs = difference(manifest, scene)
    there = manifest.scene != scene.reference and os.path.isfile(manifest.scene)
    if differs is None or (differs and there):
        return f"{run}: it trains '{manifest.scene}', not '{scene.reference}'"
    if differs and manifest.scene != scene.reference:
        try:
            check_same(run, manifest, policy_specs(scene.describe()), scene.name)
        except CheckpointError as error:
            return str(error)
    return ""


def settings_of_run(run: FoundRun, settings: TrainSettings) -> Mapping[str, Any]:
    """Return what is taken from the settings of a run: all but programs, which whoever resumes it names again."""
    earlier = settings_of(run.path)
    agent = earlier.get("agent", "")
    earlier = {name: value for name, value in earlier.items() if name not in PROGRAMS or not is_reference(str(value))}
    if agent in ("", *settings.algorithms):
        return earlier
    if run.manifest is None or run.manifest.agent != agent:
        raise CheckpointError(f"{run.path}: its settings name {quoted(agent)}, which is no agent: mend its config.json")
    if settings.agent:
        return earlier  # resuming tells that these are not of one algorithm
    return {**earlier, "agent": trusted_algorithm(run.path / CHECKPOINTS / "latest.safetensors", run.manifest)}


def refuse_several(settings: TrainSettings) -> NoReturn:
    """Refuse `--seeds` with `--resume`, and name the command for each of the runs that could go on."""
    place = (settings.name, settings.version)
    stopped = [
        entry.path
        for entry in list_runs(settings.runs)
        if entry.metadata is not None
        and (entry.metadata.name, entry.metadata.version) == place
        and entry.metadata.status in ("interrupted", "killed")
    ]
    runs = [str(path) for path in reversed(stopped[: settings.seeds])] or ["RUN"]
    commands = "; ".join(f"{typed('train')} {settings.scene} --resume {run}" for run in runs)
    raise CommandError(f"--seeds begins new runs: go on with each run by itself: {commands}")

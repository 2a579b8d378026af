"""Which checkpoint file `play.py` plays, by the names that a command gives: a file, a run, a scene, its pilot.

Nothing is loaded here but the metadata of runs.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from ecs_rl.cli.called import program, typed
from ecs_rl.cli.command_settings import PILOT, PlaySettings, is_checkpoint_name
from ecs_rl.console import number, tell
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.pilots.pilot_scores import gallery
from ecs_rl.runs import (
    FoundRun,
    Manifest,
    NoRunError,
    find_run,
    list_runs,
    read_manifest,
    read_metadata,
    run_of_scene,
    settings_of,
)
from ecs_rl.runs.layout import CHECKPOINTS, policies
from ecs_rl.scene.loader import scene_path, sources_of
from ecs_rl.shipped import PILOTS, pilot_file, reference_of, scene_files, scene_names
from ecs_rl.user_files.sources import read_sources

MOST_PANES = 6
"""Checkpoints that a window shows side by side."""


def is_scene_file(target: str) -> bool:
    """Return whether a target is the file of a scene."""
    return Path(target).suffix == ".py" and Path(target).is_file()


def names_scene(target: str) -> bool:
    """Return whether a target names a scene, and no run or checkpoint."""
    return target in scene_names() or target.startswith("gym:") or Path(target).suffix == ".py"


def is_pilot(path: Path) -> bool:
    """Return whether a checkpoint is a pilot that comes with the project, however its path is written."""
    return path.resolve().parent == PILOTS.resolve()


def folder_for(path: Path) -> Path:
    """Return where films and pictures of a checkpoint go: its run, else its folder; of a pilot the current folder."""
    return run_of(path) or (Path.cwd() if is_pilot(path) else path.parent)


def run_of(path: Path) -> Path | None:
    """Return the run that a checkpoint belongs to, None for a file on its own."""
    return path.parent.parent if path.parent.name == "checkpoints" else None


def checkpoint_meant(settings: PlaySettings) -> Path:
    """Return the checkpoint file: the target itself, or the one asked for of the run that the target names."""
    if settings.checkpoint == PILOT:
        return pilot_meant(settings)
    if settings.target is not None and settings.target.endswith(".safetensors"):
        path = Path(settings.target)
        if not path.is_file():
            raise CommandError(f"there is no checkpoint file {path}: check the path")
        return path
    target = settings.target or ""
    if Path(target).is_file() and not is_scene_file(target) and not (settings.runs / target).is_dir():
        raise CommandError(
            f"{target} is a file: name the directory of a run, a .safetensors file or a scene's .py file"
        )
    place = run_or_pilot(settings)
    if isinstance(place, Path):
        return place
    for skipped in place.skipped:
        tell(f"{program('play')}: {skipped}", sys.stderr)
    which = settings.checkpoint
    if which == "best" and not settings.compare and place.path not in (Path(target), settings.runs / target):
        tell_what_is_better(place.path, settings.runs)
    saved = policies(place.path)
    if re.fullmatch("[0-9]{1,18}", which) and saved:
        step = min(sorted(saved), key=lambda step: abs(step - int(which)))
        if step != int(which):
            note = f"no policy was kept at step {int(which):,}: this is the nearest, step {step:,}"
            tell(f"{program('play')}: {note}", sys.stderr)
        return saved[step]
    path = place.path / CHECKPOINTS / f"{which}.safetensors"
    if not path.is_file():
        own = sorted(each.stem for each in path.parent.glob("best_*.safetensors"))
        there = [*(name for name in ("best", *own, "latest") if path.with_stem(name).is_file())]
        there += map(str, sorted(saved))
        hint = f"use --checkpoint {there[0]}" if there else "train it further"
        raise CheckpointError(f"{place.path} has no checkpoint '{which}'; there is: {', '.join(there)}: {hint}")
    return path


def checkpoints_meant(settings: PlaySettings) -> tuple[PlaySettings, list[Path]]:
    """Return the checkpoint that is meant, or those to compare; the settings come with the scene and run implied."""
    names = settings.compare or ("",)
    if settings.target is not None and is_scene_file(settings.target):  # the command names the scene, too
        settings = replace(settings, scene=settings.scene or settings.target)
    if settings.target is None:  # `--compare RUN pilot` means the pilot of that run's scene
        runs = [name for name in names if name and not is_checkpoint_name(name) and not name.endswith(".safetensors")]
        settings = replace(settings, target=runs[0] if runs else None)
    if not 1 <= len(names) <= MOST_PANES:
        raise CommandError(f"--compare shows at most {MOST_PANES} checkpoints, not {len(names)}: name fewer")
    return settings, [checkpoint_named(settings, name) for name in names]


def checkpoint_named(settings: PlaySettings, name: str) -> Path:
    """Return the checkpoint with this name in the run, that of another run, or a file of its own."""
    if name and not is_checkpoint_name(name):
        try:
            return checkpoint_meant(replace(settings, target=name))
        except CommandError as none:
            names = "a checkpoint is best, latest, pilot or a step like 98304"
            raise CommandError(f"--compare {name}: {none} ({names})") from None
    if name not in ("", PILOT) and (settings.target or "").endswith(".safetensors"):
        raise CommandError(f"--compare {name}: {settings.target} is one checkpoint; name the run that has several")
    return checkpoint_meant(replace(settings, checkpoint=name) if name else settings)


def run_or_pilot(settings: PlaySettings) -> FoundRun | Path:
    """Return the run that is meant, or the pilot of the scene that the target names where no run has it.

    A run of the scene's name comes first, then the newest run of that scene by any name. Of a scene's file it is the
    newest run of that file.
    """
    scene, runs = settings.target or "", settings.runs
    if is_scene_file(scene):
        file = scene_path(scene)
        scene = reference_of(file)
        if scene not in scene_names():
            run = run_of_scene(scene, runs, sha256=sources_of(file).sha256)
            if run is None:
                raise NoRunError(f"there is no run of {file} in {runs}: train one first: {typed('train')} {file}")
            return run
    try:
        return find_run(scene or None, runs, unfit=partial(trains_another, scene))
    except (CommandError, NoRunError) as none:
        run = run_of_scene(scene, runs) if scene in scene_names() else None
        if run is not None:
            return run
        pilot = pilot_file(scene)
        if pilot is None:
            raise
        why = str(none) if isinstance(none, NoRunError) else f"there is no run of {scene} in {runs}"
    if settings.checkpoint != "best":
        reason = f"{why}, and its pilot is one policy, without a checkpoint '{settings.checkpoint}'"
        raise CommandError(f"{reason}: leave that out, or train one first: {typed('train')} {scene}")
    tell(f"{program('play')}: {why}: this is the pilot that comes with it", sys.stderr)
    return pilot


def trains_another(scene: str, run: Path, manifest: Manifest) -> str:
    """Return why a run below the name of a scene is none of that scene, "" if it is one or the name is no scene's.

    A user's own file may be called like a scene that comes with the project, and so are its runs.
    """
    if scene not in scene_names() or manifest.scene == scene:
        return ""
    if manifest.source_sha256 == read_sources(scene_files()[scene]).sha256:  # a copy of it
        return ""
    named = f"{typed('play')} {manifest.scene}"
    return f"{run}: it trains '{manifest.scene}', not '{scene}': play it with {named}"


def pilot_meant(settings: PlaySettings) -> Path:
    """Return the pilot of the scene that the target names, or of the scene that the target's policy plays."""
    target = settings.target
    scene = target or ""
    if target is not None and target.endswith(".safetensors"):
        scene = read_manifest(Path(target)).scene
    elif scene not in scene_names():
        try:
            scene = read_metadata(find_run(target, settings.runs).path).scene
        except NoRunError:
            example = f"{typed('play')} {next(iter(scene_names()))} --pilot"
            raise CommandError(f"--pilot: no run says which scene is meant: name it, as in: {example}") from None
    pilot = pilot_file(scene)
    if pilot is None:
        raise CommandError(f"--pilot: no pilot comes with the scene '{scene}': leave --pilot out")
    return pilot


def tell_what_is_better(run: Path, runs: Path) -> None:
    """Say which run of the same scene, and whether its pilot, did clearly better than this one, the newest.

    A rating by self-play compares only with games of its own run.
    """
    known, opponent = read_metadata(run), opponent_of_evaluations(run)
    if opponent is None:
        return
    own_best = -math.inf if known.best_eval is None else known.best_eval
    better = ""
    for path, metadata, _ in list_runs(runs):
        if metadata is None or metadata.best_eval is None or metadata.best_eval <= own_best:
            continue
        same_scene = (metadata.scene, metadata.scene_sha256) == (known.scene, known.scene_sha256)
        if same_scene and opponent_of_evaluations(path) == opponent:
            own_best, better = metadata.best_eval, f"; {path} has {number(metadata.best_eval)}"
    pilot = gallery().get(known.scene)
    if pilot is not None and pilot.score - pilot.std > own_best and pilot.against == Path(opponent).name:
        better += f"; the pilot has {number(pilot.score)} (--pilot)"
    if better:
        reached = "no evaluation" if known.best_eval is None else f"best evaluation {number(known.best_eval)}"
        tell(f"{program('play')}: {run} is the newest run ({known.total_steps:,} steps, {reached}){better}", sys.stderr)


def opponent_of_evaluations(run: Path) -> str | None:
    """Return whom a run's evaluations are played against ("" for nobody), None where they compare with no other run."""
    try:
        config = settings_of(run)
    except CheckpointError:
        return None
    return None if config.get("self_play") else str(config.get("against") or "")

"""Which scene a checkpoint belongs to, and which file is run because a checkpoint names it: a scene, an algorithm."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PureWindowsPath

from ecs_rl.agents.make import AGENTS, Algorithm
from ecs_rl.agents.own import algorithm_from
from ecs_rl.errors import CheckpointError, CommandError, quoted
from ecs_rl.from_file import is_reference, object_in
from ecs_rl.runs import Manifest, read_metadata, settings_of
from ecs_rl.runs.episode_file import EpisodeManifest
from ecs_rl.runs.layout import CHECKPOINTS
from ecs_rl.scene.loader import load_scene, scene_of
from ecs_rl.scene.scene import Scene
from ecs_rl.shipped import scene_names
from ecs_rl.sources import Sources, read_sources

LARGEST = 16_000_000
"""Bytes of the largest file that is looked at because a checkpoint names it."""
DEEPEST = 8
"""So many folders of a path are looked for elsewhere."""


def difference(manifest: Manifest, scene: Scene) -> str | None:
    """Return how a scene differs from the one that was trained: '' if not at all, None if it is quite another.

    The same content is the same scene, wherever it is. A file may have changed, or both moved and changed; scenes that
    come with the project are only ever themselves.
    """
    same = manifest.source_sha256 == scene.sha256 != ""
    if same or (manifest.scene == scene.reference and not manifest.source_sha256):
        changed = scene.changed_file(manifest.source_sha256, manifest.scene_data)
        return f"{changed} has changed since" if changed else ""
    if manifest.scene == scene.reference:
        return f"{scene.file} has changed since"
    shipped = scene_names()
    if manifest.scene in shipped or scene.reference in shipped or _stem(manifest.scene) != _stem(scene.reference):
        return None
    return f"{scene.file} has changed since, and was {manifest.scene} then"


def trusted_scene(checkpoint: Path, manifest: Manifest | EpisodeManifest, runs: Path | None = None) -> Scene:
    """Return the scene that a checkpoint names, if it may be run on that word alone; CheckpointError otherwise.

    That is one that comes with the project, or a file with the very content that was trained: where it was then, or
    in the same place seen from the current directory or, for a run below `runs`, from the folder that holds `runs`.
    Nothing inside a run, or beside a checkpoint that was copied, is ever run.
    """
    named = manifest.scene if manifest.scene.isprintable() else repr(manifest.scene)
    if named.startswith("gym:") and ":" in named.removeprefix("gym:"):
        told = "which imports a module: if you trust that, name it"
        raise CheckpointError(f"{checkpoint} was made with the environment '{named}', {told} with --scene {named}")
    if named in scene_names() or named.startswith("gym:") or not _is_path(named):
        try:
            return load_scene(named)
        except CommandError as error:
            raise CheckpointError(f"{checkpoint} was made with the scene '{named}': {error}") from None
    if not manifest.source_sha256:
        raise CheckpointError(
            f"{checkpoint} does not say what its scene {named} contained: "
            "if you trust that file, name it with --scene FILE"
        )
    names = [manifest.scene]
    with suppress(CheckpointError):
        names += [read_metadata(run).scene] if (run := _run_of(checkpoint.absolute())) else []
    found = trusted_sources(checkpoint, names, manifest.source_sha256, runs)
    if isinstance(found, Sources):
        return scene_of(found)
    reason = found or f"there is no scene file {named}: name it"
    raise CheckpointError(f"{checkpoint} was made with the scene '{named}': {reason} with --scene FILE")


def trusted_algorithm(checkpoint: Path, manifest: Manifest, runs: Path | None = None) -> Algorithm:
    """Return the algorithm that made a checkpoint, if that may be run on its word alone; CheckpointError otherwise.

    That is one that comes with the project, or a file with the very content that trained: found as a scene is.
    """
    if manifest.agent in AGENTS:
        return AGENTS[manifest.agent]
    reference, sha256 = (str(manifest.config.get(name, "")) for name in ("agent_file", "agent_sha256"))
    name = reference.rpartition(":")[2]
    named = quoted(reference or manifest.agent)
    if not is_reference(reference) or not name.isidentifier() or not sha256:
        told = "which this version does not know: if it is one of your own, name it with --agent FILE.py:CLASS"
        raise CheckpointError(f"{checkpoint} was made by an agent {quoted(manifest.agent)}, {told}")
    references = [reference]
    with suppress(CheckpointError):
        run = _run_of(checkpoint.absolute())
        references += [str(settings_of(run).get("agent_file", ""))] if run else []
    files = [each.rpartition(":")[0] for each in references if is_reference(each)]
    found = trusted_sources(checkpoint, files, sha256, runs)
    if isinstance(found, Sources):
        return algorithm_from(object_in("--agent", found, name))
    reason = found or "there is no such file: name it"
    raise CheckpointError(f"{checkpoint} was made by the algorithm {named}: {reason} with --agent FILE.py:CLASS")


def trusted_sources(checkpoint: Path, names: Sequence[str], sha256: str, runs: Path | None) -> Sources | str:
    """Return the file with this content, by the names that it had; or why it may not be run, '' if there is none."""
    shut, reasons = _folders_of(checkpoint), list[str]()
    for place in _places(checkpoint, names, runs):
        sources = _readable(place)
        if sources is None:
            continue
        if any(_is_inside(file, shut) for file in (place, *sources.files)):
            reasons.append(f"nothing in a run or beside the checkpoint is run, as {place} is: name one that you trust")
        elif sources.sha256 != sha256:
            reasons.append(f"{place} has changed since: if you trust it, name it")
        else:
            return sources
    return reasons[0] if reasons else ""


def _is_path(scene: str) -> bool:
    return scene.endswith(".py") or len(PureWindowsPath(scene).parts) > 1


def _stem(scene: str) -> str:
    """Return a scene's name by its reference, which may be a path of another system."""
    return PureWindowsPath(scene).stem


def _places(checkpoint: Path, names: Sequence[str], runs: Path | None) -> Iterator[Path]:
    """Yield where the file may be: its path, the one its run was resumed with, then what may have moved along."""
    roots = [Path.cwd()]
    if runs is not None and checkpoint.resolve().is_relative_to(runs.resolve()):
        roots.append(runs.resolve().parent)
    yield from (Path.cwd() / name for name in names if _is_path(name))
    for name in names:
        path = PureWindowsPath(name)
        parts = path.parts[1:] if path.anchor else path.parts
        for i in range(max(0, len(parts) - DEEPEST), len(parts)):
            if ".." not in parts[i:]:
                yield from (root.joinpath(*parts[i:]) for root in roots)


def _readable(place: Path) -> Sources | None:
    """Return a file and its helpers as they are now, None if there is none; nothing is run."""
    try:
        file = place.resolve(strict=True)
        return read_sources(file) if file.is_file() and file.stat().st_size <= LARGEST else None
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError, RuntimeError):
        return None  # whatever a hostile name leads to is no file of ours


def _run_of(checkpoint: Path) -> Path | None:
    return checkpoint.parent.parent if checkpoint.parent.name == CHECKPOINTS else None


def _folders_of(checkpoint: Path) -> set[Path]:
    """Return the run that a checkpoint is in, or else its folder: as named, and with all links followed."""
    named = Path(os.path.abspath(checkpoint))
    return {_run_of(path) or path.parent for path in (named, checkpoint.resolve(), named.parent.resolve() / named.name)}


def _is_inside(file: Path, folders: Iterable[Path]) -> bool:
    """Tell whether a file is in one of the folders, or in any run."""
    places = {Path(os.path.abspath(file)), file.resolve()}
    above = {folder for place in places for folder in place.parents}
    return not above.isdisjoint(folders) or any(
        (folder / "metadata.json").is_file() and (folder / CHECKPOINTS).is_dir() for folder in above
    )

"""Which scene a checkpoint belongs to, and which code is run because a checkpoint names it: a scene, an algorithm.

That is what comes with the project, and what this user has run before, by its content: whoever writes a checkpoint
also writes the path and the digest in it, so these prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from ecs_rl.agents.make import AGENTS, Algorithm
from ecs_rl.agents.own import algorithm_from
from ecs_rl.errors import CheckpointError, CommandError, quoted
from ecs_rl.from_file import is_reference, object_in
from ecs_rl.known_files import is_known, place_of
from ecs_rl.loading import load_scene
from ecs_rl.runs import Manifest
from ecs_rl.scene.loader import scene_of
from ecs_rl.scene.scene import Scene
from ecs_rl.shipped import scene_names
from ecs_rl.sources import Sources, read_sources

if TYPE_CHECKING:
    from ecs_rl.runs.episode_file import EpisodeManifest

DEEPEST = 8
"""Last parts of a path that are looked for elsewhere."""


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


def trusted_scene(checkpoint: Path, manifest: Manifest | EpisodeManifest) -> Scene:
    """Return the scene that a checkpoint names, if it may be run; CheckpointError otherwise."""
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
    told = f"{checkpoint} was made with the scene '{named}'"
    return scene_of(trusted_sources(checkpoint, told, manifest.scene, manifest.source_sha256, "--scene {}"))


def trusted_algorithm(checkpoint: Path, manifest: Manifest) -> Algorithm:
    """Return the algorithm that made a checkpoint, if it may be run; CheckpointError otherwise."""
    if manifest.agent in AGENTS:
        return AGENTS[manifest.agent]
    reference, sha256 = (str(manifest.config.get(name, "")) for name in ("agent_file", "agent_sha256"))
    file, _, name = reference.rpartition(":")
    if not is_reference(reference) or not name.isidentifier() or not sha256:
        told = "which this version does not know: if it is one of your own, name it with --agent FILE.py:CLASS"
        raise CheckpointError(f"{checkpoint} was made by an agent {quoted(manifest.agent)}, {told}")
    told = f"{checkpoint} was made by the algorithm {quoted(reference)}"
    sources = trusted_sources(checkpoint, told, file, sha256, f"--agent {{}}:{name}")
    return algorithm_from(object_in("--agent", sources, name))


def trusted_sources(checkpoint: Path, told: str, file: str, sha256: str, flag: str) -> Sources:
    """Return the file that a checkpoint names, with the content that it names, if this user has run that before.

    CheckpointError begins with `told`, and ends with the `flag` that names the file, `{}` in its place.
    """
    found, changed = None, None
    for place in _places(checkpoint, file, sha256):
        if (sources := _readable(place)) is None:
            continue
        if sources.sha256 == sha256:
            found = sources
            break
        changed = changed or place
    if found is not None and is_known(sha256):
        return found
    if found is not None:
        reason, named = f"you have never run {found.main.file}", str(found.main.file)
    elif changed is not None:
        reason, named = f"{changed} has changed since", str(changed)
    else:
        raise CheckpointError(f"{told}, and there is no such file: name it with {flag.format('FILE.py')}")
    raise CheckpointError(f"{told}, and {reason}: if you trust it, add {flag.format(named)}")


def _is_path(scene: str) -> bool:
    return scene.endswith(".py") or len(PureWindowsPath(scene).parts) > 1


def _stem(scene: str) -> str:
    """Return a scene's name by its reference, which may be a path of another system."""
    return PureWindowsPath(scene).stem


def _places(checkpoint: Path, file: str, sha256: str) -> Iterator[Path]:
    """Yield where a file may be: its path, where that content was run last, and what a moved project may look like.

    A project moves as a whole: its files are below one of the folders that the checkpoint is in, or the current one.
    """
    path = PureWindowsPath(file)
    if Path(file).is_absolute():
        yield Path(file)
    if (place := place_of(sha256)) is not None:
        yield place
    parts = path.parts[1:] if path.anchor else path.parts
    for folder in (Path.cwd(), *checkpoint.absolute().parents):
        for i in range(max(0, len(parts) - DEEPEST), len(parts)):
            if ".." not in parts[i:]:
                yield folder.joinpath(*parts[i:])


def _readable(place: Path) -> Sources | None:
    """Return a file and its helpers as they are now, None if there is none; nothing is run."""
    try:
        file = place.resolve(strict=True)
        return read_sources(file) if file.is_file() else None
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError, RuntimeError):
        return None  # whatever a hostile name leads to is no file of ours

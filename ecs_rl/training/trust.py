"""Which scene a checkpoint belongs to, and which code is run because a checkpoint names it: a scene, an algorithm.

That is what comes with the project, and what this user has run before, by its content: whoever writes a checkpoint
also writes the path and the digest in it, so these prove nothing.
"""

from __future__ import annotations

from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from ecs_rl.agents.make import AGENTS, Algorithm
from ecs_rl.agents.own import algorithm_from
from ecs_rl.errors import CheckpointError, CommandError, quoted
from ecs_rl.loading import load_scene
from ecs_rl.runs import Manifest
from ecs_rl.scene.loader import scene_of
from ecs_rl.scene.scene import Scene
from ecs_rl.shipped import scene_names
from ecs_rl.user_files.named import is_reference
from ecs_rl.user_files.trusted import trusted_object, trusted_sources

if TYPE_CHECKING:
    from ecs_rl.runs.episode_file import EpisodeManifest


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
        problem = "which imports a module: if you trust that, name it"
        raise CheckpointError(f"{checkpoint} was made with the environment '{named}', {problem} with --scene {named}")
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
    maker = f"{checkpoint} was made with the scene '{named}'"
    return scene_of(trusted_sources(checkpoint, maker, manifest.scene, manifest.source_sha256, "--scene {}"))


def trusted_algorithm(checkpoint: Path, manifest: Manifest) -> Algorithm:
    """Return the algorithm that made a checkpoint, if it may be run; CheckpointError otherwise."""
    if manifest.agent in AGENTS:
        return AGENTS[manifest.agent]
    reference, sha256 = (str(manifest.config.get(name, "")) for name in ("agent_file", "agent_sha256"))
    name = reference.rpartition(":")[2]
    if not is_reference(reference) or not name.isidentifier() or not sha256:
        message = "which this version does not know: if it is one of your own, name it with --agent FILE.py:CLASS"
        raise CheckpointError(f"{checkpoint} was made by an agent {quoted(manifest.agent)}, {message}")
    maker = f"{checkpoint} was made by the algorithm {quoted(reference)}"
    return algorithm_from(trusted_object(checkpoint, maker, "--agent", reference, sha256))


def _is_path(scene: str) -> bool:
    return scene.endswith(".py") or len(PureWindowsPath(scene).parts) > 1


def _stem(scene: str) -> str:
    """Return a scene's name by its reference, which may be a path of another system."""
    return PureWindowsPath(scene).stem

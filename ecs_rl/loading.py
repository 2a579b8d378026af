"""A scene by what a user calls it: a name, a file, or `gym:` and the name of a Gymnasium environment."""

from __future__ import annotations

from ecs_rl.environments.environment_scene import load_environment
from ecs_rl.scene.loader import load_file
from ecs_rl.scene.scene import Scene


def load_scene(scene: str) -> Scene:
    """Return the scene that the user named; its file counts as run by the user from now on."""
    return load_environment(scene) if scene.startswith("gym:") else load_file(scene)

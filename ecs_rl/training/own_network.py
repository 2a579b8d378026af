"""Networks of a user's own: found by their names, and run where they may be trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ecs_rl.agents.config import NETWORKS, OwnNetwork
from ecs_rl.errors import CheckpointError, CommandError, quoted
from ecs_rl.runs import Manifest
from ecs_rl.scene.scene import Scene
from ecs_rl.user_files.named import FromFile, is_reference, load_object
from ecs_rl.user_files.trusted import trusted_object

FLAG = "--network"
OF_SCENE = "scene:"
"""What begins the name of a function that stands in the scene's own recipe."""
Config = TypeVar("Config")


class SceneRecipes(dict[str, dict[str, Any]]):
    """A scene's recipes by agent, and the ticks of its longest episode."""

    max_ticks = 0


def recipes_by_name(scene: Scene) -> SceneRecipes:
    """Return a scene's recipes with their functions by name, as settings and files hold them."""
    recipes = SceneRecipes(
        {
            agent: {key: OF_SCENE + _name(value) if callable(value) else value for key, value in recipe.items()}
            for agent, recipe in scene.recipes.items()
        }
    )
    recipes.max_ticks = scene.max_ticks
    return recipes


def with_network(config: Config, scene: Scene) -> Config:
    """Return the settings with the network that somebody named: a file on the command line, or the scene's recipe."""
    return _with(config, scene, lambda text: load_object(FLAG, text))


def with_trusted_network(config: Config, scene: Scene, checkpoint: Path, manifest: Manifest) -> Config:
    """Return the settings with the network that a checkpoint names, if it may be run; CheckpointError otherwise.

    That is a function of the scene, which runs already, or a file that this user has run before.
    """

    def trusted(text: str) -> FromFile:
        sha256 = manifest.config.get("network_sha256", "")
        maker = f"{checkpoint} was made with the network {quoted(text)}"
        if not is_reference(text) or not isinstance(sha256, str) or not sha256:
            raise CheckpointError(f"{maker}: if you trust that file, name it with {FLAG} FILE.py:NAME")
        return trusted_object(checkpoint, maker, FLAG, text, sha256)

    return _with(config, scene, trusted)


def _with(config: Config, scene: Scene, load: Callable[[str], FromFile]) -> Config:
    text = getattr(config, "network", NETWORKS[0])
    if text in NETWORKS or isinstance(text, OwnNetwork):
        return config
    if text.startswith(OF_SCENE):
        made: list[Any] = [
            network for network in (recipe.get("network") for recipe in scene.recipes.values()) if callable(network)
        ]
        make = next((network for network in made if OF_SCENE + _name(network) == text), None)
        if make is None:
            raise CommandError(f"no recipe of {scene.file or scene.name} names the network '{text[len(OF_SCENE) :]}'")
        return _replaced(config, OwnNetwork(text, make, scene.sha256))
    loaded = load(text)
    if not callable(loaded.value):
        kind = type(loaded.value).__name__
        raise CommandError(
            f"{FLAG} {text}: must be a function (inputs, outputs, spec) that returns a module, not a {kind}"
        )
    return _replaced(config, OwnNetwork(loaded.reference, loaded.value, loaded.sha256))


def _replaced(config: Config, network: OwnNetwork) -> Config:
    return replace(config, network=network)  # type: ignore[type-var]


def _name(make: Any) -> str:
    return str(getattr(make, "__name__", type(make).__name__))

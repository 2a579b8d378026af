from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.roles import Role
from ecs_rl.scene.scene import Scene
from ecs_rl.world import World, policy_specs
from ecs_rl.worlds import make_world


def scene_of(build: Callable[[Arena], None], **more: Any) -> Scene:
    """Return a scene without a file."""
    return Scene(**{"about": "A test.", "max_ticks": 1000, "name": "test", "build": build, **more})


def driven(scene: Scene, arenas: int, action: NDArray[Any], **more: Any) -> World:
    """Return a world in which every tick repeats an action; the array may be changed in between."""
    return make_world(scene, arenas=arenas, policies={"policy": lambda seen, state: action}, **more)


def drive(world: World, action: NDArray[Any]) -> None:
    """Let every tick from now on repeat this action."""
    world.drive("policy", lambda seen, state: action)


def role_of(world: World, name: str) -> Role:
    return next(role for role in world.arena.roles if role.name == name)


def actions_of(scene: Scene, ticks: int, arenas: int, seed: int = 0) -> NDArray[Any]:
    """Return random actions for every tick and arena."""
    rng = np.random.default_rng(seed)
    options = len(policy_specs(scene.describe())["policy"].actions.names)
    if scene.name == "swingup":
        return rng.uniform(-1, 1, (ticks, arenas, options)).astype(np.float32)
    return rng.integers(0, options, (ticks, arenas))


def played(scene: Scene | str, actions: NDArray[Any], **more: Any) -> tuple[World, NDArray[np.float64]]:
    """Play given actions; return the world, and where everything was after each tick, (ticks, 6, roles, arenas)."""
    found = load_scene(scene) if isinstance(scene, str) else scene
    rows = iter(actions)
    world = make_world(found, arenas=actions.shape[1], policies={"policy": lambda seen, state: next(rows)}, **more)
    seen = []
    for _ in actions:
        world.tick()
        seen.append(world.engine_as(Physics).state.copy())
    return world, np.array(seen)

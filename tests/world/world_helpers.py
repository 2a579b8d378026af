from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.config import DQNConfig, PPOConfig
from ecs_rl.components import NextObservation, Observation
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.roles import Role
from ecs_rl.scene.scene import Scene
from ecs_rl.spaces import Composed, Discrete, PolicySpec
from ecs_rl.world import DecideAction, World, policy_specs
from ecs_rl.worlds import make_world

SHIPPED = ("balance", "lander", "swingup")
"""Shipped scenes of solid bodies alone, whose episodes soon end at random; tests/scene looks at every scene."""
SMALL_PPO = PPOConfig(rollout=16, minibatch=64, epochs=2, hidden=(16,))
SMALL_DQN = DQNConfig(memory=2_000, batch=32, warm_up=64, learn_every=32, hidden=(16,))


def random_choice(spec: PolicySpec, rng: np.random.Generator) -> DecideAction:
    options = len(spec.actions.names)
    if isinstance(spec.actions, Discrete):
        return lambda seen, state: rng.integers(0, options, len(seen))
    if isinstance(spec.actions, Composed):
        return lambda seen, state: spec.actions.random(rng, len(seen))
    return lambda seen, state: rng.uniform(-1.2, 1.2, (len(seen), options)).astype(np.float32)


def random_policies(scene: Scene, seed: int = 0) -> dict[str, DecideAction]:
    rng = np.random.default_rng(seed)
    return {name: random_choice(spec, rng) for name, spec in policy_specs(scene.describe()).items()}


def random_world(scene: Scene | str, arenas: int, seed: int = 0, **more: Any) -> World:
    found = load_scene(scene) if isinstance(scene, str) else scene
    return make_world(found, arenas=arenas, seed=seed, policies=random_policies(found, seed), **more)


def always(action: NDArray[Any], policy: str = "policy") -> Mapping[str, DecideAction]:
    return {policy: lambda seen, state: action}


def scene_of(build: Callable[[Arena], None], **more: Any) -> Scene:
    """Return a scene without a file."""
    return Scene(**{"about": "A test.", "max_ticks": 50, "name": "test", "build": build, **more})


def sights(world: World) -> tuple[Observation, NextObservation]:
    """Return what the first policy sees before it decides, and what came of it."""
    entity = world.batches[0].entity
    return world.of(entity, Observation), world.of(entity, NextObservation)


def role_of(world: World, name: str) -> Role:
    return next(role for role in world.arena.roles if role.name == name)


def states(world: World, ticks: int) -> NDArray[np.float64]:
    """Return (ticks, 6, roles, arenas): where everything is after each of so many ticks."""
    seen = []
    for _ in range(ticks):
        world.tick()
        seen.append(world.engine_as(Physics).state.copy())
    return np.array(seen)

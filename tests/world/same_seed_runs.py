"""Runs of which two processes must make the same; prints one hash per run when started on its own."""

from __future__ import annotations

import hashlib
import sys

from two_agents_scene import OWN_POLICIES
from world_helpers import SHIPPED, SMALL_DQN, SMALL_PPO, random_world, states

from ecs_rl.agents.config import AgentConfig
from ecs_rl.loading import load_scene
from ecs_rl.scene.scene import Scene
from ecs_rl.training.prepare import prepare
from ecs_rl.training.settings import TrainingSettings


def moved(name: str, ticks: int = 300) -> str:
    world = random_world(name, 8, seed=5)
    digest = hashlib.sha256(states(world, ticks).tobytes()).hexdigest()
    world.close()
    return digest


def learned(scene: Scene, agent: str, config: AgentConfig, *, eval_every: int = 100, seed: int = 1) -> str:
    training = prepare(
        scene, agent, config, TrainingSettings(arenas=8, steps=800, seed=seed, eval_every=eval_every, eval_episodes=2)
    )
    while not training.done:
        training.tick()
    training.close()
    return training.session.agent.parameters_sha256()


def all_runs() -> dict[str, str]:
    return {
        **{name: moved(name) for name in SHIPPED},
        "ppo": learned(load_scene("balance"), "ppo", SMALL_PPO),
        "ppo levers": learned(load_scene("swingup"), "ppo", SMALL_PPO),
        "dqn": learned(load_scene("balance"), "dqn", SMALL_DQN),
        "two policies": learned(OWN_POLICIES, "ppo", SMALL_PPO),
    }


if __name__ == "__main__":
    for name, digest in all_runs().items():
        sys.stdout.write(f"{name}: {digest}\n")

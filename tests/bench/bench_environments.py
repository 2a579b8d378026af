"""What it costs to be a world: `python tests/bench/bench_environments.py [CartPole-v1 ...] [--steps 100k]`.

The same environments, agent and settings twice, one thread, in turns: as `train.py gym:ENV-ID` runs them (a session, a
log of every episode, checkpoints in a real run directory) and in a plain loop over a list of environments that does
nothing but act, step, observe and learn. Evaluations are left out of both. Printed are steps per processor second (the
best of three turns) and the share that ours reaches of the plain loop's. Needs the extra `gym`.
"""

from __future__ import annotations

import argparse
import tempfile
from time import process_time
from typing import Any

import torch
from reference_envs import GymEnvs

from ecs_rl.agents import ActMode, Experience, make_agent
from ecs_rl.agents.config import PPOConfig
from ecs_rl.loading import load_scene
from ecs_rl.runs import TrainingRun
from ecs_rl.training.prepare import prepare
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.values import parse_count
from ecs_rl.world import policy_specs

CONFIG = PPOConfig(lr=1e-3, rollout=128, minibatch=256, epochs=4)
TURNS = 3


def ours(name: str, arenas: int, steps: int) -> float:
    """Return the steps per second of a training as `train.py` runs it."""
    scene = load_scene(f"gym:{name}")
    with tempfile.TemporaryDirectory() as folder:
        training = prepare(
            scene,
            "ppo",
            CONFIG,
            TrainingSettings(arenas=arenas, steps=steps, eval_every=10 * steps, checkpoint_every=steps // 2),
            run=TrainingRun.create("bench", runs_dir=folder, scene=scene.reference, agent="ppo"),
        )
        began = process_time()
        while not training.session.is_done:
            training.tick()
        seconds = process_time() - began
        training.close("failed")  # without the evaluation at the end
    return steps / seconds


def plain(name: str, arenas: int, steps: int) -> float:
    """Return the steps per second of a plain loop."""
    envs = GymEnvs(name, range(arenas))
    scene = load_scene(f"gym:{name}")
    (spec,) = policy_specs(scene.describe()).values()
    given: Any = scene.engine.args[0].given  # type: ignore[union-attr]
    agent = make_agent("ppo", spec, CONFIG, seed=0, rows=arenas)
    seen, began = envs.reset(), process_time()
    for step in range(0, steps, arenas):
        decision = agent.act(seen, ActMode.EXPLORE)
        told = envs.step(given(decision.action))
        agent.observe(Experience(seen, decision.action, *told[:4], extras=decision.extras))
        for _ in agent.learn(step / steps):
            pass
        seen = told.seen
    return steps / (process_time() - began)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="A world of environments beside a plain loop over them.")
    parser.add_argument("environments", nargs="*", default=["CartPole-v1", "Pendulum-v1", "LunarLander-v3"])
    parser.add_argument("--arenas", type=int, default=16)
    parser.add_argument("--steps", type=parse_count, default=100_000)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'environment':24}{'ours':>12}{'plain loop':>12}{'share':>8}")
    for name in asked.environments:
        turns = [[run(name, asked.arenas, asked.steps) for run in (ours, plain)] for _ in range(TURNS)]
        first, second = (max(rates) for rates in zip(*turns, strict=True))
        print(f"{name:24}{first:12,.0f}{second:12,.0f}{first / second:8.2f}")


if __name__ == "__main__":
    main()

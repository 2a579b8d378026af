"""What stepping a scene through Gymnasium costs: `python tests/bench/bench_gym.py [--envs 256]`.

The vector environment of lander against its own world's ticks, in turns, with the same actions; and against Gymnasium's
LunarLander, vectorised by its own SyncVectorEnv (needs the extra `bench`, left out without it).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import gymnasium
import numpy as np

from ecs_rl.adapters.gym import SceneVectorEnv

ROUNDS, TICKS = 10, 40


def main() -> None:
    """Print steps per second of all three, and the ratios."""
    parser = argparse.ArgumentParser(description="The cost of Gymnasium's interface.")
    parser.add_argument("--envs", type=int, default=256)
    n = parser.parse_args().envs
    ours = SceneVectorEnv("lander", num_envs=n)
    ours.reset(seed=0)
    actions = [np.random.default_rng(i).integers(0, 4, n) for i in range(TICKS)]
    world = ours._stepper.world
    takes: dict[str, list[float]] = {"world": [], "vector environment": []}
    for _ in range(ROUNDS):  # the world repeats the last action: it is the ticks that cost
        takes["vector environment"].append(seconds(lambda t: ours.step(actions[t]), TICKS))
        takes["world"].append(seconds(lambda t: world.tick(), TICKS))
    rates = {name: n * TICKS / float(np.median(each)) for name, each in takes.items()}
    rates |= theirs(n, actions)
    for name, rate in rates.items():
        print(f"{name:20} {rate:>12,.0f} steps/s, of which ours is {rates['vector environment'] / rate:5.2f} times")


def theirs(n: int, actions: list[np.ndarray]) -> dict[str, float]:
    """Return the rate of Gymnasium's own LunarLander, if it is installed."""
    try:
        envs = gymnasium.make_vec("LunarLander-v3", num_envs=n, vectorization_mode="sync")
    except gymnasium.error.DependencyNotInstalled:
        return {}
    envs.reset(seed=0)
    return {"Gymnasium's lander": n * TICKS / seconds(lambda t: envs.step(actions[t]), TICKS)}


def seconds(step: Callable[[int], object], ticks: int) -> float:
    """Return how long so many steps take."""
    began = perf_counter()
    for t in range(ticks):
        step(t)
    return perf_counter() - began


if __name__ == "__main__":
    main()

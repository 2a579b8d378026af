"""What two processes bring: `python tests/bench/bench_workers.py [--scene balance] [--arenas 1024]`.

Two workers of one thread against two independent trainings of one thread side by side, which is the limit of a machine
of two cores: with as many arenas for each worker as each training has, and with half as many. Both sides run by turns,
the median of the ratios counts. Then what messages took, the time to start, and a model of more machines, fed by what
was measured.

`python tests/bench/bench_workers.py --solve lander walker racer` prints in how many steps one, two and four processes
solve scenes by their recipes, several seeds each.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from ecs_rl.agents.config import PPOConfig
from ecs_rl.agents.ppo import PPO
from ecs_rl.loading import load_scene
from ecs_rl.session.bootstrap import summary
from ecs_rl.world import policy_specs

ROOT = Path(__file__).resolve().parents[2]
NEVER = "1000M"
MACHINES = (4, 8, 16, 32, 64, 128)
LATENCY, BANDWIDTH = 5e-5, 1.25e9
"""Seconds and bytes a second between two machines, taken for granted (10 Gbit/s Ethernet)."""
Facts = dict[str, Any]


def command(scene: str, folder: str, *flags: object) -> list[str]:
    """Return a training of one thread that is never evaluated."""
    never = ("--eval-every", NEVER, "--checkpoint-every", NEVER, "--eval-episodes", 1, "--threads", 1)
    return [sys.executable, "train.py", scene, *map(str, (*never, *flags)), "--runs", folder, "--json"]


def trained(*commands: list[str]) -> list[Facts]:
    """Return what these trainings say at their ends, which run side by side."""
    options: dict[str, Any] = {"cwd": ROOT, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(words, **options) for words in commands]
    facts = []
    for process in running:
        out, err = process.communicate()
        if process.returncode:
            raise SystemExit(err[-2000:])
        facts.append(json.loads(out.splitlines()[-1]))
    return facts


@dataclass(frozen=True)
class Way:
    """Two workers against two trainings of as many arenas as each worker has."""

    name: str
    arenas: int
    """Of each worker, and of each training."""
    minibatch: int
    """Rows of each worker's part of a minibatch, and of each training's."""
    limit: float
    """The ratio that is asked for."""


def compared(scene: str, way: Way, steps: int, rounds: int) -> Facts:
    """Return the facts of the workers' last run, and print the ratio."""
    ratios, facts = [], Facts()
    ppo = ("--ppo.rollout", 32, "--ppo.epochs", 4, "--ppo.hidden", 64, 64, "--ppo.activation", "tanh")
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            own = (*ppo, "--arenas", way.arenas, "--ppo.minibatch", way.minibatch, "--steps", steps)
            pair = trained(*(command(scene, folder, *own, "--seed", seed) for seed in (0, 1)))
            whole = (*ppo, "--arenas", 2 * way.arenas, "--ppo.minibatch", 2 * way.minibatch, "--steps", 2 * steps)
            (facts,) = trained(command(scene, folder, *whole, "--workers", 2))
        limit = sum(training["steps_per_second"] for training in pair)
        ratios.append(facts["steps_per_second"] / limit)
        print(f"  {way.name}: pair {limit:,.0f} steps/s, workers {facts['steps_per_second']:,.0f}: {ratios[-1]:.2f}")
    print(f"  {way.name}: {median(ratios):.2f} of the pair (asked for: {way.limit})")
    return facts


def say_what_messages_took(facts: Facts, way: Way, config: PPOConfig) -> tuple[float, float]:
    """Print it; return the seconds of an update, and of a message in it."""
    updates = facts["steps"] / (2 * way.arenas * config.rollout)
    share = facts["seconds_gathering"] / facts["seconds"]
    each = facts["seconds_gathering"] / facts["messages"]
    print(f"  messages: {share:.0%} of the time, {each * 1e6:.0f} us each with the waiting for each other, ", end="")
    print(f"{facts['messages'] / updates:.1f} and {facts['bytes_sent'] / updates / 1e3:,.0f} kB an update")
    return facts["seconds"] / updates, each


def say_how_long_it_takes_to_start(scene: str) -> None:
    """Print the seconds of a training of one tick, by one process and by two."""
    took = []
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            trained(command(scene, folder, "--arenas", 64, "--steps", 64, "--workers", workers))
            took.append(time.perf_counter() - began)
    print(f"  one tick, start and end included: {took[0]:.1f} s by one process, {took[1]:.1f} by two")


def say_what_a_model_makes_of_it(update: float, gradient: int, minibatches: int) -> None:
    """Print the speed-up of K machines: K u / (u + m (2 (K - 1) l + 2 g (K - 1) / (K b))).

    An update takes u seconds of a worker's own work and adds up m gradients of g bytes in a ring, whose 2 (K - 1) steps
    take the latency l each; every byte goes around twice, at b bytes a second.
    """
    work = f"{update:.2f} s of work and {minibatches} gradients of {gradient / 1e3:.0f} kB an update"
    print(f"  a model of K machines, {work}:")
    for count in MACHINES:
        one = 2 * (count - 1) * LATENCY + 2 * gradient * (count - 1) / (count * BANDWIDTH)
        print(f"    {count:4}: {count * update / (update + minibatches * one):6.1f} times one")


def say_when_it_is_solved(scene: str, seeds: int) -> None:
    """Print a row of a table: by one, two and four processes, how many seeds solve a scene and in how many steps."""
    cells = []
    for workers in (1, 2, 4):
        steps = list[float]()
        for seed in range(seeds):
            with tempfile.TemporaryDirectory() as folder:
                words = [sys.executable, "train.py", scene, "--until-solved", "--threads", "1", "--seed", str(seed)]
                (facts,) = trained([*words, "--workers", str(workers), "--runs", folder, "--json"])
            steps += [facts["solved_step"]] if facts["solved_step"] is not None else []
        mean = summary(steps)
        in_words = "" if mean is None else f", {mean.mean:,.0f} ({mean.low:,.0f} to {mean.high:,.0f})"
        cells.append(f"{len(steps)} of {seeds}{in_words}")
    print(f"| `{scene}` | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print ratios, messages, the start, and the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scene", default="balance")
    parser.add_argument("--arenas", type=int, default=1024)
    parser.add_argument("--minibatch", type=int, default=8192)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--solve", nargs="*", default=())
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    if asked.solve:
        print("| scene | one process: solved, steps | two | four |\n|---|---|---|---|")
        for scene in asked.solve:
            say_when_it_is_solved(scene, asked.seeds)
        return
    scene, arenas, minibatch = asked.scene, asked.arenas, asked.minibatch
    config = PPOConfig(rollout=32, epochs=4, minibatch=minibatch, hidden=(64, 64), activation="tanh")
    ways = (
        Way(f"{arenas:,} arenas each", arenas, minibatch, 0.92),
        Way(f"{arenas:,} arenas in all", arenas // 2, minibatch // 2, 0.85),
    )
    print(f"{scene}, PPO with 4 epochs, 64x64 tanh, minibatches of {minibatch:,} rows for each worker:")
    for way in ways:
        facts = compared(scene, way, asked.steps, asked.rounds)
        update, message = say_what_messages_took(facts, way, config)
        (spec,) = list(policy_specs(load_scene(scene).describe()).values())[:1]
        gradient = 4 * sum(map(math.prod, PPO.shapes(spec, config).values()))
        minibatches = config.epochs * math.ceil(way.arenas * config.rollout / way.minibatch)
        say_what_a_model_makes_of_it(update - minibatches * message, gradient, minibatches)
    say_how_long_it_takes_to_start(scene)


if __name__ == "__main__":
    main()

"""How fast a whole training is: `python tests/bench/bench_train.py [--scene balance] [--arenas 1024] [--steps 2M]`.

PPO end to end (physics, acting, learning, evaluation, logs and checkpoints into a real run directory) against what the
bare forward and backward pass of the same two networks on the same minibatches would allow if everything else were
free: autograd through `torch.nn`, no optimiser, no shuffling, no acting. Numbers of threads take turns, the fastest
training of each counts, and all come to the same parameters. `--bare` leaves the bare passes out.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import pairwise
from time import perf_counter

import torch
from torch import nn

from ecs_rl.agents.config import PPOConfig
from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.garbage import passing_over
from ecs_rl.loading import load_scene
from ecs_rl.runs import TrainingRun
from ecs_rl.training.prepare import prepare
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.training.training import Training
from ecs_rl.values import parse_count
from ecs_rl.world import policy_specs

AS_OFTEN = TrainSettings(scene="")
"""Evaluations and checkpoints come as many ticks apart as `train.py` has them."""


def whole(scene_name: str, config: PPOConfig, arenas: int, steps: int, threads: int) -> Training:
    """Run a training into a run directory of its own and return it."""
    with tempfile.TemporaryDirectory() as folder:
        training = prepare(
            load_scene(scene_name),
            "ppo",
            config,
            TrainingSettings(
                arenas=arenas,
                steps=steps,
                threads=threads,
                eval_every=AS_OFTEN.eval_every * arenas // AS_OFTEN.arenas,
                checkpoint_every=AS_OFTEN.checkpoint_every * arenas // AS_OFTEN.arenas,
            ),
            run=TrainingRun.create(scene_name, runs_dir=folder, scene=scene_name, agent="ppo"),
        )
        training.session.write_behind()  # as `train.py` does
        with passing_over():
            while not training.done:
                training.tick()
        training.close()
    return training


def network(inputs: int, hidden: tuple[int, ...], outputs: int) -> nn.Sequential:
    """Return a plain network of the agent's shape."""
    widths = (inputs, *hidden)
    layers: list[nn.Module] = []
    for a, b in pairwise(widths):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], outputs))


def bare_rows_per_second(scene_name: str, config: PPOConfig, threads: int, seconds: float = 3.0) -> float:
    """Return how many rows a second go forward and backward through policy and value network."""
    torch.set_num_threads(threads)
    spec = next(iter(policy_specs(load_scene(scene_name).describe()).values()))
    nets = [network(len(spec.observations), config.hidden, n) for n in (len(spec.actions.names), 1)]
    rows = torch.randn(config.minibatch, len(spec.observations))
    done, best = 0.0, float("inf")
    while done < seconds:
        began = perf_counter()
        for net in nets:
            net.zero_grad(set_to_none=True)
            net(rows).square().mean().backward()
        took = perf_counter() - began
        done, best = done + took, min(best, took)
    return config.minibatch / best


def main() -> None:
    """Print both rates, their ratio, and where the time went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scene", default="balance")
    parser.add_argument("--arenas", type=int, default=1024)
    parser.add_argument("--steps", type=parse_count, default=2_000_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--minibatch", type=int, default=8192)
    parser.add_argument("--hidden", type=int, nargs="+", default=[64, 64])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bare", action=argparse.BooleanOptionalAction, default=True)
    asked = parser.parse_args()
    config = PPOConfig(
        rollout=32, epochs=asked.epochs, minibatch=asked.minibatch, hidden=tuple(asked.hidden), activation="tanh"
    )
    fastest: dict[int, Training] = {}
    for _ in range(asked.rounds):
        for threads in asked.threads:
            training = whole(asked.scene, config, asked.arenas, asked.steps, threads)
            if threads not in fastest or training.seconds < fastest[threads].seconds:
                fastest[threads] = training
    brains = {training.session.agent.parameters_sha256() for training in fastest.values()}
    assert len(brains) == 1, "the number of threads has changed the result"
    network = "x".join(map(str, asked.hidden))
    told = f"PPO {asked.epochs} epochs {network} tanh, the fastest of {asked.rounds} trainings"
    print(f"{asked.scene}, {asked.arenas} arenas, {told}")
    for threads, training in fastest.items():
        tell(training, threads, fastest[asked.threads[0]].seconds)
        if asked.bare:
            rate = training.session.total_steps / training.seconds
            bare = bare_rows_per_second(asked.scene, config, threads) / config.epochs
            print(f"  bare passes allow {bare:,.0f} steps/s (the fastest of 3 s): {rate / bare:.2f}")


def tell(training: Training, threads: int, first: float) -> None:
    """Print a training's rate, how many times as fast it is as one of `first` seconds, and where the time went."""
    steps, took = training.session.total_steps, training.seconds
    print(f"{threads} thread(s): {steps / took:,.0f} steps/s, {first / took:.2f} times the first")
    stages = training.world.seconds_in.items()
    print("  " + ", ".join(f"{name} {seconds / took:.0%}" for name, seconds in stages if seconds > 0.005 * took))


if __name__ == "__main__":
    main()

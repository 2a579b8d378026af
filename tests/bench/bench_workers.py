"""What several processes cost and bring: `python tests/bench/bench_workers.py [--scene balance] [--arenas 1024]`.

The same training by one thread, by two, and by two processes of one thread each, by turns; the fastest of each counts,
and where nothing collides all come to the same parameters. Then a model of more cores and machines, fed by what was
measured: it says what it takes for granted, and nothing of it was run.
"""

from __future__ import annotations

import argparse
import json
import math
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch._C._distributed_c10d import TCPStore

from ecs_rl.agents.actor_critic import MOST_PARTS, parts_of
from ecs_rl.agents.config import PPOConfig
from ecs_rl.agents.ppo import PPO
from ecs_rl.loading import load_scene
from ecs_rl.training.mesh import HEAD, Link, Meeting, Mesh, address_of, listening
from ecs_rl.world import policy_specs

ROOT = Path(__file__).resolve().parents[2]
WAYS = {
    "one thread": ("--threads", "1"),
    "two threads": ("--threads", "2"),
    "two processes": ("--threads", "1", "--workers", "2"),
}
EVERYWHERE = ("decide", "record", "tally", "evaluate", "snapshot", "write")
"""Stages that every process has for all arenas; all others but learning are of its own arenas."""
ALONE = 0.06
"""Share of learning that is no job of a part of a minibatch (measured by a profile of one thread)."""
LOCKED = 0.10
"""Share of such a job that holds Python's lock: what a job of half as many rows takes beyond half of the time."""
MACHINES = (1.5e-4, 1.0e9)
"""Seconds and bytes a second of a message between two machines, for granted (10 Gbit/s Ethernet)."""


def trained(scene: str, flags: list[str]) -> dict[str, Any]:
    """Return what `train.py` tells of a training with these flags."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "train.py", scene, *flags, "--runs", folder, "--json"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


# --- messages ---------------------------------------------------------------------------------------------------------


def message_times(sizes: list[int]) -> dict[str, list[float]]:
    """Return the seconds that two processes take to tell each other so many bytes: by connections, and by gloo."""
    spawn = mp.get_context("spawn")
    pipe, theirs = spawn.Pipe()
    own, host = listening("127.0.0.1"), TCPStore("127.0.0.1", 0, 2, is_master=True, wait_for_workers=False)
    other = spawn.Process(target=_other, args=(theirs, address_of(own), host.port, sizes))
    other.start()
    meeting = Meeting([address_of(own), pipe.recv()])
    pipe.send(meeting)
    found = _tell(0, own, meeting, host, sizes)
    other.join()
    return found


def _other(pipe: Any, address: tuple[str, int], port: int, sizes: list[int]) -> None:
    own = listening(address[0])
    pipe.send(address_of(own))
    _tell(1, own, pipe.recv(), TCPStore("127.0.0.1", port, 2, is_master=False), sizes)


def _tell(rank: int, own: Any, meeting: Meeting, store: Any, sizes: list[int]) -> dict[str, list[float]]:
    torch.set_num_threads(1)
    mesh = Mesh.connect(rank, own, meeting, 60.0)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
    here = [_timed(partial(mesh.gather, bytes(size))) for size in sizes]
    tensors = [torch.zeros(size, dtype=torch.uint8) for size in sizes]
    gloo = [_timed(partial(dist.all_gather, [each.clone(), each.clone()], each)) for each in tensors]
    dist.destroy_process_group()
    mesh.close()
    return {"connections": here, "gloo": gloo}


def _timed(talk: Callable[[], object]) -> float:
    """Return the median seconds of a message between spells of work, as there are in a training."""
    numbers, took = torch.ones(200, 200), []
    for _ in range(300):
        until = time.perf_counter() + 5e-4
        while time.perf_counter() < until:
            torch.mm(numbers, numbers)
        began = time.perf_counter()
        talk()
        took.append(time.perf_counter() - began)
    return float(np.median(took))


def link_seconds(others: int = 16) -> float:
    """Return what each further process costs that a message goes to, its own time to answer left out."""
    pairs = [socket.socketpair() for _ in range(others)]
    mesh = Mesh(0, [Link(rank, mine) for rank, (mine, _) in enumerate(pairs, 1)], 60.0)
    took, message = [], bytes(1000)
    for _ in range(300):
        for _, theirs in pairs:
            theirs.sendall(len(message).to_bytes(HEAD, "little") + message)
        began = time.perf_counter()
        mesh.gather(message)
        took.append(time.perf_counter() - began)
        for _, theirs in pairs:
            theirs.recv(HEAD + len(message), socket.MSG_WAITALL)
    mesh.close()
    return float(np.median(took)) / others


# --- the model --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """One tick of a training, and its share of an update, in seconds and bytes."""

    arenas: int
    simulate: float
    """Physics, which threads share out too."""
    own: float
    """Senses, rules, respawning, systems: of an arena only its own process has them, on one thread."""
    common: float
    """All else, which every process has for all arenas."""
    jobs: float
    """Learning, as jobs of parts of minibatches."""
    alone: float
    """Learning besides."""
    parts: int
    """Parts of a minibatch."""
    minibatches: float
    """A tick."""
    seen: int
    """Bytes that a tick gathers of all arenas."""
    gradient: int
    """Bytes of the gradient of one part."""

    def larger(self, times: int) -> Model:
        """Return the model of so many times the arenas, and minibatches as much larger."""
        seconds = {name: getattr(self, name) * times for name in ("simulate", "own", "common", "jobs", "alone")}
        parts, arenas = min(MOST_PARTS, self.parts * times), self.arenas * times
        return replace(self, **seconds, arenas=arenas, parts=parts, seen=self.seen * times)

    def by_threads(self, threads: int) -> float:
        """Return the seconds of a tick: jobs by turns, and none faster than Python's lock lets them be."""
        rounds = math.ceil(2 * self.parts / threads) / (2 * self.parts)
        simulated = self.simulate / max(1, min(threads, self.arenas // 128))
        return simulated + self.own + self.common + self.alone + max(self.jobs * rounds, self.jobs * LOCKED)

    def by_processes(self, processes: int, message: tuple[float, float, float]) -> float:
        """Return the seconds of a tick by processes of one thread: a message a tick, and one a minibatch.

        A message goes from each to all others, one after the other; all are under way at once.
        """
        delay, rate, link = message
        others = processes - 1
        one = delay + others * link if others else 0.0
        tick = one + self.seen * others / processes / rate
        update = self.minibatches * (one + self.parts * self.gradient * others / processes / rate)
        shared = math.ceil(2 * self.parts / processes) / (2 * self.parts)
        return (self.simulate + self.own) / processes + self.jobs * shared + self.common + self.alone + tick + update


def model_of(scene: str, told: dict[str, Any], arenas: int, config: PPOConfig) -> Model:
    """Return the model of a training that one thread has run."""
    ticks, seconds = told["steps"] / arenas, told["seconds_in"]
    spec = next(iter(policy_specs(load_scene(scene).describe()).values()))
    inputs = len(spec.observations)
    gradient = sum(math.prod(shape) for shape in PPO.shapes(spec, config).values()) * 4
    learn = seconds["learn"] / ticks
    return Model(
        arenas=arenas,
        simulate=seconds["simulate"] / ticks,
        own=sum(took for name, took in seconds.items() if name not in (*EVERYWHERE, "simulate", "learn")) / ticks,
        common=sum(seconds[name] for name in EVERYWHERE) / ticks,
        jobs=learn * (1 - ALONE),
        alone=learn * ALONE,
        parts=len(parts_of(min(config.minibatch, config.rollout * arenas))),
        minibatches=config.epochs * max(1, arenas * config.rollout // config.minibatch) / config.rollout,
        seen=arenas * (4 * (2 * inputs + 2) + 4),
        gradient=gradient,
    )


def show(scene: str, model: Model, here: tuple[float, float, float]) -> None:
    """Print what the model makes of more cores and machines."""
    alone = model.by_threads(1)
    print(f"\nA model of {scene}, {model.arenas} arenas, times one thread ({model.arenas / alone:,.0f} steps/s):")
    print("| | threads | processes of one machine | processes, a machine each |")
    print("|---|---|---|---|")
    for count in (2, 4, 8, 16, 64, 100):
        ways = (
            model.by_threads(count),
            model.by_processes(count, here),
            model.by_processes(count, (*MACHINES, here[2])),
        )
        print(f"| {count} | {' | '.join(f'{alone / way:.1f}' for way in ways)} |")


def main() -> None:
    """Print rates, their ratios, the share of gathering, and the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scene", default="balance")
    parser.add_argument("--arenas", type=int, default=1024)
    parser.add_argument("--steps", default="2M")
    parser.add_argument("--minibatch", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    config = PPOConfig(rollout=32, epochs=4, minibatch=asked.minibatch, hidden=(64, 64), activation="tanh")
    flags = ["--arenas", asked.arenas, "--steps", asked.steps, "--ppo.rollout", 32, "--ppo.epochs", 4]
    flags += ["--ppo.minibatch", asked.minibatch, "--ppo.hidden", 64, 64, "--ppo.activation", "tanh"]
    fastest: dict[str, dict[str, Any]] = {}
    for _ in range(asked.rounds):
        for name, way in WAYS.items():
            told = trained(asked.scene, [*map(str, flags), *way])
            if name not in fastest or told["seconds"] < fastest[name]["seconds"]:
                fastest[name] = told
    print(f"{asked.scene}, {asked.arenas} arenas, PPO 4 epochs 64x64 tanh, minibatches of {asked.minibatch}:")
    for name, told in fastest.items():
        gathered = f", gathering {told['seconds_gathering'] / told['seconds']:.0%}" if "processes" in name else ""
        times = told["steps_per_second"] / fastest["one thread"]["steps_per_second"]
        print(f"  {name}: {told['steps_per_second']:,.0f} steps/s, {times:.2f} times one thread{gathered}")
    two = [fastest[name]["steps_per_second"] for name in ("two processes", "two threads")]
    print(f"  two processes are {two[0] / two[1]:.2f} times as fast as two threads")
    if not load_scene(asked.scene).describe().collides:
        assert len({told["params_sha256"] for told in fastest.values()}) == 1, "the ways came to different parameters"
    model = model_of(asked.scene, fastest["one thread"], asked.arenas, config)
    sizes = [64, 20_000, 1 << 20]
    times = message_times(sizes)
    for engine, (small, usual, large) in times.items():
        took = f"{small * 1e6:.0f} us, of 20 kB {usual * 1e6:.0f}, of 1 MB {large * 1e6:,.0f}"
        print(f"  a message between two busy processes by {engine}: {took}")
    print(f"  by connections is {times['gloo'][1] / times['connections'][1]:.0f} times as fast as by gloo (20 kB)")
    small, _, large = times["connections"]
    here = small, (1 << 20) / max(1e-9, large - small), link_seconds()
    print(f"  a further process costs a message {here[2] * 1e6:.0f} us")
    for more in (1, 16):
        show(asked.scene, model.larger(more), here)
    thought = [model.by_threads(1) / way for way in (model.by_threads(2), model.by_processes(2, here))]
    one = fastest["one thread"]["steps_per_second"]
    print(f"Of two threads it thinks {thought[0]:.2f}, and {two[1] / one:.2f} were measured; ", end="")
    print(f"of two processes {thought[1]:.2f}, and {two[0] / one:.2f} were.")


if __name__ == "__main__":
    main()

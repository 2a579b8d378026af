"""What a pilot costs a game: `python tests/bench/bench_pilot.py [--seconds 2]`.

The least time of one observation at a time, of numpy's backend and of torch's in turns, both of the same checkpoint of
two 64 x 64 layers; and how long a process takes that loads it by numpy, against one that only imports numpy.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

import numpy as np

import ecs_rl
from ecs_rl.agents import Discrete, PolicySpec, PPOConfig, make_agent
from ecs_rl.pilots.pilot import Pilot
from ecs_rl.runs import Manifest, PolicyEntry, join_sections, sealed_pieces

ROUNDS = 40
ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description="What a pilot costs.")
    parser.add_argument("--seconds", type=float, default=2.0)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder) / "pilot.safetensors")
        pilots = {backend: ecs_rl.load(path, backend=backend) for backend in ("numpy", "torch")}
        seen = np.random.default_rng(0).normal(size=8).astype(np.float32)
        shown = {"an array": seen, "by name": dict(zip(pilots["numpy"].observations, seen.tolist(), strict=True))}
        for form, observation in shown.items():
            takes: dict[str, list[float]] = {backend: [] for backend in pilots}
            for _ in range(ROUNDS):
                for backend, pilot in pilots.items():
                    takes[backend].append(microseconds(pilot, observation, seconds / ROUNDS / 4))
            ours, theirs = (min(takes[backend]) for backend in pilots)
            print(f"{form:9} numpy {ours:6.1f} us, torch {theirs:6.1f} us, ratio {ours / theirs:.2f}")
        alone, with_pilot = (began(code, path) for code in ("import numpy", LOADS))
    print(f"import numpy {alone:.3f} s, and load a pilot {with_pilot:.3f} s: {with_pilot - alone:.3f} s more")


LOADS = "import sys, numpy, ecs_rl; ecs_rl.load(sys.argv[1], backend='numpy')"


def written(path: Path) -> Path:
    """Write the checkpoint of an agent with 8 numbers, 4 options and default settings."""
    spec, config = PolicySpec(tuple("abcdefgh"), Discrete(("left", "up", "right", "none"))), PPOConfig()
    policy = join_sections({"policy": make_agent("ppo", spec, config, seed=0, rows=1).policy_state()})
    about = Manifest(scene="", agent="ppo", step=0, config={"ppo": asdict(config)}, policies=(PolicyEntry.of(spec),))
    path.write_bytes(b"".join(sealed_pieces(policy, about)))
    return path


def microseconds(pilot: Pilot, observation: object, seconds: float) -> float:
    """Return how long an action takes, of as many as there is time for."""
    began, count = perf_counter(), 0
    while (took := perf_counter() - began) < seconds:
        for _ in range(20):
            pilot.act(observation)  # type: ignore[arg-type]
        count += 20
    return 1e6 * took / count


def began(code: str, path: Path) -> float:
    """Return the shortest of some processes, in seconds."""
    took = []
    for _ in range(15):
        start = perf_counter()
        subprocess.run([sys.executable, "-c", code, str(path)], cwd=ROOT, check=True)
        took.append(perf_counter() - start)
    return min(took)


if __name__ == "__main__":
    main()

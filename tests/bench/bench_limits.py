"""Start-up and memory: `python tests/bench/bench_limits.py`.

How long `train.py --help` takes against an interpreter that does nothing, and how much memory training `lander` with
4,096 arenas takes at its highest.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[2]


def fastest(command: list[str], times: int = 7) -> float:
    """Return the shortest of some runs, in seconds."""
    took = []
    for _ in range(times):
        began = perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        took.append(perf_counter() - began)
    return min(took)


def main() -> None:
    """Print both."""
    empty = fastest([sys.executable, "-c", "pass"])
    helped = fastest([sys.executable, "train.py", "--help"])
    print(f"train.py --help {helped:.3f} s, python -c pass {empty:.3f} s, ratio {helped / empty:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "train.py",
            "lander",
            "--arenas",
            "4096",
            "--steps",
            "1M",
            "--json",
            "--runs",
            folder,
        ]
        run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    told = json.loads(run.stdout.splitlines()[-1])
    highest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2
    print(f"lander, 4,096 arenas, {told['steps']:,} steps, {told['steps_per_second']:,.0f} steps/s: {highest:.2f} GB")


if __name__ == "__main__":
    main()

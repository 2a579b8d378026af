"""From which trainings on a sweep pays: `python tests/bench/bench_sweep.py [--scene lander] [--trials 8]`.

The same trainings by a sweep, two at a time, and by a loop over `train.py`, one after the other on one thread each,
for several lengths. A sweep starts a process for each trial that runs at the same time; where the ratio is above 1 that
is paid back.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
RATES = ("3e-4", "5e-4", "7e-4", "1e-3", "1.5e-3", "2e-3", "3e-3", "5e-3", "7e-3", "1e-2", "2e-2", "3e-2")


def seconds(scene: str, *flags: str) -> float:
    """Return the seconds that `train.py` takes, its start included."""
    with tempfile.TemporaryDirectory() as runs:
        command = [sys.executable, "train.py", scene, "--threads", "1", "--runs", runs, "--json", *flags]
        began = perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        return perf_counter() - began


def main() -> None:
    """Run both for each length, and print the table."""
    parser = argparse.ArgumentParser(description="From which trainings on a sweep pays.")
    parser.add_argument("--scene", default="lander")
    parser.add_argument("--trials", type=int, default=8, choices=range(2, len(RATES) + 1), metavar="N")
    parser.add_argument(
        "--steps", nargs="*", default=["100k", "400k", "1.6M"], help="lengths (default: 100k 400k 1.6M)"
    )
    asked = parser.parse_args()
    rates = RATES[: asked.trials]
    table = Table("steps of each", "a loop", "a sweep", "ratio", box=None)
    for steps in asked.steps:
        loop = sum(seconds(asked.scene, "--steps", steps, "--ppo.lr", rate) for rate in rates)
        sweep = seconds(
            *(asked.scene, "--steps", steps, "--trials", str(len(rates))),
            *("--no-early-stopping", "--sweep", f"ppo.lr={','.join(rates)}"),
        )
        table.add_row(steps, f"{loop:.1f} s", f"{sweep:.1f} s", f"{loop / sweep:.2f}")
    Console(width=100).print(f"{asked.scene}, {asked.trials} trainings", table, highlight=False)


if __name__ == "__main__":
    main()

"""What every scene's recipe trains at, and where its time goes: `python tests/bench/bench_recipes.py [SCENE ...]`.

Each scene trains by its own recipe for so many steps, evaluations, logs and checkpoints included, on one thread and in
a process of its own. Printed are steps per second of the clock and of the processor, which hardly minds what else the
machine does (start-up left out), and the share of each stage of the tick; those below 3 % everywhere stand together,
and so do the systems that not all scenes have.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ecs_rl.shipped import scene_names

LEAST = 0.03
"""The share from which a stage has a column of its own."""


def trained(scene: str, steps: str) -> dict[str, Any]:
    """Return what `train.py --json` tells of a training, with the `processor` seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as runs:
        command = [sys.executable, "train.py", scene, "--steps", steps, "--threads", "1", "--json", "--runs", runs]
        root = Path(__file__).parents[2]
        done = subprocess.run(command, cwd=root, check=True, text=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**json.loads(done.stdout.splitlines()[-1]), "processor": used}


def shares(told: dict[str, Any]) -> dict[str, float]:
    """Return the share of each stage in the time of them all."""
    seconds = told["seconds_in"]
    return {stage: each / sum(seconds.values()) for stage, each in seconds.items()}


def main() -> None:
    """Train each scene for a while, and print the table."""
    parser = argparse.ArgumentParser(description="What every scene's recipe trains at, and where its time goes.")
    parser.add_argument("scenes", nargs="*", default=scene_names())
    parser.add_argument("--steps", default="300k", help="of each training (default: 300k)")
    asked = parser.parse_args()
    start_up = trained("balance", "1")["processor"]
    told = {scene: trained(scene, asked.steps) for scene in asked.scenes}
    split = {scene: shares(each) for scene, each in told.items()}
    common = set.intersection(*(set(each) for each in split.values()))
    large = {stage: max(each[stage] for each in split.values()) for stage in common}
    stages = sorted((stage for stage in large if large[stage] >= LEAST), key=lambda stage: (-large[stage], stage))
    table = Table("scene", "steps/s", "steps/s of the processor", *stages, "its systems", "the rest", box=None)
    for scene, each in told.items():
        parts = [split[scene][stage] for stage in stages]
        parts.append(sum(share for stage, share in split[scene].items() if stage not in common))
        rates = each["steps_per_second"], each["steps"] / (each["processor"] - start_up)
        table.add_row(scene, *(f"{rate:,.0f}" for rate in rates), *(f"{p:.0%}" for p in (*parts, 1.0 - sum(parts))))
    Console(width=200).print(table)


if __name__ == "__main__":
    main()

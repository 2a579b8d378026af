"""One dial: what `--arenas` alone does, as steps until solved: `python tests/bench/bench_arenas.py [SCENE ...]`.

Every training is `train.py SCENE --arenas N --until-solved` on one thread. Printed are how many seeds solved the scene,
the median of the steps and that of the processor seconds, by scene and number of arenas. With `--to FILE.jsonl` each
training is added to that file, and those that it has already are not run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

from bench_pairs import Trial, trial
from trial_file import TrialFile

SCENES = ("balance", "swingup", "lander", "reacher", "racer")
ARENAS = (16, 64, 256, 1024)


def cell(trials: Sequence[Trial]) -> str:
    """Return a cell of the table: a seed that did not solve its scene counts with all of its steps."""
    steps = median(each["solved_step"] or each["steps"] for each in trials)
    solved = sum(each["solved_step"] is not None for each in trials)
    return f"{solved} of {len(trials)}: {steps / 1000:,.0f}k, {median(each['processor'] for each in trials):.0f} s"


def main() -> None:
    """Train what is missing and print the table."""
    parser = argparse.ArgumentParser(description="What --arenas alone does, as steps until solved.")
    parser.add_argument("scenes", nargs="*", default=SCENES)
    parser.add_argument("--arenas", type=int, nargs="+", default=ARENAS, metavar="N")
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each cell, seeds from 0 (default: 3)")
    parser.add_argument("--to", type=Path, metavar="FILE.jsonl", help="a file of trainings, which are not run again")
    asked = parser.parse_args()
    file = TrialFile(asked.to)
    print(f"| scene | {' | '.join(f'{arenas:,} arenas' for arenas in asked.arenas)} |")
    print(f"|---|{'---|' * len(asked.arenas)}", flush=True)
    for scene in asked.scenes:
        cells = []
        for arenas in asked.arenas:
            trials = []
            for seed in range(asked.seeds):
                train = partial(trial, f"{scene}:ppo", seed, "--arenas", str(arenas))
                trials.append(file.trial((scene, arenas, seed), train))
            cells.append(cell(trials))
        print(f"| `{scene}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

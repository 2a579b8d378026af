"""Against Stable-Baselines3 at equal settings: `python tests/bench/bench_reference.py [ppo:CartPole-v1 ...]`.

The same environments, networks, hyper-parameters and number of environments for both, one thread, a process of its own
for every trial, in turns. Both are evaluated alike, greedily on the same seeds; solved is the first evaluation that
reaches the environment's threshold, and training ends there. Evaluations count neither as steps nor as time. Printed
are steps to solve (interquartile mean over the seeds), steps per second and processor seconds, the ratios, and how
probable it is that a run of ours takes fewer steps than one of Stable-Baselines3's (rliable's probability of
improvement, with its 95 % interval). Needs the extra `bench`: `python -m pip install -e '.[bench]'`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from reference_cases import CASES, Case
from reference_statistics import Improvement, probability_of_improvement
from rich.console import Console
from rich.table import Table

Trial = dict[str, Any]
SIDES = ("ours", "sb3")
COLUMNS = (
    *("case", "side", "solved", "steps to solve", "steps/s", "processor s", "steps: ratio", "processor: ratio"),
    "P(ours sooner), 95 %",
)


def main() -> None:
    """Run the trials that were asked for, or be one of them."""
    parser = argparse.ArgumentParser(description="Our agents beside Stable-Baselines3's, at equal settings.")
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="AGENT:ENV", help=", ".join(CASES))
    parser.add_argument("--seeds", type=int, default=5, help="trials of each side, seeds from 0 (default: 5)")
    parser.add_argument("--json", action="store_true", help="print one JSON object for each trial as well")
    parser.add_argument("--trial", nargs=2, metavar=("SIDE", "SEED"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    for name in asked.cases:
        if name not in CASES:
            parser.error(f"there is no case '{name}': {', '.join(CASES)}")
    if asked.trial:
        side, seed = asked.trial
        print(json.dumps(run_trial(side, CASES[asked.cases[0]], int(seed))))
        return
    table, cases = Table(*COLUMNS, box=None), list[dict[str, list[Trial]]]()
    for name in asked.cases:
        trials: dict[str, list[Trial]] = {side: [] for side in SIDES}
        for seed in range(asked.seeds):
            for side in SIDES:
                trials[side].append(trial_apart(name, side, seed))
                if asked.json:
                    print(json.dumps({"case": name, "side": side, "seed": seed, **trials[side][-1]}), flush=True)
        add_rows(table, name, trials)
        cases.append(trials)
        Console(width=160).print(table)
    if len(cases) > 1:
        print(f"all cases: P(ours sooner) {in_words(improvement(cases))}")


def trial_apart(name: str, side: str, seed: int) -> Trial:
    """Return what came of one trial in a process of its own."""
    command = [sys.executable, __file__, name, "--trial", side, str(seed)]
    single = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, env=os.environ | single, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run_trial(side: str, case: Case, seed: int) -> Trial:
    """Train one side with one seed; return `solved_step` (None: never), `steps`, `seconds` and `processor`."""
    import torch

    torch.set_num_threads(1)
    if side == "sb3":
        from reference_sb3 import train
    else:
        from reference_ours import train
    return train(case, seed)


def add_rows(table: Table, name: str, trials: dict[str, list[Trial]]) -> None:
    """Add one row for each side, the ratios to the second one's."""
    told = {side: figures(CASES[name], trials[side]) for side in trials}
    for side, each in told.items():
        other = told["sb3"]
        ratios = [f"{each[key] / other[key]:.2f}" if side == "ours" else "" for key in ("steps", "processor")]
        solved = f"{sum(t['solved_step'] is not None for t in trials[side])}/{len(trials[side])}"
        numbers = [f"{each['steps']:,.0f}", f"{each['rate']:,.0f}", f"{each['processor']:.1f}"]
        sooner = in_words(improvement([trials])) if side == "ours" else ""
        table.add_row(name, side, solved, *numbers, *ratios, sooner)


def improvement(cases: Sequence[dict[str, list[Trial]]]) -> Improvement:
    """Return how probable it is that ours takes fewer steps to solve a case; never solved is as many as can be."""

    def scores(trials: Sequence[Trial]) -> list[float]:
        return [-math.inf if trial["solved_step"] is None else -float(trial["solved_step"]) for trial in trials]

    return probability_of_improvement([(scores(trials["ours"]), scores(trials["sb3"])) for trials in cases])


def in_words(result: Improvement) -> str:
    """Return `0.71 (0.55 to 0.86)`."""
    return f"{result.probability:.2f} ({result.low:.2f} to {result.high:.2f})"


def figures(case: Case, trials: Sequence[Trial]) -> dict[str, float]:
    """Return the interquartile mean of the steps to solve (all where unsolved), median rate and processor seconds."""
    steps = [trial["solved_step"] or case.steps for trial in trials]
    return {
        "steps": interquartile_mean(steps),
        "rate": median(trial["steps"] / trial["seconds"] for trial in trials),
        "processor": median(trial["processor"] for trial in trials),
    }


def interquartile_mean(numbers: Sequence[float]) -> float:
    """Return the mean of the middle half; numbers at its borders count by the share that lies inside."""
    ordered, n = sorted(numbers), len(numbers)
    weights = [max(0.0, min(i + 1, 0.75 * n) - max(i, 0.25 * n)) for i in range(n)]
    return fmean(ordered, weights)


if __name__ == "__main__":
    main()

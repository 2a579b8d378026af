"""How the scenes' recipes were found: train to solved with several seeds for each setting, and compare.

    python tests/bench/tune.py swingup --seeds 5 --set lr=2e-3 gamma=0.98 --grid arenas=16,32,64,128
    python tests/bench/tune.py balance --agent dqn --seeds 10

Every trial is a `train.py --until-solved --json` of its own, one after another, on top of the scene's recipe. Names are
those of the command line: settings of the run (`arenas`, `steps`, `eval_every`) and of the algorithm (`lr`, `rollout`).
Several `--grid` are crossed. Let nothing else run meanwhile, or seconds mean nothing; steps do not depend on it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import product
from pathlib import Path
from statistics import mean, median, pstdev
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from ecs_rl.agents.config import DQNConfig, PPOConfig

ROOT = Path(__file__).resolve().parents[2]
OF_THE_AGENT = {"ppo": {each.name for each in fields(PPOConfig)}, "dqn": {each.name for each in fields(DQNConfig)}}
COLUMNS = ("setting", "solved", "seconds: median", "mean", "std", "slowest", "steps: median", "mean", "std")

Setting = dict[str, str]
Result = dict[str, Any]


def main() -> None:
    """Read the command, run the trials, print the table."""
    parser = argparse.ArgumentParser(description="Compare training settings by the time they take to solve a scene.")
    parser.add_argument("scene")
    parser.add_argument("--agent", choices=sorted(OF_THE_AGENT), default="ppo")
    parser.add_argument("--seeds", type=int, default=3, help="trials per setting, seeds from 0 (default: 3)")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="settings that all trials share")
    parser.add_argument("--grid", nargs="+", action="append", default=[], metavar="NAME=V1,V2", help="settings to vary")
    parser.add_argument("--full", action="store_true", help="train on after solving, as without --until-solved")
    parser.add_argument("--markdown", action="store_true", help="print the table as markdown")
    asked = parser.parse_args()
    try:
        shared = dict(pair(text) for text in asked.set)
        settings = list(crossed([pair(text) for group in asked.grid for text in group]))
    except ValueError as error:
        parser.error(str(error))
    trials = [(setting, seed) for setting in settings for seed in range(asked.seeds)]
    results: dict[str, list[Result]] = {named(setting): [] for setting in settings}
    for setting, seed in track(trials, "training", console=Console(stderr=True)):
        results[named(setting)].append(trial(asked.scene, asked.agent, seed, shared | setting, full=asked.full))
    show({name: row(trials) for name, trials in results.items()}, markdown=asked.markdown)


def pair(text: str) -> tuple[str, str]:
    """Return `name=value` as two."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise ValueError(f"'{text}' is not NAME=VALUE")
    return name.replace("-", "_"), value


def crossed(grid: Sequence[tuple[str, str]]) -> Iterator[Setting]:
    """Yield every combination of the values of a grid; one empty setting when there is none."""
    for values in product(*(values.split(",") for _, values in grid)):
        yield dict(zip((name for name, _ in grid), values, strict=True))


def named(setting: Mapping[str, str]) -> str:
    """Return a setting in one line."""
    return " ".join(f"{name}={value}" for name, value in setting.items()) or "the recipe"


def trial(scene: str, agent: str, seed: int, setting: Mapping[str, str], *, full: bool) -> Result:
    """Train once in a process of its own and return what `train.py --json` says."""
    command = [sys.executable, "train.py", scene, "--agent", agent, "--seed", str(seed), "--json"]
    command += [] if full else ["--until-solved"]
    for name, value in setting.items():
        prefix = f"{agent}." if name in OF_THE_AGENT[agent] else ""
        command += [f"--{prefix}{name.replace('_', '-')}", value]
    with tempfile.TemporaryDirectory() as runs:
        done = subprocess.run([*command, "--runs", runs], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}: {done.stderr.strip()}")
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def row(results: Sequence[Result]) -> list[str]:
    """Return the numbers of one setting; those that were not solved are counted, not averaged."""
    solved = [result for result in results if result["solved_step"] is not None]
    told = [f"{len(solved)}/{len(results)}"]
    if not solved:
        return told + ["-"] * (len(COLUMNS) - 2)
    seconds, steps = [r["solved_second"] for r in solved], [r["solved_step"] for r in solved]
    told += [f"{number:.2f}" for number in (median(seconds), mean(seconds), pstdev(seconds), max(seconds))]
    return told + [f"{number:,.0f}" for number in (median(steps), mean(steps), pstdev(steps))]


def show(rows: Mapping[str, Sequence[str]], *, markdown: bool) -> None:
    """Print the table."""
    if markdown:
        lines = [COLUMNS, ["---"] + ["---:"] * (len(COLUMNS) - 1), *([name, *told] for name, told in rows.items())]
        print("\n".join(f"| {' | '.join(line)} |" for line in lines))
        return
    table = Table()
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "setting" else "right", no_wrap=column == "setting")
    for name, told in rows.items():
        table.add_row(name, *told)
    Console().print(table)


if __name__ == "__main__":
    main()

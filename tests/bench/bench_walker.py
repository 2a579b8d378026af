"""Our walker beside Gymnasium's BipedalWalker: `python tests/bench/bench_walker.py [--steps 2M] [--minutes 40]`.

`walker` is trained by its recipe until it is solved; then Stable-Baselines3's PPO has as many steps of
BipedalWalker-v3, by RL Zoo's settings for it. Both go by the mean return of 20 greedy episodes, and 300 is solved. The
two differ in their physics, so this compares no algorithms: it says what one waits for a walker here and there. One
thread each. Needs the extra `bench`: `python -m pip install -e '.[bench]'`.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from reference_cases import Case, Stopwatch
from reference_envs import environments
from reference_sb3 import Evaluate, Together
from reference_settings import MODELS
from rich.console import Console
from rich.table import Table

from ecs_rl.cli.plan import plan_of
from ecs_rl.tasks.assemble import assemble
from ecs_rl.values import parse_count

ZOO = {"lr_schedule": "constant", "lr": 3e-4, "rollout": 2048, "minibatch": 64, "epochs": 10} | {
    "gamma": 0.999,
    "gae_lambda": 0.95,
    "clip": 0.18,
}
"""RL Zoo's `hyperparams/ppo.yml` for BipedalWalker-v3, by our names; it takes 32 environments and normalises."""
Row = dict[str, float]


class Budgeted(Evaluate):
    """Tells of each evaluation, and stops when so many processor seconds are used up."""

    def __init__(self, case: Case, clock: Stopwatch, seconds: float) -> None:
        super().__init__(case, clock)
        self.until, self._told = time.process_time() + seconds, self.due

    def _on_step(self) -> bool:
        goes_on = super()._on_step()
        if self.due != self._told:
            self._told = self.due
            say(f"Stable-Baselines3: {self.num_timesteps:,} steps, best {self.best:.1f}")
        return goes_on and time.process_time() < self.until


def ours(seed: int) -> Row:
    """Train `walker` by its recipe until it is solved."""
    command = ["walker", "--until-solved", "--threads", "1", "--seed", str(seed)]
    training = assemble(plan_of(command))[1]
    begin = time.process_time()
    while not training.done:
        training.tick()
    best = training.session.best_eval
    training.close()
    return {"steps": training.session.total_steps, "best": best or 0.0, "processor": time.process_time() - begin}


def theirs(seed: int, steps: int, minutes: float) -> Row:
    """Train Stable-Baselines3's PPO by RL Zoo's settings for so many steps, or until the time is up."""
    case = Case("ppo", "BipedalWalker-v3", 300.0, steps, 196_608, 32, ZOO)
    seeds = range(seed * 1_000, seed * 1_000 + case.envs)
    envs: Any = Together(environments(case.environment, seeds), case.envs)
    model = MODELS["ppo"](case, envs, seed)
    begin, callback = time.process_time(), Budgeted(case, Stopwatch(), 60.0 * minutes)
    model.learn(steps, callback=callback, log_interval=None)
    used = time.process_time() - begin
    return {"steps": model.num_timesteps, "best": callback.best, "processor": used}


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def main() -> None:
    """Train both, and print what came of it."""
    parser = argparse.ArgumentParser(description="Our walker beside Gymnasium's BipedalWalker.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=parse_count, help="steps of BipedalWalker (default: as many as ours took)")
    parser.add_argument("--minutes", type=float, default=40.0, help="processor minutes for BipedalWalker at most")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rows = {"walker, by its recipe": ours(asked.seed)}
    say(f"ours: {rows['walker, by its recipe']}")
    steps = asked.steps or int(rows["walker, by its recipe"]["steps"])
    rows["BipedalWalker-v3, Stable-Baselines3"] = theirs(asked.seed, steps, asked.minutes)
    table = Table("task", "steps", "best of the evaluations", "processor s", box=None)
    for name, row in rows.items():
        table.add_row(name, f"{row['steps']:,.0f}", f"{row['best']:.1f}", f"{row['processor']:.0f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()

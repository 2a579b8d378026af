"""What is learned in the steps of RL Zoo's benchmark table: `python tests/bench/zoo_table.py [ppo:CartPole-v1 ...]`.

Every training is that of `train.py gym:ENV --agent AGENT`, by the recipe that comes with the project or the agent's
defaults, on one thread, with as many steps as in RL Zoo's table. The policy of the last step, not the best one, plays
greedily at the end. Printed are the mean of these evaluations over the seeds and their standard deviation from seed to
seed, beside RL Zoo's numbers, whose deviation is that from episode to episode of a single training. Needs Gymnasium;
LunarLander and BipedalWalker need Box2D as well.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, pstdev
from time import process_time
from typing import Any

from trial_file import asked_rows

from ecs_rl.cli.plan import plan_of
from ecs_rl.errors import EcsRlError
from ecs_rl.tasks.assemble import assemble, recorded

EPISODES = 100
"""Greedy episodes of the policy of the last step, with the same seeds after every training."""
SOURCE = "https://github.com/DLR-RM/rl-baselines3-zoo/blob/master/benchmark.md"
HEADER = """\
| agent and environment | steps | seeds | ours, mean ± std over seeds | RL Zoo, mean ± std over episodes | processor s |
|---|---:|---:|---:|---:|---:|"""


@dataclass(frozen=True)
class Row:
    """A row of RL Zoo's table: one training and the episodes that its policy played."""

    steps: int
    mean: float
    std: float
    """From episode to episode."""
    name: str = ""
    """The environment's name there, if it is an earlier version."""


ZOO = {
    "ppo:CartPole-v1": Row(100_000, 500.0, 0.0),
    "dqn:CartPole-v1": Row(50_000, 500.0, 0.0),
    "ppo:Acrobot-v1": Row(1_000_000, -73.506, 18.201),
    "dqn:Acrobot-v1": Row(100_000, -76.639, 11.752),
    "ppo:Pendulum-v1": Row(100_000, -172.225, 104.159),
    "sac:Pendulum-v1": Row(20_000, -156.995, 88.714),
    "td3:Pendulum-v1": Row(20_000, -151.855, 90.227),
    "ppo:LunarLander-v3": Row(1_000_000, 242.119, 31.823, "LunarLander-v2"),
    "dqn:LunarLander-v3": Row(100_000, 154.382, 79.241, "LunarLander-v2"),
    "ppo:LunarLanderContinuous-v3": Row(1_000_000, 270.863, 32.072, "LunarLanderContinuous-v2"),
    "sac:LunarLanderContinuous-v3": Row(500_000, 260.390, 65.467, "LunarLanderContinuous-v2"),
    "td3:LunarLanderContinuous-v3": Row(300_000, 207.451, 67.562, "LunarLanderContinuous-v2"),
    "ppo:BipedalWalker-v3": Row(5_000_000, 213.299, 129.490),
    "sac:BipedalWalker-v3": Row(500_000, 297.668, 33.060),
    "td3:BipedalWalker-v3": Row(1_000_000, 305.990, 56.886),
}
"""By agent and environment, as the table at `SOURCE` has them."""


def trial(pair: str, seed: int, steps: int, episodes: int = EPISODES) -> dict[str, Any]:
    """Train for so many steps; return the mean return of the last policy's greedy episodes and the processor's time."""
    agent, environment = pair.split(":")
    with tempfile.TemporaryDirectory() as runs:
        flags = ["--agent", agent, "--seed", str(seed), "--threads", "1", "--runs", runs]
        flags += ["--steps", str(steps), "--schedule-steps", str(steps)]
        flags += ["--eval-every", str(steps), "--eval-episodes", str(episodes)]
        plan, training = assemble(plan_of([f"gym:{environment}", *flags]))
        recorded(training, plan)
        began = process_time()
        while not training.done:
            training.tick()
        spent = process_time() - began
        session = training.session
        training.close()
    if session.best_step != session.total_steps:
        raise RuntimeError(f"{pair}: evaluated at step {session.best_step}, not at the last one, {session.total_steps}")
    return {"return": session.best_eval, "steps": session.total_steps, "processor": spent}


def row(pair: str, trials: Sequence[dict[str, Any]]) -> str:
    """Return a row of the table."""
    theirs, returns = ZOO[pair], [each["return"] for each in trials]
    ours = f"{fmean(returns):.1f} ± {pstdev(returns):.1f}"
    other = f"{theirs.mean:.1f} ± {theirs.std:.1f}{f' ({theirs.name})' if theirs.name else ''}"
    spent = median(each["processor"] for each in trials)
    return f"| `{pair}` | {theirs.steps:,} | {len(trials)} | {ours} | {other} | {spent:.1f} |"


def main() -> None:
    """Train the rows that were asked for and print the table."""
    about = "Final performance at the steps of RL Zoo's benchmark table."
    asked = asked_rows(about, list(ZOO), "AGENT:ENV")
    print(f"RL Zoo's numbers: {SOURCE}\n\n{HEADER}", flush=True)
    for pair in asked.rows:
        trials = []
        try:
            for seed in asked.seeds:
                trials.append(trial(pair, seed, ZOO[pair].steps))
                if asked.json:
                    print(json.dumps({"row": pair, "seed": seed, **trials[-1]}), flush=True)
        except EcsRlError as error:
            print(f"{pair} was not run: {error}", flush=True)
            continue
        print(row(pair, trials), flush=True)


if __name__ == "__main__":
    main()

"""What saving and logging cost: `python tests/bench/bench_saving.py [SCENE ...] [--rounds 4] [--runs DIR]`.

Two trainings of the scene at its own defaults go on in turns in one process, a rollout each: one writes a run with
all its checkpoints, logs and metrics, the other writes nothing. Where the first one makes its physics anew, the second
does so too, outside of its time: so both see the same bits, which is checked at the end, and all that differs is
saving. A turn is a rollout with its update, so that nobody's updates come while the other's data fills the caches. All
is done twice, as memory may lie better for the one that was made first. A round is as long as the steps between two
checkpoints. The target is under 3 % of training time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

from ecs_rl import world as world_module
from ecs_rl.cli.plan import Plan, plan_of
from ecs_rl.runs import TrainingRun
from ecs_rl.runs import run as run_module
from ecs_rl.session import TrainingSession
from ecs_rl.session.checkpointer import Checkpointer
from ecs_rl.tasks.assemble import assemble
from ecs_rl.training.training import Training
from ecs_rl.training_stages import record as record_module
from ecs_rl.training_stages.write import Write
from ecs_rl.world import World

WATCHED: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
    ("rebuild physics", World, ("snapshot",)),
    ("copy columns", world_module, ("columns_of",)),
    ("gather and encode", Checkpointer, ("save_checkpoint", "_save_if_best")),
    ("hash", run_module, ("sealed_pieces",)),
    ("fsync", os, ("fsync",)),
    ("log rows", TrainingRun, ("log_train_episodes", "log_eval_episode", "log_metrics", "flush")),
    ("make metrics", Write, ("metrics",)),
    ("note actions", record_module, ("follow",)),
    ("files and metadata", TrainingRun, ("save_checkpoint", "save_policy", "prune_checkpoints", "update_metadata")),
    ("session state", TrainingSession, ("state",)),
)


class Split:
    """Where the time of saving goes: each part without the parts inside of it."""

    def __init__(self) -> None:
        self.seconds = {part: 0.0 for part, _, _ in WATCHED}
        self.on = False
        self._inside = [0.0]

    def watch(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its own time counted."""

        def watched(*args: Any, **more: Any) -> Any:
            if not self.on:
                return function(*args, **more)
            self._inside.append(0.0)
            began = perf_counter()
            try:
                return function(*args, **more)
            finally:
                took = perf_counter() - began
                self.seconds[part] += took - self._inside.pop()
                self._inside[-1] += took

        return watched


@contextmanager
def watching() -> Iterator[Split]:
    """Count the time of everything that belongs to saving."""
    split = Split()
    with ExitStack() as stack:
        for part, owner, names in WATCHED:
            for name in names:
                stack.enter_context(patch.object(owner, name, split.watch(part, getattr(owner, name))))
        yield split


class Pair:
    """The same training twice, with and without a run."""

    def __init__(self, plan: Plan, folder: Path, split: Split, *, saving_first: bool) -> None:
        settings = plan.settings
        self.every, self.arenas, self.split = settings.checkpoint_every, settings.arenas, split
        self.turn = settings.ppo.rollout
        made = assemble(plan)[1], assemble(plan)[1]
        self.saving, self.bare = made if saving_first else made[::-1]
        run = TrainingRun.create(settings.name, runs_dir=folder, scene=settings.scene, agent=settings.agent)
        self.saving.write_to(run)
        self.bare.world.rebuild()

    @property
    def done(self) -> bool:
        """Whether both have taken all steps."""
        return self.saving.done and self.bare.done

    def round(self) -> tuple[float, float]:
        """Take the ticks between two checkpoints, in turns; return the seconds of each training."""
        seconds, turns = [0.0, 0.0], -(-self.every // self.arenas // self.turn)
        for turn in range(turns):
            for which in ((0, 1), (1, 0))[turn % 2]:
                self.split.on = which == 0
                seconds[which] += self._advance((self.saving, self.bare)[which])
        self.split.on = False
        return seconds[0], seconds[1]

    def _advance(self, training: Training) -> float:
        began, elsewhere = perf_counter(), 0.0
        for _ in range(self.turn):
            if training.done:
                break
            training.tick()
            steps = training.session.total_steps
            if training is self.bare and steps // self.every > (steps - self.arenas) // self.every:
                aside = perf_counter()
                training.world.rebuild()
                elsewhere += perf_counter() - aside
        return perf_counter() - began - elsewhere


def rounds_of(pair: Pair, rounds: int) -> list[tuple[float, float]]:
    """Return the seconds of each round, and make sure that both trainings were the same."""
    took: list[tuple[float, float]] = []
    while len(took) < rounds and not pair.done:
        took.append(pair.round())
    same = [each.session.agent.parameters_sha256() for each in (pair.saving, pair.bare)]
    for each in (pair.saving, pair.bare):
        each.close()
    if same[0] != same[1]:
        raise RuntimeError("the two trainings were not the same: what they took cannot be compared")
    return took


def measure(scene: str, rounds: int, runs: str | None) -> None:
    """Print the cost in each round, the median, and where it goes."""
    plan = plan_of([scene])
    settings = plan.settings
    medians, bare, count = [], 0.0, 0
    print(f"{scene}: {settings.arenas} arenas, a checkpoint every {settings.checkpoint_every:,} steps")
    with tempfile.TemporaryDirectory(dir=runs) as folder, watching() as split:
        for saving_first in (True, False):
            took = rounds_of(Pair(plan, Path(folder), split, saving_first=saving_first), rounds)
            shares = [a / b - 1.0 for a, b in took]
            medians.append(statistics.median(shares))
            bare, count = bare + sum(b for _, b in took), count + len(took)
            made = "first " if saving_first else "second"
            print(f"  with - without, made {made}   {'  '.join(f'{share:6.2%}' for share in shares)}")
    print(f"  with - without, of medians    {statistics.mean(medians):6.2%}")
    print(f"  saving as counted from inside {sum(split.seconds.values()) / bare:6.2%}")
    for part, seconds in sorted(split.seconds.items(), key=lambda each: -each[1]):
        print(f"    {part:20} {seconds / bare:7.3%}  {1e3 * seconds / count:8.2f} ms a round")


def main() -> None:
    """Measure every scene that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", default=["balance", "lander"])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--runs", help="a folder on the disk to measure (default: the system's temporary one)")
    asked = parser.parse_args()
    for scene in asked.scenes:
        measure(scene, asked.rounds, asked.runs)


if __name__ == "__main__":
    main()

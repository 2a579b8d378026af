"""What `--check` says of evaluations: the share of a training's time that they take at most."""

from __future__ import annotations

import sys
from itertools import islice
from time import perf_counter
from typing import Any

from ecs_rl.training.evaluator import AT_ONCE
from ecs_rl.training.training import Training
from ecs_rl.training_stages.learn import Learn

TICKS, LONGEST = 50, 3_000
"""Ticks that are timed at least, and ticks that are played until something is learned at most."""
LARGE = 0.3
"""Share of the time from which on the report names a cure."""


def time_evaluations(training: Training) -> dict[str, Any]:
    """Return how often evaluations come, and their share of the time if all their episodes last as long as they can.

    Trains for an update or two, plays the first ticks of an evaluation, and closes the training's worlds.
    """
    world, evaluator = training.world, training.evaluator
    every, seeds = training.evaluation.every, training.evaluation.seeds
    training.evaluation.every = sys.maxsize  # only training is timed
    try:
        of_training = _seconds_per_tick(training)
        evaluator.make_ready(seeds[:AT_ONCE])
        play, began = evaluator.play(seeds[:AT_ONCE]), perf_counter()
        ticks = sum(1 for _ in islice(play, TICKS))
        of_evaluation = (perf_counter() - began) / ticks
    finally:
        evaluator.close()
        world.close()
    longest = world.scene.max_ticks * -(-len(seeds) // AT_ONCE)
    evaluating, between = longest * of_evaluation, every / world.arenas * of_training
    share = evaluating / (evaluating + between)
    return {"every": every, "episodes": len(seeds), "ticks": longest, "share": share}


def _seconds_per_tick(training: Training) -> float:
    """Return the seconds of a training's tick, learning included: a mean over whole cycles of gathering and learning.

    Where nothing is learned in `LONGEST` ticks it is the mean of these.
    """
    world, learn = training.world, training.world.stages["learn"]
    assert isinstance(learn, Learn)
    began, ticks = perf_counter(), 0
    for _ in range(LONGEST):
        updates = learn.updates
        world.tick()
        ticks += 1
        learned = learn.updates > updates
        if learned and updates == 0:
            began, ticks = perf_counter(), 0
        elif learned and ticks >= TICKS:
            break
    return (perf_counter() - began) / max(1, ticks)


def evaluations_in_words(facts: dict[str, Any]) -> str:
    """Return the line of the report, with what to do where evaluations take much of the time."""
    cure = " (--eval-every and --eval-episodes change that)" if facts["share"] >= LARGE else ""
    return (
        f"evaluations: {facts['episodes']} episodes of at most {facts['ticks']:,} ticks after every "
        f"{facts['every']:,} steps: at most {facts['share']:.0%} of the time{cure}"
    )

"""Trainings by a scene's recipe until it is solved, and what they print."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ecs_rl.cli.plan import plan_of
from ecs_rl.tasks.assemble import assemble


def best_until_solved(scene: Path | str, seed: int, *more: str) -> tuple[float, int]:
    """Train by the scene's recipe until solved; return the best evaluation, and after how many steps it was enough."""
    training = assemble(plan_of([str(scene), "--seed", str(seed), "--until-solved", *more]))[1]
    while not training.done:
        training.tick()
    training.close()
    assert training.session.best_eval is not None
    return training.session.best_eval, training.session.total_steps


def print_trials(capsys: pytest.CaptureFixture[str], **trials: list[tuple[float, int]]) -> None:
    """Print by name the best evaluations of trainings, and after how many steps."""
    with capsys.disabled():
        for name, results in trials.items():
            best, steps = np.array(results).T
            spread = f"mean {steps.mean():,.0f} +- {steps.std():,.0f}"
            print(f"\n{name}: best {best.round(2).tolist()}, steps {steps.astype(int).tolist()}, {spread}")

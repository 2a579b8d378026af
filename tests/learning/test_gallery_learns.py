"""The larger games that come with the project are learned: a little in a moment, and solved by their recipes."""

from __future__ import annotations

import numpy as np
import pytest

from ecs_rl.cli.plan import plan_of
from ecs_rl.tasks.assemble import assemble
from ecs_rl.training.training import Training

QUICK = {"walker": (-20.0, "200k"), "sheepdog": (1.0, "250k")}
"""What the best evaluation of a small training must reach, and its steps; falling over at once comes to -110."""
GALLERY = ("reacher", "flappy", "forager", "asteroids", "racer", "walker", "sheepdog", "sumo", "soccer")


def learned(name: str, seed: int, *more: str) -> Training:
    """Return a training by the scene's own recipe, done."""
    training = assemble(plan_of([name, "--seed", str(seed), *more]))[1]
    while not training.done:
        training.tick()
    training.close()
    return training


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_game_is_learned_in_small(name: str) -> None:
    reached, steps = QUICK[name]
    best = learned(name, 0, "--steps", steps).session.best_eval
    assert best is not None
    assert best > reached


@pytest.mark.slow
@pytest.mark.parametrize("name", GALLERY)
def test_a_recipe_solves_its_game_on_five_seeds(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = [learned(name, seed, "--until-solved").evaluation for seed in range(5)]
    seconds = [each.solved_second for each in found if each.solved_second is not None]
    steps = [each.solved_step for each in found if each.solved_step is not None]
    with capsys.disabled():
        print(f"\n{name}: solved {len(steps)}/5, median {np.median(seconds):.1f} s, steps {steps}")
    assert len(steps) == 5

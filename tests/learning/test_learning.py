"""Learning is tested by learning: every recipe solves its scene, on every seed that is tried."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from ecs_rl.commands.parse import parse_train
from ecs_rl.commands.train import prepared, recipes_of

RECIPES = [
    ("balance", "ppo"),
    ("balance", "dqn"),
    ("balance", "sac"),
    ("swingup", "ppo"),
    ("swingup", "sac"),
    ("lander", "ppo"),
    ("lander", "dqn"),
]
LONG = [("lander", "sac")]
"""Recipes that take half a minute of processor time."""


@dataclass(frozen=True)
class Solved:
    """How one training went."""

    step: int | None
    second: float | None
    best: float


def learn(scene: str, agent: str, seed: int) -> Solved:
    """Train with the scene's own recipe until it is solved, or its steps are done."""
    settings = parse_train([scene, "--agent", agent, "--seed", str(seed), "--until-solved"], recipes_of)
    training = prepared(settings)
    while not training.done:
        training.tick()
    training.close()
    return Solved(
        training.evaluation.solved_step, training.evaluation.solved_second, training.session.best_eval or -np.inf
    )


@pytest.mark.parametrize(("scene", "agent"), RECIPES)
def test_a_recipe_solves_its_scene(scene: str, agent: str) -> None:
    for seed in (0, 1) if scene == "balance" else (0,):
        assert learn(scene, agent, seed).step is not None


@pytest.mark.slow
@pytest.mark.parametrize(("scene", "agent"), RECIPES + LONG)
def test_a_recipe_solves_its_scene_on_ten_seeds(scene: str, agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = [learn(scene, agent, seed) for seed in range(10)]
    solved = [each for each in found if each.step is not None]
    seconds = np.array([each.second for each in solved], dtype=float)
    steps = np.array([each.step for each in solved], dtype=float)
    with capsys.disabled():
        print(
            f"\n{scene} {agent}: solved {len(solved)}/10, median {np.median(seconds):.2f} s (mean {seconds.mean():.2f}"
            f" ± {seconds.std():.2f}), steps {np.median(steps):,.0f} (mean {steps.mean():,.0f} ± {steps.std():,.0f})"
        )
    assert len(solved) == 10


@pytest.mark.slow
@pytest.mark.parametrize("scene", ["balance", "lander"])
def test_dqn_has_forgotten_nothing_at_the_end_of_a_full_run(scene: str, capsys: pytest.CaptureFixture[str]) -> None:
    shares = []
    for seed in range(10):
        training = prepared(parse_train([scene, "--agent", "dqn", "--seed", str(seed)], recipes_of))
        while not training.done:
            training.tick()
        last, best = training.session.evaluated(), training.session.best_eval
        training.close()
        assert last is not None
        assert best is not None
        shares.append(last / best)
    with capsys.disabled():
        print(
            f"\n{scene} dqn: the last evaluation is {np.mean(shares):.1%} of the best ({np.min(shares):.1%} at least)"
        )
    assert np.mean(shares) > 0.95

"""A maze that pays nothing before its exit is solved by curiosity, and not without it."""

from __future__ import annotations

import numpy as np
import pytest
from games import game

from ecs_rl.cli.plan import plan_of
from ecs_rl.tasks.assemble import assemble


def best_of(seed: int, *more: str) -> tuple[float, int]:
    """Train by the scene's recipe until solved; return the best evaluation, and after how many steps."""
    training = assemble(plan_of([game("maze"), "--seed", str(seed), "--until-solved", *more]))[1]
    while not training.done:
        training.tick()
    training.close()
    assert training.session.best_eval is not None
    return training.session.best_eval, training.session.total_steps


def test_the_exit_is_found_with_curiosity() -> None:
    assert best_of(0)[0] >= 0.9


def test_the_exit_is_not_found_without_in_as_many_steps() -> None:
    assert best_of(0, "--ppo.curiosity", "0", "--steps", "160k")[0] < 0.1


@pytest.mark.slow
def test_all_of_five_seeds_find_it_with_curiosity_and_none_without(capsys: pytest.CaptureFixture[str]) -> None:
    curious = [best_of(seed) for seed in range(5)]
    blind = [best_of(seed, "--ppo.curiosity", "0") for seed in range(5)]
    with capsys.disabled():
        for name, results in (("curious", curious), ("not", blind)):
            best, steps = np.array(results).T
            spread = f"steps {steps.mean():,.0f} +- {steps.std():,.0f}"
            print(f"\n{name}: best {best.round(2).tolist()}, {spread}")
    assert min(best for best, _ in curious) >= 0.9
    assert max(best for best, _ in blind) < 0.1

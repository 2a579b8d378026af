"""What cannot be seen is remembered: balance without velocities, by a network with a memory and by one without."""

from __future__ import annotations

from pathlib import Path

import pytest
from until_solved import best_until_solved, print_trials

SCENE = Path(__file__).parents[1] / "scenes" / "balance_unseen.py"


def best_of(seed: int, *more: str) -> tuple[float, int]:
    return best_until_solved(SCENE, seed, *more)


def test_balance_without_velocities_is_solved_by_what_remembers() -> None:
    assert best_of(0)[0] >= 475


def test_without_a_memory_it_is_not_learned_in_twice_the_steps() -> None:
    assert best_of(0, "--network", "mlp", "--steps", "100k")[0] < 150


@pytest.mark.slow
def test_all_of_five_seeds_solve_it_with_a_memory_and_none_reaches_300_without(
    capsys: pytest.CaptureFixture[str],
) -> None:
    remembers = [best_of(seed) for seed in range(5)]
    forgets = [best_of(seed, "--network", "mlp", "--steps", "200k") for seed in range(5)]
    print_trials(capsys, gru=remembers, mlp=forgets)
    assert min(best for best, _ in remembers) >= 475
    assert max(best for best, _ in forgets) < 300

"""A maze that pays nothing before its exit is solved by curiosity, and not without it."""

from __future__ import annotations

import pytest
from games import game
from until_solved import best_until_solved, print_trials


def best_of(seed: int, *more: str) -> tuple[float, int]:
    return best_until_solved(game("maze"), seed, *more)


def test_the_exit_is_found_with_curiosity() -> None:
    assert best_of(0)[0] >= 0.9


def test_the_exit_is_not_found_without_in_as_many_steps() -> None:
    assert best_of(0, "--ppo.curiosity", "0", "--steps", "160k")[0] < 0.1


@pytest.mark.slow
def test_all_of_five_seeds_find_it_with_curiosity_and_none_without(capsys: pytest.CaptureFixture[str]) -> None:
    curious = [best_of(seed) for seed in range(5)]
    blind = [best_of(seed, "--ppo.curiosity", "0") for seed in range(5)]
    print_trials(capsys, curious=curious, blind=blind)
    assert min(best for best, _ in curious) >= 0.9
    assert max(best for best, _ in blind) < 0.1

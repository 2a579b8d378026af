"""What an episode draws is a pure function of seed, arena and episode."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.scene.chance import Spread, between, episode_keys, jitter, uniforms
from ecs_rl.training.evaluator import SEED
from ecs_rl.worlds import make_world


def drawn(seed: int, arenas: list[int], episode: list[int], draws: int = 4) -> np.ndarray:
    seeds = np.full(len(arenas), seed, np.int64)
    return uniforms(episode_keys(seeds, np.array(arenas)), np.array(episode), draws)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**40), st.lists(st.integers(0, 5000), min_size=1, max_size=9), st.integers(0, 10**6))
def test_draws_do_not_depend_on_which_rows_are_asked_together(seed: int, arenas: list[int], episode: int) -> None:
    together = drawn(seed, arenas, [episode] * len(arenas))
    for i, arena in enumerate(arenas):
        assert (together[i] == drawn(seed, [arena], [episode])[0]).all()
    assert (together == drawn(seed, arenas, [episode] * len(arenas))).all()


def test_fewer_draws_are_the_first_of_more() -> None:
    assert (drawn(3, [1, 2], [0, 7], 2) == drawn(3, [1, 2], [0, 7], 9)[:, :2]).all()


def test_every_seed_arena_episode_and_draw_gives_another_number() -> None:
    seen = np.concatenate(
        [drawn(seed, list(range(50)), [episode] * 50).ravel() for seed in range(6) for episode in range(20)]
    )
    assert len(np.unique(seen)) == len(seen) == 6 * 20 * 50 * 4
    assert (seen >= 0).all()
    assert (seen < 1).all()


@pytest.mark.parametrize("along", ["arenas", "episodes", "seeds", "draws"])
def test_numbers_are_evenly_spread_along_every_way_of_counting(along: str) -> None:
    n, zeros = 20_000, np.zeros(20_000, np.int64)
    count = np.arange(n)
    seed, arena, episode = (count if along == name else zeros for name in ("seeds", "arenas", "episodes"))
    if along == "draws":
        numbers = uniforms(episode_keys(zeros[:1], zeros[:1]), zeros[:1], n).ravel()
    else:
        numbers = uniforms(episode_keys(seed, arena), episode, 1).ravel()
    counts = np.histogram(numbers, 50, (0, 1))[0]
    chi_square = ((counts - n / 50) ** 2 / (n / 50)).sum()
    assert 22 < chi_square < 90  # 49 degrees of freedom: between about 0.0005 and 0.9995
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.03


def test_draws_of_one_episode_do_not_go_together() -> None:
    numbers = drawn(0, list(range(4000)), [0] * 4000, 5)
    off_diagonal = np.corrcoef(numbers.T) - np.eye(5)
    assert np.abs(off_diagonal).max() < 0.07


def test_evaluation_never_plays_an_episode_of_training() -> None:
    scene = load_scene("balance")
    nobody = {"policy": lambda seen, state: np.zeros(len(seen), int)}
    evaluation = make_world(scene, arenas=100, seeds=range(SEED, SEED + 100), policies=nobody)
    evaluated = {tuple(row) for row in evaluation.engine_as(Physics).state.reshape(-1, 100).T.tolist()}
    assert len(evaluated) == 100
    keys = set(episode_keys(np.arange(SEED, SEED + 100), np.zeros(100, np.int64)).tolist())
    for seed in (0, 1, SEED - 1, SEED, SEED + 1, SEED + 50):
        training = make_world(scene, arenas=200, seed=seed, policies=nobody)
        trained = {tuple(row) for row in training.engine_as(Physics).state.reshape(-1, 200).T.tolist()}
        assert not evaluated & trained
        assert not keys & set(episode_keys(np.full(200, seed), np.arange(1, 201)).tolist())


def test_neighbouring_seeds_share_no_episodes() -> None:
    numbers = {seed: drawn(seed, list(range(1, 100)), [0] * 99, 1).ravel() for seed in range(8)}
    everything = np.concatenate(list(numbers.values()))
    assert len(np.unique(everything)) == len(everything)


def test_a_spread_reaches_from_low_to_high() -> None:
    assert between(2.0, 4.0)(np.array([0.0, 0.5])).tolist() == [2.0, 3.0]
    assert jitter(2.0)(np.array([0.0, 0.5])).tolist() == [-2.0, 0.0]


@pytest.mark.parametrize("bounds", [(1.0, 0.0), (np.nan, 1.0), (0.0, np.inf), ("a", 1.0), (True, 2)])
def test_a_spread_that_is_none_is_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(SceneError):
        Spread(*bounds)


def test_a_negative_jitter_is_refused() -> None:
    with pytest.raises(SceneError, match="negative"):
        jitter(-1.0)

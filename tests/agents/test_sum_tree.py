"""The sum tree draws what a loop over the running sum of all weights draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecs_rl.agents.sum_tree import SumTree


def slowly(weights: NDArray[np.float64], point: float) -> int:
    """Return the row in which a point lies, the obvious way."""
    total = 0.0
    for row, weight in enumerate(weights.tolist()):
        total += weight
        if point < total:
            return row
    return int(np.flatnonzero(weights)[-1])


def tree_of(weights: NDArray[np.float64]) -> SumTree:
    tree = SumTree(len(weights))
    tree.set(np.arange(len(weights)), weights)
    return tree


@pytest.mark.parametrize("capacity", [1, 2, 15, 16, 17, 100, 256, 257, 5000])
def test_points_are_found_where_a_loop_finds_them_also_after_many_changes(capacity: int) -> None:
    random = np.random.default_rng(capacity)
    weights = np.zeros(capacity)
    tree = SumTree(capacity)
    for _ in range(30):
        rows = random.integers(0, capacity, 20)
        # Halves, so that sums are exact in any order and both ways mean the same point.
        new = random.integers(0, 9, 20) / 2.0
        new[0] = 1.0
        for row, weight in zip(rows, new, strict=True):
            weights[row] = weight  # the last one counts
        tree.set(rows, new)
        assert (tree.weights == weights).all()
        assert tree.total == weights.sum()
        if tree.total:
            points = random.random(50) * tree.total
            assert tree.find(points).tolist() == [slowly(weights, point) for point in points]


def test_points_on_the_edge_between_two_rows_belong_to_the_later_one_and_empty_rows_to_none() -> None:
    tree = tree_of(np.array([0.0, 1.0, 0.0, 0.0, 2.0, 1.0, 0.0]))
    assert tree.find(np.array([0.0, 0.5, 1.0, 2.999, 3.0, 3.999, 4.0, 9.0])).tolist() == [1, 1, 4, 4, 5, 5, 5, 5]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=80), st.integers(0, 2**32))
def test_a_row_without_weight_is_never_drawn_however_sums_are_rounded(numbers: list[float], seed: int) -> None:
    weights = np.array(numbers)
    weights[seed % len(numbers)] = 0.3
    tree = tree_of(weights)
    uniform = np.random.default_rng(seed).random(200)
    uniform[:2] = 0.0, np.nextafter(1.0, 0.0)
    rows = tree.draw(uniform)
    assert rows.min() >= 0
    assert rows.max() < len(numbers)
    assert (weights[rows] > 0).all()
    assert (weights[tree.find(np.array([0.0, tree.total, 2 * tree.total]))] > 0).all()


def test_each_stratum_gives_one_row() -> None:
    tree = tree_of(np.full(64, 0.1))
    rows = tree.draw(np.random.default_rng(0).random(64))
    assert rows.tolist() == list(range(64)), "ties: equally heavy rows are drawn equally often"
    assert np.bincount(tree_of(np.array([1.0, 3.0])).draw(np.zeros(40))).tolist() == [10, 30]


def test_rows_are_drawn_in_proportion_to_their_weights() -> None:
    random = np.random.default_rng(0)
    weights = random.random(300) ** 4
    drawn = np.bincount(tree_of(weights).draw(random.random(300_000)), minlength=300) / 300_000
    np.testing.assert_allclose(drawn, weights / weights.sum(), atol=2e-5)


def test_a_tree_made_anew_from_its_weights_has_the_same_bits() -> None:
    random = np.random.default_rng(0)
    changed = SumTree(1000)
    for _ in range(200):
        changed.set(random.integers(0, 1000, 30), random.random(30) * 10.0 ** random.integers(-8, 8, 30))
    uniform = random.random(128)
    anew = tree_of(changed.weights.copy())
    assert anew.total == changed.total
    assert (anew.draw(uniform) == changed.draw(uniform)).all()


def test_a_tree_without_any_weight_has_nothing_to_draw() -> None:
    with pytest.raises(ValueError, match="no row to draw"):
        SumTree(20).draw(np.zeros(3))

"""The replay memory keeps the newest rows, draws what was stored, and prefers what it is message to."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ecs_rl.agents.replay import SMALLEST_ERROR, Replay, importance
from ecs_rl.agents.state import copies, load
from ecs_rl.errors import CheckpointError


def rows(first: int, count: int, columns: int = 1) -> NDArray[np.float32]:
    """Return message rows of two observed numbers, each number following from the first."""
    numbers = np.arange(first, first + count, dtype=np.float32)[:, None]
    return np.hstack([numbers + i / 16 for i in range(6 + columns)])


def stored(memory: Replay) -> list[float]:
    return sorted(copies(memory.parts)["rows"][:, 0].tolist())


@pytest.mark.parametrize("batch", [0, 1, 3, 7, 10, 23])
@pytest.mark.parametrize("priority", [0.0, 0.6])
def test_the_ring_keeps_the_newest_transitions_whatever_the_batch(batch: int, priority: float) -> None:
    memory, first = Replay(10, 2, 1, priority), 0
    for _ in range(9):
        memory.add(rows(first, batch))
        first += batch
        assert stored(memory) == list(range(max(0, first - 10), first))


@pytest.mark.parametrize("priority", [0.0, 0.6])
@pytest.mark.parametrize("columns", [1, 3])
def test_what_is_drawn_is_what_was_stored_row_by_row(columns: int, priority: float) -> None:
    memory = Replay(10, 2, columns, priority)
    memory.add(rows(0, 4, columns))
    memory.add(rows(4, 9, columns))
    b = memory.draw(500, torch.Generator().manual_seed(0))
    number = b.observation[:, 0]
    assert set(number.tolist()) == set(map(float, range(3, 13)))
    parts = torch.cat([b.observation, b.next_observation, b.action, b.reward[:, None], b.discount[:, None]], 1)
    assert torch.equal(parts, number[:, None] + torch.arange(6 + columns) / 16)
    assert [memory._array[row, 0] for row in b.rows] == number.tolist()
    assert (b.weight is None) == (priority == 0.0)


def test_transitions_are_drawn_in_proportion_to_their_errors_and_new_ones_at_the_largest_so_far() -> None:
    memory = Replay(50, 2, 1, priority=0.5)
    memory.add(rows(0, 20))
    error = np.linspace(0.0, 9.0, 20, dtype=np.float32)
    memory.learned(np.arange(20), error)
    memory.add(rows(20, 1))
    expected = np.append(error, 9.0).astype(np.float64) + SMALLEST_ERROR
    expected = expected**0.5 / (expected**0.5).sum()
    drawn = np.bincount(memory.draw(200_000, torch.Generator().manual_seed(0)).rows, minlength=21) / 200_000
    np.testing.assert_allclose(drawn, expected, atol=2e-5)


def test_an_overwritten_transition_loses_its_priority() -> None:
    memory = Replay(4, 2, 1, priority=1.0)
    memory.add(rows(0, 4))
    memory.learned(np.arange(4), np.array([0.0, 0.0, 0.0, 99.0], np.float32))
    memory.learned(np.array([3]), np.array([0.0], np.float32))
    memory.add(rows(4, 1))
    assert np.bincount(memory.draw(1000, torch.Generator().manual_seed(0)).rows, minlength=4)[0] > 990


@pytest.mark.parametrize("correction", [0.0, 0.4, 1.0])
def test_importance_weights_make_up_for_the_preference(correction: float) -> None:
    random = np.random.default_rng(0)
    weights = random.random(30) * 5
    got = importance(weights, correction)
    probability = weights / weights.sum()
    slowly = [(1 / (len(weights) * p)) ** correction for p in probability.tolist()]
    np.testing.assert_allclose(got, np.array(slowly) / max(slowly), rtol=1e-5)
    if correction == 1.0:  # then a weighted sum over what is drawn is in proportion to the plain one
        value = random.normal(size=30)
        assert (probability * got * value).sum() / (probability * got).sum() == pytest.approx(value.mean(), rel=1e-5)


def test_a_memory_that_was_saved_draws_the_same_afterwards() -> None:
    random = np.random.default_rng(0)
    one, other = Replay(100, 2, 1, priority=0.6), Replay(100, 2, 1, priority=0.6)
    other.add(rows(900, 77))
    for turn in range(25):
        one.add(rows(10 * turn, 10 if turn < 20 else 3))
        drawn = one.draw(16, torch.Generator().manual_seed(turn)).rows
        one.learned(drawn, random.random(16).astype(np.float32))
        if turn not in (3, 24):
            continue
        state = copies(one.parts)
        other.check(state)
        load(other.parts, state)
        other.refresh()
        for seed in range(3):
            a, b = (m.draw(40, torch.Generator().manual_seed(seed), 0.5) for m in (one, other))
            assert (a.rows == b.rows).all()
            assert a.weight is not None
            assert b.weight is not None
            assert a.weight.tobytes() == b.weight.tobytes()


@pytest.mark.parametrize(
    ("name", "bad", "message"),
    [
        ("rows", torch.zeros(11, 7), "holds 11 transitions"),
        ("next", torch.tensor(10), "goes on at 10"),
        ("next", torch.tensor(3), "holds 5 transitions and goes on at 3"),
        ("weights", torch.zeros(5, dtype=torch.float64), "priorities"),
        ("weights", torch.full((5,), torch.inf, dtype=torch.float64), "priorities"),
        ("weights", torch.ones(4, dtype=torch.float64), "priorities"),
        ("largest", torch.full((1,), torch.nan, dtype=torch.float64), "priorities"),
    ],
)
def test_parts_that_no_such_memory_has_are_refused(name: str, bad: torch.Tensor, message: str) -> None:
    memory = Replay(10, 2, 1, priority=0.6)
    memory.add(rows(0, 5))
    with pytest.raises(CheckpointError, match=message):
        memory.check({**copies(memory.parts), name: bad})

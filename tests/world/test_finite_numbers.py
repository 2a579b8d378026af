"""Whether numbers are finite is told of all of them, by few looks at the memory that their arrays share."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecs_rl.arrays import F64, FEW, finite, runs

PARTS = st.tuples(st.slices(6), st.slices(5), st.booleans())


def parts_of(block: F64, cuts: list[tuple[slice, slice, bool]]) -> list[F64]:
    """Return views of a block as columns are: some fields of some bodies in all arenas, most often transposed."""
    return [block[fields, bodies].T if turned else block[fields, bodies] for fields, bodies, turned in cuts]


@settings(max_examples=200, deadline=None)
@given(st.lists(PARTS, max_size=5), st.integers(0, 3))
def test_runs_are_every_number_of_the_arrays_once_and_nothing_else(
    cuts: list[tuple[slice, slice, bool]], arenas: int
) -> None:
    block, other = np.zeros((6, 5, arenas)), np.zeros((arenas, 2))
    for run in runs([*parts_of(block, cuts), other]):
        np.add(run, 1.0, out=run)
    expected = np.zeros_like(block)
    for part in parts_of(expected, cuts):
        part[...] = 1.0
    assert (block == expected).all()
    assert (other == 1.0).all()


def test_columns_of_a_block_that_touch_are_one_run() -> None:
    block = np.zeros((6, 5, 4))
    assert [run.size for run in runs([block[:2, 1:3].T, block[2:, 1:3].T])] == [8] * 6
    assert [run.size for run in runs([block[:2].T, block[2].T, block[3:, :2].T, block[3:, 2:].T])] == [120]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("arenas", [3, FEW])
def test_a_number_that_is_not_finite_is_found_in_whichever_array_it_is(arenas: int) -> None:
    block, gap = np.full((6, 5, arenas), 1e150), np.ones((2, 3), np.float32)
    sound = finite(block[:2, 1:].T, block[3].T, gap)
    assert sound()
    seen = {(field, body) for field in range(6) for body in range(5) if field == 3 or (field < 2 and body > 0)}
    for field, body, arena, bad in product(range(6), range(5), (0, arenas - 1), (np.nan, np.inf, -np.inf)):
        block[field, body, arena] = bad
        assert sound() is ((field, body) not in seen), (field, body, arena, bad)
        block[field, body, arena] = 1.0
    gap[1, 2] = np.nan
    assert not sound()


@pytest.mark.filterwarnings("error")
def test_infinities_of_both_signs_do_not_cancel() -> None:
    for size in (4, 4 * FEW):
        array = np.zeros(size)
        array[:2] = np.inf, -np.inf
        assert not finite(array)()

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecs_rl.agents.normalise import Normaliser, RewardScaler, RunningMoments
from ecs_rl.agents.scaling import EPSILON


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_moments_of_batches_equal_numpy_on_all_rows_together(sizes: list[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    batches = [random.normal(1e3, 2.0, size=(n, 2)).astype(np.float32) for n in [*sizes, 1]]
    moments = RunningMoments(2)
    for batch in batches:
        moments.update(batch)
    together = np.concatenate(batches).astype(np.float64)
    np.testing.assert_allclose(moments.mean, together.mean(0), rtol=1e-12)
    np.testing.assert_allclose(moments.deviation**2, together.var(0) + EPSILON, rtol=1e-8, atol=1e-10)


def test_updating_leaves_the_callers_rows_alone() -> None:
    rows = np.ones((3, 2), np.float64)
    RunningMoments(2).update(rows)
    assert (rows == 1.0).all()


def test_observations_come_out_with_mean_0_and_deviation_1_and_within_the_limit() -> None:
    random = np.random.default_rng(0)
    rows = random.normal((5.0, -100.0), (0.1, 30.0), size=(5000, 2)).astype(np.float32)
    normaliser = Normaliser(2, active=True)
    normaliser.update(rows)
    out = np.empty_like(rows)
    normaliser.apply(rows, out)
    np.testing.assert_allclose(out.mean(0), 0.0, atol=1e-3)
    np.testing.assert_allclose(out.std(0), 1.0, rtol=1e-3)
    normaliser.apply(np.array([[1e9, -1e9]], np.float32), out[:1])
    assert out[0].tolist() == [10.0, -10.0]


def test_a_normaliser_that_is_switched_off_copies() -> None:
    normaliser = Normaliser(2, active=False)
    rows = np.array([[50.0, -3.0]], np.float32)
    out = np.empty_like(rows)
    normaliser.update(rows)
    normaliser.apply(rows, out)
    assert (out == rows).all()
    assert normaliser.moments.count == 0


@pytest.mark.parametrize("with_invalid", [False, True])
def test_rewards_are_divided_by_the_deviation_of_returns_that_start_anew_with_each_episode(with_invalid: bool) -> None:
    random = np.random.default_rng(1)
    scaler, gamma = RewardScaler(4, 0.9, active=True), 0.9
    returns, seen = [0.0] * 4, []
    for _ in range(30):
        reward = random.normal(3.0, 2.0, size=4).astype(np.float32)
        ended, valid = random.random(4) < 0.2, random.random(4) < 0.8
        reward[~valid & with_invalid] = np.nan
        out = np.empty(4, np.float32)
        scaler.scale(reward, ended, valid if with_invalid else None, out)
        for row in range(4):
            good = bool(valid[row]) or not with_invalid
            if good:
                returns[row] = gamma * returns[row] + float(reward[row])
                seen.append(returns[row])
            if ended[row] or not good:
                returns[row] = 0.0
        for row in range(4):
            good = bool(valid[row]) or not with_invalid
            expected = min(max(float(reward[row]) / (np.var(seen) + 1e-8) ** 0.5, -10), 10) if good else 0.0
            assert float(out[row]) == pytest.approx(expected, rel=1e-4)

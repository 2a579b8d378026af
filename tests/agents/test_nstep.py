"""Returns over n ticks equal those of a loop that looks ahead along each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from ecs_rl.agents import Experience
from ecs_rl.agents.nstep import NStep

GAMMA = 0.9
ROWS, TICKS = 7, 60


@dataclass
class Played:
    """(ticks, rows) What happened; each observation is unlike any other, also that of the next episode's start."""

    observation: NDArray[np.float32]
    after: NDArray[np.float32]
    action: NDArray[np.float32]
    reward: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    valid: NDArray[np.bool_]

    def tick(self, t: int, *, all_valid: bool) -> Experience:
        return Experience(
            self.observation[t],
            self.action[t],
            self.reward[t],
            self.after[t],
            self.terminated[t],
            self.truncated[t],
            None if all_valid else self.valid[t],
        )


def played(seed: int, columns: int, *, end: float = 0.1, invalid: float = 0.1) -> Played:
    random = np.random.default_rng(seed)
    kind = random.random((TICKS, ROWS))
    numbers = np.arange(2 * TICKS * ROWS, dtype=np.float32).reshape(2, TICKS, ROWS)
    return Played(
        np.stack((numbers[0], -numbers[0]), axis=-1),
        np.stack((numbers[1], -numbers[1]), axis=-1),
        random.normal(size=(TICKS, ROWS, columns)).astype(np.float32),
        random.normal(size=(TICKS, ROWS)).astype(np.float32),
        kind < end,
        kind > 1 - end,
        random.random((TICKS, ROWS)) >= invalid,
    )


def slowly(p: Played, steps: int) -> dict[float, tuple[float, float, float]]:
    """Return, by the first number of the observation, that of what is seen last, the return and its discount.

    Only of transitions whose fate is known within the ticks that were played.
    """
    expected_rows = {}
    for row in range(ROWS):
        for t in range(TICKS):
            if not p.valid[t, row]:
                continue
            total, discount, last, known = 0.0, 1.0, t, False
            for s in range(t, TICKS):
                if not p.valid[s, row]:
                    known = True
                    break
                total += discount * float(p.reward[s, row])
                discount *= GAMMA
                last = s
                if p.terminated[s, row]:
                    discount = 0.0
                known = p.terminated[s, row] or p.truncated[s, row] or s - t + 1 == steps
                if known:
                    break
            if known:
                expected_rows[float(p.observation[t, row, 0])] = (float(p.after[last, row, 0]), total, discount)
    return expected_rows


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("invalid", [0.0, 0.15])
def test_every_transition_is_told_once_with_the_return_that_a_loop_finds(
    steps: int, columns: int, invalid: float
) -> None:
    p = played(steps, columns, invalid=invalid)
    waiting = NStep(steps, ROWS, 2, columns, GAMMA)
    complete = np.concatenate([waiting.add(p.tick(t, all_valid=not invalid)) for t in range(TICKS)])
    expected = slowly(p, steps)
    assert sorted(complete[:, 0].tolist()) == sorted(expected)
    actions = dict(zip(p.observation[..., 0].ravel().tolist(), p.action.reshape(-1, columns).tolist(), strict=True))
    for row in complete.tolist():
        after, total, discount = expected[row[0]]
        assert (row[1], row[2], row[3]) == (-row[0], after, -after)
        assert row[4 : 4 + columns] == actions[row[0]]
        assert row[-2] == pytest.approx(total, abs=1e-5)
        assert row[-1] == pytest.approx(discount, abs=1e-6)


def test_an_invalid_transition_may_hold_anything_and_is_in_no_return() -> None:
    clean, wild = NStep(3, ROWS, 2, 1, GAMMA), NStep(3, ROWS, 2, 1, GAMMA)
    p = played(0, 1, invalid=0.3)
    for t in range(TICKS):
        e = p.tick(t, all_valid=False)
        expected = clean.add(e)
        bad = ~p.valid[t]
        p.reward[t, bad], p.after[t, bad] = np.inf, np.nan
        p.terminated[t, bad] = ~p.terminated[t, bad]
        np.testing.assert_array_equal(wild.add(e), expected)
        assert np.isfinite(expected).all()


def test_what_is_cut_after_fewer_ticks_counts_on_from_its_own_last_sight() -> None:
    p = played(0, 1, end=0.0, invalid=0.0)
    p.reward[:] = 1.0
    p.truncated[1, 0] = p.terminated[1, 1] = True
    waiting = NStep(5, ROWS, 2, 1, GAMMA)
    assert len(waiting.add(p.tick(0, all_valid=True))) == 0
    complete = waiting.add(p.tick(1, all_valid=True))
    rows = {row[0]: row[2:] for row in complete.tolist()}
    cut, over = p.observation[:2, 0, 0].tolist(), p.observation[:2, 1, 0].tolist()
    assert sorted(rows) == sorted(cut + over)
    for first, reward, discount in ((cut[0], 1.9, 0.81), (cut[1], 1.0, 0.9), (over[0], 1.9, 0.0), (over[1], 1.0, 0.0)):
        assert rows[first][-2:] == pytest.approx([reward, discount])
        assert rows[first][0] == float(p.after[1, 0 if first in cut else 1, 0])

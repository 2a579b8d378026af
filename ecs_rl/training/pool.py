"""A pool of frozen policies and what each is worth: who enters, who leaves, and Elo ratings from games against them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch

from ecs_rl.agents.base import Agent, State
from ecs_rl.agents.state import Parts, check_loadable, copies, load, prefixed, under
from ecs_rl.errors import CheckpointError

START = 1200.0
"""The rating that everybody begins with."""
K = 8.0
"""Points that one game moves at most: a training plays thousands, and a small one leaves little noise."""
SCALE = 400.0
"""Points of difference at which ten of eleven games are won."""
EMPTY = -1


class Pool:
    """Frozen policies in a fixed number of slots, spread evenly over the steps at which they were taken.

    A game against a frozen policy moves both ratings by the same amount, after Elo: by K times what the learner scored
    (1 won, 0.5 drawn, 0 lost) less what was to be expected, 1 / (1 + 10 ** ((theirs - own) / 400)). A policy enters
    with the learner's rating.
    """

    def __init__(self, agents: Sequence[Agent]) -> None:
        self.agents = tuple(agents)
        """One for each slot; it plays once its slot is filled."""
        slots = len(self.agents)
        self._taken = torch.full((slots,), EMPTY, dtype=torch.int64)
        self._ratings = torch.full((slots + 2,), START, dtype=torch.float64)
        self.taken = self._taken.numpy()
        """(slots,) At how many steps each was frozen, EMPTY where there is none."""
        self.ratings = self._ratings.numpy()
        """(slots + 2,) Those of the slots, that of a fixed opponent, whose number is `fixed`, and the learner's."""
        self.fixed = slots

    @property
    def elo(self) -> float:
        """The learner's rating."""
        return float(self.ratings[-1])

    @property
    def filled(self) -> np.ndarray:
        """The numbers of the slots that hold a policy."""
        return np.flatnonzero(self.taken != EMPTY)

    def admit(self, policy: State, steps: int) -> int:
        """Freeze a policy as it is after so many steps; return its slot, whose policy leaves if no slot is free."""
        free = np.flatnonzero(self.taken == EMPTY)
        slot = int(free[0]) if len(free) else self._crowded(steps)
        self.agents[slot].load_policy_state(policy)
        self.taken[slot], self.ratings[slot] = steps, self.ratings[-1]
        return slot

    def _crowded(self, steps: int) -> int:
        """Return the slot without which the others lie most evenly; the oldest stays, and the newest comes anyway."""
        order = np.argsort(self.taken, kind="stable")
        if len(order) == 1:
            return 0
        times = np.append(self.taken[order], steps)
        return int(order[1 + np.argmin(times[2:] - times[:-2])])

    def rate(self, games: Iterable[tuple[int, float]]) -> list[float]:
        """Take in games of the learner, each the opponent's number and what it scored; return its rating after each."""
        ratings, after = self.ratings.tolist(), list[float]()
        for opponent, score in games:
            expected = 1.0 / (1.0 + 10.0 ** ((ratings[opponent] - ratings[-1]) / SCALE))
            ratings[-1] += K * (score - expected)
            ratings[opponent] -= K * (score - expected)
            after.append(ratings[-1])
        self.ratings[:] = ratings
        return after

    # --- its state --------------------------------------------------------------------------------------------------

    def _parts(self) -> Parts:
        return {"taken": self._taken, "ratings": self._ratings}

    def state(self) -> State:
        """Return ratings and the whole state of every frozen policy, its random numbers included; copies."""
        state = copies(self._parts())
        for slot in self.filled.tolist():
            state |= prefixed(str(slot), self.agents[slot].state())
        return state

    def load_state(self, state: State) -> None:
        """Go on with the pool that was saved; CheckpointError where it is none, or lacks one of its policies."""
        parts = self._parts()
        check_loadable(parts, {name: tensor for name, tensor in state.items() if "/" not in name})
        taken, ratings = state["taken"], state["ratings"]
        if int(taken.min()) < EMPTY or not bool(torch.isfinite(ratings).all()):
            raise CheckpointError("the saved pool is none: its steps or ratings cannot be; use another checkpoint")
        load(parts, state)
        for slot in self.filled.tolist():
            saved, who = under(str(slot), state), f"the opponent of step {self.taken[slot]}"
            if not saved:
                raise CheckpointError(f"the saved pool lacks {who}: use another checkpoint of the run")
            try:
                self.agents[slot].load_state(saved)
            except CheckpointError as error:
                raise CheckpointError(f"{who} in the saved pool cannot play: {error}") from error

"""Returns over several ticks, before they are replayed: what each row did last, until n ticks of rewards are known."""

from __future__ import annotations

import numpy as np
import torch

from ecs_rl.agents.base import State
from ecs_rl.agents.state import Attribute, Part
from ecs_rl.errors import CheckpointError
from ecs_rl.spaces import Experience, Floats


class NStep:
    """Transitions of (rows,) agents that become transitions over up to `steps` ticks.

    A told row is observation | what was seen last | action | discounted rewards | discount of what was seen last.
    Where an episode terminates that discount is 0. Where it is cut, and before an invalid transition, all that waits
    is told with the ticks that it has, and the discount is that of what this row itself saw last.
    """

    def __init__(self, steps: int, rows: int, observation: int, columns: int, gamma: float) -> None:
        self._n, self._columns, self.steps, self._gamma = observation, columns, steps, np.float32(gamma)
        waiting = rows if steps > 1 else 0  # with one tick nothing ever waits
        self._table = torch.zeros(steps, waiting, 2 * observation + columns + 2)
        self._open = torch.zeros(steps, waiting, dtype=torch.bool)
        self._last = torch.zeros(waiting, observation)
        self._slot = 0

    def add(self, e: Experience) -> Floats:
        """Take one tick's transitions; return (any, width) those that are now complete."""
        rows = self._rows_of(e)
        if self.steps == 1:
            return rows if e.valid is None else rows[e.valid]
        n, slot, oldest = self._n, self._slot, (self._slot + 1) % self.steps
        valid = np.ones(len(rows), bool) if e.valid is None else e.valid
        table, open_, last = self._table.numpy(), self._open.numpy(), self._last.numpy()

        grows = open_ & valid
        reward, discount = table[:, :, -2], table[:, :, -1]
        reward += np.where(grows, discount * np.where(valid, e.reward, np.float32(0)), np.float32(0))
        discount *= np.where(grows, self._gamma, np.float32(1))
        table[slot], open_[slot] = rows, valid
        last[valid] = rows[valid, n : 2 * n]
        discount[open_ & (e.terminated & valid)] = 0.0

        ready = open_ & (e.terminated | e.truncated | ~valid)
        ready[oldest] |= open_[oldest]
        complete = table[ready]
        complete[:, n : 2 * n] = last[ready.nonzero()[1]]
        open_[ready] = False
        self._slot = oldest
        return complete

    def _rows_of(self, e: Experience) -> Floats:
        """Return the tick's transitions as told rows over one tick, invalid ones included."""
        n, k = self._n, self._columns
        rows = np.empty((len(e.reward), 2 * n + k + 2), np.float32)
        rows[:, :n], rows[:, n : 2 * n] = e.observation, e.next_observation
        rows[:, 2 * n : 2 * n + k] = e.action.reshape(len(rows), k)
        rows[:, -2] = e.reward
        np.multiply(~e.terminated, self._gamma, out=rows[:, -1])
        return rows

    @property
    def parts(self) -> dict[str, Part]:
        """What waits, as parts of an agent's state."""
        return {"table": self._table, "open": self._open, "last": self._last, "slot": Attribute(self, "_slot")}

    def check(self, state: State) -> None:
        """Refuse a place in the ring that is none."""
        if not 0 <= int(state["slot"]) < self.steps:
            raise CheckpointError(f"the saved agent goes on at tick {int(state['slot'])} of {self.steps}")

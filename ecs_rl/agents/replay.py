"""The newest transitions, as one ring of rows that are written and drawn many at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecs_rl.agents.base import State
from ecs_rl.agents.state import Attribute, Filled, Part
from ecs_rl.agents.sum_tree import SumTree
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.spaces import Floats

MOST_BYTES = 8 << 30
"""Of a whole replay memory."""
DEMONSTRATED_SHARE = 4
"""One of so many transitions that are drawn is of those that stay, where there are any."""
SMALLEST_ERROR = 1e-3
"""Added to every error, so that a transition that is known by heart is still replayed now and then."""


class Batch(NamedTuple):
    """Drawn transitions; all but `rows` and `weight` are views into memory that the next draw overwrites."""

    observation: Tensor
    """(count, numbers)"""
    next_observation: Tensor
    """(count, numbers) What was seen last of it, one or more ticks later."""
    action: Tensor
    """(count, columns) float32, which holds the number of a choice exactly."""
    reward: Tensor
    """(count,) The discounted rewards of its ticks."""
    discount: Tensor
    """(count,) What the next observation's value counts for: 0 where the episode terminated."""
    rows: NDArray[np.int64]
    """(count,) Where they lie in the ring."""
    weight: Floats | None
    """(count,) What each one's loss counts for, at most 1; None where all were equally probable."""


class Replay:
    """A ring of transitions in a row each: observation | next observation | action | reward | discount.

    One table instead of five arrays, since a minibatch is then gathered in one call. With a `priority` above 0
    transitions are drawn in proportion to their last error to that power (Schaul et al. 2016), new ones at the largest
    error so far; with 0 all alike.
    """

    def __init__(self, capacity: int, observation: int, columns: int, priority: float = 0.0) -> None:
        self.capacity = capacity
        self.columns = columns
        self.size = 0
        self.next = 0
        self.demonstrated = 0
        """How many of the first rows are demonstrations, which stay, and of which a quarter of each draw is made."""
        self._n, self._priority = observation, priority
        width = 4 * (2 * observation + columns + 2)
        if capacity * width > MOST_BYTES:
            size = f"a replay memory of {capacity:,} transitions of {observation:,} numbers takes"
            fits = f"at most {MOST_BYTES // width:,} fit into {MOST_BYTES >> 30}"
            raise CommandError(f"{size} {capacity * width / 2**30:,.0f} GB: {fits} (the setting memory)")
        self._table = torch.zeros(capacity, 2 * observation + columns + 2)
        self._array = self._table.numpy()
        self._drawn = np.zeros((0, self._table.shape[1]), np.float32)
        self._views: tuple[Tensor, ...] = ()  # of the parts of a drawn row
        self._tree = SumTree(capacity) if priority else None
        self._largest = torch.ones(1, dtype=torch.float64)  # weight of a new transition

    def add(self, rows: Floats) -> None:
        """Store (any, width) transitions, the newest over the oldest."""
        ring = self.capacity - self.demonstrated
        rows = rows[-ring:]
        first = min(len(rows), self.capacity - self.next)
        self._array[self.next : self.next + first] = rows[:first]
        self._array[self.demonstrated : self.demonstrated + len(rows) - first] = rows[first:]
        if self._tree is not None and len(rows):
            places = (self.next - self.demonstrated + np.arange(len(rows))) % ring + self.demonstrated
            self._tree.set(places, float(self._largest))
        self.next = (self.next - self.demonstrated + len(rows)) % ring + self.demonstrated
        self.size = min(self.size + len(rows), self.capacity)

    def keep(self, rows: Floats, imitated: NDArray[np.bool_]) -> int:
        """Store (any, width) transitions, of which the `imitated` ones stay: half of the memory at most.

        Returns how many stay. The memory must be empty.
        """
        staying = rows[imitated][-self.capacity // 2 :]
        self.add(staying)
        self.demonstrated = len(staying)
        self.add(rows[~imitated])
        return self.demonstrated

    def draw(self, count: int, generator: torch.Generator, correction: float = 1.0) -> Batch:
        """Return random transitions; `correction` is the exponent of the importance weights, 0 for none.

        An empty memory gives transitions of zeros, which must count for nothing.
        """
        weight = None
        if self._tree is None or not self.size:
            rows = torch.randint(max(1, self.size), (count,), generator=generator).numpy()
        else:
            rows = self._tree.draw(torch.rand(count, generator=generator, dtype=torch.float64).numpy())
        if self.demonstrated:
            some = count // DEMONSTRATED_SHARE
            rows[:some] = torch.randint(self.demonstrated, (some,), generator=generator).numpy()
        if self._tree is not None:
            weight = importance(self._tree.weights[rows], correction) if self.size else np.ones(count, np.float32)
        if len(self._drawn) != count:
            self._allot(count)
        self._array.take(rows, axis=0, out=self._drawn, mode="clip")
        observation, following, action, reward, discount = self._views
        return Batch(observation, following, action, reward, discount, rows, weight)

    def _allot(self, count: int) -> None:
        n, drawn = self._n, torch.zeros(count, self._table.shape[1])
        self._drawn = drawn.numpy()
        self._views = (drawn[:, :n], drawn[:, n : 2 * n], drawn[:, 2 * n : -2], drawn[:, -2], drawn[:, -1])

    def learned(self, rows: NDArray[np.int64], error: Floats) -> None:
        """Note how wrong the learner was about these transitions: (count,) errors, not negative and finite."""
        if self._tree is not None and self.size:
            weights = (error.astype(np.float64) + SMALLEST_ERROR) ** self._priority
            self._tree.set(rows, weights)
            self._largest.clamp_(min=float(weights.max()))

    @property
    def parts(self) -> dict[str, Part]:
        """The rows filled so far and where the next one goes, as parts of an agent's state."""
        parts: dict[str, Part] = {"rows": Filled(self, self._table), "next": Attribute(self, "next")}
        if self._tree is not None:
            weights = Filled(self, torch.from_numpy(self._tree.weights))
            parts |= {"weights": weights, "largest": self._largest}
        return parts

    def refresh(self) -> None:
        """Make the sums anew, once the parts have been loaded."""
        if self._tree is not None:
            rows = np.arange(self.capacity)
            self._tree.set(rows, np.where(rows < self.size, self._tree.weights, 0.0))

    def check(self, state: State) -> None:
        """Refuse parts that no memory of this capacity can have."""
        rows, following = len(state["rows"]), int(state["next"])
        if rows > self.capacity or not 0 <= following < self.capacity or rows not in (self.capacity, following):
            raise CheckpointError(
                f"the saved replay memory holds {rows} transitions and goes on at {following}; "
                f"this agent's holds up to {self.capacity}"
            )
        weights = state.get("weights", torch.ones(rows))
        fine = bool((torch.isfinite(weights) & (weights > 0)).all()) and 0 < float(state.get("largest", 1)) < np.inf
        if len(weights) != rows or not fine:
            raise CheckpointError(f"the saved replay memory has priorities that its {rows} transitions cannot have")


def importance(weights: NDArray[np.float64], correction: float) -> Floats:
    """Return what makes up for being drawn in proportion to `weights`: their inverse to a power, at most 1."""
    share: NDArray[np.float64] = weights.min() / weights
    return (share**correction).astype(np.float32)

"""The newest transitions, as one ring of rows that are written and drawn many at a time."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ecs_rl.agents.base import Experience, State
from ecs_rl.agents.state import Attribute, Filled, Part
from ecs_rl.errors import CheckpointError


class Replay:
    """A ring of transitions with discrete actions: observation, next observation, action, reward, terminated in a row.

    One table instead of five arrays, since a minibatch is then gathered in one call; float32 holds an action exactly.
    """

    def __init__(self, capacity: int, observation: int) -> None:
        self.capacity = capacity
        self.size = 0
        self.next = 0
        self._n = observation
        self._table = torch.zeros(capacity, 2 * observation + 3)
        self._array = self._table.numpy()

    def add(self, e: Experience) -> int:
        """Store the valid transitions, the newest over the oldest; return how many they were."""
        n = self._n
        rows = np.empty((len(e.reward), 2 * n + 3), np.float32)
        rows[:, :n], rows[:, n : 2 * n] = e.observation, e.next_observation
        rows[:, -3], rows[:, -2], rows[:, -1] = e.action, e.reward, e.terminated
        if e.valid is not None:
            rows = rows[e.valid]
        added = len(rows)
        rows = rows[-self.capacity :]
        first = min(len(rows), self.capacity - self.next)
        self._array[self.next : self.next + first] = rows[:first]
        self._array[: len(rows) - first] = rows[first:]
        self.next = (self.next + len(rows)) % self.capacity
        self.size = min(self.size + len(rows), self.capacity)
        return added

    def draw(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Return observation, next observation, action, reward and terminated (0 or 1) of random transitions."""
        rows = self._table.index_select(0, torch.randint(self.size, (count,), generator=generator))
        n = self._n
        return rows[:, :n], rows[:, n : 2 * n], rows[:, -3].long(), rows[:, -2], rows[:, -1]

    @property
    def parts(self) -> dict[str, Part]:
        """The rows filled so far and where the next one goes, as parts of an agent's state."""
        return {"table": Filled(self, self._table), "next": Attribute(self, "next")}

    def check(self, state: State, choices: int) -> None:
        """Refuse parts that no memory of this capacity can have, and actions that none of the choices is."""
        table, following = state["table"], int(state["next"])
        full = len(table) == self.capacity
        if len(table) > self.capacity or not 0 <= following < self.capacity or not (full or following == len(table)):
            raise CheckpointError(
                f"the saved replay memory holds {len(table)} transitions and goes on at {following}; "
                f"this agent's holds up to {self.capacity}"
            )
        action = table[:, -3]
        if not bool(((action >= 0) & (action < choices)).all()):
            raise CheckpointError(f"the saved replay memory holds actions that none of the {choices} choices is")

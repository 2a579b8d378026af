"""What all rows did since the last update, tick by tick, and the advantages that follow from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecs_rl.agents.base import State
from ecs_rl.agents.state import Attribute, Filled, Part, check_count, prefixed
from ecs_rl.errors import CheckpointError
from ecs_rl.spaces import Bools, Floats


class Rollout:
    """Preallocated (ticks, rows, ...) tensors; torch makes them, since aligned memory gives the same sums every run."""

    def __init__(self, ticks: int, observation: int, action: Tensor, state: int = 0, lead: int = 0) -> None:
        """Make room for (ticks, rows) transitions; `action` is (rows, ...) zeros of the form of an action.

        What remembers sets out from so many ticks, at most all, at the end of the rollout before.
        """
        self.ticks, self.rows, self.size = ticks, len(action), 0
        rows = self.rows
        self.tensors: dict[str, Tensor] = {
            "observation": torch.zeros(ticks, rows, observation),
            "action": torch.zeros(ticks, *action.shape, dtype=action.dtype),
            "log_prob": torch.zeros(ticks, rows),
            "value": torch.zeros(ticks, rows),
            "reward": torch.zeros(ticks, rows),
            "final_value": torch.zeros(ticks, rows),
            "ended": torch.zeros(ticks, rows, dtype=torch.bool),
            "valid": torch.zeros(ticks, rows, dtype=torch.bool),
            "advantage": torch.zeros(ticks, rows),
            "returns": torch.zeros(ticks, rows),
        }
        self.arrays: dict[str, NDArray[Any]] = {name: t.numpy() for name, t in self.tensors.items()}
        self.last_observation = torch.zeros(rows, observation)
        self.first_state, self.last_state = torch.zeros(rows, state), torch.zeros(rows, state)
        """(rows, state) What was remembered before the first tick, and after the last."""
        self.lead = Lead(lead, rows, observation, state)

    @property
    def is_full(self) -> bool:
        """Tell whether an update is due."""
        return self.size == self.ticks

    def finish(self, last_value: Floats, gamma: float, lam: float) -> None:
        """Compute advantages and returns of the full rollout; `last_value` is V of what came after its last tick."""
        a = self.arrays
        following = np.concatenate([a["value"][1:], last_value[None]])
        following = np.where(a["ended"], a["final_value"], following)
        a["advantage"][:] = advantages(a["reward"], a["value"], following, a["ended"], a["valid"], gamma=gamma, lam=lam)
        torch.add(self.tensors["advantage"], self.tensors["value"], out=self.tensors["returns"])

    def sequences(self, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return (ticks, chosen) observations, (chosen, state) what was remembered before, and where episodes begin.

        The ticks of the lead, if there is one, come first.
        """
        lead, state = self.lead, self.first_state
        x, begins = (each.index_select(1, chosen) for each in (self.tensors["observation"], self.begins))
        if lead.size:
            before = lead.begins.index_select(1, chosen)
            begins[0] = before[-1]
            x = torch.cat([lead.observation.index_select(1, chosen), x])
            state, begins = lead.state, torch.cat([before[:-1], begins])
        return x, state.index_select(0, chosen), begins

    def note_state(self, state: Floats) -> None:
        """Take (rows, state) of what is remembered before the tick that comes now."""
        if self.size == 0:
            self.first_state.numpy()[...] = state
        if self.size == self.ticks - self.lead.ticks:
            self.lead.coming.numpy()[...] = state

    def clear(self) -> None:
        """Make room for the next ticks, and keep the last ones as their lead; no value is known of those to come."""
        self.lead.take(self)
        self.tensors["value"].zero_()
        self.size = 0

    @property
    def begins(self) -> Tensor:
        """(ticks, rows) Whether an episode begins with a tick that is not the first: nothing was remembered there."""
        begins = torch.zeros(self.ticks, self.rows, dtype=torch.bool)
        begins[1:] = (self.tensors["ended"] | ~self.tensors["valid"])[:-1]
        return begins

    def flat(self, name: str) -> Tensor:
        """Return one of the tensors with ticks and rows as one dimension."""
        return self.tensors[name].flatten(0, 1)

    @property
    def parts(self) -> dict[str, Part]:
        """The ticks filled so far, as parts of an agent's state."""
        filled = {name: Filled(self, tensor) for name, tensor in self.tensors.items()}
        states = {"first_state": self.first_state, "last_state": self.last_state} if self.first_state.numel() else {}
        return {**filled, **states, **prefixed("lead", self.lead.parts), "last_observation": self.last_observation}

    def check(self, state: State) -> None:
        """Refuse parts that are longer than this rollout, or not of one length."""
        lengths = {len(state[name]) for name in self.tensors}
        if len(lengths) > 1 or max(lengths) > self.ticks:
            raise CheckpointError(f"the saved rollout holds {sorted(lengths)} ticks, this agent's {self.ticks}")
        if self.lead.ticks:
            check_count(state, "lead/size", self.lead.ticks)


class Lead:
    """The last ticks of the rollout before, which a memory plays again so that it is what today's weights make of it.

    There are none before the first rollout is over.
    """

    def __init__(self, ticks: int, rows: int, observation: int, state: int) -> None:
        self.ticks, self.size = ticks, 0
        self.observation = torch.zeros(ticks, rows, observation)
        self.begins = torch.zeros(ticks + 1, rows, dtype=torch.bool)
        """(ticks + 1, rows) Whether an episode begins with each tick, and with the one after them."""
        self.state, self.coming = torch.zeros(rows, state), torch.zeros(rows, state)
        """(rows, state) What was remembered before the ticks, and before those that will be the next lead."""

    def take(self, rollout: Rollout) -> None:
        """Keep the last ticks of a rollout."""
        if not self.ticks:
            return
        self.observation.copy_(rollout.tensors["observation"][-self.ticks :])
        self.begins[0] = False  # what was remembered there is known
        self.begins[1:] = (rollout.tensors["ended"] | ~rollout.tensors["valid"])[-self.ticks :]
        self.state.copy_(self.coming)
        self.size = self.ticks

    @property
    def parts(self) -> dict[str, Part]:
        """What there is of it, as parts of an agent's state."""
        if not self.ticks:
            return {}
        names = ("observation", "begins", "state", "coming")
        return {"size": Attribute(self, "size"), **{name: getattr(self, name) for name in names}}


def advantages(
    reward: Floats, value: Floats, following: Floats, ended: Bools, valid: Bools, *, gamma: float, lam: float
) -> Floats:
    """Return the generalised advantage estimate (Schulman 2016) of every (tick, row).

    `following` is the next observation's value: 0 for a row that terminated, V of its last observation for one
    that was cut. No estimate reaches back over an episode's end or over an invalid row, whose own estimate is 0.
    """
    advantage = np.where(valid, reward + np.float32(gamma) * following - value, np.float32(0))
    decay = np.where(valid & ~ended, np.float32(gamma * lam), np.float32(0))
    for t in range(len(advantage) - 2, -1, -1):
        advantage[t] += decay[t] * advantage[t + 1]
    return advantage

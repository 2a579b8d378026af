"""Behaviour cloning: what was demonstrated, as examples of what to do and of what came of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecs_rl.agents.actor_critic import Seen, Sequences
from ecs_rl.agents.base import Demonstration
from ecs_rl.agents.heads import Head
from ecs_rl.agents.normalise import Normaliser, RewardScaler
from ecs_rl.agents.scaling import LIMIT
from ecs_rl.errors import CheckpointError
from ecs_rl.spaces import Floats

STEPS = 500
"""Gradient steps."""
EXAMPLES = 256
"""In one gradient step."""
VARIETY = 0.02
"""Weight of the entropy: a policy that is sure of all it was shown would try nothing else afterwards."""
LEAST_LOG_STD = -1.5
"""Of each lever's spread, for the same reason."""
NEAR = 0.25
"""Two settings of a lever that are no further apart are alike."""
KNOWN = 0.05
"""Once what was still to come counts less than this, a return is as good as known."""


@dataclass(frozen=True)
class Examples:
    """Ticks of all episodes, one after the other, or (ticks, episodes) for a network with a memory."""

    observation: Tensor
    """Normalised."""
    action: Tensor
    returns: Tensor
    """Discounted, in the unit of the agent's values."""
    known: Tensor
    """Where the return is known: not towards the end of an episode that nothing ended."""
    counts: Tensor
    """Where the action is to be imitated."""

    @classmethod
    def of(
        cls,
        episodes: Sequence[Demonstration],
        normaliser: Normaliser,
        rewards: RewardScaler | None,
        gamma: float,
        *,
        memory: bool = False,
    ) -> Examples:
        """Take everything that was shown into the running statistics, and return it by their scale.

        Without a scaler of rewards returns are in the reward's own unit.
        """
        for episode in episodes:
            normaliser.update_alike(episode.observation)
            if rewards is not None:
                rewards.take(episode.reward)
        seen = [np.empty_like(episode.observation) for episode in episodes]
        for episode, out in zip(episodes, seen, strict=True):
            normaliser.apply(episode.observation, out=out)
        unit = None if rewards is None else float(rewards.unit)
        results = [_returns(episode, gamma, unit) for episode in episodes]
        join = _side_by_side if memory else np.concatenate
        return cls(
            torch.from_numpy(join(seen)),
            torch.from_numpy(join([episode.action for episode in episodes])),
            torch.from_numpy(join([returns for returns, _ in results])),
            torch.from_numpy(join([known for _, known in results])),
            torch.from_numpy(join([episode.imitated for episode in episodes])),
        )

    def batches(self, random: torch.Generator, state: int = 0, steps: int = STEPS) -> Iterator[Batch]:
        """Yield what each gradient step learns from: again and again all examples, of sequences all at once."""
        rows, parts = self.counts.flatten().nonzero().squeeze(1), list[Tensor]()
        flat = [tensor.flatten(0, self.counts.ndim - 1) for tensor in (self.action, self.returns, self.known)]
        begins = torch.zeros(self.counts.shape, dtype=torch.bool)
        for _ in range(steps):
            if state:
                first = torch.zeros(self.counts.shape[1], state)
                yield Batch(Sequences(self.observation, first, begins, rows), *(each[rows] for each in flat))
                continue
            if not parts:
                shuffled = rows[torch.randperm(len(rows), generator=random)]
                parts = list(shuffled.tensor_split(-(-len(rows) // EXAMPLES)))
            part = parts.pop()
            yield Batch(self.observation[part], *(each[part] for each in flat))


@dataclass(frozen=True)
class Batch:
    """What one gradient step learns from."""

    seen: Seen
    action: Tensor
    returns: Tensor
    known: Tensor

    @property
    def columns(self) -> Floats:
        """Return (rows, columns) the actions as a replay memory holds them."""
        return self.action.numpy().reshape(len(self.action), -1).astype(np.float32)

    def policy_step(self, head: Head, rows: slice, output: Tensor) -> tuple[Tensor, Tensor]:
        """Return the share of actions that are done alike, of all, and the gradient towards what was shown."""
        n, rows_here = len(self.action), rows.stop - rows.start
        head.forward(output, self.action[rows])
        grad = head.backward(torch.full((rows_here,), -1.0 / n), -VARIETY * rows_here / n)
        return alike(head.best(output), self.action[rows]) * (rows_here / n), grad

    def value_step(self, rows: slice, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean squared error of the values where the return is known, and half its gradient by each."""
        n = len(self.action)
        error = torch.where(self.known[rows], value - self.returns[rows], 0.0)
        return torch.dot(error, error) / n, error / n


def transitions(episodes: Sequence[Demonstration], n_step: int, gamma: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Return all ticks as a replay memory holds them, (any, width), and which of them are to be imitated.

    What an episode ended with is not known: where a rule ended it that does not count, and elsewhere its last tick is
    left out.
    """
    parts, imitated = list[Floats](), list[NDArray[np.bool_]]()
    for episode in episodes:
        last = max(0, len(episode) - (not episode.terminated))
        t = np.arange(last)
        end = np.minimum(t + n_step, last)
        reward = np.zeros(last)
        for i in range(n_step):
            reward += np.where(t + i < end, gamma**i * episode.reward[np.minimum(t + i, last - 1)], 0.0)
        discount = np.where((end == last) & episode.terminated, 0.0, gamma ** (end - t))
        after = episode.observation[np.minimum(end, len(episode) - 1)]
        action = episode.action[:last].reshape(last, math.prod(episode.action.shape[1:]))
        row = (episode.observation[:last], after, action, reward[:, None], discount[:, None])
        parts.append(np.concatenate(row, axis=1).astype(np.float32))
        imitated.append(episode.imitated[:last])
    return np.concatenate(parts), np.concatenate(imitated)


def check_held(held: Tensor, rows: int) -> None:
    """Refuse what cannot be kept of what was shown: how many of the memory's rows, and how strongly it is held to."""
    count, weight = held.tolist()
    if not (0 <= count <= rows and count == int(count) and 0 <= weight < math.inf):
        amounts = f"{count:g} of {rows} transitions, with a weight of {weight:g}"
        raise CheckpointError(f"the saved agent holds on to what was shown, {amounts}: use another checkpoint")


def alike(action: Tensor, wanted: Tensor) -> Tensor:
    """Return the share of the rows in which every choice is the wanted one, and every lever is set about alike."""
    rows = len(wanted)
    near = (action.to(torch.float32).reshape(rows, -1) - wanted.reshape(rows, -1)).abs() <= NEAR
    return near.all(1).to(torch.float32).mean()


def _returns(episode: Demonstration, gamma: float, unit: float | None) -> tuple[Floats, NDArray[np.bool_]]:
    """Return what each tick's action led to, discounted, and where that is known."""
    rewards = episode.reward.astype(np.float64)
    if unit is not None:
        rewards = np.clip(rewards / unit, -LIMIT, LIMIT)
    returns, following = np.empty(len(rewards)), 0.0
    for t in range(len(rewards) - 1, -1, -1):
        returns[t] = following = rewards[t] + gamma * following
    still = gamma ** np.arange(len(rewards), 0, -1.0)
    return returns.astype(np.float32), (still < KNOWN) | episode.terminated


def _side_by_side(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return (ticks, episodes, ...), zeros after an episode's end."""
    whole = np.zeros((max(map(len, parts)), len(parts), *parts[0].shape[1:]), parts[0].dtype)
    for number, part in enumerate(parts):
        whole[: len(part), number] = part
    return whole

"""Running statistics that bring observations and rewards to a scale that networks like."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecs_rl.agents.scaling import LIMIT, Groups, deviation
from ecs_rl.distributed.group import ALONE, Group
from ecs_rl.spaces import Bools, Floats, Layout

SETTLED = 1e15
"""Settled statistics count for this number of rows, so that later rows do not move them."""


class RunningMoments:
    """Mean and variance of all rows so far, by Chan's parallel update in float64."""

    def __init__(self, width: int) -> None:
        self.count = np.zeros(())
        self.mean = np.zeros(width)
        self.squares = np.zeros(width)
        """The sum of squared deviations from the mean."""

    @property
    def parts(self) -> dict[str, Tensor]:
        """The statistics, as parts of an agent's state."""
        named = {"count": self.count, "mean": self.mean, "squares": self.squares}
        return {name: torch.from_numpy(array) for name, array in named.items()}

    def update(self, rows: NDArray[np.floating]) -> None:
        """Take in a batch of rows."""
        n = len(rows)
        if n == 0:
            return
        rows = rows.astype(np.float64)
        mean = rows.sum(0) / n
        rows -= mean
        self.add(n, mean, np.einsum("ij,ij->j", rows, rows))

    def add(self, count: float, mean: NDArray[np.float64], squares: NDArray[np.float64]) -> None:
        """Take in rows of which only these moments are known."""
        delta = mean - self.mean
        total = self.count + count
        self.squares += squares + delta * delta * (self.count * count / total)
        self.mean += delta * (count / total)
        self.count[...] = total

    def settle(self) -> None:
        """Let the statistics stay as they are, whatever rows come later and whoever loads them."""
        if self.count:
            self.squares *= SETTLED / self.count
            self.count[...] = SETTLED

    @property
    def deviation(self) -> NDArray[np.float64]:
        """The standard deviation of each number, a trifle more than 0; 1 before the first batch."""
        return deviation(self.count, self.squares)


class SharedMoments(RunningMoments):
    """The moments of what all processes have seen. What one sees alone waits in `own` until they put it together.

    So all processes scale alike at any time. In a group of one nothing waits.
    """

    def __init__(self, width: int, group: Group) -> None:
        super().__init__(width)
        self.own = self if group.size == 1 else RunningMoments(width)


def put_together(group: Group, moments: Sequence[SharedMoments]) -> None:
    """Take what each process has seen into the moments of all, in the order of the processes."""
    waiting = [each.own for each in moments]
    message = np.concatenate([np.concatenate([own.count.reshape(1), own.mean, own.squares]) for own in waiting])
    for part in group.everyone(message.tobytes()):
        numbers, at = np.frombuffer(part, np.float64), 0
        for common in moments:
            count, width = numbers[at], len(common.mean)
            if count:
                common.add(float(count), numbers[at + 1 : at + 1 + width], numbers[at + 1 + width : at + 1 + 2 * width])
            at += 1 + 2 * width
    for own in waiting:
        own.count[...], own.mean[...], own.squares[...] = 0.0, 0.0, 0.0


class Normaliser:
    """Shifts and scales observations by their running mean and deviation; switched off it copies them."""

    def __init__(
        self, width: int, active: bool, layout: Layout = (), plain: Sequence[int] = (), group: Group = ALONE
    ) -> None:
        """Take so many numbers, all but the `plain` ones scaled; a `layout` shares statistics: see `Groups`."""
        self.moments = SharedMoments(width, group)
        self.active = active
        self._groups = Groups(layout, width, plain)
        self.refresh()

    def refresh(self) -> None:
        """Go by the statistics as they are now."""
        self._mean, self._scale = self._groups.scales(self.moments.mean, self.moments.deviation)

    def update(self, observation: Floats) -> None:
        """Take a batch of observations of this process into the statistics."""
        if self.active:
            self.moments.own.update(observation)
            if self.moments.own is self.moments:
                self.refresh()

    def update_alike(self, observation: Floats) -> None:
        """Take in a batch that all processes have."""
        if self.active:
            self.moments.update(observation)
            self.refresh()

    def apply(self, observation: Floats, out: Floats) -> None:
        """Write the normalised observations into `out`."""
        if not self.active:
            np.copyto(out, observation)
            return
        numbers = observation.shape[1]  # or fewer, the first ones
        np.subtract(observation, self._mean[:numbers], out=out)
        np.multiply(out, self._scale[:numbers], out=out)
        _limit(out)


class RewardScaler:
    """Divides rewards by the running deviation of the discounted return; the mean stays, it has meaning."""

    def __init__(self, rows: int, gamma: float, active: bool, group: Group = ALONE) -> None:
        self.moments = SharedMoments(1, group)
        self.returns = np.zeros(rows)
        """(rows,) What each row's episode has earned so far, discounted."""
        self._gamma = gamma
        self._active = active
        self.unit = np.ones(())
        """What a scaled reward of 1 is in the reward's own units; NaN in an older policy, until it learns on."""
        self.refresh()

    def refresh(self) -> None:
        """Go by the statistics as they are now."""
        self.unit[...] = self.moments.deviation[0] if self._active else 1.0

    def scale(self, reward: Floats, ended: Bools, valid: Bools | None, out: Floats) -> None:
        """Take one tick's rewards into the statistics and write them, scaled, into `out`; invalid rows become 0."""
        if valid is not None:
            reward = np.where(valid, reward, np.float32(0))
            ended = ended | ~valid
        if not self._active:
            self.refresh()
            np.copyto(out, reward)
            return
        self.returns *= self._gamma
        self.returns += reward
        self.moments.own.update(self.returns[:, None] if valid is None else self.returns[valid, None])
        self.returns[ended] = 0.0
        if self.moments.own is self.moments:
            self.refresh()
        np.multiply(reward, 1.0 / self.unit, out=out, casting="same_kind")
        _limit(out)

    def take(self, rewards: Floats) -> None:
        """Take a whole episode's (ticks,) rewards, which all processes have, into the statistics."""
        if self._active:
            returns, so_far = np.empty((len(rewards), 1)), 0.0
            for t, reward in enumerate(rewards.tolist()):
                returns[t] = so_far = self._gamma * so_far + reward
            self.moments.update(returns)
        self.refresh()

    @property
    def parts(self) -> dict[str, Tensor]:
        """The statistics and each row's return, as parts of an agent's state."""
        return {**self.moments.parts, "returns": torch.from_numpy(self.returns)}


def _limit(out: Floats) -> None:
    np.minimum(out, LIMIT, out=out)
    np.maximum(out, -LIMIT, out=out)

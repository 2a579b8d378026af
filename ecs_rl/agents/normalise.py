"""Running statistics that bring observations and rewards to a scale that networks like."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecs_rl.agents.base import Bools, Floats, State

LIMIT = 10.0
"""Nothing normalised leaves this range, so that one wild value cannot wreck a gradient."""
EPSILON = 1e-8


class RunningMoments:
    """Mean and variance of all rows so far, by Chan's parallel update in float64."""

    def __init__(self, width: int) -> None:
        self.count = 0.0
        self.mean = np.zeros(width)
        self.squares = np.zeros(width)

    def update(self, rows: NDArray[np.floating]) -> None:
        """Take in a batch of rows."""
        n = len(rows)
        if n == 0:
            return
        rows = rows.astype(np.float64)
        mean = rows.sum(0) / n
        rows -= mean
        delta = mean - self.mean
        total = self.count + n
        self.squares += np.einsum("ij,ij->j", rows, rows) + delta * delta * (self.count * n / total)
        self.mean += delta * (n / total)
        self.count = total

    @property
    def variance(self) -> NDArray[np.float64]:
        """The population variance of each number; 1 before the first batch."""
        return self.squares / self.count if self.count else np.ones_like(self.squares)

    def state(self) -> State:
        """Return copies of the count, the mean and the sum of squared deviations."""
        return {
            "count": torch.tensor(self.count, dtype=torch.float64),
            "mean": torch.from_numpy(self.mean.copy()),
            "squares": torch.from_numpy(self.squares.copy()),
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over statistics that are known to fit."""
        self.count = float(state["count"])
        self.mean[:] = state["mean"].numpy()
        self.squares[:] = state["squares"].numpy()


class Normaliser:
    """Shifts and scales observations by their running mean and deviation; switched off it copies them."""

    def __init__(self, width: int, active: bool) -> None:
        self.moments = RunningMoments(width)
        self.active = active
        self._refresh()

    def update(self, observation: Floats) -> None:
        """Take a batch of observations into the statistics."""
        if self.active:
            self.moments.update(observation)
            self._refresh()

    def apply(self, observation: Floats, out: Floats) -> None:
        """Write the normalised observations into `out`."""
        if not self.active:
            np.copyto(out, observation)
            return
        np.subtract(observation, self._mean, out=out)
        np.multiply(out, self._scale, out=out)
        np.minimum(out, LIMIT, out=out)
        np.maximum(out, -LIMIT, out=out)

    def state(self) -> State:
        """Return copies of the statistics."""
        return self.moments.state()

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over statistics that are known to fit."""
        self.moments.load_state(state)
        self._refresh()

    def _refresh(self) -> None:
        self._mean = self.moments.mean.astype(np.float32)
        self._scale = (1.0 / np.sqrt(self.moments.variance + EPSILON)).astype(np.float32)


class RewardScaler:
    """Divides rewards by the running deviation of the discounted return; the mean stays, it has meaning."""

    def __init__(self, rows: int, gamma: float, active: bool) -> None:
        self.moments = RunningMoments(1)
        self.returns = np.zeros(rows)
        self._gamma = gamma
        self._active = active

    def scale(self, reward: Floats, ended: Bools, valid: Bools | None, out: Floats) -> None:
        """Take one tick's rewards into the statistics and write them, scaled, into `out`; invalid rows become 0."""
        if valid is not None:
            reward = np.where(valid, reward, np.float32(0))
            ended = ended | ~valid
        if not self._active:
            np.copyto(out, reward)
            return
        self.returns *= self._gamma
        self.returns += reward
        self.moments.update(self.returns[:, None] if valid is None else self.returns[valid, None])
        self.returns[ended] = 0.0
        np.multiply(reward, 1.0 / self._deviation, out=out, casting="same_kind")
        np.minimum(out, LIMIT, out=out)
        np.maximum(out, -LIMIT, out=out)

    @property
    def unit(self) -> float:
        """What a scaled reward of 1 is in the reward's own units, at present."""
        return float(self._deviation[0]) if self._active else 1.0

    @property
    def _deviation(self) -> NDArray[np.float64]:
        return np.asarray(np.sqrt(self.moments.variance + EPSILON))

    def state(self) -> State:
        """Return copies of the statistics and of each row's return so far."""
        return {**self.moments.state(), "returns": torch.from_numpy(self.returns.copy())}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over statistics that are known to fit."""
        self.moments.load_state(state)
        self.returns[:] = state["returns"].numpy()

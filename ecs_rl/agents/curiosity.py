"""Curiosity: a reward for what is new (random network distillation, Burda et al. 2018).

One network with random weights never changes. Another one learns to predict its outputs f(s') from what is seen. Where
the prediction errs, the policy has not been often:

    error e(s') = | g(s') - f(s') |^2
    bonus(s')   = (e - mean of e) / deviation of e, of the newest ticks

Less than the mean costs what more than the mean pays, so that neither long nor short lives are rewarded for their
length. The bonus never fades: it goes by what is newest of all that is seen now.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ecs_rl.agents.networks import MLP, Adam, Parameters
from ecs_rl.agents.scaling import LIMIT
from ecs_rl.agents.state import Parts, prefixed
from ecs_rl.distributed.group import ALONE, Group
from ecs_rl.spaces import Bools, Floats

FEATURES, WIDTH = 32, 64
"""Outputs of both networks, and the width of their hidden layers."""
ADAM_EPSILON, TINY = 1e-8, 1e-30
SHARE = 4
"""The predictor learns from one of so many transitions: else nothing is new for long."""
TICKS = 1000
"""Over which mean and deviation of the error run."""


class Curiosity:
    """Pays a bonus for what is new, and learns what is no longer."""

    def __init__(self, inputs: int, weight: float, generator: torch.Generator, group: Group = ALONE) -> None:
        self._weight, self._group = np.float32(weight), group
        self._inputs = inputs
        target, predictor = (inputs, WIDTH, FEATURES), (inputs, 2 * WIDTH, 2 * WIDTH, FEATURES)
        self._random, self._learns = (Parameters(MLP.shapes("novelty", widths)) for widths in (target, predictor))
        self._target = MLP(self._random, "novelty", len(target) - 1, "relu")
        self._predictor = MLP(self._learns, "novelty", len(predictor) - 1, "relu")
        for network in (self._target, self._predictor):
            network.initialise(generator, 1.0)
        self._adam = Adam(self._learns, ADAM_EPSILON)
        self._error = torch.zeros(3, dtype=torch.float64)  # ticks so far, mean and mean square of the error
        self._paid = torch.zeros(2, dtype=torch.float64)  # bonuses since the last update: their sum, and how many
        self.newest = torch.zeros((), dtype=torch.float64)
        """The mean bonus of the newest update."""

    def pay(self, x: Tensor, valid: Bools | None, reward: Floats) -> None:
        """Add the bonus for what came next, (rows, inputs) as networks see it, to the (rows,) rewards."""
        error = self._target(x).sub_(self._predictor(x)).square_().mean(1).numpy()
        known = error if valid is None else error[valid]
        if not len(known):
            return
        self._error[0] += 1
        moments = torch.tensor((known.mean(), np.square(known).mean()), dtype=torch.float64)
        self._error[1:].lerp_(moments, 1.0 / min(float(self._error[0]), TICKS))
        _, mean, square = self._error.tolist()
        bonus = (error - mean) / max(square - mean * mean, TINY) ** 0.5
        bonus = self._weight * np.clip(bonus, -LIMIT, LIMIT).astype(np.float32)
        reward += bonus if valid is None else bonus * valid
        self._paid += torch.tensor([float(bonus.sum()), len(bonus)], dtype=torch.float64)

    def learn(self, parts: Sequence[Tensor], lr: float) -> None:
        """Take a gradient step towards what the random network says of some of (transitions, inputs), in parts."""
        x = torch.cat([part[::SHARE] for part in parts]) if parts else torch.zeros(0, self._inputs)
        error = self._predictor.forward(x) - self._target(x)
        self._predictor.backward(error.mul_(2.0 / max(1, error.numel())))
        self._group.mean(self._learns.flat_grad, weight=len(x))
        self._adam.step(lr)

    def end_update(self) -> None:
        """Note the mean bonus of the update that is over."""
        total, count = self._paid.tolist()
        self._paid.zero_()
        self.newest.fill_(total / count if count else 0.0)

    @property
    def parts(self) -> Parts:
        """Both networks and the running statistics, as parts of an agent's state."""
        return {
            **prefixed("random", self._random.value),
            **prefixed("predictor", self._learns.value),
            **prefixed("adam", self._adam.moments),
            "error": self._error,
            "paid": self._paid,
            "newest": self.newest,
        }

"""The policy of a soft actor-critic: levers as squashed normal distributions, choices as one of all combinations.

The policy network's outputs are [means of the levers, logarithms of their spreads, scores of the choices' options], in
the order of the parts. Gradients are written out; the log-probabilities are right however far a lever is squashed.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray

from ecs_rl.agents.base import Kind
from ecs_rl.spaces import ActionSpace, Composed, Discrete, Floats, spans

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
LOG_FOUR = math.log(4.0)
SMALLEST, LARGEST = np.float32(-10.0), np.float32(2.0)
"""Of the logarithm of a spread, before squashing."""
IMITATED, FULL = np.float32(-1.5), np.float32(0.95)
"""The logarithm of the smallest spread of what is imitated, so that there is something left to try; and the setting of
a lever beyond which it is as good as all the way."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
"""Where a function of a standard normal number is looked at, and what each counts for, to find its mean."""


class Squashed:
    """Levers a = tanh(mean + spread * noise) of a batch, drawn apart from each other, and their log-probability."""

    def __init__(self, mean: Floats, log_std: Floats, noise: Floats) -> None:
        bounded = np.minimum(np.maximum(log_std, SMALLEST), LARGEST)
        self._inside = log_std == bounded
        self._offset = np.exp(bounded) * noise
        u = mean + self._offset
        twice = 2.0 * np.abs(u)
        faded = np.exp(-twice)
        # 1 - tanh(u)^2 = 4 e / (1 + e)^2 with e = exp(-2 |u|): nothing cancels, however large u is.
        log_slope = LOG_FOUR - twice - 2.0 * np.log1p(faded)
        self._slope = np.exp(log_slope)
        self.action = np.tanh(u)
        by_lever = 0.5 * noise * noise + bounded + log_slope
        self.log_prob = -by_lever.sum(1) - mean.shape[1] * HALF_LOG_TWO_PI

    def backward(self, action_grad: Floats, log_prob_grad: float, rows: int) -> tuple[Floats, Floats]:
        """Return the loss's gradient by means and logarithms of spreads, for the first `rows`.

        Given are those by the actions, (rows, levers), and by each row's log-probability; the noise stays as it was.
        """
        mean_grad = action_grad * self._slope[:rows] + (2.0 * log_prob_grad) * self.action[:rows]
        log_std_grad = (mean_grad * self._offset[:rows] - log_prob_grad) * self._inside[:rows]
        return mean_grad, log_std_grad


def squashed_spread(mean: Floats, log_std: Floats) -> Floats:
    """Return the standard deviation of tanh(mean + spread * noise), of the same shape."""
    std = np.exp(np.clip(log_std, SMALLEST, LARGEST))
    drawn = np.tanh(mean[..., None] + std[..., None] * NODES)
    weights = WEIGHTS / WEIGHTS.sum()
    middle = (drawn * weights).sum(-1)
    return np.asarray(np.sqrt(((drawn - middle[..., None]) ** 2 * weights).sum(-1)), np.float32)


def log_softmax(scores: Floats) -> Floats:
    """Return the logarithm of each column's probability."""
    shifted = scores - scores.max(1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(1, keepdims=True)))


class Layout:
    """Where levers and choices stand among the columns of an action and among the outputs of the policy network.

    All choices together are one of `combined` combinations; given the observation each is drawn by itself, so that the
    score of a combination is the sum of those of its options.
    """

    def __init__(self, space: ActionSpace) -> None:
        self._space = space
        choices = [each for each in spans(space) if isinstance(each[0], Discrete)]
        levers = [each for each in spans(space) if not isinstance(each[0], Discrete)]
        self._sizes = sizes = [len(part.names) for part, *_ in choices]
        self.levers, self.options, self.combined = space.levers, sum(sizes), math.prod(sizes)
        self.outputs = 2 * self.levers + self.options
        self.log_options = sum(map(math.log, sizes))
        """The greatest entropy that the choices can have."""
        self.kind: Kind = "levers" if not choices else "mixture" if isinstance(space, Composed) else "probabilities"
        self._lever_columns = [i for _, columns, _ in levers for i in range(columns.start, columns.stop)]
        self._choice_columns = [columns.start for _, columns, _ in choices]
        order = [i for _, _, outputs in (*levers, *choices) for i in range(outputs.start, outputs.stop)]
        self._place = np.argsort(np.array(order))  # of each output of the space among levers and options
        self._picked = np.array(list(product(*map(range, sizes))), np.float32)  # (combined, choices)
        self._most = np.array(sizes, np.float32) - 1.0
        self._strides = np.array([math.prod(sizes[i + 1 :]) for i in range(len(sizes))], np.float32)
        self._several = len(sizes) > 1
        first = np.cumsum([0, *sizes])[:-1]
        self._member = torch.zeros(self.options, self.combined)  # 1 where an option is in a combination
        for option, start in zip(self._picked.astype(np.int64).T, first, strict=True):
            self._member[torch.from_numpy(option + start), torch.arange(self.combined)] = 1.0

    def split(self, output: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the levers' means, the logarithms of their spreads, and those of the combinations' probabilities."""
        k, scores = self.levers, output[:, 2 * self.levers :]
        if self._several:
            scores = (torch.from_numpy(scores) @ self._member).numpy()
        log_p = log_softmax(scores) if self.options else np.zeros((len(output), 1), np.float32)
        return output[:, :k], output[:, k : 2 * k], log_p

    def towards(self, output: Floats, action: Floats) -> Floats:
        """Return the gradient by the network's output of how improbable the (rows, columns) of actions are."""
        mean, log_std, log_p = self.split(output)
        u = np.arctanh(np.clip(self.levers_of(action), -FULL, FULL))
        closer = np.exp(-np.clip(log_std, IMITATED, LARGEST))
        off = (mean - u) * closer
        wider = 1.0 - off * off
        wider[((log_std <= IMITATED) & (wider > 0)) | ((log_std >= LARGEST) & (wider < 0))] = 0.0
        p = np.exp(log_p)
        p[np.arange(len(p)), self.combination_of(action)] -= 1.0
        return self.join((off * closer, wider), p)

    def best(self, output: Floats) -> NDArray[np.int64] | Floats:
        """Return the likeliest action of each row of the network's output."""
        mean, _, log_p = self.split(output)
        return self.action(np.tanh(mean), log_p.argmax(1))

    def join(self, levers: tuple[Floats, ...], combined: Floats, out: Floats | None = None) -> Floats:
        """Return the gradient by the network's output, from those by the levers' two and by combinations' scores."""
        return np.concatenate([*levers, self.options_of(combined)] if self.options else levers, axis=1, out=out)

    def options_of(self, combined: Floats) -> Floats:
        """Return (rows, options), the sums over all combinations with an option: its probability, or its gradient."""
        if self._several:
            return np.asarray((torch.from_numpy(combined) @ self._member.T).numpy())
        return combined[:, : self.options]

    def named(self, levers: Floats, options: Floats) -> Floats:
        """Return (rows, actions) numbers of levers and options in the order of the space."""
        return np.concatenate([levers, options], axis=1)[:, self._place]

    def output_of(self, place: int) -> int:
        """Return which of the network's outputs is the score of an option, by its place in the action space."""
        return int(self._place[place]) + self.levers

    def traced(self, output: torch.Tensor) -> torch.Tensor:
        """Return (rows, actions) levers' settings and options' log-probabilities, in the order of the space."""
        outputs, first = [torch.tanh(output[:, : self.levers])], 2 * self.levers
        for size in self._sizes:
            outputs.append(torch.log_softmax(output[:, first : first + size], 1))
            first += size
        return torch.cat(outputs, 1)[:, torch.from_numpy(self._place)]

    def action(self, levers: Floats, combination: NDArray[np.int64]) -> NDArray[np.int64] | Floats:
        """Return the action in the form that the space has, from (rows, levers) and (rows,) combinations."""
        if not isinstance(self._space, Composed):
            return levers if self.levers else combination
        action = self._space.none(len(levers))
        action[:, self._lever_columns] = levers
        action[:, self._choice_columns] = self._picked[combination]
        return action

    def levers_of(self, action: Floats) -> Floats:
        """Return the (rows, levers) among the (rows, columns) of actions."""
        return action[:, self._lever_columns] if self._choice_columns else action

    def combination_of(self, action: Floats) -> NDArray[np.int64]:
        """Return (rows,) the combination that the choices among the (rows, columns) of actions make."""
        return np.asarray((action[:, self._choice_columns] * self._strides).sum(1), np.int64)

    def can_be(self, action: Floats) -> bool:
        """Tell whether the choices among the (rows, columns) of actions are options that there are."""
        chosen = action[:, self._choice_columns]
        return bool(((chosen >= 0) & (chosen <= self._most) & (chosen == np.floor(chosen))).all())

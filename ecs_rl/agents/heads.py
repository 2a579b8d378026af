"""What a policy's output means: a distribution over actions, with the gradients that PPO needs written out.

Given a network's (rows, actions) output, a head says which action is `best`, draws one and gives its log-probability
(`sample`), gives the log-probability of actions and the mean entropy (`forward`), and the loss's gradient by the output
from those by the log-probabilities and by the mean entropy (`backward`, of the last `forward`). `describe` returns what
a person sees of it: probabilities or means, and spreads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from ecs_rl.agents.base import Kind
from ecs_rl.agents.networks import Parameters, Shapes
from ecs_rl.spaces import ActionSpace, Composed, Discrete, spans

SPREAD = "policy/log_std"
"""The name of the logarithm of each lever's spread."""
HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


class Categorical:
    """One of several choices, by unnormalised log-probabilities."""

    kind: ClassVar[Kind] = "probabilities"

    def __init__(self) -> None:
        self._log_p = self._p = self._action = self._entropy = torch.empty(0)

    def best(self, output: Tensor) -> Tensor:
        """Return the choice with the greatest probability."""
        return output.argmax(-1)

    def sample(self, output: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return choices drawn by the Gumbel trick, and their log-probabilities."""
        log_p = torch.log_softmax(output, -1)
        gumbel = torch.empty_like(log_p).exponential_(generator=generator).log_().neg_()
        action = gumbel.add_(log_p).argmax(-1)
        return action, log_p.gather(1, action.unsqueeze(1)).squeeze(1)

    def forward(self, output: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-probability of each choice and the mean entropy."""
        self._log_p = torch.log_softmax(output, -1)
        self._p = self._log_p.exp()
        self._action = action.unsqueeze(1)
        self._entropy = (self._p * self._log_p).sum(-1, keepdim=True).neg_()
        return self._log_p.gather(1, self._action).squeeze(1), self._entropy.mean()

    def backward(self, log_prob_grad: Tensor, entropy_grad: float) -> Tensor:
        """Return the gradient: d log p(a) / d logits is onehot(a) - p, dH / d logits is -p (log p + H)."""
        column = log_prob_grad.unsqueeze(1)
        grad = (self._p * column).neg_().scatter_add_(1, self._action, column)
        if entropy_grad:
            per_row = -entropy_grad / len(column)
            grad.add_((self._log_p + self._entropy).mul_(self._p), alpha=per_row)
        return grad

    def describe(self, output: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return each choice's probability, and no spread."""
        return torch.softmax(output, -1), None


class Gaussian:
    """Independent normal distributions around the output, with one learned spread per action."""

    kind: ClassVar[Kind] = "levers"

    def __init__(self, log_std: Tensor, log_std_grad: Tensor) -> None:
        self._log_std = log_std
        self._log_std_grad = log_std_grad
        self._z = self._std = torch.empty(0)

    def best(self, output: Tensor) -> Tensor:
        """Return the mean."""
        return output

    def sample(self, output: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return the mean plus noise, not clipped, and its log-probability."""
        z = torch.randn(output.shape, generator=generator)
        return torch.addcmul(output, z, self._log_std.exp()), self._log_prob(z)

    def forward(self, output: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-probability of each action and the entropy, which is the same in every row."""
        self._std = self._log_std.exp()
        self._z = (action - output).div_(self._std)
        return self._log_prob(self._z), (self._log_std + (0.5 + HALF_LOG_TWO_PI)).sum()

    def backward(self, log_prob_grad: Tensor, entropy_grad: float) -> Tensor:
        """Write the gradient of the log spread and return that of the mean: z / std."""
        column = log_prob_grad.unsqueeze(1)
        torch.sum((self._z.square() - 1.0).mul_(column), 0, out=self._log_std_grad)
        self._log_std_grad.add_(entropy_grad)
        return (self._z / self._std).mul_(column)

    def describe(self, output: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the means and their (actions,) standard deviations."""
        return output, self._log_std.exp()

    def _log_prob(self, z: Tensor) -> Tensor:
        return (z.square() * 0.5 + (self._log_std + HALF_LOG_TWO_PI)).sum(-1).neg_()


class Product:
    """Several heads side by side, each with outputs and columns of its own; given the output they are independent.

    So log-probabilities and entropies add up, and the gradients stand side by side.
    """

    kind: ClassVar[Kind] = "mixture"

    def __init__(self, heads: Sequence[tuple[Categorical | Gaussian, slice, slice]]) -> None:
        self._heads = tuple(heads)  # with its columns of an action and its outputs

    def best(self, output: Tensor) -> Tensor:
        """Return (rows, columns) the best of every part."""
        return _beside([head.best(output[:, outputs]) for head, _, outputs in self._heads])

    def sample(self, output: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return (rows, columns) drawn part by part, and the log-probability of all of it."""
        drawn = [head.sample(output[:, outputs], generator) for head, _, outputs in self._heads]
        actions, log_probs = zip(*drawn, strict=True)
        return _beside(actions), _sum(log_probs)

    def forward(self, output: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-probability of each row's whole action and the mean entropy."""
        taken = [(head, output[:, outputs], action[:, columns]) for head, columns, outputs in self._heads]
        numbers = [h.forward(o, a.squeeze(1).long() if isinstance(h, Categorical) else a) for h, o, a in taken]
        log_probs, entropies = zip(*numbers, strict=True)
        return _sum(log_probs), _sum(entropies)

    def backward(self, log_prob_grad: Tensor, entropy_grad: float) -> Tensor:
        """Return the parts' gradients side by side."""
        return torch.cat([head.backward(log_prob_grad, entropy_grad) for head, *_ in self._heads], 1)

    def describe(self, output: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return each choice's probability and each lever's mean, and the spreads, NaN for choices."""
        parts = [head.describe(output[:, outputs]) for head, _, outputs in self._heads]
        spreads = [torch.full(does.shape[1:], math.nan) if spread is None else spread for does, spread in parts]
        return torch.cat([does for does, _ in parts], 1), torch.cat(spreads)


def _beside(actions: Sequence[Tensor]) -> Tensor:
    """Return the actions of several parts as float32 columns."""
    return torch.cat([action.view(len(action), -1).to(torch.float32) for action in actions], 1)


def _sum(parts: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(parts)).sum(0)


Head = Categorical | Gaussian | Product


def spread_shapes(space: ActionSpace) -> Shapes:
    """Return the shape of the parameter that holds the spreads, none where there are no levers."""
    return {SPREAD: (space.levers,)} if space.levers else {}


def head_of(space: ActionSpace, parameters: Parameters) -> Head:
    """Return the head of an action space whose spreads and their gradient lie in these parameters."""
    none = torch.empty(0)
    log_std, log_std_grad = parameters.value.get(SPREAD, none), parameters.grad.get(SPREAD, none)
    if not isinstance(space, Composed):
        return Categorical() if isinstance(space, Discrete) else Gaussian(log_std, log_std_grad)
    heads, first = [], 0
    for part, columns, outputs in spans(space):
        levers = slice(first, first + part.levers)
        first = levers.stop
        head = Categorical() if isinstance(part, Discrete) else Gaussian(log_std[levers], log_std_grad[levers])
        heads.append((head, columns, outputs))
    return Product(heads)

"""A policy's and a value's network, side by side or as two heads of one, with a memory or without.

Both look at what is `Seen`: a batch of rows, or for networks with a memory whole sequences of rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from ecs_rl.agents.base import PolicySpec
from ecs_rl.agents.build import build, shapes_of
from ecs_rl.agents.config import PPOConfig
from ecs_rl.agents.networks import Network, Parameters, Recurrent, Shapes
from ecs_rl.agents.worker import Worker

POLICY_GAIN = 0.01
"""Of the last layer: so small that all actions are about equally probable at first."""


@dataclass(frozen=True)
class Sequences:
    """What rows saw tick by tick, and where they set out from."""

    x: Tensor
    """(ticks, rows, inputs)"""
    state: Tensor
    """(rows, state) What was remembered before the first tick."""
    begins: Tensor
    """(ticks, rows) Whether an episode begins with the tick: nothing is remembered there."""
    counts: Tensor
    """Which of the (ticks * rows) transitions count, by number."""

    def __len__(self) -> int:
        return len(self.counts)


Seen = Tensor | Sequences
"""(rows, inputs), or sequences of them."""
ValueStep = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Takes (rows,) values and returns the loss and its gradient by them."""


def actor_critic(
    parameters: Parameters, spec: PolicySpec, config: PPOConfig, worker: Worker, generator: torch.Generator
) -> ActorCritic:
    """Return the networks of these settings, freshly drawn."""
    inputs, outputs = len(spec.observations), len(spec.actions.names)
    if config.shared:
        net = build(parameters, "policy", (inputs, outputs + 1), spec, config)
        net.initialise(generator, torch.tensor([*[POLICY_GAIN] * outputs, 1.0]))
        return Shared(net)
    policy = build(parameters, "policy", (inputs, outputs), spec, config)
    value = build(parameters, "value", (inputs, 1), spec, config)
    policy.initialise(generator, POLICY_GAIN)
    value.initialise(generator, 1.0)
    return Separate(policy, value, worker)


def shapes_of_actor_critic(spec: PolicySpec, config: PPOConfig) -> Shapes:
    """Return the shape of every parameter of the networks of these settings."""
    inputs, outputs = len(spec.observations), len(spec.actions.names)
    if config.shared:
        return shapes_of("policy", (inputs, outputs + 1), spec, config)
    policy = shapes_of("policy", (inputs, outputs), spec, config)
    return policy | shapes_of("value", (inputs, 1), spec, config)


class ActorCritic(ABC):
    """What an algorithm asks of the two; `state` is what both remember of a row, side by side."""

    state: int

    @abstractmethod
    def policy(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return (rows, outputs) of the policy, and what both remember from here on."""

    @abstractmethod
    def both(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the same with the (rows,) values in between."""

    @abstractmethod
    def value(self, x: Tensor, state: Tensor) -> Tensor:
        """Return (rows,) values."""

    @abstractmethod
    def forward(self, seen: Seen, value_step: ValueStep) -> Tensor:
        """Return (rows, outputs) of the policy for what counts, and let the value take its step meanwhile."""

    @abstractmethod
    def backward(self, grad: Tensor) -> Tensor:
        """Write the gradient of every parameter, given that of the policy's outputs; return the value's loss."""


class Separate(ActorCritic):
    """A network each; on two threads they work at the same time."""

    def __init__(self, policy: Network | Recurrent, value: Network | Recurrent, worker: Worker) -> None:
        self._policy, self._value, self._worker = policy, value, worker
        self._split = getattr(policy, "state", 0)
        self.state = self._split + getattr(value, "state", 0)
        self._loss: Callable[[], Tensor] = lambda: torch.empty(0)
        self._seen: Seen = torch.empty(0)

    def policy(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return (rows, outputs) of the policy, and what both remember; one without memory is asked alone."""
        if self.state:
            output, _, state = self.both(x, state)
            return output, state
        return cast(Network, self._policy)(x), state

    def both(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the policy's outputs, the values, and what both remember from here on."""
        value = self._worker.start(len(x), _step, self._value, x, state[:, self._split :])
        output, mine = _step(self._policy, x, state[:, : self._split])
        told, theirs = value()
        return output, told.squeeze(1), torch.cat([mine, theirs], 1) if self.state else state

    def value(self, x: Tensor, state: Tensor) -> Tensor:
        """Return (rows,) values."""
        return _step(self._value, x, state[:, self._split :])[0].squeeze(1)

    def forward(self, seen: Seen, value_step: ValueStep) -> Tensor:
        """Return the policy's outputs, and let the value network learn on the other thread."""
        self._seen = _with_state(seen, slice(0, self._split))
        theirs = _with_state(seen, slice(self._split, None))
        self._loss = self._worker.start(len(seen), self._learn_value, theirs, value_step)
        return _forward(self._policy, self._seen)

    def backward(self, grad: Tensor) -> Tensor:
        """Write the policy's gradient, wait for the value's, and return its loss."""
        _backward(self._policy, self._seen, grad)
        return self._loss()

    def _learn_value(self, seen: Seen, value_step: ValueStep) -> Tensor:
        loss, grad = value_step(_forward(self._value, seen).squeeze(1))
        _backward(self._value, seen, grad.unsqueeze(1))
        return loss


class Shared(ActorCritic):
    """One network, whose last output is the value."""

    def __init__(self, net: Network | Recurrent) -> None:
        self._net, self.state = net, getattr(net, "state", 0)
        self._seen: Seen = torch.empty(0)
        self._loss = self._value_grad = torch.empty(0)

    def policy(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return (rows, outputs) of the policy, and what is remembered from here on."""
        output, state = _step(self._net, x, state)
        return output[:, :-1], state

    def both(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the policy's outputs, the values, and what is remembered from here on."""
        output, state = _step(self._net, x, state)
        return output[:, :-1], output[:, -1], state

    def value(self, x: Tensor, state: Tensor) -> Tensor:
        """Return (rows,) values."""
        return _step(self._net, x, state)[0][:, -1]

    def forward(self, seen: Seen, value_step: ValueStep) -> Tensor:
        """Return the policy's outputs; the value's part of the gradient is noted."""
        output = _forward(self._net, seen)
        self._seen = seen
        self._loss, self._value_grad = value_step(output[:, -1])
        return output[:, :-1]

    def backward(self, grad: Tensor) -> Tensor:
        """Write the gradient of both heads at once; return the value's loss."""
        _backward(self._net, self._seen, torch.cat([grad, self._value_grad.unsqueeze(1)], 1))
        return self._loss


def _step(net: Network | Recurrent, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    return cast(Recurrent, net).step(x, state) if state.shape[1] else (cast(Network, net)(x), state)


def _with_state(seen: Seen, part: slice) -> Seen:
    """Return what is seen with one network's part of what both remember."""
    return seen if isinstance(seen, Tensor) else Sequences(seen.x, seen.state[:, part], seen.begins, seen.counts)


def _forward(net: Network | Recurrent, seen: Seen) -> Tensor:
    if isinstance(seen, Tensor):
        return cast(Network, net).forward(seen)
    output = cast(Recurrent, net).forward(seen.x, seen.state, seen.begins)
    return output.flatten(0, 1).index_select(0, seen.counts)


def _backward(net: Network | Recurrent, seen: Seen, grad: Tensor) -> None:
    if isinstance(seen, Tensor):
        cast(Network, net).backward(grad)
        return
    ticks, rows, _ = seen.x.shape
    whole = torch.zeros(ticks * rows, grad.shape[1]).index_copy_(0, seen.counts, grad)
    cast(Recurrent, net).backward(whole.view(ticks, rows, -1))

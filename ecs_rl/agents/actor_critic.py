"""A policy's and a value's network, side by side or as two heads of one, with a memory or without.

Either is one of the project's, or a module of a user's own, as the settings say: `build`.
Both look at what is `Seen`: a batch of rows, or for networks with a memory whole sequences of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from ecs_rl.agents.config import OwnNetwork, PPOConfig
from ecs_rl.agents.gru import GRU
from ecs_rl.agents.heads import Head
from ecs_rl.agents.layout_modules import Attention, Convolution
from ecs_rl.agents.masks import Mask
from ecs_rl.agents.modules import ModuleNetwork, RecurrentModule, isolated, made, shapes_of_module, state_of
from ecs_rl.agents.networks import MLP, Network, Parameters, Recurrent, Shapes
from ecs_rl.agents.worker import Workers
from ecs_rl.errors import CommandError
from ecs_rl.spaces import PolicySpec

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
PolicyStep = Callable[[Head, slice, Tensor], tuple[Tensor, Tensor]]
"""Takes the head and the rows of a part and its (rows, outputs); returns numbers that add up, and the gradient."""
MakeHead = Callable[[Parameters], Head]
"""Returns a head whose spreads, and their gradient, lie in these parameters."""
ValueStep = Callable[[slice, Tensor], tuple[Tensor, Tensor]]
"""Takes the rows of a part and its (rows,) values; returns its share of the loss, and the gradient by the values."""
PART_ROWS = 2048
"""Rows of a minibatch from which on they are learned from in several parts, which threads can share."""
MOST_PARTS = 64


def parts_of(rows: int) -> list[slice]:
    """Cut so many rows into parts, by their number alone: sums over them come out the same whoever works them out."""
    count = max(1, min(MOST_PARTS, rows // PART_ROWS))
    return [slice(i * rows // count, (i + 1) * rows // count) for i in range(count)]


Job = Callable[[], list[Tensor]]
"""What one thread does for a part of a minibatch; returns the policy's numbers, the value's loss, or both."""


def actor_critic(
    parameters: Parameters,
    spec: PolicySpec,
    config: PPOConfig,
    *,
    head: MakeHead,
    workers: Workers,
    generator: torch.Generator,
) -> ActorCritic:
    """Return the networks of these settings, freshly drawn."""
    sizes, outputs = _sizes(spec, config), len(spec.actions.names)
    gains: list[float | Tensor] = [POLICY_GAIN, 1.0]
    if config.shared:
        gains = [torch.tensor([*[POLICY_GAIN] * outputs, 1.0])]

    def make(part: Parameters) -> tuple[Network | Recurrent, ...]:
        return tuple(build(part, name, size, spec, config) for name, size in sizes.items())

    networks = ActorCritic(parameters, make, head, workers, spec=spec, by_parts=config.network == "mlp")
    for net, gain in zip(networks.nets(0), gains, strict=True):
        net.initialise(generator, gain)
    return networks


def shapes_of_actor_critic(spec: PolicySpec, config: PPOConfig) -> Shapes:
    """Return the shape of every parameter of the networks of these settings."""
    shapes: Shapes = {}
    for name, size in _sizes(spec, config).items():
        shapes |= shapes_of(name, size, spec, config)
    return shapes


def _sizes(spec: PolicySpec, config: PPOConfig) -> dict[str, tuple[int, int]]:
    """Return the inputs and outputs of each network by its name."""
    if config.shared and spec.critic_sees:
        raise CommandError("ppo.shared: one network cannot be a critic that sees more than the policy: leave it out")
    inputs, outputs = len(spec.observations), len(spec.actions.names)
    if config.shared:
        return {"policy": (inputs, outputs + 1)}
    return {"policy": (inputs, outputs), "value": (len(spec.numbers), 1)}


def shapes_of(name: str, sizes: tuple[int, int], spec: PolicySpec, settings: PPOConfig) -> Shapes:
    """Return the shape of each parameter for `sizes`, inputs and outputs; only a module is made to ask it."""
    inputs, outputs = sizes
    match str(settings.network):
        case "mlp":
            return MLP.shapes(name, (inputs, *settings.hidden, outputs))
        case "gru":
            return GRU.shapes(name, (inputs, *settings.hidden), settings.state, outputs)
    make = _module(sizes, spec, settings)
    if isinstance(settings.network, OwnNetwork):
        return shapes_of_module(name, make())
    with torch.device("meta"):  # a file may name widths that no memory holds
        return shapes_of_module(name, make())


def build(
    parameters: Parameters, name: str, sizes: tuple[int, int], spec: PolicySpec, settings: PPOConfig
) -> Network | Recurrent:
    """Return a network that lives in these parameters, which have its shapes; nothing is drawn yet."""
    layers = len(settings.hidden) + 1
    match str(settings.network):
        case "mlp":
            return MLP(parameters, name, layers, settings.activation)
        case "gru":
            return GRU(parameters, name, layers, settings.activation)
    make = _module(sizes, spec, settings)
    kind = RecurrentModule if state_of(make()) else ModuleNetwork
    return kind(parameters, name, make, sizes[1])


def _module(sizes: tuple[int, int], spec: PolicySpec, settings: PPOConfig) -> Callable[[], nn.Module]:
    """Return what makes the module; torch's global random numbers are as they were after each."""
    network = settings.network
    if isinstance(network, OwnNetwork):
        return partial(isolated, partial(made, f"the network '{network}'", network.make, *sizes, spec))
    shipped = {"conv": Convolution, "attention": Attention}.get(network)
    if shipped is None:
        raise CommandError(f"the network '{network}' was not loaded: name its file with --network FILE.py:NAME")
    return partial(isolated, partial(shipped, *sizes, spec, settings.hidden, settings.activation))


class ActorCritic:
    """What an algorithm asks of the two; `state` is what both remember of a row, side by side.

    With two networks each has its own jobs; on two threads they work at the same time. One network has the value as its
    last output.
    """

    def __init__(
        self,
        parameters: Parameters,
        make: Callable[[Parameters], tuple[Network | Recurrent, ...]],
        head: MakeHead,
        workers: Workers,
        *,
        spec: PolicySpec,
        by_parts: bool,
    ) -> None:
        """Let `make` build the networks in parameters; `by_parts` says whether it may for each part of a batch."""
        self._make, self._make_head, self._workers, self._by_parts = make, head, workers, by_parts
        self._mask = Mask(spec)
        self._policy_width = len(spec.observations) if spec.critic_sees else None
        """Numbers that the policy sees of a row; None: all."""
        self._parameters = [parameters]
        """For each part of a batch the parameters, with gradients of its own; the first part's are those of all."""
        self._nets, self.heads = [make(parameters)], [head(parameters)]
        self._policy, self._value = self._nets[0][0], self._nets[0][-1]
        self._is_shared = self._policy is self._value
        states = [getattr(net, "state", 0) for net in self._nets[0]]
        self.state = sum(states)
        self._of_policy, self._of_value = slice(0, states[0]), slice(self.state - states[-1], self.state)
        """Where in what both remember each one's part is."""
        self.values_wait = by_parts and not self._is_shared and not self.state
        """Whether values are asked for all ticks of a rollout at once, which comes to the same and takes less time."""

    def nets(self, part: int) -> tuple[Network | Recurrent, ...]:
        """Return the networks that see this part of a batch."""
        while part >= len(self._nets):
            parameters = Parameters(self._parameters[0].shapes, self._parameters[0].flat)
            self._parameters.append(parameters)
            self._nets.append(self._make(parameters))
            self.heads.append(self._make_head(parameters))
        return self._nets[part]

    def _policy_inputs(self, x: Tensor) -> Tensor:
        """Return the numbers that the policy sees, of those that its critic sees."""
        return x if self._policy_width is None else x[:, : self._policy_width]

    def policy(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return (rows, outputs) of the policy, and what both remember; one that stands alone is asked alone."""
        if self.state or self._is_shared:
            output, _, after = self.both(x, state)
            return output, after
        return self._outputs(x), state

    def _outputs(self, x: Tensor) -> Tensor:
        """Return (rows, outputs) of a policy without memory; the parts of many rows are jobs."""
        net, inputs = cast(Network, self._policy), self._policy_inputs(x)
        parts = parts_of(len(x)) if self._by_parts else []
        if len(parts) <= 1:
            return self._mask(net(inputs), x)
        return self._mask(torch.cat(self._workers.all([partial(net, inputs[p]) for p in parts], len(x))), x)

    def both(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return (rows, outputs) of the policy, the (rows,) values, and what both remember from here on."""
        if self._is_shared:
            output, after = _step(self._policy, x, state)
            return self._mask(output[:, :-1], x), output[:, -1], after
        steps = (
            partial(_step, self._policy, self._policy_inputs(x), state[:, self._of_policy]),
            partial(_step, self._value, x, state[:, self._of_value]),
        )
        (output, policy_state), (value, value_state) = self._workers.all(steps, len(x))
        after = torch.cat([policy_state, value_state], 1) if self.state else state
        return self._mask(output, x), value.squeeze(1), after

    def value(self, x: Tensor, state: Tensor) -> Tensor:
        """Return (rows,) values."""
        return _step(self._value, x, state[:, self._of_value])[0][:, -1]

    def explore(self, x: Tensor, state: Tensor) -> tuple[Tensor, dict[str, Tensor], Tensor]:
        """Return (rows, outputs), the (rows,) `value` unless values wait, and what both remember from here on."""
        if self.values_wait:
            return self._outputs(x), {}, state
        output, value, after = self.both(x, state)
        return output, {"value": value}, after

    def values(self, x: Tensor) -> Tensor:
        """Return (rows,) values of many rows, each part of them a job of its own; nothing is remembered."""
        none = torch.zeros(len(x), 0)
        return torch.cat(self._workers.all([partial(self.value, x[p], none[p]) for p in parts_of(len(x))], len(x)))

    def learn(self, seen: Seen, policy_step: PolicyStep, value_step: ValueStep) -> tuple[Tensor, Tensor]:
        """Write the gradient of every parameter; return the numbers of the policy's steps and the value's loss, added.

        Each part of the rows is a job of its own or two; their gradients are added in the order of the parts.
        """
        parts = parts_of(len(seen)) if self._by_parts else [slice(0, len(seen))]
        jobs_of = self._shared_jobs if self._is_shared else self._separate_jobs
        jobs = [job for i, rows in enumerate(parts) for job in jobs_of(i, rows, seen, policy_step, value_step)]
        results = [result for pair in self._workers.all(jobs, len(seen)) for result in pair]
        for other in self._parameters[1 : len(parts)]:
            self._parameters[0].flat_grad.add_(other.flat_grad)
        return _added(results[::2]), _added(results[1::2])

    def _separate_jobs(
        self, part: int, rows: slice, seen: Seen, policy_step: PolicyStep, value_step: ValueStep
    ) -> list[Job]:
        (policy, value), head = self.nets(part), self.heads[part]
        by_policy = _part_of(_rows(seen, rows), self._of_policy, self._policy_width)
        by_value = _part_of(_rows(seen, rows), self._of_value)

        def learn_policy() -> list[Tensor]:
            numbers, grad = policy_step(head, rows, self._mask(_forward(policy, by_policy), inputs_of(by_policy)))
            _backward(policy, by_policy, grad)
            return [numbers]

        def learn_value() -> list[Tensor]:
            loss, grad = value_step(rows, _forward(value, by_value).squeeze(1))
            _backward(value, by_value, grad.unsqueeze(1))
            return [loss]

        return [learn_policy, learn_value]

    def _shared_jobs(
        self, part: int, rows: slice, seen: Seen, policy_step: PolicyStep, value_step: ValueStep
    ) -> list[Job]:
        (net,), head = self.nets(part), self.heads[part]
        batch = _rows(seen, rows)

        def learn() -> list[Tensor]:
            output = _forward(net, batch)
            loss, value_grad = value_step(rows, output[:, -1])
            numbers, grad = policy_step(head, rows, self._mask(output[:, :-1], inputs_of(batch)))
            _backward(net, batch, torch.cat([grad, value_grad.unsqueeze(1)], 1))
            return [numbers, loss]

        return [learn]


def _step(net: Network | Recurrent, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    return cast(Recurrent, net).step(x, state) if state.shape[1] else (cast(Network, net)(x), state)


def _rows(seen: Seen, rows: slice) -> Seen:
    """Return a part of what is seen; sequences stay whole."""
    return seen[rows] if isinstance(seen, Tensor) else seen


def inputs_of(seen: Seen) -> Tensor:
    """Return (transitions, inputs) of what is seen."""
    return seen if isinstance(seen, Tensor) else seen.x.flatten(0, 1).index_select(0, seen.counts)


def _added(numbers: Sequence[Tensor]) -> Tensor:
    """Return the sum, in this order."""
    total = numbers[0]
    for number in numbers[1:]:
        total = total + number
    return total


def _part_of(seen: Seen, state: slice, numbers: int | None = None) -> Seen:
    """Return the first numbers of what is seen, None for all, with one network's part of what both remember."""
    if isinstance(seen, Tensor):
        return seen[:, :numbers]
    return Sequences(seen.x[..., :numbers], seen.state[:, state], seen.begins, seen.counts)


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

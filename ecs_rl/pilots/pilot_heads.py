"""What a network's output says to do: the best action, or one drawn as the algorithm draws while it explores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ecs_rl.agents.policy_heads import FORBIDDEN, SQUASHED, TANH, VALUES
from ecs_rl.pilots.ops import Array, NumpyOps, Ops, V
from ecs_rl.pilots.source import SavedPolicy
from ecs_rl.spaces import Composed, Discrete, spans

SMALLEST, LARGEST = -10.0, 2.0
"""Of the logarithm of a spread that a network gives."""


@dataclass(frozen=True)
class ChoiceHead:
    """One of several options."""

    outputs: slice


@dataclass(frozen=True)
class LeverHead:
    """Numbers between -1 and 1."""

    outputs: slice
    spread: slice | Array | None
    """The logarithms of their deviations: other outputs, or learned numbers; None where noise is added to levers."""
    squashed: bool
    """Whether the hyperbolic tangent is taken of them; they are cut off at -1 and 1 otherwise."""


class Head:
    """The parts of an action, in the order of its columns, and which of a network's outputs decide on each."""

    def __init__(self, saved: SavedPolicy, width: int) -> None:
        """Take the head of a network with so many outputs; ValueError where they are not as many as its actions take.

        Of a shared network one more follows, the value.
        """
        space = saved.spec.actions
        self.several = isinstance(space, Composed)
        self.epsilon = _epsilon(saved) if saved.head == VALUES else 0.0
        """Share of choices that are drawn with equal chances."""
        self.noise = float(saved.config["noise"]) if saved.head == TANH else 0.0
        """Standard deviation of what exploring adds to levers that have no spread of their own."""
        self.draws = saved.head != VALUES
        places, needed = _places(saved)
        if width != needed:
            raise ValueError(f"its network has {width} outputs, and its actions take {needed}")
        self.parts: list[ChoiceHead | LeverHead] = []
        lever = 0
        for part, at in zip(space.parts, places, strict=True):
            if isinstance(part, Discrete):
                self.parts.append(ChoiceHead(at))
            elif saved.head == SQUASHED:
                self.parts.append(LeverHead(at, slice(space.levers + at.start, space.levers + at.stop), squashed=True))
            elif saved.head == TANH:
                self.parts.append(LeverHead(at, None, squashed=True))
            else:
                spread = saved.tensors["policy/log_std"][lever : lever + part.levers]
                self.parts.append(LeverHead(at, spread, squashed=False))
                lever += part.levers
        self._is_all = isinstance(space, Discrete) and self.parts[0].outputs == slice(0, width)

    def best(self, ops: Ops[V], output: V) -> V:
        """Return (rows,) options of a lone choice, (rows, columns) otherwise."""
        actions = []
        for part in self.parts:
            outputs = output if self._is_all else ops.take(output, part.outputs)
            if isinstance(part, ChoiceHead):
                choice = ops.argmax(outputs)
                actions.append(ops.reshape(ops.as_float(choice), (1,)) if self.several else choice)
            else:
                actions.append(ops.tanh(outputs) if part.squashed else ops.clip(outputs, 1.0))
        return actions[0] if len(actions) == 1 else ops.concat(actions, 1)

    def sample(self, output: Array, random: np.random.Generator) -> Array:
        """Return the same, drawn."""
        best = self.best(NumpyOps(), output)
        if not self.draws:
            return self._now_and_then(best, output, random)
        actions = []
        for part in self.parts:
            outputs = output[:, part.outputs]
            if isinstance(part, ChoiceHead):
                choice = (outputs + random.gumbel(size=outputs.shape)).argmax(1)
                actions.append(choice[:, None].astype(np.float32) if self.several else choice)
                continue
            noise = random.standard_normal(outputs.shape)
            if part.spread is None:
                actions.append(np.clip(np.tanh(outputs) + self.noise * noise, -1.0, 1.0).astype(np.float32))
                continue
            log_std = output[:, part.spread] if isinstance(part.spread, slice) else part.spread
            if part.squashed:
                log_std = np.clip(log_std, SMALLEST, LARGEST)
            drawn = outputs + np.exp(log_std) * noise
            actions.append((np.tanh(drawn) if part.squashed else np.clip(drawn, -1.0, 1.0)).astype(np.float32))
        return actions[0] if len(actions) == 1 else np.concatenate(actions, axis=1)

    def _now_and_then(self, best: Array, output: Array, random: np.random.Generator) -> Array:
        """Return the best options, some of them replaced by any that is not forbidden."""
        chances = np.where(output < 0.5 * FORBIDDEN, -1.0, random.random(output.shape))
        some = np.stack([chances[:, part.outputs].argmax(1) for part in self.parts], axis=1)
        some = some.astype(np.float32) if self.several else some[:, 0]
        return np.where(random.random(some.shape) < self.epsilon, some, best)


class PilotMask:
    """Lowers the outputs of options that are not allowed, as numbers of the observation say."""

    def __init__(self, saved: SavedPolicy) -> None:
        """Take the outputs by the order in which the network has them."""
        self._allowed = saved.spec.allowed
        places, self._width = _places(saved)
        of_space = [i for place in places for i in range(place.start, place.stop)]
        self._outputs = [of_space[output] for _, output in self._allowed]
        self._inputs = len(saved.spec.observations)

    def __call__(self, ops: Ops[V], output: V, x: V) -> V:
        """Return (rows, outputs) for a network's, and its (rows, inputs)."""
        if not self._allowed:
            return output
        weight, bias = np.zeros((self._width, self._inputs), np.float32), np.zeros(self._width, np.float32)
        for (column, _), place in zip(self._allowed, self._outputs, strict=True):
            weight[place, column], bias[place] = -FORBIDDEN, FORBIDDEN
        return ops.add(output, ops.affine(x, weight, bias))


def _places(saved: SavedPolicy) -> tuple[list[slice], int]:
    """Return which of a network's outputs decide on each part of an action, and how many outputs it has."""
    space = saved.spec.actions
    if saved.head != SQUASHED:
        # The state's value stands in front of advantages, and behind the outputs of a shared network.
        first = int(bool(saved.setting("dueling")))
        places = [slice(each.start + first, each.stop + first) for _, _, each in spans(space)]
        return places, first + len(space.names) + bool(saved.setting("shared"))
    places, lever, option = [], 0, 2 * space.levers  # all means, all logarithms of spreads, all options
    for part in space.parts:
        first, many = (option, len(part.names)) if isinstance(part, Discrete) else (lever, part.levers)
        places.append(slice(first, first + many))
        option, lever = (option + many, lever) if isinstance(part, Discrete) else (option, lever + many)
    return places, option


def _epsilon(saved: SavedPolicy) -> float:
    """Return the share of random actions that exploring had come down to."""
    start, end = (float(saved.config.get(f"epsilon_{at}", other)) for at, other in (("start", 1.0), ("end", 0.05)))
    return start + min(1.0, saved.step / float(saved.config.get("epsilon_steps", 10_000))) * (end - start)

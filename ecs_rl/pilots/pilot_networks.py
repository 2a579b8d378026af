"""The networks of the project as plain formulas over their saved parameters, and how what is seen is scaled.

Each is called as `network(ops, x, state)` on what is seen, scaled already, and returns its (rows, outputs) and what it
remembers from here on: the same functions as in `ecs_rl/agents/`, to which the tests hold them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ecs_rl.agents.policy_heads import COSINES, EMBEDDING, FRACTIONS, VALUES
from ecs_rl.agents.scaling import LIMIT, Groups, deviation
from ecs_rl.pilots.ops import Array, Ops, V
from ecs_rl.pilots.source import SavedPolicy, Tensors
from ecs_rl.spaces import Members, Picture

HEADS = 4


class Net(Protocol):
    """A policy's network."""

    state: int
    """Numbers that it remembers for each row."""

    def __call__(self, ops: Ops[V], x: V, state: V) -> tuple[V, V]:
        """Return (rows, outputs), and what is remembered from here on."""


class Scaling:
    """Shifts and scales what is seen by the running mean and deviation that were saved."""

    def __init__(self, saved: SavedPolicy) -> None:
        self._active = bool(saved.setting("normalise_observations"))
        if self._active:
            count, mean, squares = (saved.tensors[f"normaliser/{name}"] for name in ("count", "mean", "squares"))
            forms = () if saved.setting("network") in ("mlp", None) else saved.spec.layout
            if mean.shape != (len(saved.spec.numbers),):
                raise ValueError(f"it sees {len(saved.spec.numbers)} numbers, and normalises {len(mean)}")
            seen = slice(len(saved.spec.observations))
            mean, squares = mean[seen], squares[seen]
            groups = Groups(forms, len(mean), [column for column, _ in saved.spec.allowed])
            with np.errstate(invalid="ignore"):
                self._mean, self._scale = groups.scales(mean, deviation(count, squares))
            if not (np.isfinite(self._mean).all() and np.isfinite(self._scale).all()):
                raise ValueError("it normalises by numbers that are not finite")

    def __call__(self, ops: Ops[V], x: V) -> V:
        """Return what is seen as the network takes it."""
        return ops.clip(ops.mul(ops.sub(x, self._mean), self._scale), LIMIT) if self._active else x


class Perceptron:
    """Layers with an activation between them, and behind the last of a hidden stack."""

    state = 0

    def __init__(self, tensors: Tensors, names: Sequence[str], activation: str, *, last: bool = False) -> None:
        self.layers = [(tensors[f"{name}.weight"], tensors[f"{name}.bias"]) for name in names]
        self._tanh, self._last = activation == "tanh", last

    def __call__(self, ops: Ops[V], x: V, state: V) -> tuple[V, V]:
        """Return the last layer's numbers."""
        return self.of(ops, x), state

    def of(self, ops: Ops[V], x: V) -> V:
        """Return the last layer's numbers."""
        activate = ops.tanh if self._tanh else ops.relu
        for number, (weight, bias) in enumerate(self.layers, 1):
            x = ops.affine(x, weight, bias)
            if self._last or number < len(self.layers):
                x = activate(x)
        return x


class PilotGRU:
    """A perceptron, a gated recurrent unit and a head; the formula is that of `ecs_rl/agents/gru.py`."""

    def __init__(self, tensors: Tensors, name: str, activation: str) -> None:
        self._body = Perceptron(tensors, _numbered(tensors, name), activation)
        self._u, self._b = tensors[f"{name}/recurrent.weight"], tensors[f"{name}/recurrent.bias"]
        self._head = Perceptron(tensors, [f"{name}/head"], activation)
        self.state = len(self._b)

    def __call__(self, ops: Ops[V], x: V, state: V) -> tuple[V, V]:
        """Return (rows, outputs), and what is remembered from here on."""
        h, none = self.state, np.zeros(3 * self.state, np.float32)
        gates, recurrent = self._body.of(ops, x), ops.affine(state, self._u, none)
        both = slice(0, 2 * h), slice(2 * h, 3 * h)
        r_z = ops.sigmoid(ops.add(ops.take(gates, both[0]), ops.take(recurrent, both[0])))
        r, z = ops.take(r_z, slice(0, h)), ops.take(r_z, slice(h, 2 * h))
        inner = ops.add(ops.take(recurrent, both[1]), self._b)
        n = ops.tanh(ops.add(ops.take(gates, both[1]), ops.mul(r, inner)))
        after = ops.add(n, ops.mul(z, ops.sub(state, n)))
        return self._head.of(ops, after), after


class PilotConvolution:
    """Convolutions over each picture, then a perceptron over all."""

    state = 0

    def __init__(self, tensors: Tensors, name: str, activation: str, saved: SavedPolicy) -> None:
        self._pictures = [form for form in saved.spec.layout if isinstance(form, Picture)]
        self._plain = _plain(saved, self._pictures)
        self._looks = [
            [
                tuple(tensors[f"{name}/looks.{i}.{2 * layer}.{part}"] for part in ("weight", "bias"))
                for layer in range(len(picture.strides))
            ]
            for i, picture in enumerate(self._pictures)
        ]
        self._body = Perceptron(tensors, _numbered(tensors, f"{name}/body", "."), activation, last=True)
        self._head = Perceptron(tensors, [f"{name}/head"], activation)

    def __call__(self, ops: Ops[V], x: V, state: V) -> tuple[V, V]:
        """Return (rows, outputs)."""
        seen = [ops.take(x, self._plain)]
        for form, looks in zip(self._pictures, self._looks, strict=True):
            look = ops.take(x, slice(form.first, form.first + form.size))
            look = ops.reshape(look, (form.layers, form.up, form.across))
            for (weight, bias), stride in zip(looks, form.strides, strict=True):
                look = ops.relu(ops.conv(look, weight, bias, stride))
            seen.append(ops.reshape(look, (form.features,)))
        return self._head.of(ops, self._body.of(ops, ops.concat(seen, 1))), state


class PilotAttention:
    """What is plain asks, the members of every set that are there answer, and beside them one that always is there."""

    state = 0

    def __init__(self, tensors: Tensors, name: str, activation: str, saved: SavedPolicy) -> None:
        self._sets = [form for form in saved.spec.layout if isinstance(form, Members)]
        self._plain = _plain(saved, self._sets)

        def part(own: str, *, last: bool = False) -> Perceptron:
            names = _numbered(tensors, f"{name}/{own}", ".") if last else [f"{name}/{own}"]
            return Perceptron(tensors, names, activation, last=last)

        self._own, self._body, self._head = part("own", last=True), part("body", last=True), part("head")
        self._members = [part(f"members.{i}", last=True) for i in range(len(self._sets))]
        self._asks, self._keys, self._tells = part("asks"), part("keys"), part("tells")
        self._nobody = tensors[f"{name}/nobody"]
        self._width = len(self._nobody)
        self._heads = HEADS if self._width % HEADS == 0 else 1

    def __call__(self, ops: Ops[V], x: V, state: V) -> tuple[V, V]:
        """Return (rows, outputs)."""
        own = self._own.of(ops, ops.take(x, self._plain))
        alone, zero = ops.reshape(own, (1, self._width)), np.zeros((), np.float32)
        answers = [ops.add(ops.mul(alone, zero), self._nobody)]
        closed = [ops.mul(ops.take(own, slice(0, 1)), zero)]  # minus infinity for who is not there
        for form, look in zip(self._sets, self._members, strict=True):
            numbers = ops.take(x, slice(form.first, form.first + form.size))
            answers.append(look.of(ops, ops.reshape(numbers, (form.most, form.numbers))))
            here = ops.take(numbers, slice(0, form.size, form.numbers))
            closed.append(ops.below(here, 0.5, -math.inf, 0.0))
        members, many = ops.concat(answers, 1), 1 + sum(form.most for form in self._sets)
        asks, keys, tells = (
            self._by_head(ops, values, rows)
            for values, rows in (
                (self._asks.of(ops, alone), 1),
                (self._keys.of(ops, members), many),
                (self._tells.of(ops, members), many),
            )
        )
        root = np.asarray((self._width // self._heads) ** -0.5, np.float32)
        score = ops.mul(ops.matmul(asks, ops.transpose(keys, (0, 1, 3, 2))), root)
        share = ops.softmax(ops.add(score, ops.reshape(ops.concat(closed, 1), (1, 1, many))))
        summary = ops.reshape(ops.matmul(share, tells), (self._width,))
        return self._head.of(ops, self._body.of(ops, ops.concat([own, summary], 1))), state

    def _by_head(self, ops: Ops[V], x: V, rows: int) -> V:
        split = ops.reshape(x, (rows, self._heads, self._width // self._heads))
        return ops.transpose(split, (0, 2, 1, 3))


def network_of(saved: SavedPolicy) -> Net:
    """Return the network that a policy acts by, with its saved parameters."""
    name, activation = "q" if saved.head == VALUES else "policy", str(saved.setting("activation"))
    make: dict[str, Callable[[], Any]] = {
        "mlp": lambda: Perceptron(_of_means(saved.tensors, name), _numbered(saved.tensors, name), activation),
        "gru": lambda: PilotGRU(saved.tensors, name, activation),
        "conv": lambda: PilotConvolution(saved.tensors, name, activation, saved),
        "attention": lambda: PilotAttention(saved.tensors, name, activation, saved),
    }
    net: Net = make[saved.setting("network") or "mlp"]()
    return net


def _of_means(tensors: Tensors, name: str) -> Tensors:
    """Return the parameters of a perceptron: those of quantiles as one that gives their mean over fixed fractions."""
    if f"{name}/{EMBEDDING}.weight" not in tensors:
        return tensors
    weight, bias = tensors[f"{name}/{EMBEDDING}.weight"], tensors[f"{name}/{EMBEDDING}.bias"]
    fractions = (np.arange(FRACTIONS) + 0.5) / FRACTIONS
    cosines = np.cos(np.multiply.outer(fractions, np.pi * np.arange(COSINES))).astype(np.float32)
    last = _numbered(tensors, name)[-1] + ".weight"
    return {**tensors, last: tensors[last] * np.maximum(cosines @ weight.T + bias, np.float32(0.0)).mean(0)}


def _numbered(tensors: Tensors, name: str, dot: str = "/") -> list[str]:
    """Return the names of the numbered layers that there are, in order."""
    start, end = f"{name}{dot}", ".weight"
    numbers = [each[len(start) : -len(end)] for each in tensors if each.startswith(start) and each.endswith(end)]
    return [f"{start}{number}" for number in sorted(int(n) for n in numbers if n.isdigit())]


def _plain(saved: SavedPolicy, forms: Sequence[Picture | Members]) -> list[int]:
    taken = {number for form in forms for number in range(form.first, form.first + form.size)}
    return [number for number in range(len(saved.spec.observations)) if number not in taken]


def finite(tensors: Tensors) -> list[str]:
    """Return the names of networks' parameters that are not finite."""
    return [name for name, each in tensors.items() if _is_weight(name, each) and not np.isfinite(each).all()]


def _is_weight(name: str, array: Array) -> bool:
    return array.dtype == np.float32 and not name.startswith(("value/unit", "worth/unit"))

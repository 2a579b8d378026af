"""Networks for what has a form: a small convolution for pictures, attention for sets of any number.

What forms a picture (a `Grid`) or a set (`Nearest`) stands in the policy's `layout`; all other numbers are plain.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TypeVar

import torch
from torch import Tensor, nn

from ecs_rl.agents.config import Activation
from ecs_rl.errors import CommandError
from ecs_rl.spaces import Members, Picture, PolicySpec

HEADS = 4
Form = TypeVar("Form", Picture, Members)


class Convolution(nn.Module):
    """Convolutions of 3 x 3 over each picture, as it says itself; then a perceptron over all."""

    def __init__(
        self, inputs: int, outputs: int, spec: PolicySpec, hidden: tuple[int, ...], activation: Activation
    ) -> None:
        super().__init__()
        self._pictures = _forms(spec, Picture, "conv", "a Grid")
        self._plain = _plain(inputs, self._pictures)
        self.looks = nn.ModuleList(map(_look, self._pictures))
        sizes = [picture.features for picture in self._pictures]
        self.body, width = _perceptron(len(self._plain) + sum(sizes), hidden, activation)
        self.head = nn.Linear(width, outputs)

    def features(self, x: Tensor) -> list[Tensor]:
        """Return (rows, channels, up, across) of each picture, made smaller: what moves there moves here."""
        seen = (_picture(x[:, p.first : p.first + p.size], p) for p in self._pictures)
        return [look(picture) for look, picture in zip(self.looks, seen, strict=True)]

    def forward(self, x: Tensor) -> Tensor:
        """Return (rows, outputs)."""
        flat = [feature.flatten(1) for feature in self.features(x)]
        return self.head(self.body(torch.cat([x[:, self._plain], *flat], 1)))  # type: ignore[no-any-return]


class Attention(nn.Module):
    """What is plain asks, every member of every set that is there answers: softmax attention with several heads.

    Nothing depends on the order of a set's members. Beside them stands one answer that is always there, for none.
    """

    def __init__(
        self, inputs: int, outputs: int, spec: PolicySpec, hidden: tuple[int, ...], activation: Activation
    ) -> None:
        super().__init__()
        self._sets = _forms(spec, Members, "attention", "Nearest")
        self._plain = _plain(inputs, self._sets)
        width = hidden[0] if hidden else 64
        self._heads = HEADS if width % HEADS == 0 else 1
        self.own, _ = _perceptron(len(self._plain), (width,), activation)
        self.members = nn.ModuleList(_perceptron(each.numbers, (width,), activation)[0] for each in self._sets)
        self.nobody = nn.Parameter(torch.zeros(width))
        self.asks, self.keys, self.tells = (nn.Linear(width, width) for _ in range(3))
        self.body, last = _perceptron(2 * width, hidden[1:], activation)
        self.head = nn.Linear(last, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Return (rows, outputs)."""
        seen = [x[:, s.first : s.first + s.size].reshape(-1, s.most, s.numbers) for s in self._sets]
        plain = self.own(x[:, self._plain])
        nobody = self.nobody.expand(len(x), 1, -1)
        members = torch.cat([nobody, *(look(part) for look, part in zip(self.members, seen, strict=True))], 1)
        absent = torch.cat([torch.zeros(len(x), 1, dtype=torch.bool), *(part[..., 0] < 0.5 for part in seen)], 1)
        asks, keys, tells = (
            self._by_head(part) for part in (self.asks(plain).unsqueeze(1), self.keys(members), self.tells(members))
        )
        score = asks @ keys.transpose(2, 3) / keys.shape[-1] ** 0.5
        share = score.masked_fill(absent[:, None, None], float("-inf")).softmax(-1)
        summary = (share @ tells).flatten(1)
        return self.head(self.body(torch.cat([plain, summary], 1)))  # type: ignore[no-any-return]

    def _by_head(self, x: Tensor) -> Tensor:
        """Return (rows, members, width) as (rows, heads, members, width of a head)."""
        return x.view(*x.shape[:2], self._heads, -1).transpose(1, 2)


def _picture(x: Tensor, picture: Picture) -> Tensor:
    """Return (rows, layers, up, across), the layers innermost in memory where many cells are halved: twice as fast."""
    seen = x.reshape(-1, picture.layers, picture.up, picture.across)
    return seen.contiguous(memory_format=torch.channels_last) if 1 not in picture.strides else seen


def _look(picture: Picture) -> nn.Sequential:
    """Return the convolutions over a picture."""
    layers: list[nn.Module] = []
    for before, after, stride in zip(
        (picture.layers, *picture.channels), picture.channels, picture.strides, strict=False
    ):
        layers += [nn.Conv2d(before, after, 3, stride=stride, padding=1), nn.ReLU()]
    return nn.Sequential(*layers)


def _forms(spec: PolicySpec, kind: type[Form], network: str, sensor: str) -> list[Form]:
    forms = [form for form in spec.layout if isinstance(form, kind)]
    if not forms:
        what = f"pictures, and '{spec.name}' sees none" if kind is Picture else f"sets, and '{spec.name}' sees none"
        raise CommandError(f"the network {network} is for {what}: give it {sensor} to see, or take mlp")
    return forms


def _plain(inputs: int, forms: Iterable[Picture | Members]) -> list[int]:
    taken = {number for form in forms for number in range(form.first, form.first + form.size)}
    return [number for number in range(inputs) if number not in taken]


def _perceptron(inputs: int, hidden: tuple[int, ...], activation: Activation) -> tuple[nn.Sequential, int]:
    """Return hidden layers with orthogonal weights, and the width of the last."""
    layers: list[nn.Module] = []
    for before, after in pairwise((inputs, *hidden)):
        linear = nn.Linear(before, after)
        if before:
            nn.init.orthogonal_(linear.weight, 2**0.5)
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.Tanh() if activation == "tanh" else nn.ReLU()]
    return nn.Sequential(*layers), hidden[-1] if hidden else inputs

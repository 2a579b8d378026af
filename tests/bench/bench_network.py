"""What a network costs: `python tests/bench/bench_network.py [--rows 2048] [--seconds 2]`.

A module by autograd behind the protocol against a bare loop over the same module with the same batches (forward,
backward, gradients set to zero before); the perceptron written out against both; and a gated recurrent unit written
out against torch's own cell unrolled by autograd. The two sides of a ratio take turns in one run, and the median of
the pairs counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

from ecs_rl.agents import Discrete, PolicySpec
from ecs_rl.agents.gru import GRU
from ecs_rl.agents.layout_modules import Convolution
from ecs_rl.agents.modules import ModuleNetwork, RecurrentModule, shapes_of_module
from ecs_rl.agents.networks import MLP, Parameters
from ecs_rl.spaces import Picture

INPUTS, OUTPUTS = 8, 4
PICTURE = Picture(4, 2, 11, 11)
SPEC = PolicySpec(tuple(map(str, range(4 + PICTURE.size))), Discrete(("a", "b", "c", "d")), layout=(PICTURE,))


def perceptron() -> nn.Module:
    """Return two hidden layers of 64."""
    return nn.Sequential(nn.Linear(INPUTS, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, OUTPUTS))


class Cell(nn.Module):
    """Torch's own gated recurrent unit behind one hidden layer."""

    state = 64

    def __init__(self) -> None:
        super().__init__()
        self.body, self.cell, self.head = nn.Linear(INPUTS, 64), nn.GRUCell(64, 64), nn.Linear(64, OUTPUTS)

    def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return the output and what is remembered."""
        state = self.cell(torch.tanh(self.body(x)), state)
        return self.head(state), state


def in_turns(one: Callable[[], None], other: Callable[[], None], seconds: float) -> tuple[float, float, float]:
    """Return the median milliseconds of each, and of the ratio of each pair."""
    for _ in range(3):
        one()
        other()
    pairs, began = list[tuple[float, float]](), perf_counter()
    while perf_counter() - began < seconds:
        start = perf_counter()
        one()
        middle = perf_counter()
        other()
        pairs.append((middle - start, perf_counter() - middle))
    first, second = zip(*pairs, strict=True)
    return 1e3 * median(first), 1e3 * median(second), median(a / b for a, b in pairs)


def learning(network: Any, x: Tensor, grad: Tensor) -> Callable[[], None]:
    """Return one pass through a network and back, as an algorithm makes it."""

    def once() -> None:
        with torch.inference_mode():
            network.forward(x)
            network.backward(grad)

    return once


def bare(module: nn.Module, x: Tensor, grad: Tensor) -> Callable[[], None]:
    """Return the bare loop's pass."""

    def once() -> None:
        module.zero_grad(set_to_none=False)
        torch.autograd.backward(module(x), grad)

    return once


def told(what: str, one: float, other: float, ratio: float) -> None:
    """Print a line."""
    print(f"{what:58} {one:8.2f} ms {other:8.2f} ms  ratio {ratio:5.2f}")


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--seconds", type=float, default=2.0)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for name, make, inputs in (
        ("perceptron 64x64", perceptron, INPUTS),
        (
            "convolution 2x11x11",
            lambda: Convolution(len(SPEC.observations), OUTPUTS, SPEC, (64,), "relu"),
            4 + PICTURE.size,
        ),
    ):
        x, grad = torch.randn(asked.rows, inputs), torch.randn(asked.rows, OUTPUTS)
        network = ModuleNetwork(Parameters(shapes_of_module("net", make())), "net", make, OUTPUTS)
        theirs = in_turns(learning(network, x, grad), bare(make(), x, grad), asked.seconds)
        told(f"{name}, {asked.rows} rows: by the adapter, bare", *theirs)
    x, grad = torch.randn(asked.rows, INPUTS), torch.randn(asked.rows, OUTPUTS)
    by_hand = MLP(Parameters(MLP.shapes("net", (INPUTS, 64, 64, OUTPUTS))), "net", 3, "tanh")
    told(
        f"perceptron 64x64, {asked.rows} rows: by hand, bare",
        *in_turns(learning(by_hand, x, grad), bare(perceptron(), x, grad), asked.seconds),
    )
    gru = GRU(Parameters(GRU.shapes("net", (INPUTS, 64), 64, OUTPUTS)), "net", 2, "tanh")
    module = RecurrentModule(Parameters(shapes_of_module("net", Cell())), "net", Cell, OUTPUTS)
    for rows in (8, 64):
        sequences, by_outputs = torch.randn(64, rows, INPUTS), torch.randn(64, rows, OUTPUTS)
        start, begins = torch.zeros(rows, 64), torch.rand(64, rows) < 0.02

        def passes(net: Any, x: Tensor, state: Tensor, begins: Tensor, grad: Tensor) -> Callable[[], None]:
            def once() -> None:
                with torch.inference_mode():
                    net.forward(x, state, begins)
                    net.backward(grad)

            return once

        one, other = (passes(net, sequences, start, begins, by_outputs) for net in (gru, module))
        told(f"gru 64, 64 ticks of {rows} rows: by hand, by autograd", *in_turns(one, other, asked.seconds))


if __name__ == "__main__":
    main()

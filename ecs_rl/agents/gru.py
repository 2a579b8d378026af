"""A network that remembers: a perceptron, a gated recurrent unit (Cho et al. 2014), and a linear head, written out.

The perceptron's last layer gives what the three gates get from the input, for all ticks in one product; what is left
for each tick is one product with the memory. By hand for the same reason as the perceptron: see
`tests/bench/bench_network.py`.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecs_rl.agents.config import Activation
from ecs_rl.agents.networks import MLP, Parameters, Shapes, orthogonal, weight_gradient

Array = NDArray[np.float32]


class GRU:
    """A perceptron, a gated recurrent unit and a head whose weights live in a `Parameters`.

    With h what is remembered and g what the perceptron gives for the gates, in three parts r, z and n:
    r = sigmoid(g_r + U_r h), z = sigmoid(g_z + U_z h), n = tanh(g_n + r (U_n h + b)), h' = n + z (h - n).
    """

    def __init__(self, parameters: Parameters, name: str, layers: int, activation: Activation) -> None:
        """Take a perceptron of so many layers, the last of which feeds the gates."""
        self._body = MLP(parameters, name, layers, activation)
        value, grad = parameters.value, parameters.grad
        self._u, self._b, self._w, self._c = (value[f"{name}/{part}"] for part in PARTS)
        self._u_grad, self._b_grad, self._w_grad, self._c_grad = (grad[f"{name}/{part}"] for part in PARTS)
        self.state = len(self._b)
        self._forwarded: tuple[Array, ...] = ()
        self._head_inputs = torch.empty(0)

    @staticmethod
    def shapes(name: str, sizes: tuple[int, ...], memory: int, outputs: int) -> Shapes:
        """Return the shape of each parameter; `sizes` are the widths of the perceptron up to its last hidden layer."""
        shapes = ((3 * memory, memory), (memory,), (outputs, memory), (outputs,))
        return MLP.shapes(name, (*sizes, 3 * memory)) | {
            f"{name}/{part}": shape for part, shape in zip(PARTS, shapes, strict=True)
        }

    def initialise(self, generator: torch.Generator, head_gain: float | Tensor) -> None:
        """Draw orthogonal weights, those of each gate by themselves; zero biases."""
        self._body.initialise(generator, head_gain=1.0)
        for gate in torch.split(self._u, self.state):
            orthogonal(gate, 1.0, generator)
        orthogonal(self._w, head_gain, generator)
        self._b.zero_()
        self._c.zero_()

    def step(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return (rows, outputs), and what is remembered from here on."""
        if x.requires_grad:
            return self._traced(x, state)
        memory = torch.empty(len(x), self.state)  # torch's own memory is aligned, which gives the same sums every run
        recurrent = torch.mm(state, self._u.t()).numpy()
        memory.numpy()[...] = self._tick(self._body(x).numpy(), recurrent, state.numpy())[0]
        return torch.addmm(self._c, memory, self._w.t()), memory

    def _traced(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return what `step` does, by operations that autograd follows back to `x`."""
        gates, recurrent, h = self._body(x), state @ self._u.t(), self.state
        r, z = torch.split(torch.sigmoid(gates[:, : 2 * h] + recurrent[:, : 2 * h]), h, 1)
        n = torch.tanh(gates[:, 2 * h :] + r * (recurrent[:, 2 * h :] + self._b))
        memory = n + z * (state - n)
        return torch.addmm(self._c, memory, self._w.t()), memory

    def forward(self, x: Tensor, state: Tensor, begins: Tensor) -> Tensor:
        """Return (ticks, rows, outputs) of sequences and remember what `backward` needs."""
        ticks, rows, _ = x.shape
        gates = self._body.forward(x.reshape(ticks * rows, -1)).numpy().reshape(ticks, rows, -1)
        goes_on = (~begins).to(torch.float32).unsqueeze(2).numpy()
        before, after, r, z, n, inner = (torch.empty(ticks, rows, self.state) for _ in range(6))
        starts, arrays = before.numpy(), tuple(each.numpy() for each in (after, r, z, n, inner))
        recurrent, weight = torch.empty(ticks, rows, 3 * self.state), self._u.t()
        memory = state.numpy()
        for t, (start, product) in enumerate(zip(before.unbind(), recurrent.unbind(), strict=True)):
            np.multiply(memory, goes_on[t], out=starts[t])
            torch.mm(start, weight, out=product)  # numpy's own would wake other threads, and spin
            for array, numbers in zip(arrays, self._tick(gates[t], product.numpy(), starts[t]), strict=True):
                array[t] = numbers
            memory = arrays[0][t]
        self._forwarded = (goes_on, starts, *arrays[1:])
        self._head_inputs = after.flatten(0, 1)
        return torch.addmm(self._c, self._head_inputs, self._w.t()).view(ticks, rows, -1)

    def backward(self, grad: Tensor) -> None:
        """Write the gradient of every parameter, through all ticks, given that of the last `forward`'s outputs."""
        goes_on, before, r, z, n, inner = self._forwarded
        by_output = grad.flatten(0, 1)
        weight_gradient(by_output, self._head_inputs, self._w_grad)
        torch.sum(by_output, 0, out=self._c_grad)
        by_memory = torch.mm(by_output, self._w).numpy().reshape(before.shape)
        h = self.state
        # By what the perceptron gives, and by what the memory gives: they differ in the last third.
        by_gates = torch.empty(*before.shape[:2], 3 * h).numpy()
        recurrent = torch.empty(*before.shape[:2], 3 * h)
        by_recurrent, through = recurrent.numpy(), torch.empty(before.shape[1], h)
        by_n, by_z = np.empty_like(by_memory), z * (1.0 - z) * (before - n)
        slope_n, slope_r = (1.0 - z) * (1.0 - n * n), inner * r * (1.0 - r)
        later = np.zeros_like(by_memory[0])
        for t in range(len(before) - 1, -1, -1):
            later += by_memory[t]
            np.multiply(later, slope_n[t], out=by_n[t])
            np.multiply(by_n[t], slope_r[t], out=by_recurrent[t, :, :h])
            np.multiply(later, by_z[t], out=by_recurrent[t, :, h : 2 * h])
            np.multiply(by_n[t], r[t], out=by_recurrent[t, :, 2 * h :])
            later *= z[t]
            later += torch.mm(recurrent[t], self._u, out=through).numpy()
            later *= goes_on[t]
        by_gates[:] = by_recurrent
        by_gates[:, :, 2 * h :] = by_n
        recurrent = recurrent.flatten(0, 1)
        torch.mm(recurrent.t(), torch.from_numpy(before).flatten(0, 1), out=self._u_grad)
        torch.sum(recurrent[:, 2 * h :], 0, out=self._b_grad)
        self._body.backward(torch.from_numpy(by_gates).flatten(0, 1))

    def _tick(self, gates: Array, recurrent: Array, before: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return (rows, state) of what is remembered next, r, z, n and U_n h + b, given g and U h."""
        h = self.state
        both = gates[:, : 2 * h] + recurrent[:, : 2 * h]
        _sigmoid(both)
        r, z, inner = both[:, :h], both[:, h:], recurrent[:, 2 * h :] + self._b.numpy()
        n = gates[:, 2 * h :] + r * inner
        np.tanh(n, out=n)
        return n + z * (before - n), r, z, n, inner


PARTS = ("recurrent.weight", "recurrent.bias", "head.weight", "head.bias")


def _sigmoid(x: Array) -> None:
    """Put the sigmoid of each number in its place; by tanh, which never overflows."""
    x *= 0.5
    np.tanh(x, out=x)
    x *= 0.5
    x += 0.5

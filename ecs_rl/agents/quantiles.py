"""Distributions of returns by implicit quantiles (Dabney et al. 2018): what `dqn.quantiles` turns DQN into.

With h(s) the last hidden layer, t and t' evenly drawn from 0 to 1, a* the best option of s' by its mean:

    Z_t(s, a) = sum_j W_aj h_j(s) phi_j(t) + b_a,  phi(t) = relu(V c(t) + v),  c_i(t) = cos(pi i t)
    d = r + g Z'_t'(s', a*) - Z_t(s, a)
    L = E[ w |t - [d < 0]| huber(d) ]

The paper has one more layer after the product of h and phi. Without it the mean over t is that of a perceptron whose
last weights are W_aj E[phi_j]: acting, pilots and ONNX files take no longer than those of a mean alone.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ecs_rl.agents.action_values import ActionValues, Choices, Loss
from ecs_rl.agents.config import Activation
from ecs_rl.agents.networks import MLP, Parameters, Shapes, weight_gradient
from ecs_rl.agents.policy_heads import COSINES, EMBEDDING, FRACTIONS
from ecs_rl.spaces import Floats

FREQUENCIES = (np.pi * np.arange(COSINES)).astype(np.float32)


class QuantileMLP(MLP):
    """A perceptron of quantiles; called like any other it returns their mean over fixed fractions."""

    def __init__(self, parameters: Parameters, name: str, layers: int, activation: Activation) -> None:
        super().__init__(parameters, name, layers, activation)
        names = [f"{name}/{EMBEDDING}.{kind}" for kind in ("weight", "bias")]
        self._v, self._v_bias = (parameters.value[each] for each in names)
        self._v_grad, self._v_bias_grad = (parameters.grad[each] for each in names)
        self._first_drawn.append((self._v, self._v_bias))
        self._fixed = cosines(((np.arange(FRACTIONS) + 0.5) / FRACTIONS).astype(np.float32))

    @staticmethod
    def shapes(name: str, sizes: tuple[int, ...]) -> Shapes:
        """Return the shape of each parameter, those of the embedding phi included."""
        width, embedding = sizes[-2], f"{name}/{EMBEDDING}"
        return {**MLP.shapes(name, sizes), f"{embedding}.weight": (width, COSINES), f"{embedding}.bias": (width,)}

    def _phi(self, c: Tensor) -> Tensor:
        return torch.addmm(self._v_bias, c, self._v.t()).relu_()

    def _last(self) -> Tensor:
        return self._transposed[-1] * self._phi(self._fixed).mean(0).unsqueeze(1)

    def quantiles(self, x: Tensor, c: Tensor) -> Tensor:
        """Return (rows * n, outputs) for (rows, inputs) and (rows * n, COSINES), and remember what `backward` needs."""
        self._inputs, self._c, phi = self._hidden(x), c, self._phi(c)
        h = self._inputs[-1].unsqueeze(1)
        self._embedded, self._product = phi, (h * phi.view(len(x), -1, h.shape[2])).view(phi.shape)
        return torch.addmm(self._bias[-1], self._product, self._transposed[-1])

    def backward(self, grad: Tensor) -> None:
        """Write the gradient of every parameter, given (rows * n, outputs) that by the output of `quantiles`."""
        weight_gradient(grad, self._product, self._weight_grad[-1])
        torch.sum(grad, 0, out=self._bias_grad[-1])
        by_product, h = torch.mm(grad, self._weight[-1]), self._inputs[-1]
        by_phi = (by_product.view(len(h), -1, h.shape[1]) * h.unsqueeze(1)).view(by_product.shape)
        by_phi = torch.ops.aten.threshold_backward(by_phi, self._embedded, 0)
        weight_gradient(by_phi, self._c, self._v_grad)
        torch.sum(by_phi, 0, out=self._v_bias_grad)
        by_h = (by_product * self._embedded).view(len(h), -1, h.shape[1]).sum(1)
        self._through_hidden(by_h)


class QuantileFit:
    """Fits quantiles to returns: as `MeanFit` fits values, and with the same methods."""

    def __init__(self, values: ActionValues, count: int, random: torch.Generator) -> None:
        """Look at `count` quantiles of each row, at fractions that are drawn anew each time."""
        self._values, self._count, self._random = values, count, random

    def _drawn(self, network: MLP, x: Tensor) -> tuple[Floats, Floats]:
        """Return (rows, count) fractions and (rows, count, options) their quantiles."""
        assert isinstance(network, QuantileMLP)
        t = torch.rand(len(x) * self._count, generator=self._random).numpy()
        z = self._values.of(network.quantiles(x, cosines(t)))
        return t.reshape(len(x), -1), z.reshape(len(x), self._count, -1)

    def look(self, network: MLP, x: Tensor) -> Floats:
        """Return (rows, options) the mean of some quantiles, which `goal` takes up."""
        self._next = self._drawn(network, x)[1]
        return np.asarray(self._next.mean(1))

    def goal(self, best: Choices, reward: Floats, discount: Floats) -> Floats:
        """Return (rows, count) what quantiles should be; all choices share the mean of their best options'."""
        future = np.take_along_axis(self._next, best[:, None], 2).mean(2)
        return np.asarray(reward[:, None] + discount[:, None] * future)

    def forward(self, network: MLP, x: Tensor) -> Floats:
        """Return (rows, options) the mean of some quantiles, and remember what `backward` needs."""
        self._t, self._z = self._drawn(network, x)
        return np.asarray(self._z.mean(1))

    def loss(self, taken: Choices, goal: Floats, weight: Floats | None, threshold: float) -> Loss:
        """Return the loss of these (rows, choices) options, and write its gradient by the quantiles."""
        z, goal = np.take_along_axis(self._z, taken[:, None], 2), goal.reshape(len(taken), -1)
        loss, grad = quantile_huber(z, goal, self._t, weight, threshold)
        self._by_quantile, self.grad = np.zeros_like(self._z), np.zeros_like(self._z[:, 0])
        np.put_along_axis(self._by_quantile, taken[:, None], grad, 2)
        q = z.mean(1)
        return Loss(loss, q, q - goal.mean(1)[:, None])

    def backward(self, network: MLP) -> None:
        """Write the gradient by the parameters, that of the means in `grad` included."""
        grad = self._by_quantile + self.grad[:, None] / np.float32(self._count)
        network.backward(self._values.backward(torch.from_numpy(grad.reshape(-1, grad.shape[2]))))


def cosines(t: Floats) -> Tensor:
    """Return (fractions, COSINES) cos(pi i t)."""
    return torch.from_numpy(np.cos(np.multiply.outer(t, FREQUENCIES)))


def quantile_huber(z: Floats, goal: Floats, t: Floats, weight: Floats | None, threshold: float) -> tuple[float, Floats]:
    """Return the mean quantile Huber loss, and its gradient by `z`: (rows, count, choices), `t` (rows, count).

    Every quantile is held against all of (rows, others) in `goal`; `weight` is (rows,) what each row counts for.
    """
    d = goal[:, None, :, None] - z[:, :, None, :]
    inner = np.minimum(np.maximum(d, np.float32(-threshold)), np.float32(threshold))
    share = np.abs(t[:, :, None, None] - (d < 0)) * inner / np.float32(d.size)
    if weight is not None:
        share *= weight[:, None, None, None]
    return float((share * (d - 0.5 * inner)).sum()), np.asarray(-share.sum(2))

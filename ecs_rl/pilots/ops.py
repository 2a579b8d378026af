"""What policies are computed with: written once, they run on numpy's arrays or become the nodes of an ONNX graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[Any]
V = TypeVar("V")
"""An array, or the name of what a node of a graph gives."""
Numbers = slice | Sequence[int]


class Ops(Protocol[V]):
    """The operations that policies are made of, on batches: the first axis is the rows, and no row needs another."""

    def affine(self, x: V, weight: Array, bias: Array) -> V:
        """Return x W^T + b along the last axis, for (outputs, inputs) weights."""

    def add(self, x: V, y: V | Array) -> V:
        """Return the sum of each two numbers."""

    def sub(self, x: V, y: V | Array) -> V:
        """Return the difference of each two numbers."""

    def mul(self, x: V, y: V | Array) -> V:
        """Return the product of each two numbers."""

    def tanh(self, x: V) -> V:
        """Return the hyperbolic tangent of each number."""

    def relu(self, x: V) -> V:
        """Return each number, 0 for those below."""

    def sigmoid(self, x: V) -> V:
        """Return the logistic function of each number."""

    def softmax(self, x: V) -> V:
        """Return shares of 1 along the last axis."""

    def clip(self, x: V, limit: float) -> V:
        """Return each number, held between -limit and limit."""

    def below(self, x: V, limit: float, then: float, other: float) -> V:
        """Return one number where x is below a limit, and another elsewhere."""

    def take(self, x: V, numbers: Numbers) -> V:
        """Return some of the numbers along the last axis."""

    def concat(self, parts: Sequence[V], axis: int) -> V:
        """Return parts side by side."""

    def reshape(self, x: V, shape: tuple[int, ...]) -> V:
        """Return (rows, *shape)."""

    def transpose(self, x: V, order: tuple[int, ...]) -> V:
        """Return the axes in another order."""

    def matmul(self, x: V, y: V) -> V:
        """Return products of matrices, of the last two axes."""

    def conv(self, x: V, weight: Array, bias: Array, stride: int) -> V:
        """Return a convolution of 3 x 3 with a border of zeros of (rows, channels, up, across)."""

    def argmax(self, x: V) -> V:
        """Return the place of the greatest number along the last axis, an int64; the first of equals."""

    def as_float(self, x: V) -> V:
        """Return whole numbers as float32."""


class NumpyOps:
    """The operations at once, on float32 arrays."""

    def affine(self, x: Array, weight: Array, bias: Array) -> Array:
        """Return x W^T + b along the last axis."""
        out: Array = np.dot(x, weight.T)
        out += bias
        return out

    def add(self, x: Array, y: Array) -> Array:
        """Return the sum."""
        return np.asarray(x + y)

    def sub(self, x: Array, y: Array) -> Array:
        """Return the difference."""
        return np.asarray(x - y)

    def mul(self, x: Array, y: Array) -> Array:
        """Return the product."""
        return np.asarray(x * y)

    def tanh(self, x: Array) -> Array:
        """Return the hyperbolic tangent."""
        return np.asarray(np.tanh(x))

    def relu(self, x: Array) -> Array:
        """Return each number, 0 for those below."""
        return np.asarray(np.maximum(x, np.float32(0.0)))

    def sigmoid(self, x: Array) -> Array:
        """Return the logistic function; by tanh, which never overflows."""
        return np.asarray(np.tanh(x * np.float32(0.5)) * np.float32(0.5) + np.float32(0.5))

    def softmax(self, x: Array) -> Array:
        """Return shares of 1 along the last axis."""
        raised = np.exp(x - x.max(-1, keepdims=True))
        return np.asarray(raised / raised.sum(-1, keepdims=True))

    def clip(self, x: Array, limit: float) -> Array:
        """Return each number, held between -limit and limit."""
        return np.asarray(np.maximum(np.minimum(x, np.float32(limit)), np.float32(-limit)))

    def below(self, x: Array, limit: float, then: float, other: float) -> Array:
        """Return one number where x is below a limit, and another elsewhere."""
        return np.where(x < limit, np.float32(then), np.float32(other))

    def take(self, x: Array, numbers: Numbers) -> Array:
        """Return some of the numbers along the last axis."""
        return np.asarray(x[..., numbers])

    def concat(self, parts: Sequence[Array], axis: int) -> Array:
        """Return parts side by side."""
        return np.concatenate(parts, axis)

    def reshape(self, x: Array, shape: tuple[int, ...]) -> Array:
        """Return (rows, *shape)."""
        return x.reshape(len(x), *shape)

    def transpose(self, x: Array, order: tuple[int, ...]) -> Array:
        """Return the axes in another order."""
        return x.transpose(order)

    def matmul(self, x: Array, y: Array) -> Array:
        """Return products of matrices."""
        return np.asarray(x @ y)

    def conv(self, x: Array, weight: Array, bias: Array, stride: int) -> Array:
        """Return a convolution of 3 x 3 with a border of zeros."""
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::stride, ::stride]
        return np.asarray(np.einsum("rcijyx,ocyx->roij", windows, weight, optimize=True) + bias[:, None, None])

    def argmax(self, x: Array) -> Array:
        """Return the place of the greatest number along the last axis."""
        return np.asarray(x.argmax(-1))

    def as_float(self, x: Array) -> Array:
        """Return whole numbers as float32."""
        return x.astype(np.float32)

"""The array types that columns are made of, and whether their numbers are finite."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

FEW = 8192
"""Numbers; for more than about this, BLAS starts threads, which then wait for each other."""


def finite(*arrays: NDArray[Any]) -> Callable[[], bool]:
    """Return a function that tells whether all numbers of these arrays are finite; of huge ones it may say no."""
    looks = [_look(run) for run in runs(arrays)]
    return looks[0] if len(looks) == 1 else lambda: all(look() for look in looks)


def _look(run: NDArray[Any]) -> Callable[[], bool]:
    """Return the quickest way to tell whether (numbers,) are finite: no warnings, no threads, nothing in between."""
    if run.size > FEW:
        return lambda: math.isfinite(np.einsum("i->", run))  # half of the time of `add.reduce`
    return lambda: math.isfinite(run.dot(run))  # a fifth of the time of looking at each


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array. Its `base` is no array, so nobody can write by way of that."""
    if not array.size:
        view = array.view()
    else:
        last = sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True) if step > 0)
        first = sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True) if step < 0)
        memory = (ctypes.c_char * (last - first + array.itemsize)).from_address(array.ctypes.data + first)
        memory._owner = array  # it must live as long
        view = np.ndarray(array.shape, array.dtype, memory, -first, array.strides)
    view.flags.writeable = False
    return view


def runs(arrays: Iterable[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return the memory of arrays as views (numbers,): as few as there can be, whatever shapes share a block."""
    blocks: dict[int, tuple[NDArray[Any], Bool]] = {}
    for array in arrays:
        block = array
        while isinstance(block.base, np.ndarray):
            block = block.base
        flat, taken = blocks.setdefault(id(block), (block.ravel("K"), np.zeros(block.size, bool)))
        begin = (array.ctypes.data - flat.ctypes.data) // flat.itemsize
        steps = [step // flat.itemsize for step in array.strides]
        np.lib.stride_tricks.as_strided(taken[begin:], array.shape, steps)[...] = True
    spans = []
    for flat, taken in blocks.values():
        edges = np.flatnonzero(np.diff(taken, prepend=False, append=False))
        spans += [flat[first:last] for first, last in edges.reshape(-1, 2).tolist()]
    return spans

"""The array types that columns are made of, and whether their numbers are finite."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

FEW = 8192
"""Numbers; for more than about this, BLAS starts threads, which then wait for each other."""


def finite(array: NDArray[Any]) -> Callable[[], bool]:
    """Return a function that tells whether all numbers of the array are finite; of huge ones it may say no."""
    flat = array.ravel("K")
    if not np.shares_memory(flat, array):
        return lambda: bool(np.isfinite(array).all())
    if flat.size > FEW:
        return lambda: math.isfinite(np.add.reduce(flat))
    return lambda: math.isfinite(flat.dot(flat))  # a fifth of the time of looking at each

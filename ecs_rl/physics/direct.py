"""A few bodies or shapes moved by the C functions under pymunk, without its Python around them.

When a few of a thousand arenas start again, `pymunk.batch.set_space_bodies` would visit every body of the Space, and
pymunk's own setters cost more than the work itself. Both are measured in `tests/bench/bench_tick.py`: respawning.
Nothing here checks what it is given beyond sizes; all numbers come from the world's own finite columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymunk
from pymunk import _chipmunk_cffi
from pymunk.batch import BodyFields, Buffer

from ecs_rl.arrays import F64

_ffi: Any = _chipmunk_cffi.ffi
_lib: Any = _chipmunk_cffi.lib


STATE = BodyFields.POSITION | BodyFields.ANGLE | BodyFields.VELOCITY | BodyFields.ANGULAR_VELOCITY
"""x, y, angle, vx, vy, spin: six doubles, in this order."""


class InBuffer(Buffer):
    """A buffer that reads numpy's memory; it owns none."""

    def __init__(self) -> None:
        self._float_arr, self._int_arr = _ffi.new("pmFloatArray *"), _ffi.new("pmIntArray *")
        self._float_buf = self._int_buf = None


class OutBuffer(Buffer):
    """A buffer that C fills and that frees its memory; pymunk's own never does (7.3), and rebuilding makes many."""

    def __init__(self) -> None:
        self._float_arr = _ffi.gc(_lib.pmFloatArrayNew(0), _lib.pmFloatArrayFree)
        self._int_arr = _ffi.gc(_lib.pmIntArrayNew(0), _lib.pmIntArrayFree)
        self._float_buf = self._int_buf = None


def set_states(bodies: Sequence[pymunk.Body], rows: F64) -> None:
    """Set the state of each body from its row; the row function trusts the buffer's length, so it is checked here."""
    if rows.shape != (len(bodies), 6) or not rows.flags.c_contiguous or rows.dtype != np.float64:
        raise ValueError(f"{len(bodies)} bodies need ({len(bodies)}, 6) doubles, not {rows.shape} of {rows.dtype}")
    buffer = InBuffer()
    buffer.set_float_buf(rows)
    buffer._float_arr.num = 0  # counts up as rows are read
    batch = _ffi.new("pmBatchedData *")
    batch.fields, batch.floatArray, batch.intArray = STATE.value, buffer._float_arr, buffer._int_arr
    set_row = _lib.pmSpaceBodySetIteratorFuncBatched
    for body in bodies:
        set_row(body._body, batch)


def add_shapes(space: pymunk.Space, shapes: Sequence[pymunk.Shape], static: Sequence[pymunk.Body]) -> None:
    """Add shapes to a Space, some of which may be of static bodies that stay without a row in its batch calls.

    Chipmunk asks whether a shape's body is in the Space when the shape is added, and never after that.
    """
    for body in static:
        _lib.cpSpaceAddBody(space._space, body._body)
    space.add(*shapes)
    for body in static:
        _lib.cpSpaceRemoveBody(space._space, body._body)


def move_segments(segments: Sequence[pymunk.Segment], ends: Sequence[Any]) -> None:
    """Give each static segment its two new ends, and tell the index of its Space."""
    set_ends = _lib.cpSegmentShapeSetEndpoints
    for segment, (start, end) in zip(segments, ends, strict=True):
        set_ends(segment._shape, start, end)
    reindex(segments)


def reindex(shapes: Sequence[pymunk.Shape]) -> None:
    """Tell the index of their Space that static shapes have moved."""
    space_of, reindex_shape = _lib.cpShapeGetSpace, _lib.cpSpaceReindexShape
    for shape in shapes:
        reindex_shape(space_of(shape._shape), shape._shape)

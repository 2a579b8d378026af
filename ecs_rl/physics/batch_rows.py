"""One batch row for some bodies, instead of all bodies of a Space.

`pymunk.batch.set_space_bodies` visits every body of a Space; when a few of a thousand arenas start again that costs
four times what their own rows cost. This calls the same row function of pymunk's C code, body by body.
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
_set_row: Any = _chipmunk_cffi.lib.pmSpaceBodySetIteratorFuncBatched


STATE = BodyFields.POSITION | BodyFields.ANGLE | BodyFields.VELOCITY | BodyFields.ANGULAR_VELOCITY
"""x, y, angle, vx, vy, spin: six doubles, in this order."""


def row_targets(bodies: Sequence[pymunk.Body]) -> list[Any]:
    """Return what `set_states` wants instead of bodies; each lives as long as its body."""
    return [body._body for body in bodies]


def set_states(bodies: Sequence[Any], rows: F64) -> None:
    """Set the state of each body from its row; the row function trusts the buffer's length, so it is checked here."""
    if rows.shape != (len(bodies), 6) or not rows.flags.c_contiguous or rows.dtype != np.float64:
        raise ValueError(f"{len(bodies)} bodies need ({len(bodies)}, 6) doubles, not {rows.shape} of {rows.dtype}")
    buffer = Buffer()
    buffer.set_float_buf(rows)
    buffer._float_arr.num = 0  # counts up as rows are read
    told = _ffi.new("pmBatchedData *")
    told.fields, told.floatArray, told.intArray = STATE.value, buffer._float_arr, buffer._int_arr
    for body in bodies:
        _set_row(body, told)

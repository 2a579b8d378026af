"""What a role is in the physics: columns over all arenas, in metres, seconds, kilograms and radians, y up.

The arrays are views into blocks that the physics owns, so one call moves all of them in or out.
"""

from __future__ import annotations

import numpy as np

from ecs_rl.arrays import F64, Bool
from ecs_rl.ecs.component import Axis, column, component


@component
class Pose:
    """Where a body is. Written by simulate, guard and respawn."""

    position: F64 = column(unit="m", dtype=np.float64)
    """(arenas, 2) Centre of gravity, from the arena's own origin."""
    angle: F64 = column(unit="rad", dtype=np.float64)
    """(arenas,) Counter-clockwise, never wrapped."""


@component
class Motion:
    """How a body moves. Written by simulate, guard and respawn."""

    velocity: F64 = column(unit="m/s", dtype=np.float64)
    """(arenas, 2)"""
    spin: F64 = column(unit="rad/s", dtype=np.float64)
    """(arenas,) Radians per second, counter-clockwise."""


@component
class Force:
    """What pushes a body during the coming tick, gravity left out. Written by actuate."""

    force: F64 = column(unit="N", lasts=False, dtype=np.float64)
    """(arenas, 2) Through the centre of gravity, in the arena's axes."""
    torque: F64 = column(unit="N m", lasts=False, dtype=np.float64)
    """(arenas,)"""


@component
class MotorSpeed:
    """How fast each motor of the scene is to turn. One for the whole world. Written by actuate."""

    rate: F64 = column(axis=Axis.LAST, lasts=False, dtype=np.float64)
    """(motors, arenas) Radians per second of a motor's role against its base."""


@component
class Touch:
    """Which roles touch. One for the whole world. Written by simulate, guard and respawn."""

    pairs: Bool = column(False, dtype=np.bool_)
    """(arenas, roles + 1, roles + 1) Symmetric; the last row and column stand for the ground."""


@component
class Ground:
    """The segments that never move during an episode. One for the whole world. Written by respawn."""

    segments: F64 = column(dtype=np.float64)
    """(arenas, segments, 2, 2) Both ends of each."""

"""What a role is in the physics: columns over all arenas, in metres, seconds, kilograms and radians, y up.

The arrays are views into blocks that the physics owns, so one call moves all of them in or out.
"""

from __future__ import annotations

from dataclasses import dataclass

from ecs_rl.arrays import F64, Bool


@dataclass(slots=True)
class Pose:
    """Where a body is. Written by simulate, guard and respawn."""

    position: F64
    """(arenas, 2) Centre of gravity, from the arena's own origin."""
    angle: F64
    """(arenas,) Counter-clockwise, never wrapped."""


@dataclass(slots=True)
class Motion:
    """How a body moves. Written by simulate, guard and respawn."""

    velocity: F64
    """(arenas, 2)"""
    spin: F64
    """(arenas,) Radians per second, counter-clockwise."""


@dataclass(slots=True)
class Force:
    """What pushes a body during the coming tick, gravity left out. Written by actuate."""

    force: F64
    """(arenas, 2) Through the centre of gravity, in the arena's axes."""
    torque: F64
    """(arenas,)"""


@dataclass(slots=True)
class Touch:
    """Which roles touch. One for the whole world. Written by simulate and respawn."""

    pairs: Bool
    """(arenas, roles + 1, roles + 1) Symmetric; the last row and column stand for the ground."""


@dataclass(slots=True)
class Ground:
    """The segments that never move during an episode. One for the whole world. Written by respawn."""

    segments: F64
    """(arenas, segments, 2, 2) Both ends of each."""

"""What floats over the stage, as plain data: the scrubber, the profiler, the help and the inspector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ecs_rl.arrays import F64

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, eq=False)
class SeenPicture:
    """Numbers that an agent sees and that belong together: rays, or the cells of a grid."""

    name: str
    first: int
    """The number of the first among all that it sees."""
    values: F64
    """(layers, up, across) Rays are one row; of a grid the lowest row comes first."""


@dataclass(frozen=True)
class TipView:
    """What is told beside the mouse."""

    at: tuple[float, float]
    """Where the mouse is, in pixels."""
    lines: tuple[str, ...]

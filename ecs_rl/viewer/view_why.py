"""Why an agent does what it does, as plain data: pulls, what another input would change, ways not gone, a value map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ecs_rl.arrays import F64

if TYPE_CHECKING:
    from ecs_rl.viewer.view import Option, Point, Tone


@dataclass(frozen=True)
class WhyView:
    """What pulls on one of the things that the agent can do, and what it would do if it saw something else."""

    of: str
    """The option or lever that is explained."""
    row: int
    """Its row among what the agent does; -1 where it has none."""
    pulls: tuple[float, ...] | None
    """Of each number seen: above zero it speaks for that option, or turns that lever up. None: not told."""
    turned: tuple[int, ...] = ()
    """The numbers that were turned by hand."""
    did: tuple[Option, ...] = ()
    """What it did before they were turned; empty where none is."""
    value: float | None = None
    """What it would expect now that they are turned."""


@dataclass(frozen=True, eq=False)
class GhostView:
    """The way that the next second would take."""

    name: str
    """What is done all the while; empty where the policy decides."""
    paths: tuple[F64, ...]
    """(ticks, 2) each: where the agent's bodies come."""
    tone: Tone | None = None
    """How good it is that the episode ends within the second, None if it goes on."""


@dataclass
class StageOverlay:
    """What lies over a stage besides what happens there."""

    prompt: str = ""
    """What the person is asked to do before the episode begins; it stands where an ending would."""
    map: MapView | None = None
    """What the agent expects elsewhere, if somebody asks."""
    ghosts: tuple[GhostView, ...] = ()
    """Where the next second would lead, if somebody asks."""


@dataclass(frozen=True, eq=False)
class MapView:
    """What the agent expects over two of the numbers that it sees, all others as they are."""

    names: tuple[str, str]
    """Across, up."""
    bounds: tuple[Point, Point]
    """The lower left and the upper right corner: of the arena in metres, or of the two numbers."""
    values: F64
    """(rows, columns), from the lowest row up."""
    arrows: F64
    """(rows, columns, 2) Where the best action pushes, at most 1 long; zeros where it pushes nowhere."""
    here: Point
    """Where the two numbers are now."""
    on_stage: bool
    """They are the place of a body, and the map lies on the arena."""

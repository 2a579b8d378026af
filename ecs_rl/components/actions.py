"""What the agents did since the last snapshot of the world."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from ecs_rl.ecs.context import Columns


@dataclass(slots=True)
class ActionLog:
    """All actions since the last snapshot. Written by decide, and by snapshot, which begins anew."""

    actions: list[tuple[NDArray[Any], ...]] = field(default_factory=list)
    """One entry per tick: the actions of every policy."""
    kept: bool = False
    """False while nothing is to be saved: then nothing is logged."""


@dataclass(slots=True)
class Snapshots:
    """The last two snapshots of the world. Written by snapshot.

    The physics remembers more than its columns show (impulses in joints and contacts), so it cannot be saved as it is.
    At a snapshot it is made anew from the columns, in the running world too; from there the same actions lead to the
    same place, to the last bit.
    """

    columns: Columns = field(default_factory=dict)
    """Every lasting column at the last snapshot."""
    earlier: Columns = field(default_factory=dict)
    """The same at the one before, from which a resume can see whether the same actions lead to the same place."""
    earlier_actions: list[tuple[NDArray[Any], ...]] = field(default_factory=list)
    """The actions between the two."""

"""How the world came here from the last moment at which its physics was made anew."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

Columns = dict[str, NDArray[Any]]


@dataclass(slots=True)
class Trail:
    """The way since the last anchor. Written by record (actions) and write (anchor).

    The physics remembers more than its columns show (impulses in joints and contacts), so it cannot be saved as it is.
    At an anchor it is made anew from the columns, in the running world too; from there the same actions lead to the
    same place, to the last bit.
    """

    anchor: Columns
    """The world's columns at the anchor; empty while nothing is to be saved."""
    actions: list[tuple[NDArray[Any], ...]] = field(default_factory=list)
    """One entry per tick since then: the actions of every policy."""

"""From the ids that contacts carry to arenas and roles.

pymunk's ids are addresses. Those of one world lie close together as a rule, so a table over their range answers in a
tenth of the time of a search; where they do not, the search does.
"""

from __future__ import annotations

import numpy as np

from ecs_rl.arrays import I64

LARGEST_TABLE = 1 << 24
"""Entries; 64 MB."""
ALIGNMENT = 4
"""Bits of an address that are always zero."""


class BodyNumbers:
    """Gives a body's number by its id; ids of anything else give -1."""

    def __init__(self, ids: I64) -> None:
        self._first = int(ids.min())
        slots = (ids - self._first) >> ALIGNMENT
        aligned = not ((ids - self._first) & ((1 << ALIGNMENT) - 1)).any()
        self._table = None
        if aligned and int(slots.max()) + 2 <= LARGEST_TABLE:
            self._table = np.full(int(slots.max()) + 2, -1, dtype=np.int32)  # the last entry is for ids beyond
            self._table[slots] = np.arange(len(ids))
        self._order = np.argsort(ids)
        self._sorted = ids[self._order]

    def __call__(self, ids: I64) -> I64:
        """Return the number of each id's body, in the ids' shape."""
        if self._table is not None:
            slots = (ids - self._first) >> ALIGNMENT
            slots[(slots < 0) | (slots >= len(self._table))] = -1
            return np.asarray(self._table[slots], dtype=np.int64)
        at = np.minimum(np.searchsorted(self._sorted, ids), len(self._sorted) - 1)
        return np.where(self._sorted[at] == ids, self._order[at], -1)

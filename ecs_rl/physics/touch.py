"""The columns of Touch, from pymunk's contacts and from overlaps of bodies that are not solid.

pymunk's ids are addresses. Those of one world lie close together as a rule, so tables over their range answer in a
tenth of the time of a search; where they do not, the search does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.arrays import I64, Bool
from ecs_rl.components import Touch
from ecs_rl.ecs.component import live
from ecs_rl.physics.arena_space import SEGMENT_RADIUS
from ecs_rl.physics.overlap import SidePlace, near_segments, overlap
from ecs_rl.physics.shard import Shard
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.roles import Role
from ecs_rl.scene.touching import Touching

if TYPE_CHECKING:
    from ecs_rl.physics.physics import Physics

LARGEST_TABLE = 1 << 18
"""Entries of the table of blocks: 1 MB for 1 GB of addresses."""
ALIGNMENT, BLOCK = 4, 12
"""Bits of an address that are always zero, and those by which it lies within a block."""
IN_BLOCK = 1 << (BLOCK - ALIGNMENT)
"""Addresses of a block."""


class BodyNumbers:
    """Gives a body's number by its id; ids of anything else give -1.

    Two tables, one of the blocks in which there is a body and one of the places in these: a table of all places would
    have most of its megabytes empty, and making it anew with every physics would take longer than a frame.
    """

    def __init__(self, ids: I64) -> None:
        self._first = int(ids.min())
        offsets = ids - self._first
        self._table = None
        if not (offsets & ((1 << ALIGNMENT) - 1)).any() and (int(offsets.max()) >> BLOCK) + 2 <= LARGEST_TABLE:
            blocks, which = np.unique(offsets >> BLOCK, return_inverse=True)
            self._block = np.zeros(int(blocks[-1]) + 2, np.int32)  # the last entry is for ids beyond
            self._block[blocks] = np.arange(1, len(blocks) + 1)  # in the first block of the table there is nothing
            self._table = np.full((len(blocks) + 1) * IN_BLOCK, -1, np.int32)
            self._table[(which + 1) * IN_BLOCK + ((offsets >> ALIGNMENT) & (IN_BLOCK - 1))] = np.arange(len(ids))
            return
        self._order = np.argsort(ids)
        self._sorted = ids[self._order]

    def __call__(self, ids: I64) -> I64:
        """Return the number of each id's body, in the ids' shape."""
        if self._table is not None:
            offsets = ids - self._first
            block = offsets >> BLOCK
            block[(block < 0) | (block >= len(self._block))] = -1
            at = self._block[block] * IN_BLOCK + ((offsets >> ALIGNMENT) & (IN_BLOCK - 1))
            return np.asarray(self._table[at], dtype=np.int64)
        at = np.minimum(np.searchsorted(self._sorted, ids), len(self._sorted) - 1)
        return np.where(self._sorted[at] == ids, self._order[at], -1)


class Contacts:
    """Fills Touch after each tick; does nothing unless the scene asks for contacts."""

    def __init__(self, arena: Arena, arenas: int, physics: Physics) -> None:
        self.arena, self.arenas, self.physics = arena, arenas, physics
        roles, slots = len(arena.roles), sum(each.slots for each in arena.touchings)
        self.touch = live(
            Touch,
            pairs=np.zeros((arenas, roles + 1, roles + 1), bool),
            members=np.zeros((slots, arenas), bool),
            before=np.zeros((slots, arenas), bool),
            impulse=np.zeros((slots, arenas)),
        )
        solid = [role.number for role in arena.in_rows if role.solid for _ in range(role.members)]
        self.role_of = np.array([*solid, roles])
        """By the row of a solid body; the ground's, -1, is the last."""
        self.single = solid == list(range(roles))
        """Whether the rows of bodies are the numbers of roles."""
        plain = [each for each in arena.touchings if each.by_role and each.other is not None and not each.weighed]
        numbers = [(each.slot, each.role.number, each.other.number) for each in plain if each.other is not None]
        self.plain = np.array(numbers, int).reshape(-1, 3).T
        """(3, touchings) The slot and the two roles of those that are known by role."""
        self.others = [(each, each.overlaps) for each in arena.touchings if each not in plain]

    def know(self, ids: Sequence[int]) -> None:
        """Take the ids of all solid bodies, arena by arena, as the Spaces are made anew."""
        self.number_of = BodyNumbers(np.array(ids))

    def forget(self, rows: I64) -> None:
        """Clear the contacts of these arenas."""
        self.touch.pairs[rows] = False
        self.touch.members[:, rows] = self.touch.before[:, rows] = False
        self.touch.impulse[:, rows] = 0.0

    def feel(self, shards: Sequence[Shard]) -> None:
        """Fill Touch from the contacts and overlaps of this tick."""
        if not self.arena.wants_contacts:
            return
        touch = self.touch
        touch.pairs[...] = False
        if len(touch.members):
            touch.before[...] = touch.members
            touch.members[...] = False
        if self.arena.wants_impulses:
            touch.impulse[...] = 0.0
        contacts = self._contacts(shards)
        if len(self.plain[0]):
            slot, own_number, other_number = self.plain
            touch.members[slot] = touch.pairs[:, own_number, other_number].T
        for touching, overlaps in self.others:
            if contacts is not None and touching.role.solid:
                self._fill(touching, *contacts)
            for other in overlaps:
                self._overlap(touching, other)

    def _contacts(self, shards: Sequence[Shard]) -> tuple[I64, I64] | None:
        """Note in `pairs` which roles touch; return the rows of each contact's bodies (contacts, 2), and its arena."""
        parts = [ids for shard in shards for ids in shard.touched]
        if not parts:
            return None
        ids = np.concatenate(parts)
        if not len(ids):
            return None
        body, solid = self.number_of(ids), self.arena.solid
        arena = (body // solid).max(axis=1)  # the ground's -1 is in arena -1
        rows = body % solid
        rows[body < 0] = -1
        role = rows if self.single else self.role_of[rows]  # the ground's, -1, is the last of pairs too
        self.touch.pairs[arena, role[:, 0], role[:, 1]] = True
        self.touch.pairs[arena, role[:, 1], role[:, 0]] = True
        if self.arena.wants_impulses:
            impulses = np.concatenate([told for shard in shards for told in shard.impulses])
            self.strength = np.hypot(impulses[:, 0], impulses[:, 1])
        return rows, arena

    def _fill(self, touching: Touching, rows: I64, arena: I64) -> None:
        """Fill the slots of a Touching from pymunk's contacts."""
        ours, theirs = touching.role.rows, touching.other_rows
        for a, b in ((rows[:, 0], rows[:, 1]), (rows[:, 1], rows[:, 0])):
            hit = (a >= ours.start) & (a < ours.stop)
            if theirs is not None:
                hit &= (b >= theirs.start) & (b < theirs.stop)
            hit = np.flatnonzero(hit)
            if not len(hit):
                continue
            slot = touching.slot + a[hit] - ours.start
            if theirs is not None:
                slot = touching.slot + (a[hit] - ours.start) * (theirs.stop - theirs.start) + b[hit] - theirs.start
            self.touch.members[slot, arena[hit]] = True
            if touching.weighed:
                np.add.at(self.touch.impulse, (slot, arena[hit]), self.strength[hit])

    def _overlap(self, touching: Touching, other: Role) -> None:
        """Fill the slots of a Touching by overlaps, where pymunk reports no contacts."""
        role, here = touching.role, self.physics.here
        met = self._met(role, other)
        met &= here[role.rows][:, None]
        if other.body is not None:
            met &= here[other.rows]
        if other is role:
            met[np.arange(role.members), np.arange(role.members)] = False  # nothing touches itself
        slots = self.touch.members[touching.slot : touching.slot + touching.slots].reshape(
            role.members, -1, self.arenas
        )
        slots |= met if touching.other is not None else met.any(axis=1, keepdims=True)
        any_met = met.any(axis=(0, 1))
        self.touch.pairs[:, role.number, other.number] |= any_met
        self.touch.pairs[:, other.number, role.number] |= any_met

    def _met(self, role: Role, other: Role) -> Bool:
        """Return where the members of two roles overlap, (members, members, arenas); the ground is one."""
        met = np.zeros((role.members, other.members, self.arenas), bool)
        if other.body is None:
            place, segments = self._place(role), self.physics.ground.segments
            for shape in role.shapes if segments.shape[1] else ():
                met |= near_segments(shape, place, segments, SEGMENT_RADIUS)[:, None]
            return met
        own = SidePlace(*self.physics.state[:3, role.rows, None])
        theirs = self._place(other)
        for one in role.shapes:
            for shape in other.shapes:
                met |= overlap(one, own, shape, theirs)
        return met

    def _place(self, role: Role) -> SidePlace:
        return SidePlace(*self.physics.state[:3, role.rows])

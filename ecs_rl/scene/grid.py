"""Grid: what lies in the cells around a role, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ecs_rl.arrays import F32, I64
from ecs_rl.components import Ground, Touch
from ecs_rl.errors import SceneError
from ecs_rl.geometry.ray_lengths import Fan, NearGround
from ecs_rl.scene.checks import positive, seen_at_once, whole
from ecs_rl.scene.roles import Role, is_role
from ecs_rl.scene.sensors import Roles, Several, here_of, known, members_of, told_apart
from ecs_rl.spaces import Picture


class Grid(Several):
    """See how many of each layer are in the cells around the role; of the ground, whether any of it is: 1 or 0.

    The cells are squares of `cell` metres, (across, up) of them with the role in the middle, along the arena's axes or,
    where it `turns`, along the role's own. The numbers go from the left to the right, from the lowest row up, one layer
    after the other. What counts is where a thing's centre is. A member does not see itself. A layer is a role, a kind,
    `arena.ground`, or several of them; the network `conv` sees all of it as a picture. An agent sees at most 10,000
    numbers.
    """

    def __init__(
        self,
        role: Role,
        cells: tuple[int, int] = (11, 11),
        cell: float = 0.5,
        *,
        layers: Mapping[str, Roles],
        turns: bool = False,
    ) -> None:
        if is_role("a Grid looks from", role).body is None:
            raise SceneError("the ground never moves: a Grid looks from a role")
        if not isinstance(cells, (tuple, list)) or len(cells) != 2:
            raise SceneError(f"the cells of a Grid are (across, up), as in (11, 11), not {cells!r}")
        if not isinstance(layers, Mapping):
            raise SceneError("the layers of a Grid are roles by name, as in layers={'wall': arena.ground}")
        self.across, self.up = (whole("the cells of a Grid", count, 1) for count in cells)
        self.role, self.turns, self.size = role, turns, positive("a cell's size", cell)
        self.layers = told_apart(role, layers, "a layer of a Grid")
        seen_at_once(f"a Grid of {self.across} x {self.up} cells", self.across * self.up * len(self.layers))
        places = [f"{x},{y}" for y in range(self.up) for x in range(self.across)]
        super().__init__(tuple(f"{role.name} {layer} {at}" for layer in self.layers for at in places), self._seen)
        self.layout = Picture(0, len(self.layers), self.up, self.across)
        self._fan = Fan(np.zeros(0), self.size)  # it has no rays: what it gives are places in the viewer's axes
        self._near = NearGround(float(np.hypot(self.across, self.up)) / 2 * self.size)
        self._ground: Ground | None = None

    def among(self, roles: Sequence[Role], ground: Role) -> None:
        """Refuse what is not in the arena, when that is complete."""
        known(self, [self.role, *(role for each in self.layers.values() for role in each)], (*roles, ground))

    def bind(self, touch: Touch, ground: Ground) -> None:
        """Take the world's ground."""
        self._ground = ground

    def _seen(self) -> F32:
        """Return (arenas, [count], layers * cells)."""
        if self._ground is None:
            raise SceneError(f"'{self.names[0]}' is not known to the arena: pass it to sees")
        position = self.role.position
        heading = self.role.heading if self.turns else np.broadcast_to([1.0, 0.0], position.shape)
        self._fan.stand(position.reshape(-1, 2), heading.reshape(-1, 2))
        viewers = self._fan.start.shape[1]
        seen = np.zeros((viewers, len(self.layers), self.up * self.across), np.float32)
        for i, roles in enumerate(self.layers.values()):
            for role in roles:
                if role.body is not None:
                    seen[:, i] += self._count(role, len(position), viewers)
                elif self._ground.segments.shape[1]:
                    np.maximum(seen[:, i], self._walls(self._ground, viewers), out=seen[:, i])
        return seen.reshape(*position.shape[:-1], -1)

    def _count(self, other: Role, arenas: int, viewers: int) -> I64:
        """Return (viewers, cells): how many members of another role, or of their own kind, lie in each."""
        places, here = members_of(other, other.position), here_of(other)
        viewer = np.arange(viewers).reshape(arenas, -1, 1)
        x, y = self._fan.own(viewer, places[:, None, :, 0], places[:, None, :, 1])  # (arenas, viewers, members)
        column, row = np.floor(x + self.across / 2), np.floor(y + self.up / 2)
        inside = (column >= 0) & (column < self.across) & (row >= 0) & (row < self.up)
        if here is not None:
            inside &= here[:, None]
        if other is self.role:
            inside &= ~np.eye(other.members, dtype=bool)
        size = self.up * self.across
        at = viewer * size + row.astype(np.int64) * self.across + column.astype(np.int64)
        return np.bincount(at[inside], minlength=viewers * size).reshape(viewers, size)

    def _walls(self, ground: Ground, viewers: int) -> F32:
        """Return (viewers, cells): 1 where a segment passes; in each column from where it enters to where it leaves."""
        self._near.look(self._fan.start, ground.segments, ground.stamp)
        if not self._near.viewer.size:
            return np.zeros((viewers, self.up * self.across), np.float32)
        own = self._fan.own(np.s_[:, None], *self._near.ends)
        (x, other_x), (y, other_y) = own[0].reshape(2, -1) + self.across / 2, own[1].reshape(2, -1) + self.up / 2
        way_x, way_y = other_x - x, other_y - y
        upright = way_x == 0.0
        steep = 1.0 / np.where(upright, 1.0, way_x)
        begins = np.zeros((self.across, viewers, self.up + 1), np.float32)
        for column, counts in enumerate(begins):
            one, other = np.clip((column - x) * steep, 0.0, 1.0), np.clip((column + 1 - x) * steep, 0.0, 1.0)
            one, other = np.where(upright, 0.0, one), np.where(upright, 1.0, other)
            enters, leaves = np.floor(y + one * way_y), np.floor(y + other * way_y)
            lowest, highest = np.minimum(enters, leaves), np.maximum(enters, leaves)
            passes = (np.minimum(x, other_x) < column + 1) & (np.maximum(x, other_x) >= column)
            at = (passes & (highest >= 0) & (lowest < self.up)).nonzero()[0]
            viewer = self._near.viewer[at]
            np.add.at(counts, (viewer, np.maximum(lowest[at], 0).astype(np.int64)), 1.0)
            np.add.at(counts, (viewer, np.minimum(highest[at] + 1, self.up).astype(np.int64)), -1.0)
        there = np.cumsum(begins, axis=2)[:, :, :-1] > 0.5
        return there.transpose(1, 2, 0).reshape(viewers, -1).astype(np.float32)

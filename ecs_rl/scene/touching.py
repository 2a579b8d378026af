"""Who touches whom: a sensor, and a rule of truths."""

from __future__ import annotations

from typing import Any

import numpy as np

from ecs_rl.arrays import F64, Bool
from ecs_rl.components import Ground, Touch
from ecs_rl.errors import SceneError
from ecs_rl.scene.roles import Role, is_role
from ecs_rl.scene.sensors import Rule, Sensor


class Touching(Sensor):
    """See whether a role touches another, or anything at all, in this tick: 1 or 0; as a rule it gives true or false.

    Where a side is many of a kind, the rule gives one truth for each member: (arenas, members), for two kinds
    (arenas, members of the first, members of the second).
    """

    kind = Touch
    """What a system that looks at it names as read."""

    def __init__(self, role: Role, other: Role | None = None) -> None:
        is_role("Touching looks at", role)
        if other is not None:
            is_role("what it touches is", other)
            if role.body is None:
                raise SceneError("the ground touches nothing by itself: name the ground second")
        super().__init__(f"{role.name} touches {other.name if other else 'anything'}", self._touching)
        self.role, self.other = role, other
        self.weighed = False
        """Whether somebody asks how hard."""
        self.slot = 0
        self._touch: Touch | None = None
        self._by_role = False
        if role.arena is not None:
            role.arena.touchings.append(self)

    def bind(self, touch: Touch, ground: Ground) -> None:
        """Take the world's contacts."""
        self._touch, self._by_role = touch, self.by_role

    @property
    def by_role(self) -> bool:
        """Whether what the physics tells of roles is all there is to know."""
        single = self.role.count is None and (self.other is None or self.other.count is None)
        return single and self.role.solid and not self.overlaps

    @property
    def slots(self) -> int:
        """How many pairs of members there are."""
        return self.role.members * (self.other.members if self.other else 1)

    @property
    def other_rows(self) -> slice | None:
        """The rows of what is touched, the ground's being -1; None for anything."""
        return None if self.other is None else self.other.rows

    @property
    def overlaps(self) -> list[Role]:
        """The roles of which the physics does not tell whether they touch: not both solid, or none can be moved."""
        arena = self.role.arena
        assert arena is not None
        others = [*arena.roles, arena.ground] if self.other is None else [self.other]
        by_physics = [
            other for other in others if self.role.solid and other.solid and (self.role.yields or other.yields)
        ]
        return [each for each in others if each not in by_physics and (each is not self.role or each.count is not None)]

    @property
    def began(self) -> Rule:
        """A rule that is true in the tick in which they begin to touch."""
        return lambda: self._slots("members") & ~self._slots("before")

    @property
    def ended(self) -> Rule:
        """A rule that is true in the tick in which they have parted."""
        return lambda: ~self._slots("members") & self._slots("before")

    @property
    def impulse(self) -> Rule:
        """A rule that gives how hard they touch, newton seconds in this tick; what is not solid gives 0."""
        if self._touch is not None and not self.weighed:
            raise SceneError(
                f"ask for `hit = {self.names[0]!r}.impulse` while the scene is built, and call it in a rule"
            )
        self.weighed = True
        return lambda: self._slots("impulse")

    def _touching(self) -> Bool:
        if self._touch is None:
            raise SceneError(f"'{self.names[0]}' has no numbers before the world runs: read it in a rule or a system")
        if not self._by_role:
            return np.asarray(self._slots("members"))
        pairs = self._touch.pairs
        if self.other is None:
            return np.asarray(pairs[:, self.role.number].any(axis=1))
        return np.asarray(pairs[:, self.role.number, self.other.number])

    def _slots(self, column: str) -> Any:
        block: F64 = getattr(self._touch, column)[self.slot : self.slot + self.slots]
        shape = [each.count for each in (self.role, self.other) if each is not None and each.count is not None]
        return block.reshape(*shape, -1).transpose(len(shape), *range(len(shape)))

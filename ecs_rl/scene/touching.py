"""Who touches whom: a sensor, and a rule of truths."""

from __future__ import annotations

import numpy as np

from ecs_rl.arrays import Bool
from ecs_rl.components import Ground, Touch
from ecs_rl.errors import SceneError
from ecs_rl.scene.roles import Role, is_role
from ecs_rl.scene.sensors import Sensor


class Touching(Sensor):
    """See whether the role touches another, or anything at all: 1 or 0; as a rule it gives true or false."""

    def __init__(self, role: Role, other: Role | None = None) -> None:
        is_role("Touching looks at", role)
        if other is not None:
            is_role("what it touches is", other)
        super().__init__(f"{role.name} touches {other.name if other else 'anything'}", self._touching)
        self.role, self.other = role, other
        self._touch: Touch | None = None

    def bind(self, touch: Touch, ground: Ground) -> None:
        """Take the world's contacts."""
        self._touch = touch

    def _touching(self) -> Bool:
        if self._touch is None:
            raise SceneError(f"'{self.names[0]}' is not known to the arena: pass it to sees, earns or ends")
        pairs = self._touch.pairs
        if self.other is not None:
            return np.asarray(pairs[:, self.role.number, self.other.number])
        return np.asarray(pairs[:, self.role.number].any(axis=1))

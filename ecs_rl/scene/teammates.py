"""What a critic sees of a whole team: what each of its members sees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ecs_rl.scene.roles import Role
from ecs_rl.scene.sensors import Sensor

TEAM = "team"
"""As `critic_sees`: the critic of each member of a kind sees what all members see."""


class Teammates(Sensor):
    """All that the other members of a kind see, beginning with the next one; zeros for members that are out."""

    def __init__(self, kind: Role, names: Sequence[str]) -> None:
        """`names` are those of what one member sees."""
        super().__init__(f"{kind.name} beside", lambda: 0.0)
        self._kind, self._count = kind, kind.members
        self.names = tuple(f"{name} of member +{i}" for i in range(1, kind.members) for name in names)

    def copy(self, own: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Fill (arenas, count, numbers) from (arenas, count, numbers of one), what every member sees itself."""
        if self._kind.comes_and_goes:
            own = own * self._kind.here[..., None]
        numbers = own.shape[2]
        for i in range(1, self._count):
            out[..., (i - 1) * numbers : i * numbers] = np.roll(own, -i, axis=1)

"""Where an episode begins: the draws of each arena turned into positions and velocities of all roles."""

from __future__ import annotations

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.chance import Spread
from ecs_rl.scene.checks import Point
from ecs_rl.scene.joints import Pivot


class Starter:
    """Knows every role's Start, and what hangs on what: that starts at its Pivot, turning and moving along."""

    def __init__(self, arena: Arena) -> None:
        self.fixed = np.zeros((len(arena.roles), 6))
        drawn: list[tuple[int, int, int, float, float]] = []
        for role in arena.roles:
            for column, (name, value) in enumerate(vars(role.start).items()):
                if isinstance(value, Spread):
                    drawn.append((role.number, column, arena.start_slots[role.name][name], value.low, value.high))
                else:
                    self.fixed[role.number, column] = value
        self.role, self.column, self.slot = (np.array([row[i] for row in drawn], int) for i in range(3))
        self.low = np.array([row[3] for row in drawn])
        self.width = np.array([row[4] for row in drawn]) - self.low
        first = {joint.b.number: joint for joint in reversed(arena.joints) if isinstance(joint, Pivot)}
        self.pivots = [first[role.number] for role in arena.roles if role.number in first]

    def __call__(self, drawn: F64) -> F64:
        """Return (rows, roles, 6) for (rows, draws)."""
        state = np.empty((len(drawn), *self.fixed.shape))
        state[...] = self.fixed
        state[:, self.role, self.column] = self.low + self.width * drawn[:, self.slot]
        for pivot in self.pivots:
            base = None if pivot.a.body is None else state[:, pivot.a.number]
            hang(state[:, pivot.b.number], base, pivot)
        return state


def hang(mine: F64, base: F64 | None, pivot: Pivot) -> None:
    """Move (rows, 6) so that its hinge is on the base's point; `base` is (rows, 6), or None for the ground."""
    if base is not None:
        mine += base  # angle, spin, and both places and velocities before the arms are added
    if pivot.at != (0.0, 0.0):
        if base is None:
            mine[:, :2] += pivot.at
        else:
            _add_arm(mine, base[:, 2], base[:, 5], pivot.at)
    if pivot.hinge != (0.0, 0.0):
        _add_arm(mine, mine[:, 2], mine[:, 5], (-pivot.hinge[0], -pivot.hinge[1]))


def _add_arm(mine: F64, angle: F64, spin: F64, arm: Point) -> None:
    """Move (rows, 6) to the end of an arm that points in a turned direction and turns."""
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = cos * arm[0] - sin * arm[1], sin * arm[0] + cos * arm[1]
    mine[:, 0] += x
    mine[:, 1] += y
    mine[:, 3] -= spin * y
    mine[:, 4] += spin * x

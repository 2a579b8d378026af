"""Where things start: at the beginning of an episode, and when they are placed within one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64, I64
from ecs_rl.ecs.context import rows_of
from ecs_rl.errors import RuleError
from ecs_rl.scene.chance import Spread
from ecs_rl.scene.checks import Point, as_array
from ecs_rl.scene.joints import Pivot

if TYPE_CHECKING:
    from ecs_rl.scene.arena import Arena
    from ecs_rl.scene.roles import Role

FIELDS = ("x", "y", "angle", "vx", "vy", "spin")


class Starter:
    """Knows every role's Start, and what hangs on what: that starts at its Pivot, turning and moving along."""

    def __init__(self, arena: Arena) -> None:
        self.fixed = np.zeros((arena.bodies, 6))
        drawn: list[tuple[int, int, int, float, float]] = []
        self.rules: list[tuple[Role, int, Callable[[], Any]]] = []
        for role in arena.roles:
            rows = range(role.rows.start, role.rows.stop)
            for column, (name, value) in enumerate(vars(role.start).items()):
                if isinstance(value, Spread):
                    slot = arena.start_slots[role.name][name]
                    drawn += [(row, column, slot + i, value.low, value.high) for i, row in enumerate(rows)]
                elif callable(value):
                    self.rules.append((role, column, value))
                else:
                    self.fixed[role.rows, column] = value
        self.row, self.column, self.slot = (np.array([one[i] for one in drawn], int) for i in range(3))
        self.low = np.array([one[3] for one in drawn])
        self.width = np.array([one[4] for one in drawn]) - self.low
        first = {joint.b.number: joint for joint in reversed(arena.joints) if isinstance(joint, Pivot)}
        self.pivots = [
            (pair, first[role.number])
            for role in arena.roles
            if role.number in first
            for pair in first[role.number].pairs
        ]

    def __call__(self, drawn: F64, rows: I64) -> F64:
        """Return (rows, members, 6) for the (rows, draws) of these arenas; rules are asked as the columns stand."""
        state = np.empty((len(drawn), *self.fixed.shape))
        state[...] = self.fixed
        state[:, self.row, self.column] = self.low + self.width * drawn[:, self.slot]
        for role, column, rule in self.rules:
            state[:, role.rows, column] = ruled(role, rule, rows)
        for (a, b), pivot in self.pivots:
            hang(state[:, b], None if a is None else state[:, a], pivot)
        return state


def ruled(role: Role, rule: Callable[[], Any], rows: I64) -> NDArray[Any]:
    """Return what a start's rule gives in these arenas, (rows, members) or what numpy makes that of."""
    arenas, members = role.arenas, role.members
    value = as_array(rule(), rule)
    fits = value.shape in ((), (arenas,), (arenas, 1), (arenas, members) if role.count else ())
    if not fits or value.dtype.kind not in "biuf":
        raise RuleError(
            f"the start of '{role.name}' must give one number per arena and member, not {value.shape}", rule
        )
    return rows_of(value, rows, arenas, 2)


def hang(state: F64, base: F64 | None, pivot: Pivot) -> None:
    """Move (rows, 6) so that its hinge is on the base's point; `base` is (rows, 6), or None for the ground."""
    if base is not None:
        state += base  # angle, spin, and both places and velocities before the arms are added
    if pivot.at != (0.0, 0.0):
        if base is None:
            state[:, :2] += pivot.at
        else:
            _add_arm(state, base[:, 2], base[:, 5], pivot.at)
    if pivot.hinge != (0.0, 0.0):
        _add_arm(state, state[:, 2], state[:, 5], (-pivot.hinge[0], -pivot.hinge[1]))


def _add_arm(state: F64, angle: F64, spin: F64, arm: Point) -> None:
    """Move (rows, 6) to the end of an arm that points in a turned direction and turns."""
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = cos * arm[0] - sin * arm[1], sin * arm[0] + cos * arm[1]
    state[:, 0] += x
    state[:, 1] += y
    state[:, 3] -= spin * y
    state[:, 4] += spin * x

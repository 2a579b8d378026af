"""Nearest: the few members of a kind that are closest, and where they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ecs_rl.arrays import F64, I64
from ecs_rl.errors import SceneError
from ecs_rl.scene.checks import finite, whole
from ecs_rl.scene.roles import Role, is_role
from ecs_rl.scene.sensors import Several, here_of, known, members_of, own_axes
from ecs_rl.spaces import Members


class Nearest(Several):
    """See the nearest members of a kind, the nearest first: whether there is one (1 or 0), and the way to it, metres.

    The way is along the role's own axes, ahead and aside, or along the arena's where the role does not spin. With
    `velocity`, a scale, follows how fast it moves against the role. Where fewer are here, all numbers are 0. A member
    that looks at its own kind leaves itself out. The network `attention` sees them as a set.
    """

    def __init__(
        self, role: Role, kind: Role, k: int = 1, *, scale: float = 1.0, velocity: float | None = None
    ) -> None:
        body = is_role("Nearest looks from", role).body
        if body is None:
            raise SceneError("the ground never moves: Nearest looks from a role")
        others = is_role("Nearest looks at", kind).members - (kind is role)
        if kind.body is None or others < 1:
            raise SceneError(f"Nearest looks at a kind, as arena.spawn(..., count=5) makes it, not at '{kind.name}'")
        if whole("how many of the nearest are seen", k, 1) > others:
            raise SceneError(f"Nearest cannot see {k} of '{kind.name}': there are {others}")
        self.role, self.kind, self.k = role, kind, k
        self.turns = bool(body.spins)
        axes = ("ahead", "aside") if self.turns else ("x", "y")
        parts = ["there", *axes]
        self.scales = [1.0, *[finite("the scale of Nearest", scale)] * 2]
        if velocity is not None:
            parts += [f"moves {axis}" for axis in axes]
            self.scales += [finite("the scale of a velocity", velocity)] * 2
        self.moves = velocity is not None
        other = kind.name if kind is not role else f"other {kind.name}"
        super().__init__(tuple(f"{role.name} to {other} {i} {part}" for i in range(k) for part in parts), self._seen)
        self.layout = Members(0, k, len(parts))

    def among(self, roles: Sequence[Role], ground: Role) -> None:
        """Refuse what is not in the arena, when that is complete."""
        known(self, (self.role, self.kind), (*roles, ground))

    def _seen(self) -> F64:
        """Return (arenas, [count], k * numbers)."""
        start = members_of(self.role, self.role.position)
        places = members_of(self.kind, self.kind.position)
        off = [places[:, None, :, axis] - start[:, :, None, axis] for axis in (0, 1)]  # (arenas, viewers, members)
        away = np.ascontiguousarray(off[0] * off[0] + off[1] * off[1])
        here = here_of(self.kind)
        if here is not None:
            np.copyto(away, np.inf, where=~here[:, None])
        if self.kind is self.role:
            away[:, np.arange(self.role.members), np.arange(self.role.members)] = np.inf
        rows = away.reshape(-1, away.shape[-1])
        chosen = nearest(rows, self.k).reshape(*away.shape[:2], self.k)
        there = np.arange(self.k) < np.isfinite(away).sum(axis=-1, keepdims=True)
        seen = [there[..., None], self._along([np.take_along_axis(each, chosen, axis=-1) for each in off])]
        if self.moves:
            speeds = members_of(self.kind, self.kind.velocity)[np.arange(len(chosen))[:, None, None], chosen]
            relative = speeds - members_of(self.role, self.role.velocity)[:, :, None]
            seen.append(self._along([relative[..., 0], relative[..., 1]]))
        numbers = np.concatenate(seen, axis=-1) * self.scales
        np.multiply(numbers, there[..., None], out=numbers)
        shape = (len(chosen), -1) if self.role.count is None else (*chosen.shape[:2], -1)
        return numbers.reshape(shape)

    def _along(self, ways: list[F64]) -> F64:
        """Return ways in the arena's axes, (arenas, viewers, k) each, in those of the role, (arenas, viewers, k, 2)."""
        way = np.stack(ways, axis=-1)
        return own_axes(members_of(self.role, self.role.heading)[:, :, None], way) if self.turns else way


def nearest(away: F64, k: int) -> I64:
    """Return (rows, k): the numbers of the k smallest of each row, the smallest first; of equal ones the first.

    To sort a row of 40, or to part it, takes five times as long as to look through it three times.
    """
    away, rows = away.copy(), np.arange(len(away))
    order = np.empty((len(away), k), np.int64)
    for i in range(k):
        order[:, i] = away.argmin(axis=1)
        away[rows, order[:, i]] = np.inf
    return order

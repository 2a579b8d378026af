"""Drag: bodies lose speed, tyres hold and slide; one pass for all roles that have drag."""

from __future__ import annotations

import math

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.parts import Body
from ecs_rl.scene.scene import Scene


def _dragged(body: Body | None) -> bool:
    return body is not None and (body.drag not in (0.0, (0.0, 0.0)) or body.spin_drag > 0.0)


class Drag:
    """Adds drag to the forces of a tick; exact for forces that are constant within the tick.

    Under a force F a body's speed goes from v to v + (F / m - d v) k dt, where k = (1 - exp(-d dt)) / (d dt): drag
    eases all forces by the same factor as itself, however long the tick. Alone, a body keeps exp(-d dt) of its speed.
    """

    def __init__(self, scene: Scene, arena: Arena, state: F64, force: F64) -> None:
        roles = [role for role in arena.roles if _dragged(role.body) for _ in range(role.members)]
        self.state, self.force = state, force
        self.rows = np.concatenate([np.arange(r.rows.start, r.rows.stop) for r in arena.roles if _dragged(r.body)])
        bodies = [role.body for role in roles if role.body is not None]
        drags = [body.drag if isinstance(body.drag, tuple) else (body.drag, body.drag) for body in bodies]
        moments = [role.moment if math.isfinite(role.moment) else 0.0 for role in roles]
        self.rates = np.array([(*d, b.spin_drag) for d, b in zip(drags, bodies, strict=True)]).T[:, :, None]
        """(3, rows, 1) Along, across, in turning; per second."""
        past = self.rates * scene.dt
        self.eases = -np.expm1(-past) / np.where(past > 0.0, past, 1.0) + (past == 0.0)
        self.masses = np.array([(b.mass, b.mass, m) for b, m in zip(bodies, moments, strict=True)]).T[:, :, None]
        self.weight = self.masses * np.array((*scene.gravity, 0.0))[:, None, None]
        self.turned = any(along != across for along, across in drags)
        """Whether any body's axes matter."""
        grips = np.array([body.grip for body in bodies])[:, None]
        self.grip: F64 | None = grips if np.isfinite(grips).any() else None

    @staticmethod
    def wanted(arena: Arena) -> bool:
        """Return whether any body has drag."""
        return any(_dragged(role.body) for role in arena.roles)

    def apply(self) -> None:
        """Add drag to the forces of the coming tick."""
        state = self.state[2:, self.rows]
        pushed = self.force[:, self.rows] + self.weight
        speed = state[1:]
        if self.turned:
            cos, sin = np.cos(state[0]), np.sin(state[0])
            pushed, speed = turned(pushed, cos, -sin), turned(speed, cos, -sin)
        added = self.eases * (pushed - self.rates * self.masses * speed) - pushed
        if self.grip is not None:
            np.clip(added[1], -self.grip, self.grip, out=added[1])
        self.force[:, self.rows] += turned(added, cos, sin) if self.turned else added


def turned(vector: F64, cos: F64, sin: F64) -> F64:
    """Return (3, ...) with its first two numbers turned by an angle."""
    return np.stack((cos * vector[0] - sin * vector[1], sin * vector[0] + cos * vector[1], vector[2]))

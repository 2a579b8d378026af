"""What an agent does to the world: effects, which a choice or levers drive (see controls.py).

An effect is scaled by its `amount` column: 0 or 1 under a choice, -1 to 1 on a lever. Rules may read `engine.amount`.
A motor is a joint of the physics; what a policy says reaches only its rate, which may be any finite number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.components import Amount
from ecs_rl.errors import SceneError
from ecs_rl.scene.checks import Point, finite, not_negative, point
from ecs_rl.scene.roles import Role, is_role, not_yet


@dataclass(eq=False)
class Effect:
    """The base of all effects: the role it works on, and how strongly it works in each arena."""

    role: Role
    _amount: F64 | None = field(default=None, init=False, repr=False)
    _note: Callable[[type], None] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        is_role(f"a {type(self).__name__} works on", self.role)

    def bind(self, amount: F64, note: Callable[[type], None] | None = None) -> None:
        """Give the handle its column, read-only; with `note`, each look at it is told."""
        self._amount, self._note = amount.view(), note
        self._amount.flags.writeable = False

    @property
    def amount(self) -> F64:
        """(arenas,) How strongly the effect works in this tick."""
        if self._amount is None:
            raise not_yet(f"{type(self).__name__} on {self.role.name}")
        if self._note is not None:
            self._note(Amount)
        return self._amount

    def roles(self) -> tuple[Role, ...]:
        """Return every role that the effect moves."""
        return (self.role,)

    def apply(self, dt: float) -> None:
        """Add this tick's force and torque to the role's Force; `dt` is the length of a tick."""
        raise NotImplementedError


@dataclass(eq=False)
class Push(Effect):
    """A force through the centre of gravity, in the arena's axes, newtons."""

    x: float = 0.0
    y: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("a push", self.x), finite("a push", self.y)

    def apply(self, dt: float) -> None:
        """Add the force."""
        force = self.role.force.force
        if self.x:
            force[..., 0] += self.x * self.amount
        if self.y:
            force[..., 1] += self.y * self.amount


@dataclass(eq=False)
class Thrust(Effect):
    """A force that turns with the body: newtons along the body's own axes, at a point of the body."""

    x: float = 0.0
    y: float = 0.0
    at: Point = (0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("a thrust", self.x), finite("a thrust", self.y), point("a thrust's point", self.at)

    def apply(self, dt: float) -> None:
        """Add the turned force, and its torque about the centre of gravity."""
        target, amount = self.role.force, self.amount
        heading = self.role.heading
        along, across = heading[..., 0], heading[..., 1]
        if self.x:
            target.force[..., 0] += along * (amount * self.x)
            target.force[..., 1] += across * (amount * self.x)
        if self.y:
            target.force[..., 0] -= across * (amount * self.y)
            target.force[..., 1] += along * (amount * self.y)
        lever = self.at[0] * self.y - self.at[1] * self.x
        if lever:
            target.torque += lever * amount


@dataclass(eq=False)
class Twist(Effect):
    """A torque, newton metres, counter-clockwise."""

    torque: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("a torque", self.torque)

    def apply(self, dt: float) -> None:
        """Add the torque."""
        self.role.force.torque += self.torque * self.amount


@dataclass(eq=False)
class Motor(Effect):
    """Turns `role` against `base` at up to `speed` radians per second, with at most `strength` newton metres.

    The physics' own motor keeps that speed under load, as far as its strength goes; at amount 0 it holds still.
    """

    base: Role
    speed: float = 1.0
    strength: float = 1.0
    rate: F64 = field(init=False, repr=False)
    """(arenas,) Its row of MotorSpeed, which the world gives it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        is_role("a Motor turns against", self.base)
        finite("a motor's speed", self.speed), not_negative("a motor's strength", self.strength)
        if self.base.count not in (None, self.role.count):
            raise SceneError(
                f"'{self.base.name}' and '{self.role.name}' are not equally many: a motor turns each against its own"
            )
        if all(side.body is None or not side.body.spins for side in self.roles()):
            raise SceneError(f"neither '{self.role.name}' nor '{self.base.name}' can spin: a motor has nothing to turn")

    def roles(self) -> tuple[Role, ...]:
        """Return both sides of the motor."""
        return (self.role, self.base)

    @property
    def pairs(self) -> list[tuple[int | None, int | None]]:
        """The rows of the bodies that turn against each other; None stands for the ground."""
        mine = range(self.role.rows.start, self.role.rows.stop)
        first, step = self.base.rows.start, self.base.count is not None
        return [(row, None if self.base.body is None else first + i * step) for i, row in enumerate(mine)]

    def apply(self, dt: float) -> None:
        """Ask the physics for the speed."""
        np.multiply(self.amount, self.speed, out=self.rate)

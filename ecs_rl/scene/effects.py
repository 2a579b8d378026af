"""What an agent does to the world: effects, which a choice or levers drive (see controls.py).

An effect is scaled by its `amount` column: 0 or 1 under a choice, -1 to 1 on a lever. Rules may read `engine.amount`.
A motor is a joint of the physics; what a policy says reaches only its rate, which may be any finite number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.arrays import F64, read_only
from ecs_rl.components import Amount
from ecs_rl.errors import SceneError
from ecs_rl.scene.checks import Point, aligned, finite, fits, not_negative, point
from ecs_rl.scene.roles import Role, is_role, not_yet

if TYPE_CHECKING:
    from ecs_rl.scene.scene import Scene


@dataclass(eq=False)
class Effect:
    """The base of all effects, and of one of your own: a class with `apply(dt)`, which adds to `self.role.force`.

    How strongly it works, its `amount`, is 0 or 1 under a Choice or a Trigger, and -1 to 1 as a lever.
    """

    role: Role
    """What it works on."""
    _amount: F64 | None = field(default=None, init=False, repr=False)
    _note: Callable[[type], None] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        is_role(f"a {type(self).__name__} works on", self.role)

    def bind(self, amount: F64, note: Callable[[type], None] | None = None) -> None:
        """Give the handle its column, read-only; with `note`, each look at it is told."""
        self._amount, self._note = read_only(amount), note
        self._scale: F64 = aligned(self._amount, self.role.count)
        """The amount as `apply` needs it: beside (arenas, count) where the role is a kind."""

    @property
    def amount(self) -> F64:
        """(arenas,) How strongly the effect works in this tick; (arenas, count) for an agent of a kind."""
        if self._amount is None:
            raise not_yet(f"{type(self).__name__} on {self.role.name}")
        if self._note is not None:
            self._note(Amount)
        return self._amount

    def roles(self) -> tuple[Role, ...]:
        """Return every role that the effect moves."""
        return (self.role,)

    def fit(self, scene: Scene) -> None:
        """Take the scene's clock and gravity; most effects need none of it."""

    def apply(self, dt: float) -> None:
        """Add this tick's force and torque to the role's Force; `dt` is the length of a tick."""
        raise NotImplementedError


def sound(effect: Effect) -> None:
    """Refuse an effect of the scene's own that lacks what every effect needs."""
    kind = type(effect).__name__
    if getattr(effect.apply, "__func__", None) is Effect.apply:
        cure = "take Push, Thrust, Twist or Motor" if kind == "Effect" else f"give {kind} a method apply(self, dt)"
        raise SceneError(f"{kind} does not say how it works: {cure}")
    if fits(effect.apply, 0.02):
        raise SceneError(f"{kind}.apply must take the length of a tick: write def apply(self, dt)")
    if not hasattr(effect, "role"):
        raise SceneError(f"{kind} has no role: call super().__init__(role) in {kind}.__init__, before anything else")
    for role in effect.roles():
        is_role(f"{kind} works on", role)


class Sum:
    """What effects with constant parts come to on one role: one product for all of them.

    Parts are newtons along and across the body, right and up in the arena, and newton metres.
    """

    def __init__(self, role: Role, effects: Sequence[Constant], amounts: F64) -> None:
        self.role, self.amounts = role, amounts
        # A product for each part that there is: of so few rows a product of matrices is slower.
        parts = np.array([effect.parts() for effect in effects]).T
        self.along, self.across, self.right, self.up, self.torque = (p if p.any() else None for p in parts)
        self.turns = self.along is not None or self.across is not None

    def apply(self, dt: float) -> None:
        """Add the forces and the torque for the (effects, ...) amounts as they are now."""
        force = self.role.force.force
        x, y = force[..., 0], force[..., 1]
        if self.turns:
            heading = self.role.heading
            cos, sin = heading[..., 0], heading[..., 1]
        if self.along is not None:
            along = self._sum(self.along)
            x += cos * along
            y += sin * along
        if self.across is not None:
            across = self._sum(self.across)
            x -= sin * across
            y += cos * across
        if self.right is not None:
            x += self._sum(self.right)
        if self.up is not None:
            y += self._sum(self.up)
        if self.torque is not None:
            torque = self.role.force.torque
            torque += self._sum(self.torque)

    def _sum(self, part: F64) -> F64:
        amounts = self.amounts
        if len(amounts) == 1:  # as it is for a kind, of which a product of matrices would make a copy first
            return np.asarray(part[0] * amounts[0])
        if amounts.ndim == 2:
            return np.asarray(part @ amounts)
        return np.asarray(part @ amounts.reshape(len(amounts), -1)).reshape(amounts.shape[1:])


class Constant(Effect):
    """The base of effects that are some constant parts times their amount; those on one role are summed in one go."""

    def parts(self) -> tuple[float, float, float, float, float]:
        """Return newtons along and across the body, right and up in the arena, and newton metres."""
        raise NotImplementedError

    def bind(self, amount: F64, note: Callable[[type], None] | None = None) -> None:
        """Give the handle its column, and make ready to work alone."""
        super().bind(amount, note)
        self._alone = Sum(self.role, (self,), self._scale[None])

    def apply(self, dt: float) -> None:
        """Add the force and the torque."""
        self._alone.apply(dt)


@dataclass(eq=False)
class Push(Constant):
    """A force through the centre of gravity, in the arena's axes."""

    x: float = 0.0
    """Newtons to the right."""
    y: float = 0.0
    """Newtons up."""

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("a push", self.x), finite("a push", self.y)

    def parts(self) -> tuple[float, float, float, float, float]:
        """Return the force."""
        return 0.0, 0.0, self.x, self.y, 0.0


@dataclass(eq=False)
class Thrust(Constant):
    """A force that turns with the body, as an engine's does; the window draws its flame."""

    x: float = 0.0
    """Newtons along the body's own first axis, which is to the right at angle 0."""
    y: float = 0.0
    """Newtons along its second axis, up at angle 0."""
    at: Point = (0.0, 0.0)
    """Where it works, in the body's own axes, metres."""

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("a thrust", self.x), finite("a thrust", self.y), point("a thrust's point", self.at)

    def parts(self) -> tuple[float, float, float, float, float]:
        """Return the force, and its torque about the centre of gravity."""
        return self.x, self.y, 0.0, 0.0, self.at[0] * self.y - self.at[1] * self.x


@dataclass(eq=False)
class Twist(Constant):
    """A torque."""

    torque: float = 0.0
    """Newton metres, counter-clockwise."""

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("a torque", self.torque)

    def parts(self) -> tuple[float, float, float, float, float]:
        """Return the torque."""
        return 0.0, 0.0, 0.0, 0.0, self.torque


@dataclass(eq=False)
class Motor(Effect):
    """Turns `role` against `base`.

    The physics' own motor keeps its speed under load, as far as its strength goes; at amount 0 it holds still.
    """

    base: Role
    """What it turns against, such as the thigh for a shin, or `arena.ground`."""
    speed: float = 1.0
    """Radians per second at amount 1, counter-clockwise."""
    strength: float = 1.0
    """Newton metres at most."""
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
        rows = range(self.role.rows.start, self.role.rows.stop)
        first, step = self.base.rows.start, self.base.count is not None
        return [(row, None if self.base.body is None else first + i * step) for i, row in enumerate(rows)]

    def apply(self, dt: float) -> None:
        """Ask the physics for the speed."""
        np.multiply(self._scale, self.speed, out=self.rate)

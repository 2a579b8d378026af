"""What an agent does to the world: effects, and how a choice or levers drive them.

An effect is scaled by its `amount` column: 0 or 1 under a choice, -1 to 1 on a lever. Rules may read `engine.amount`.
A motor is a joint of the physics; what a policy says reaches only its rate, which may be any finite number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64
from ecs_rl.components import Amount
from ecs_rl.errors import SceneError
from ecs_rl.scene.checks import Point, finite, fits, not_negative, point, shown
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
            force[:, 0] += self.x * self.amount
        if self.y:
            force[:, 1] += self.y * self.amount


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
        along, across = self.role.heading.T
        if self.x:
            target.force[:, 0] += along * (amount * self.x)
            target.force[:, 1] += across * (amount * self.x)
        if self.y:
            target.force[:, 0] -= across * (amount * self.y)
            target.force[:, 1] += along * (amount * self.y)
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
        if all(side.body is None or not side.body.spins for side in self.roles()):
            raise SceneError(f"neither '{self.role.name}' nor '{self.base.name}' can spin: a motor has nothing to turn")

    def roles(self) -> tuple[Role, ...]:
        """Return both sides of the motor."""
        return (self.role, self.base)

    def apply(self, dt: float) -> None:
        """Ask the physics for the speed."""
        np.multiply(self.amount, self.speed, out=self.rate)


Effects = Effect | tuple[Effect, ...] | None


def _listed(effects: Effects) -> tuple[Effect, ...]:
    listed = effects if isinstance(effects, tuple) else () if effects is None else (effects,)
    for effect in listed:
        if not isinstance(effect, Effect):
            several = ": several go into a tuple, (one, other)" if isinstance(effect, list) else ""
            raise SceneError(f"an action is made of effects such as Push or Thrust, not of {shown(effect)}{several}")
        _sound(effect)
    return listed


def _sound(effect: Effect) -> None:
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


class Controls:
    """The base of Choice and Levers: named controls, each of which works some effects."""

    least = 1
    """Controls that there must be."""
    too_few = "levers need at least one effect"

    def __init__(self, *unnamed: Any, **controls: Effects) -> None:
        kind = type(self).__name__
        if unnamed:
            raise SceneError(
                f"each effect in {kind} needs a name, as in {kind}(push=...), not {shown(unnamed[0])} alone"
            )
        works = [_listed(effects) for effects in controls.values()]
        if len(works) < self.least:
            raise SceneError(self.too_few)
        self.names = tuple(controls)
        # By identity: an effect of the scene's own may be a dataclass that equals another.
        self.effects = tuple({id(effect): effect for listed in works for effect in listed}.values())
        self.table = np.array([[float(any(e is each for each in listed)) for e in self.effects] for listed in works])
        """(controls, effects) Which control works which effect."""


class Choice(Controls):
    """The agent picks one of the named options; each is an effect, several in a tuple, or None for doing nothing."""

    least, too_few = 2, "a choice needs at least two options"

    def work(self, action: NDArray[Any], amounts: F64) -> None:
        """Fill (effects, arenas) from (arenas,) whole numbers, which must be options that there are."""
        self.table.T.take(action, axis=1, out=amounts, mode="clip")  # "clip" writes without a copy in between


class Levers(Controls):
    """The agent sets each named lever between -1 and 1; a lever works one effect, or several in a tuple."""

    def work(self, action: NDArray[Any], amounts: F64) -> None:
        """Fill (effects, arenas) from (arenas, levers), each clipped to -1..1 first."""
        amounts[...] = self.table.T @ np.clip(action, -1.0, 1.0).T

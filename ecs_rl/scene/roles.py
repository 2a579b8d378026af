"""Handles that a scene holds: they name a role, and once a world runs they give its columns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.components import Chance, Force, Motion, Pose
from ecs_rl.errors import SceneError
from ecs_rl.scene.chance import Spread
from ecs_rl.scene.checks import Point
from ecs_rl.scene.look import Colour, Look, rgb
from ecs_rl.scene.parts import Body, Shape, Start
from ecs_rl.scene.quotes import shown


def _not_yet(name: str) -> SceneError:
    return SceneError(f"'{name}' has no numbers before the world runs: read them inside a rule, as in `lambda: ...`")


def is_role(what: str, role: object) -> Role:
    """Return the role, or refuse what is none."""
    if not isinstance(role, Role):
        raise SceneError(f"{what} a role, which arena.spawn(...) returns, not {shown(role)}")
    return role


@dataclass(eq=False)
class Role:
    """One thing in the arena, and its columns in all arenas: `cart.x` is (arenas,), `cart.velocity` (arenas, 2)."""

    name: str
    number: int
    """The row in Touch; the ground comes after the last role."""
    body: Body | None
    """None for the ground."""
    shapes: tuple[Shape, ...]
    start: Start
    moment: float = 0.0
    look: Look | None = None
    """None leaves the look to the window."""
    _stamp: bytes = field(default=b"", repr=False)
    _heading: F64 = field(default_factory=lambda: np.zeros((2, 0)), repr=False)
    _pose: Pose | None = field(default=None, repr=False)
    _motion: Motion | None = field(default=None, repr=False)
    _force: Force | None = field(default=None, repr=False)

    def bind(self, pose: Pose, motion: Motion, force: Force) -> None:
        """Give the handle its columns."""
        self._pose, self._motion, self._force = pose, motion, force

    @property
    def colour(self) -> Colour | None:
        """The colour that the scene gives it."""
        return rgb(self.look.colour) if self.look and self.look.colour else None

    @property
    def pose(self) -> Pose:
        """The role's Pose component."""
        if self._pose is None:
            raise _not_yet(self.name)
        return self._pose

    @property
    def motion(self) -> Motion:
        """The role's Motion component."""
        if self._motion is None:
            raise _not_yet(self.name)
        return self._motion

    @property
    def force(self) -> Force:
        """The role's Force component."""
        if self._force is None:
            raise _not_yet(self.name)
        return self._force

    @property
    def position(self) -> F64:
        """(arenas, 2) metres."""
        return self.pose.position

    @property
    def x(self) -> F64:
        """(arenas,) metres, to the right."""
        return self.pose.position[:, 0]

    @property
    def y(self) -> F64:
        """(arenas,) metres, up."""
        return self.pose.position[:, 1]

    @property
    def angle(self) -> F64:
        """(arenas,) radians, counter-clockwise, never wrapped."""
        return self.pose.angle

    @property
    def velocity(self) -> F64:
        """(arenas, 2) metres per second."""
        return self.motion.velocity

    @property
    def vx(self) -> F64:
        """(arenas,) metres per second, to the right."""
        return self.motion.velocity[:, 0]

    @property
    def vy(self) -> F64:
        """(arenas,) metres per second, up."""
        return self.motion.velocity[:, 1]

    @property
    def spin(self) -> F64:
        """(arenas,) radians per second, counter-clockwise."""
        return self.motion.spin

    @property
    def heading(self) -> F64:
        """(arenas, 2) Cosine and sine of the angle; kept until the angle changes, as many rules ask for it."""
        stamp = self.pose.angle.tobytes()
        if stamp != self._stamp:
            self._stamp = stamp
            self._heading = np.stack((np.cos(self.angle), np.sin(self.angle)))
        return self._heading.T

    def point(self, at: Point) -> F64:
        """Return where a point of the body's own axes is in each arena, (arenas, 2)."""
        cos, sin = self.heading.T
        turned = np.stack((cos * at[0] - sin * at[1], sin * at[0] + cos * at[1]), axis=1)
        return np.asarray(self.position + turned)


@dataclass(eq=False)
class Draw:
    """A number that each episode draws anew: `wind.value` is (arenas,)."""

    name: str
    spread: Spread
    slot: int
    _chance: Chance | None = field(default=None, repr=False)

    def bind(self, chance: Chance) -> None:
        """Give the handle its column."""
        self._chance = chance

    @property
    def value(self) -> F64:
        """(arenas,)"""
        if self._chance is None:
            raise _not_yet(self.name)
        return self.spread(self._chance.uniform[:, self.slot])

"""Cameras that a scene asks for: one that stands still, and one that goes along with a role without haste."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.scene.camera import Follow, View
from ecs_rl.viewer.framing import Framing
from ecs_rl.viewer.placement import Placement, Places
from ecs_rl.viewer.view import Point

if TYPE_CHECKING:
    from ecs_rl.world import World

RATE = 8.0
"""How fast the picture comes after what it follows: the rate of a critically damped spring, per second."""
CALM = 0.06
"""Share of the width by which what is followed may move about without the picture moving at all."""
LEASH = 0.2
"""Share of the width from which on the spring gets stiffer, so that what is followed stays in the picture."""
CUT = 0.5
"""Share of the width from which on the picture jumps along with what was placed elsewhere."""
MOST_AHEAD = 0.25
"""Share of the width that the picture looks ahead at most."""
FLATTEST = 6.0
"""Width over height up to which the width is kept in a flat window."""
SHAPE = 1.6
"""Width over height of a cell or a pane whose picture follows something."""


class Following:
    """Around a role: `focus` comes after it as a critically damped spring does, and rests while it hardly moves."""

    exact, shape = True, SHAPE

    def __init__(self, camera: Follow, places: Places) -> None:
        number = [role.name for role in places.roles].index(camera.role)
        objects = places.slices[number]
        member = camera.member
        self._objects = objects if member is None else slice(objects.start + member, objects.start + member + 1)
        self.width, self.ahead = camera.width, camera.ahead
        self._now = self._before = self._goal = self._last = np.zeros(2)
        self._speed = np.zeros(2)
        self._cut = True

    def begin(self) -> None:
        """Begin an episode: the picture is at once where that begins."""
        self._cut = True

    cut = begin

    def hold(self) -> None:
        """Stay as it is, as long as a hand holds a body: the point under the mouse must not move."""
        self._before, self._speed = self._now, np.zeros(2)

    def targets(self, placement: Placement) -> F64:
        """Return (..., 2) where what is followed is, NaN where nothing of it is here."""
        there = placement.here[..., self._objects] & np.isfinite(placement.position[..., self._objects, :]).all(axis=-1)
        velocity = np.nan_to_num(placement.velocity[..., self._objects, :], posinf=0.0, neginf=0.0)
        lead = self.ahead * velocity
        far, most = np.hypot(lead[..., 0], lead[..., 1]), MOST_AHEAD * self.width
        lead *= np.minimum(1.0, most / np.maximum(far, 1e-9))[..., None]
        at = np.where(there[..., None], placement.position[..., self._objects, :] + lead, 0.0)
        with np.errstate(all="ignore"):
            return np.asarray(at.sum(axis=-2) / there.sum(axis=-1)[..., None])

    def look(self, placement: Placement, seconds: float) -> None:
        """Go after what is followed, so many seconds after the last look."""
        self._before = self._now
        target = self.targets(placement)
        if not np.isfinite(target).all():
            return
        far = float(np.hypot(*(target - self._last)))
        if self._cut or (far > CUT * self.width and not placement.flows[self._objects].any()):
            self._cut = False
            self._now = self._before = self._goal = target
            self._speed = np.zeros(2)
        self._last = target
        self._goal = np.clip(self._goal, target - CALM * self.width, target + CALM * self.width)
        away = self._now - self._goal
        rate = RATE * max(1.0, float(np.hypot(*away)) / (LEASH * self.width)) ** 2
        slowing, turn = math.exp(-rate * seconds), (self._speed + rate * away) * seconds
        self._now, self._speed = self._goal + (away + turn) * slowing, (self._speed - rate * turn) * slowing

    def bounds(self, blend: float = 1.0) -> tuple[Point, Point]:
        """Return the lower left and the upper right corner, counted from the focus."""
        x, y = self.width / 2, self.width / 2 / FLATTEST
        return (-x, -y), (x, y)

    def focus(self, blend: float = 1.0) -> Point:
        """Return the middle of the picture, `blend` of the way between the last two looks."""
        x, y = (self._before + (self._now - self._before) * blend).tolist()
        return x, y

    def focus_on(self, placement: Placement) -> Point:
        """Return the same for a picture that nobody has looked at before."""
        x, y = np.nan_to_num(self.targets(placement)).tolist()
        return x, y


def camera_of(world: World, places: Places) -> Framing | Following | None:
    """Return the camera that a world's scene asks for, None where it shows everything that an arena visits."""
    camera = world.scene.camera
    if isinstance(camera, View):
        (left, right), (down, up) = camera.x, camera.y
        return Framing(np.array((-left, -down, right, up), float), world.scene.extent, exact=True)
    return Following(camera, places) if isinstance(camera, Follow) else None

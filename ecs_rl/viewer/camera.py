"""The camera: metres with y up to pixels with y down and back, what it frames, and how it follows the bodies."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.arrays import F64, Bool
from ecs_rl.scene.camera import Follow, View
from ecs_rl.scene.joints import Groove, Pivot
from ecs_rl.scene.starts import Starter
from ecs_rl.viewer.shapes import Outline, Placement, Places, size_of
from ecs_rl.viewer.view import Point

if TYPE_CHECKING:
    from ecs_rl.scene.arena import Arena
    from ecs_rl.world import World

NEAREST, FARTHEST = 4000.0, 0.5
"""Pixels per metre that zooming stops at."""
RECENT = 20
"""Episodes that what was visited is remembered for."""
WIDEN, NARROW = 12.0, 1.5
"""How fast a wider and a narrower picture come about: the rate of a critically damped spring, per second."""
AHEAD, FARTHEST_AHEAD = 0.4, 0.15
"""Seconds of a body's flight that room is made for, and the most that this may be, as a share of the picture."""
SPARE = 0.05
"""Share of the picture that is left free beyond what was visited."""
SLACK = 0.22
"""Share of the picture that must be empty before it narrows; more than is left free ahead of a body and beyond it."""
STILL = 0.0015
"""Share of the picture within which it comes to rest."""
ROOM = 8.0
"""A body that flies where nothing else is gets room of so many times its size on each side."""
NOWHERE: F64 = np.full(4, -np.inf)
STARTS = 256
"""Episodes tried out to see where bodies start and how terrain lies."""
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


@dataclass(frozen=True)
class Aim:
    """The point in the middle of the picture, counted from its focus, and the pixels per metre: a user's choice."""

    centre: Point
    zoom: float

    def zoomed(self, factor: float, at: Point) -> Aim:
        """Return the aim that shows all larger by `factor`; what is `at` pixels right and down of the middle stays."""
        zoom = min(max(self.zoom * factor, FARTHEST), NEAREST)
        share = 1.0 / self.zoom - 1.0 / zoom
        return Aim((self.centre[0] + at[0] * share, self.centre[1] - at[1] * share), zoom)

    def panned(self, by: Point) -> Aim:
        """Return the aim after the picture was dragged by so many pixels."""
        return Aim((self.centre[0] - by[0] / self.zoom, self.centre[1] + by[1] / self.zoom), self.zoom)


@dataclass(frozen=True)
class Camera:
    """Which point of the arena stands in the middle of a rectangle of pixels, and how large a metre is."""

    centre: Point
    zoom: float
    """Pixels per metre."""
    middle: Point
    """The pixel that shows the centre."""

    @classmethod
    def fit(cls, bounds: tuple[Point, Point], area: tuple[float, float, float, float], margin: float = 0.0) -> Camera:
        """Return the camera that shows all of the bounds in an area (left, top, width, height)."""
        (x0, y0), (x1, y1) = bounds
        left, top, width, height = area
        room = max(1.0, width - 2 * margin), max(1.0, height - 2 * margin)
        zoom = min(room[0] / max(x1 - x0, 1e-6), room[1] / max(y1 - y0, 1e-6))
        zoom = min(max(zoom, FARTHEST), NEAREST)
        return cls(((x0 + x1) / 2, (y0 + y1) / 2), zoom, (left + width / 2, top + height / 2))

    def pixels(self, points: F64) -> F64:
        """Return (..., 2) pixels of (..., 2) metres."""
        return np.asarray((points - self.centre) * (self.zoom, -self.zoom) + self.middle)

    def pixel(self, point: Point) -> Point:
        """Return the pixel of one point."""
        return (
            (point[0] - self.centre[0]) * self.zoom + self.middle[0],
            (self.centre[1] - point[1]) * self.zoom + self.middle[1],
        )

    def metres(self, pixel: Point) -> Point:
        """Return the point of the arena that a pixel shows."""
        return (
            (pixel[0] - self.middle[0]) / self.zoom + self.centre[0],
            self.centre[1] - (pixel[1] - self.middle[1]) / self.zoom,
        )

    def onto(self, focus: Point) -> Camera:
        """Return the camera in the arena's axes; its own centre counts from the focus."""
        return replace(self, centre=(self.centre[0] + focus[0], self.centre[1] + focus[1]))

    def aimed(self, aim: Aim | None) -> Camera:
        """Return the camera with another aim, None for its own."""
        return self if aim is None else replace(self, centre=aim.centre, zoom=aim.zoom)

    @property
    def aim(self) -> Aim:
        """Where it aims."""
        return Aim(self.centre, self.zoom)


class Framing:
    """The part of an arena that is shown, and where it is going.

    `home` is what is known before the first tick; at the `open` sides (4,) it is but a guess, and bodies may fly on.
    Without the `outline` of bodies it is all that is ever shown.
    """

    def __init__(
        self,
        home: F64,
        extent: float,
        open_sides: Bool | None = None,
        outline: Outline | None = None,
        *,
        exact: bool = False,
    ) -> None:
        self.home, self.outline, self.exact = home, outline, exact
        self.open_sides = np.zeros(4, bool) if open_sides is None else open_sides
        self.now = self.before = home
        """(4,) After the last look, and after the one before."""
        self._most = np.maximum(home, extent)
        self._goal, self._speed = home, np.zeros(4)
        self._visited: deque[F64] = deque(maxlen=RECENT)
        self._known, self._here = NOWHERE, NOWHERE
        """(4,) How far out anything was in the last episodes, and in this one."""
        self._last: F64 | None = None

    @property
    def shape(self) -> float:
        """Width over height that room is made for; it never changes."""
        left, down, right, up = self.home.tolist()
        return float(max(left + right, 1e-6) / max(down + up, 1e-6))

    def bounds(self, blend: float = 1.0) -> tuple[Point, Point]:
        """Return the lower left and the upper right corner, `blend` of the way between the last two looks."""
        left, down, right, up = (self.before + (self.now - self.before) * blend).tolist()
        return (-left, -down), (right, up)

    def focus(self, blend: float = 1.0) -> Point:
        """Return the point from which the bounds count."""
        return 0.0, 0.0

    def focus_on(self, placement: Placement) -> Point:
        """Return the same for a picture that nobody has looked at before."""
        return 0.0, 0.0

    def look(self, placement: Placement, seconds: float) -> None:
        """Make room for all that is here, so many seconds after the last look."""
        if self.outline is not None:
            self.see(self.outline.reach(placement), seconds)

    def begin(self) -> None:
        """Begin an episode; the picture may narrow where none of the last ones went."""
        self._visited.append(self._here)
        self._last, self._here, self._known = None, NOWHERE, np.max(self._visited, axis=0)
        spare = np.minimum(self._known + SPARE * self._span(), self._most)
        wanted = np.where(self._known > self.home, spare, self.home)
        if (self._goal > wanted + SLACK * self._span()).any():
            self._goal = np.minimum(self._goal, wanted)

    def cut(self) -> None:
        """Forget how fast all that is here went: somebody has jumped to another moment."""
        self._last = None

    def hold(self) -> None:
        """Stay as it is, as long as a hand holds a body: the point under the mouse must not move."""
        self.before, self._last = self.now, None

    def see(self, reach: F64, seconds: float) -> None:
        """Make room for bodies that reach this far, (4,) to each side, so many seconds after the last look."""
        self.before = self.now
        if not np.isfinite(reach).all():
            return
        pace = np.zeros(4) if self._last is None or seconds <= 0 else np.maximum(0.0, (reach - self._last) / seconds)
        soon = reach + np.minimum(pace * AHEAD, FARTHEST_AHEAD * self._span())
        new = self.open_sides & (reach > np.maximum(self._known, self._here))
        leaves = np.where(new, soon, reach) > self._goal
        if leaves.any():
            wanted = np.minimum(soon + SPARE * self._span(), self._most)
            self._goal = np.where(leaves, np.maximum(wanted, self._goal), self._goal)
        was, self._here, self._last = self._last, np.maximum(self._here, reach), reach
        if self.now is not self._goal:
            self._approach(seconds)
            if was is not None:  # what was in the picture never leaves it; what was not comes into it smoothly
                visible = np.where(was <= self.before, np.minimum(reach, self._most), self.now)
                self.now = np.maximum(self.now, visible)

    def jump(self, reach: F64) -> None:
        """Show all of this at once: nobody has seen anything else before."""
        self.see(reach, 0.0)
        self.now = self.before = self._goal
        self._speed = np.zeros(4)

    def _span(self) -> float:
        return float(max(self._goal[0] + self._goal[2], self._goal[1] + self._goal[3]))

    def _approach(self, seconds: float) -> None:
        """Go on to where the picture is going, as a critically damped spring does, and rest there."""
        away = self.now - self._goal
        if (np.abs(away) < STILL * self._span()).all():
            self.now, self._speed = self._goal, np.zeros(4)
            return
        rate = np.where(away < 0, WIDEN, NARROW)
        slowing, turn = np.exp(-rate * seconds), (self._speed + rate * away) * seconds
        self.now, self._speed = self._goal + (away + turn) * slowing, (self._speed - rate * turn) * slowing
        over = (self.now - self._goal) * away < 0
        self.now, self._speed = np.where(over, self._goal, self.now), np.where(over, 0.0, self._speed)


def framing_of(
    world: World, places: Places, limits: tuple[float, ...], rails: tuple[tuple[Point, Point], ...]
) -> Framing:
    """Return the framing of a world's arenas, the same for every world of a scene.

    What is known before the first tick are starts and what hangs there, ground, rails, limits and marks that stand.
    """
    extent = world.scene.extent
    arena = world.arena
    size = max(size_of(role) for role in arena.roles)
    arms = [2 * math.hypot(*joint.hinge) for joint in arena.joints if isinstance(joint, Pivot)]
    reach = max([size, *arms]) * 1.25
    drawn = np.random.default_rng(0).random((STARTS, arena.draw_count))
    ends = np.stack((np.zeros(arena.draw_count), np.full(arena.draw_count, 1 - 1e-9)))
    drawn = np.concatenate((ends, drawn))
    starts = Starter(arena)(drawn, np.zeros(len(drawn), int))[:, :, :2].reshape(-1, 2)
    known = _sides(starts) + reach
    ground, marks = _ground(arena, drawn, world.arenas), np.minimum(_marks(places), extent)
    if len(ground):
        return Framing(np.maximum(np.maximum(known, _sides(ground)), marks), extent, None, places.outline)
    if limits:
        known[[0, 2]] = -limits[0] + size, limits[1] + size
        rails = tuple(((max(a[0], limits[0]), a[1]), (min(b[0], limits[1]), b[1])) for a, b in map(sorted, rails))
    if rails:
        known = np.maximum(known, _sides(np.array(rails).reshape(-1, 2)) + (0.0 if limits else size))
    held = {joint.b.name for joint in arena.joints if isinstance(joint, (Pivot, Groove))}
    flies = any(role.name not in held for role in arena.roles)
    room = min(ROOM * size, extent) if flies else 0.0
    wide = np.maximum(known, _sides(starts) + room)
    if limits:
        wide[[0, 2]] = known[[0, 2]]
    else:
        wide[[0, 2]] = np.maximum(wide[[0, 2]], 2.2 * reach)
    return Framing(np.maximum(wide, marks), extent, (wide > known) & (room > 0), places.outline)


def _sides(points: F64) -> F64:
    return np.concatenate((-points.min(axis=0), points.max(axis=0)))


def _marks(places: Places) -> F64:
    """Return (4,) how far the marks that stand reach."""
    first = len(places.roles)
    stand = [i for i, mark in enumerate(places.marks, first) if mark.stands]
    return Outline(places.looks, places.slices, stand).reach(places.at(0)) if stand else NOWHERE


def _ground(arena: Arena, drawn: F64, arenas: int) -> F64:
    """Return (points, 2) of all walls, and of terrain as it may be; its ends reach over the edges of the picture.

    A rule of terrain is asked as the physics asks it: for all arenas at once, as lessons have a value for each.
    """
    batches = [np.arange(first, first + arenas) % len(drawn) for first in range(0, len(drawn), arenas)]
    parts = [np.array([wall.ends for wall in arena.walls]).reshape(-1, 2)]
    for terrain in arena.terrains:
        draws = drawn[:, terrain.slot : terrain.slot + terrain.draws]
        lines = [np.asarray(terrain.rule(draws[rows])) for rows in batches]
        parts.append(np.concatenate(lines)[:, 1:-1].reshape(-1, 2))
    return np.concatenate(parts)


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

"""Lines that rules can read: the ground as it lies in each episode, and paths that nothing bumps into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ecs_rl.arrays import F32, F64, I64
from ecs_rl.components import Chance, Ground
from ecs_rl.ecs.component import column, component, live, new_handle
from ecs_rl.errors import RuleError, SceneError
from ecs_rl.scene.checks import fits, quote, whole
from ecs_rl.scene.roles import Role, is_role, not_yet
from ecs_rl.scene.rules import Remembering

Shaping = Callable[[F64], F64]
"""From (arenas, draws) numbers in [0, 1) to (arenas, points, 2) metres."""


class Draws:
    """Some numbers in [0, 1) that each episode draws anew, as `arena.draws` returns them."""

    kind = Chance
    """The component behind it: what systems name as read."""

    def __init__(self, name: str, n: int, slot: int) -> None:
        self.name, self.n, self.slot = name, n, slot
        self.handle: Chance = new_handle(Chance)

    @property
    def value(self) -> F64:
        """(arenas, n) This episode's draws."""
        try:
            return self.handle.uniform[:, self.slot : self.slot + self.n]
        except SceneError:
            raise not_yet(self.name) from None


def shaped(what: str, rule: Shaping, drawn: F64, points: int) -> F64:
    """Return the (arenas, points, 2) that a rule makes of its draws, or refuse anything else."""
    points_given = np.asarray(rule(drawn))
    if points_given.shape != (len(drawn), points, 2) or not np.isfinite(points_given).all():
        message = f"{what} of {points} points must give finite (arenas, {points}, 2)"
        raise RuleError(f"{message}, also for {len(drawn)} arenas at once, not {points_given.shape}", rule)
    return points_given


def try_shape(what: str, rule: Shaping, points: int, draws: int) -> F64:
    """Return three lines that a rule makes of middling draws, or refuse what is no such rule."""
    whole(f"the points of a {what}", points, 2)
    if not callable(rule) or fits(rule, 0.5):
        raise SceneError(f"a {what} is shaped by a function of its draws, not by {quote(rule)}")
    points_given = np.asarray(rule(np.full((3, draws), 0.5)))
    if points_given.shape != (3, points, 2) or not np.isfinite(points_given).all():
        raise SceneError(
            f"a {what} of {points} points must give finite (arenas, {points}, 2), not {points_given.shape}"
        )
    return points_given


class Earth:
    """A terrain as rules may read it, as `arena.terrain` returns it."""

    kind = Ground
    """The component behind it: what systems name as read."""

    def __init__(self, tried: F64) -> None:
        self.rises = bool((np.diff(tried[:, :, 0]) >= 0.0).all())
        self.handle: Ground = new_handle(Ground)
        self.first, self.last = 0, 0
        """Its segments among those of the ground."""

    @property
    def segments(self) -> F64:
        """(arenas, segments, 2, 2) Both ends of each."""
        try:
            return self.handle.segments[:, self.first : self.last]
        except SceneError:
            raise not_yet("a terrain") from None

    @property
    def points(self) -> F64:
        """(arenas, points, 2) metres."""
        segments = self.segments
        return np.concatenate((segments[:, :, 0], segments[:, -1:, 1]), axis=1)

    def height(self, x: Any) -> F64:
        """Return how high the ground is at x, metres, (arenas,) or (arenas, count); as at its ends beyond."""
        past, (_, low), (_, high) = self._below(x)
        return np.asarray(low + (high - low) * np.clip(past, 0.0, 1.0))

    def slope(self, x: Any) -> F64:
        """Return by how much the ground rises per metre at x, (arenas,) or (arenas, count); beyond its ends 0."""
        past, (left, low), (right, high) = self._below(x)
        level = (past < 0.0) | (past > 1.0) | (right <= left)
        return np.asarray(np.where(level, 0.0, (high - low) / np.maximum(right - left, 1e-12)))

    def _below(self, x: Any) -> tuple[F64, F64, F64]:
        """Return how far along its segment each x lies, from 0 to 1, and both ends of that, (2, arenas, ...) each."""
        if not self.rises:
            raise SceneError("a terrain has one height everywhere only if its points go from left to right")
        segments = self.segments
        arenas = np.arange(len(segments))
        at = np.broadcast_to(x, (len(segments), *np.shape(x)[1:])).reshape(len(segments), -1)
        number = (at[:, :, None] >= segments[:, None, 1:, 0, 0]).sum(axis=2)
        ends = segments[arenas[:, None], number].transpose(2, 3, 0, 1).reshape(2, 2, *at.shape)
        past = (at - ends[0, 0]) / np.maximum(ends[1, 0] - ends[0, 0], 1e-12)
        shape = (len(segments), *np.shape(x)[1:])
        return past.reshape(shape), ends[0].reshape(2, *shape), ends[1].reshape(2, *shape)


@component
class Course:
    """Where a path lies. Written by respawn."""

    points: F64 = column(dtype=np.float64, unit="m")
    """(arenas, points, 2)"""
    legs: F64 = column(dtype=np.float64)
    """(arenas, 6, legs) From each point to the next: its x and y, the direction (2), metres there, metres before."""
    sought: F32 = column(dtype=np.float32)
    """(arenas, 5, legs) The same but the last in half the digits, in which the nearest leg is found twice as fast."""


class Line:
    """A path as rules may read it, as `arena.path` returns it."""

    kind = Course
    """The component behind it: what systems name as read."""

    def __init__(
        self,
        rule: Shaping,
        points: int,
        draws: Draws,
        use: Callable[[Remembering], object],
        *,
        closed: bool,
        road: float = 0.0,
    ) -> None:
        self.rule, self.draws, self.closed, self._use = rule, draws, closed, use
        self.road = road
        """How wide it is drawn, metres."""
        self.count = points
        legs_of(try_shape("path", rule, points, draws.n), closed, rule)
        self.handle: Course = new_handle(Course)
        self._seen: dict[Role, tuple[bytes, F64]] = {}

    def allocate(self, arenas: int) -> Course:
        """Return the path's own columns."""
        legs = self.count if self.closed else self.count - 1
        arrays = {"points": np.zeros((arenas, self.count, 2)), "legs": np.zeros((arenas, 6, legs))}
        self._course = live(Course, **arrays, sought=np.zeros((arenas, 5, legs), np.float32))
        return self._course

    def draw(self, rows: I64, drawn: F64) -> None:
        """Lay the path of these arenas anew, for all (rows, draws) of their episodes."""
        own = drawn[:, self.draws.slot : self.draws.slot + self.draws.n]
        points = shaped("a path", self.rule, own, self.count)
        legs = legs_of(points, self.closed, self.rule)
        course = self._course
        course.points[rows], course.legs[rows], course.sought[rows] = points, legs, legs[:, :5]

    @property
    def points(self) -> F64:
        """(arenas, points, 2) metres."""
        try:
            return self.handle.points
        except SceneError:
            raise not_yet("a path") from None

    @property
    def length(self) -> F64:
        """(arenas,) Metres from the first point to the last; of a closed one, once round."""
        return np.asarray(self.handle.legs[:, 4:, -1].sum(axis=1))

    def along(self, role: Role) -> F64:
        """Return how many metres along the line the point next to the role is, (arenas,) or (arenas, count)."""
        along: F64 = self._next_to(role)[0]
        return along

    def off(self, role: Role) -> F64:
        """Return how many metres beside the line the role is, to its left above zero, (arenas,) or (arenas, count)."""
        off: F64 = self._next_to(role)[1]
        return off

    def heading(self, role: Role) -> F64:
        """Return the line's direction next to the role as cosine and sine, (arenas, 2) or (arenas, count, 2)."""
        return np.stack(tuple(self._next_to(role)[2:]), axis=-1)

    def at(self, metres: Any) -> F64:
        """Return the point so many metres along the line, (arenas, 2) or (arenas, count, 2).

        A closed line goes on and on; an open one ends where it ends.
        """
        legs, length = self.handle.legs, self.length[:, None]
        shape = (len(legs), *np.shape(metres)[1:])
        places = np.broadcast_to(metres, shape).reshape(len(legs), -1)
        places = places % length if self.closed else np.clip(places, 0.0, length)
        number = (places[:, :, None] >= legs[:, None, 5, 1:]).sum(axis=2)
        x, y, cos, sin, _, before = np.take_along_axis(legs, number[:, None], axis=2).transpose(1, 0, 2)
        rest = places - before
        return np.stack((x + cos * rest, y + sin * rest), axis=-1).reshape(*shape, 2)

    def laps(self, role: Role) -> Laps:
        """Return a rule: how often the role has gone along the whole line in this episode, backwards below zero.

        It goes on where a closed line begins again, so that `Progress(line.laps(car))` never jumps, and begins again at
        `arena.restart`. Ask for it while the arena is built, and call it inside rules.
        """
        laps = Laps(self, is_role("a lap is driven by", role))
        self._use(laps)
        return laps

    def _next_to(self, role: Role) -> F64:
        """Return metres along, metres beside, cosine and sine of the nearest point; worked out once a tick."""
        where = is_role("a line is followed by", role).position
        stamp = where.tobytes() + self.draws.value.tobytes()  # a path is nothing but what its draws make of it
        seen = self._seen.get(role)
        if seen is None or seen[0] != stamp:
            at = where.reshape(len(where), -1, 2)
            place = nearest(self.handle, at)
            if self.closed:
                place[0] %= self.length[:, None]  # the end of the last leg is the beginning
            self._seen[role] = seen = (stamp, place.reshape(4, *where.shape[:-1]))
        return seen[1]


def legs_of(points: F64, closed: bool, rule: Shaping) -> F64:
    """Return (arenas, 6, legs) for (arenas, points, 2), see Course."""
    ends = np.concatenate((points[:, 1:], points[:, :1]), axis=1) if closed else points[:, 1:]
    starts = points[:, : ends.shape[1]]
    way = ends - starts
    metres = np.hypot(way[..., 0], way[..., 1])
    if not (metres > 0.0).all():
        cure = "; a closed one leads from its last point to its first by itself" if closed else ""
        raise RuleError(f"two points of a path in a row must not be in one place{cure}", rule)
    before = np.cumsum(metres, axis=1) - metres
    way /= metres[..., None]
    return np.stack((*starts.transpose(2, 0, 1), *way.transpose(2, 0, 1), metres, before), axis=1)


def nearest(course: Course, at: F64) -> F64:
    """Return (4, arenas, k) metres along, metres beside, cosine and sine of the nearest point for (arenas, k, 2)."""
    number = nearest_leg(course.sought, at.astype(np.float32))
    x, y, cos, sin, metres, before = np.take_along_axis(course.legs, number[:, None], axis=2).transpose(1, 0, 2)
    right, up = at[..., 0] - x, at[..., 1] - y
    ahead = np.clip(right * cos + up * sin, 0.0, metres)
    aside = cos * up - sin * right
    beside = np.hypot(right - ahead * cos, up - ahead * sin)
    return np.stack((before + ahead, np.where(aside < 0.0, -beside, beside), cos, sin))


def nearest_leg(legs: F32, at: F32) -> I64:
    """Return (arenas, k) numbers of the legs that are nearest to (arenas, k, 2)."""
    x, y, cos, sin, metres = legs.transpose(1, 0, 2)[:, :, None]
    right, up = at[..., :1] - x, at[..., 1:] - y
    past, part = right * cos, up * sin
    past += part
    np.multiply(right, sin, out=part)
    up *= cos
    up -= part  # how far beside the leg's whole line
    np.minimum(past, metres, out=part)
    np.maximum(part, 0.0, out=part)
    past -= part  # how far beyond its ends
    up *= up
    past *= past
    up += past
    return np.asarray(up.argmin(axis=2))


@component
class Lapped:
    """What `line.laps` knows. Written by the system `remember`."""

    along: F64 = column(dtype=np.float64, unit="m")
    """(arenas, [count]) Metres along the line, as the last tick left them."""
    laps: F64 = column(0.0, dtype=np.float64)
    """(arenas, [count])"""


class Laps(Remembering):
    """How often a role has gone along a whole line in this episode; see `Line.laps`."""

    kind, gives = Lapped, "laps"

    def __init__(self, line: Line, role: Role) -> None:
        super().__init__(lambda: line.along(role))
        self.line, self.starts, self.count = line, {"Lapped/along": self._along}, role.count

    def _along(self) -> F64:
        return self.worked_out("f", "metres", self.handle.along)

    def remember(self) -> None:
        """Add the way of this tick, the short one where a closed line begins again."""
        along, length = self._along(), self.line.length
        length = length.reshape(len(length), *[1] * (along.ndim - 1))
        gained = (along - self.handle.along) / length
        if self.line.closed:
            gained -= np.round(gained)
        self.handle.laps[...] += gained
        self.handle.along[...] = along

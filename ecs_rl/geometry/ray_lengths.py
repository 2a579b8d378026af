"""Rays from many viewers at once, against the segments and discs of their own arenas.

What is near a viewer is put into the viewer's own axes, in lengths of its reach. There the rays of all viewers have the
same directions, and a hit lies between 0 and 1 along its ray. This is done in single precision, as observations are.
A query of the physics costs twenty times as much per ray (see tests/bench/README.md), and knows nothing of arenas.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32, F64, I64

TOUCHING = 1e-6
"""So near, in reaches, a segment touches the start of the rays: then all of them see it."""
SLACK = 0.125
"""By how much of the reach a viewer may move before the ground near it is looked up anew."""

FAR_OFF = 1e9
"""Metres, where nothing is hit."""


class Fan:
    """Rays at fixed angles from a point of the viewer's own axes; `start` and `turn` are of the tick that is seen."""

    def __init__(self, angles: F64, reach: float, at: tuple[float, float] = (0.0, 0.0)) -> None:
        ways = np.stack((np.cos(angles), np.sin(angles))).astype(np.float32)
        self.order = np.argsort(_turned(*ways), kind="stable")
        """The numbers of the rays from the back counter-clockwise; `ways` and `turned` are in this order."""
        self.ways = ways[:, self.order]
        self.turned = _turned(*self.ways)
        self.reach, self.at = reach, at

    def stand(self, position: F64, heading: F64) -> None:
        """Look from (viewers, 2) places, turned by (viewers, 2) of cosine and sine."""
        cos, sin = heading.T
        arm = (cos * self.at[0] - sin * self.at[1], sin * self.at[0] + cos * self.at[1])
        self.start: F64 = position.T + arm
        """(2, viewers) Where the rays begin, in the arena's axes."""
        self.turn: F32 = (heading.T / self.reach).astype(np.float32)

    def own(self, viewer: Any, x: F64, y: F64) -> tuple[F32, F32]:
        """Return points of the arenas in the axes of their viewers, in reaches; `viewer` is an index of viewers."""
        dx, dy = (x - self.start[0][viewer]).astype(np.float32), (y - self.start[1][viewer]).astype(np.float32)
        cos, sin = self.turn[0][viewer], self.turn[1][viewer]
        ahead, aside = cos * dx, cos * dy
        ahead += np.multiply(sin, dy, out=dy)
        aside -= np.multiply(sin, dx, out=dx)
        return ahead, aside

    def hit_segments(self, share: F32, viewer: I64, x: F32, y: F32) -> None:
        """Shorten the (rays, viewers) shares of the way by segments, (both ends, pairs), each pair of one viewer.

        A segment hits the rays that lie between its ends as they are seen, those through an end too, so that nothing is
        seen between two segments that share it. A ray along a segment hits its near end.
        """
        turned = _turned(x, y)
        count = np.uint8 if len(self.turned) < 256 else np.uint16
        past, upto = np.zeros(x.shape, count), np.zeros(x.shape, count)
        for end in self.turned:  # how many rays an end lies counter-clockwise of, and those through it
            past += (turned > end).view(np.uint8)
            upto += (turned >= end).view(np.uint8)
        cross = x[0] * y[1] - x[1] * y[0]
        if np.abs(cross).min() < 10.0 * TOUCHING:
            self._touch(share, viewer, x, y, cross)
        # From one end it is less than half a turn counter-clockwise to the other, for some over the back.
        gap = turned[1] - turned[0]
        over = np.abs(gap) > 2.0
        pair = ((np.maximum(*upto) > np.minimum(*past)) | over).nonzero()[0]
        x, y, over = x.take(pair, axis=1), y.take(pair, axis=1), over.take(pair)
        onward, both = (gap.take(pair) > 0.0) ^ over, np.stack((past, upto)).take(pair, axis=2).astype(np.int64)
        # Without masks: a processor cannot guess them.
        first = both[0, 1] + onward * (both[0, 0] - both[0, 1])
        several = both[1, 0] + onward * (both[1, 1] - both[1, 0]) - first + over * len(self.order)
        which = np.repeat(np.arange(len(pair)), several)
        begins = np.cumsum(several) - several
        ray = (first - begins)[which] + np.arange(len(which))
        ray -= (ray >= len(self.order)) * len(self.order)
        way_x, way_y = self.ways.take(ray, axis=1)
        x, y = x.take(which, axis=1), y.take(which, axis=1)
        aside, along = way_x * y - way_y * x, way_x * x + way_y * y
        between = aside[0] - aside[1]
        level = between == 0.0
        hit = along[0] + (along[1] - along[0]) * np.clip(aside[0] / (between + level), 0.0, 1.0)
        hit = np.where(level, np.minimum(*along), hit)
        at = self.order.take(ray) * share.shape[1] + viewer.take(pair).take(which)
        np.minimum.at(share.reshape(-1), at, np.maximum(hit, 0.0))

    def _touch(self, share: F32, viewer: I64, x: F32, y: F32, cross: F32) -> None:
        """Let all rays of a viewer that stands on a segment end where they begin."""
        length = np.hypot(x[1] - x[0], y[1] - y[0])
        beside = (np.abs(cross) <= TOUCHING * length) & (length > 0.0)
        within = x[0] * x[1] + y[0] * y[1] <= TOUCHING**2
        share[:, viewer[beside & within]] = 0.0

    def hit_ground(self, share: F32, near: NearGround) -> None:
        """Shorten the (rays, viewers) shares by the ground."""
        if not near.ends.size:
            return
        x, y = self.own(np.s_[:, None], *near.ends)
        self.hit_segments(share, near.viewer, x.reshape(2, -1), y.reshape(2, -1))

    def hit_discs(self, share: F32, viewer: I64, x: F32, y: F32, radius: float) -> None:
        """Shorten the (rays, viewers) shares by discs around (pairs,) places, each of one viewer; 0 from within."""
        radius = radius / self.reach
        within = x * x + y * y < radius**2
        for number, (way_x, way_y) in zip(self.order, self.ways.T, strict=True):
            aside = way_x * y - way_y * x
            under = radius**2 - aside * aside
            hit = way_x * x + way_y * y - np.sqrt(np.maximum(under, 0.0))
            hit = np.where(within, 0.0, np.where((under >= 0.0) & (hit >= 0.0), hit, 1.0))
            np.minimum.at(share[number], viewer, hit.astype(np.float32))


def _turned(x: F32, y: F32) -> F32:
    """Return what grows with the angle of a way, from -2 at the back to 2, without its arctangent."""
    share = np.abs(x) + np.abs(y)
    share += np.float32(1e-30)
    np.divide(x, share, out=share)
    np.subtract(np.float32(1.0), share, out=share)
    return np.asarray(np.copysign(share, y, out=share))


class NearGround:
    """The segments within reach of each viewer: kept until it has moved a little, or its ground is another.

    What is kept changes no result, only how many segments are looked at that no ray can hit.
    """

    def __init__(self, reach: float) -> None:
        self.reach = reach
        self._seen_from: F64 = np.zeros((2, 0))

        self.ends: F64
        """(x and y, both ends, viewers, places) In the arenas' axes. Each viewer has as many places as the one with the
        most segments near it; what it does not need lies far off."""
        self.viewer: I64
        """(viewers * places,) Whose place it is."""

    def look(self, start: F64, segments: F64, stamp: NDArray[Any]) -> None:
        """Find what is near viewers at `start`, (2, viewers); those of an arena stand one after the other.

        `segments` is (arenas, segments, 2, 2), `stamp` (arenas,) a number that changes with them.
        """
        if self._seen_from.shape != start.shape:
            self._seen_from, self._stamp = np.full(start.shape, np.inf), stamp.copy()
            self.ends, self.viewer = np.zeros((2, 2, start.shape[1], 0)), np.zeros(0, np.int64)
        several = start.shape[1] // len(segments)
        moved = ((start - self._seen_from) ** 2).sum(axis=0)
        old = ~(moved <= (SLACK * self.reach) ** 2) | (stamp != self._stamp).repeat(several)
        if old.any():
            self._look(old.nonzero()[0], start, segments, several)
            self._stamp[...] = stamp

    def _look(self, rows: I64, start: F64, segments: F64, several: int) -> None:
        """Find anew what is near these viewers."""
        self._seen_from[:, rows] = start[:, rows]
        arenas = rows // several
        one, other = segments[arenas].transpose(2, 3, 0, 1)
        x, y = start[:, rows, None]
        half = np.sqrt(((other - one) ** 2).sum(axis=0)) / 2
        away = ((one[0] + other[0]) / 2 - x) ** 2 + ((one[1] + other[1]) / 2 - y) ** 2
        row, number = (away <= ((1.0 + 1.01 * SLACK) * self.reach + half) ** 2).nonzero()
        counts = np.bincount(row, minlength=len(rows))
        more = int(counts.max()) - self.ends.shape[3]
        if more > 0:
            self.ends = np.pad(self.ends, ((0, 0), (0, 0), (0, 0), (0, more)), constant_values=FAR_OFF)
            self.viewer = np.arange(self.ends.shape[2]).repeat(self.ends.shape[3])
        place = np.arange(len(row)) - (np.cumsum(counts) - counts)[row]
        self.ends[:, :, rows] = FAR_OFF
        self.ends[:, :, rows[row], place] = segments[arenas[row], number].transpose(2, 1, 0)

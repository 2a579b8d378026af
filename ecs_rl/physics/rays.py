"""Rays against an arena's own segments and bodies, for all arenas at once.

A query of the physics costs twenty times as much per ray (see the README), and knows nothing of arenas.
"""

from __future__ import annotations

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.scene.parts import Disc, Polygon
from ecs_rl.scene.roles import Role


def nearness(role: Role, others: tuple[Role, ...], angles: F64, reach: float, ground: F64) -> F64:
    """Return (arenas, rays): 1 where something touches the ray's start, falling to 0 at the reach and beyond."""
    heading = role.angle[:, None] + angles
    way = np.stack((np.cos(heading), np.sin(heading)), axis=-1) * reach
    start = role.position
    share = np.ones(heading.shape)
    outlines = [_outline(other, shape) for other in others for shape in other.shapes if isinstance(shape, Polygon)]
    segments = np.concatenate([ground, *outlines], axis=1)
    if segments.shape[1]:
        np.minimum(share, hit_segments(start, way, segments), out=share)
    for other in others:
        for shape in other.shapes:
            if isinstance(shape, Disc):
                np.minimum(share, hit_disc(start, way, other.point(shape.at), shape.radius), out=share)
    return 1.0 - share


def _outline(role: Role, shape: Polygon) -> F64:
    """Return (arenas, edges, 2, 2) of a polygon where it is now."""
    corners = np.stack([role.point(at) for at in shape.points], axis=1)
    return np.stack((corners, np.roll(corners, -1, axis=1)), axis=2)


def hit_segments(start: F64, way: F64, segments: F64) -> F64:
    """Return (arenas, rays): the share of the way to the nearest segment, 1 if none is hit."""
    ax, ay = (segments[:, None, :, 0, i] - start[:, None, None, i] for i in (0, 1))
    ex, ey = (segments[:, None, :, 1, i] - segments[:, None, :, 0, i] for i in (0, 1))
    dx, dy = way[:, :, None, 0], way[:, :, None, 1]
    cross = dx * ey - dy * ex
    with np.errstate(divide="ignore", invalid="ignore"):
        along = (ax * ey - ay * ex) / cross
        across = (ax * dy - ay * dx) / cross
    # A ray along a segment divides by zero; the comparisons are false for what comes of that.
    hit = (along >= 0) & (along <= 1) & (across >= 0) & (across <= 1)
    return np.asarray(np.where(hit, along, 1.0).min(axis=2))


def hit_disc(start: F64, way: F64, centre: F64, radius: float) -> F64:
    """Return (arenas, rays): the share of the way to the disc, 0 from within, 1 if it is not hit."""
    toward = start - centre
    a = (way * way).sum(axis=-1)
    b = (way * toward[:, None]).sum(axis=-1)
    c = ((toward * toward).sum(axis=-1) - radius**2)[:, None]
    under = b * b - a * c
    share = (-b - np.sqrt(np.maximum(under, 0.0))) / a
    hit = (under >= 0) & (share >= 0) & (share <= 1)
    return np.asarray(np.where(c < 0, 0.0, np.where(hit, share, 1.0)))

"""The camera: metres with y up to pixels with y down, and back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.viewer.view import Point

NEAREST, FARTHEST = 4000.0, 0.5
"""Pixels per metre that zooming stops at."""


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

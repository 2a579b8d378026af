"""Which of the numbers that an agent sees are shown as one small picture: many rays, and the cells of a grid."""

from __future__ import annotations

import numpy as np

from ecs_rl.arrays import F32
from ecs_rl.scene.agents import AgentSpec
from ecs_rl.scene.rays import Rays
from ecs_rl.spaces import Picture
from ecs_rl.viewer.view import SeenPicture

LEAST = 6
"""Fewer rays have a row each."""
MOST_CELLS = 4096
"""More cells than that are no small picture."""


def pictures_of(spec: AgentSpec, seen: F32) -> tuple[SeenPicture, ...]:
    """Return the pictures in (numbers,) that one agent sees."""
    pictures, first = list[SeenPicture](), 0
    for sensor in spec.sees:
        shape = _shape(sensor)
        if shape is not None:
            values = seen[first : first + int(np.prod(shape))].astype(np.float64).reshape(shape)
            pictures.append(SeenPicture(_name(sensor.names), first, values))
        first += len(sensor.names)
    return tuple(pictures)


def _shape(sensor: object) -> tuple[int, int, int] | None:
    """Return (layers, up, across) of a sensor that is shown as a picture, None of any other."""
    layout = getattr(sensor, "layout", None)
    if isinstance(layout, Picture):
        return (layout.layers, layout.up, layout.across) if layout.size <= MOST_CELLS else None
    if isinstance(sensor, Rays) and len(sensor.angles) >= LEAST:
        return len(sensor.names) // len(sensor.angles), 1, len(sensor.angles)
    return None


def _name(names: tuple[str, ...]) -> str:
    """Return what the names of all numbers begin with."""
    first, last = min(names), max(names)
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:same].rstrip(" 0123456789,")

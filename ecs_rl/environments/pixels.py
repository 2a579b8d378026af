"""The picture that an environment shows as a Box of bytes, and the smaller one that a policy sees.

A policy sees a row of numbers between 0 and 1, each layer from the top row down. A layer is a colour, a frame, or both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.spaces import Picture

MOST_SIDE = 84
"""Longer sides are brought to this many cells, each of which is the mean of what lies in it."""
MOST_PIXELS = 4 * MOST_SIDE * MOST_SIDE
"""Numbers of all layers together: four frames in grey."""


@dataclass(frozen=True)
class Pixels:
    """The picture that an environment shows, and the smaller one that a policy sees."""

    shape: tuple[int, ...]
    """(height, width), (height, width, colours) or (colours, height, width); of four numbers the first is of frames."""
    frames: int = 1
    """The newest pictures that are seen at once."""

    @property
    def colours_first(self) -> bool:
        """Whether the colours stand before the height: there are fewer of them than rows."""
        return len(self.shape) > 2 and self.shape[-3] < self.shape[-1]

    @property
    def sides(self) -> tuple[int, int]:
        """The height and the width that are shown."""
        if len(self.shape) == 2 or self.colours_first:
            return self.shape[-2], self.shape[-1]
        return self.shape[-3], self.shape[-2]

    @property
    def seen(self) -> Picture:
        """The picture that is seen."""
        height, width = self.sides
        layers = self.frames * int(np.prod(self.shape)) // (height * width)
        return Picture(0, layers, min(height, MOST_SIDE), min(width, MOST_SIDE))

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each number that is seen: its layer and its place, from the left and from the top."""
        seen = self.seen
        places = [f"{x},{y}" for y in range(seen.up) for x in range(seen.across)]
        return tuple(f"{layer} {place}" for layer in range(seen.layers) for place in places)

    def layered(self, picture: NDArray[Any]) -> NDArray[Any]:
        """Return a picture as (layers, height, width)."""
        if len(self.shape) > 2 and not self.colours_first:
            picture = np.moveaxis(picture, -1, -3)
        return picture.reshape(-1, *self.sides)

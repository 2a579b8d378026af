"""What numbers of an observation form: a picture, or a set. The convolution and the attention go by that."""

from __future__ import annotations

from dataclasses import dataclass

LARGE, SMALL = 32, 12
"""Cells along the longer side of a picture: more are many, and as few are enough."""


@dataclass(frozen=True)
class Picture:
    """Numbers of an observation that form a picture: layer by layer, each row by row.

    The rows of a Grid go from the lowest up, those of an environment's pictures from the top down.
    """

    first: int
    """Where in the observation it begins."""
    layers: int
    up: int
    across: int

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return self.layers * self.up * self.across

    @property
    def strides(self) -> tuple[int, ...]:
        """How far each convolution over it steps: of a large picture each of them halves it until it is small."""
        longer, found = max(self.up, self.across), list[int]()
        while self._is_large and longer > SMALL:
            longer = -(-longer // 2)
            found.append(2)
        return tuple(found) or (1, 2)

    @property
    def channels(self) -> tuple[int, ...]:
        """How many features each convolution makes."""
        return (16, *[32 if self._is_large else 16] * (len(self.strides) - 1))

    @property
    def features(self) -> int:
        """How many numbers the last convolution makes."""
        up, across = self.up, self.across
        for stride in self.strides:
            up, across = -(-up // stride), -(-across // stride)
        return self.channels[-1] * up * across

    @property
    def _is_large(self) -> bool:
        return max(self.up, self.across) > LARGE


@dataclass(frozen=True)
class Members:
    """Numbers of an observation that tell of a set, member by member; the first of each is 1, or 0 for none there."""

    first: int
    """Where in the observation it begins."""
    most: int
    """Members that are told of at most."""
    numbers: int
    """Numbers of each, the first included."""

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return self.most * self.numbers


Layout = tuple[Picture | Members, ...]

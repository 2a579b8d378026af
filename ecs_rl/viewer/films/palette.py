"""Which colours a GIF has: ffmpeg picks them from a picture in which rare colours stand more often than they were seen.

Counted by pixels, the shades of a sky or of moving bodies take the whole palette, and a small red key turns brown.
"""

from __future__ import annotations

import numpy as np

BITS = 5
"""Of each channel, by which colours count as one: 32,768 of them in all."""
EVERY = 5
"""Of so many pixels of a picture one is counted, in the next picture the one beside it."""
POWER = 1 / 3
"""A colour's place in the palette grows by this power of its pixels: a thousand times as many, ten times the place."""
PIXELS, WIDTH = 60_000, 256
"""Of the picture from which the palette is picked."""


class Palette:
    """Counts the colours of the pictures of a film."""

    def __init__(self) -> None:
        self._counts = np.zeros(1 << 3 * BITS, np.int64)
        self._colours = np.zeros((1 << 3 * BITS, 3), np.uint8)
        """One of the colours that count as one, as it was seen."""
        self._pictures = 0

    def add(self, data: bytes) -> None:
        """Look at the RGB bytes of the next picture."""
        pixels = np.frombuffer(data, np.uint8).reshape(-1, 3)[self._pictures % EVERY :: EVERY]
        self._pictures += 1
        numbers = np.zeros(len(pixels), np.uint16)
        for channel in range(3):
            numbers <<= BITS
            numbers |= pixels[:, channel] >> 8 - BITS
        counts = np.bincount(numbers, minlength=len(self._counts))
        new = (counts > 0) & (self._counts == 0)
        if new.any():
            fresh = np.flatnonzero(new[numbers])
            self._colours[numbers[fresh]] = pixels[fresh]
        self._counts += counts

    def picture(self) -> tuple[bytes, int]:
        """Return the RGB bytes of a picture that is `WIDTH` pixels wide, and its height."""
        used = np.flatnonzero(self._counts)
        places = self._counts[used] ** POWER
        times = np.maximum(1, np.rint(PIXELS * places / places.sum())).astype(np.int64)
        times[0] += -times.sum() % WIDTH
        pixels = np.repeat(self._colours[used], times, axis=0)
        return pixels.tobytes(), len(pixels) // WIDTH

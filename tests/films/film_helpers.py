"""Films as tests see them: pictures to film, and what a film that was written really shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
import pygame
from numpy.typing import NDArray

Pictures = NDArray[np.uint8]


def shown(path: Path) -> tuple[Pictures, dict[str, Any]]:
    """Return (frames, height, width, 3) of a film, and what ffmpeg tells of it."""
    reader = imageio_ffmpeg.read_frames(str(path))
    facts: dict[str, Any] = next(reader)
    w, h = facts["size"]
    return np.array([np.frombuffer(frame, np.uint8).reshape(h, w, 3) for frame in reader]), facts


def pixels(surface: pygame.Surface) -> Pictures:
    w, h = surface.get_size()
    return np.frombuffer(pygame.image.tobytes(surface, "RGB"), np.uint8).reshape(h, w, 3)


def picture(number: int, size: tuple[int, int] = (64, 48)) -> pygame.Surface:
    """Return a dark picture with a disc that is somewhere else, and of another colour, for each number."""
    surface = pygame.Surface(size)
    surface.fill((13, 17, 25))
    colour = ((92, 184, 236), (236, 166, 42), (34, 176, 132))[number % 3]
    pygame.draw.circle(surface, colour, (12 + 6 * (number % 6), size[1] // 2), 9)
    return surface


def difference(ours: Pictures, theirs: Pictures) -> float:
    """Return the mean difference of two pictures, 0 to 255."""
    assert ours.shape == theirs.shape
    return float(np.abs(ours.astype(int) - theirs.astype(int)).mean())


def left_behind(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())

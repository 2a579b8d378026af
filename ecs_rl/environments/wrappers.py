"""Wrappers that make rows of numbers of what an environment shows; they need Gymnasium."""

from __future__ import annotations

from collections import deque
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import FlattenObservation
from numpy.typing import NDArray

from ecs_rl.arrays import F32
from ecs_rl.environments.action_mask import ActionMask, options_in
from ecs_rl.environments.pixels import Pixels

WHITE = 255.0
"""The largest number of a byte."""


def showing_rows(
    env: gymnasium.Env[Any, Any], pixels: Pixels | None, mask: ActionMask | None, *, is_flat: bool
) -> gymnasium.Env[Any, Any]:
    """Return an environment that shows rows of numbers; one that `is_flat` does so already, but for its mask."""
    if pixels is not None:
        env = SeesPixels(env, pixels)
    elif not is_flat:
        env = FlattenObservation(env)
    return env if mask is None else SeesMask(env, mask)


class SeesPixels(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose pictures become rows of numbers; one of another form than promised is handed on as it is."""

    def __init__(self, env: gymnasium.Env[Any, Any], pixels: Pixels) -> None:
        super().__init__(env)
        self._pixels, seen = pixels, pixels.seen
        height, width = pixels.sides
        self._small = (height, width) == (seen.up, seen.across)
        self._frames: deque[F32] = deque(maxlen=pixels.frames)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; where several frames are seen, all of them are the first."""
        picture, info = self.env.reset(seed=seed, options=options)
        self._frames.clear()
        return self._row(picture), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one decision."""
        picture, reward, terminated, truncated, info = self.env.step(action)
        return self._row(picture), reward, terminated, truncated, info

    def _row(self, given: Any) -> Any:
        picture = np.asarray(given)
        if picture.shape != self._pixels.shape or picture.dtype != np.uint8:
            return picture  # the world tells what is wrong, and where
        layers: NDArray[Any] = self._pixels.layered(picture).astype(np.float32)
        if not self._small:
            seen = self._pixels.seen
            layers = means(means(layers, seen.up, 1), seen.across, 2)
        frame: F32 = np.asarray(layers.reshape(-1) / WHITE, np.float32)
        while len(self._frames) < self._pixels.frames:
            self._frames.append(frame)
        self._frames.append(frame)
        return frame if self._pixels.frames == 1 else np.concatenate(self._frames)


class SeesMask(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that shows rows of numbers, among them 1 for each option that may be chosen and 0 for others."""

    def __init__(self, env: gymnasium.Env[Any, Any], mask: ActionMask) -> None:
        super().__init__(env)
        self._mask = mask

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        row, info = self.env.reset(seed=seed, options=options)
        return self._with_mask(row, info, is_over=False), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one decision; the mask may be missing where the episode is over."""
        row, reward, terminated, truncated, info = self.env.step(action)
        row = self._with_mask(row, info, is_over=bool(terminated or truncated))
        return row, reward, terminated, truncated, info

    def _with_mask(self, row: Any, info: dict[str, Any], *, is_over: bool) -> F32:
        numbers = np.array(row, np.float32)
        if numbers.ndim != 1:
            return numbers  # the world tells what is wrong, and where
        if self._mask.in_info:
            return np.concatenate((numbers, options_in(info, self._mask.counts, is_over=is_over)))
        numbers[self._mask.numbers] = numbers[self._mask.numbers] != 0.0
        return numbers


def means(layers: NDArray[Any], cells: int, axis: int) -> NDArray[Any]:
    """Return the means of `cells` equal parts along an axis; a row on an edge counts by its shares.

    Sums up to each edge are subtracted: a product of matrices would wake the threads of numpy's BLAS for it.
    """
    size = layers.shape[axis]
    edges = np.arange(cells + 1) * (size / cells)
    whole = np.minimum(edges.astype(np.int64), size - 1)
    share = (edges - whole).astype(np.float32).reshape(-1, *[1] * (layers.ndim - 1 - axis))
    upto = np.cumsum(layers, axis) - layers  # before each row
    sums = upto.take(whole, axis) + share * layers.take(whole, axis)
    means_of_cells: NDArray[Any] = np.diff(sums, axis=axis) * np.float32(cells / size)
    return means_of_cells

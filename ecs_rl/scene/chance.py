"""Randomness that belongs to an episode: a pure function of seed, arena and episode, for many arenas at once.

A generator object per arena would cost more than its physics. Instead every draw is a hash (the finaliser of
SplitMix64) of who asks: draws never depend on how many arenas there are, or on which of them ended together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F64, I64
from ecs_rl.errors import SceneError
from ecs_rl.scene.checks import finite, not_negative

U64 = NDArray[np.uint64]
_ONE, _STEP, _TICK = np.uint64(1), np.uint64(0x9E3779B97F4A7C15), np.uint64(0x5851F42D4C957F2D)
_SHIFTS = tuple(np.uint64(shift) for shift in (30, 27, 31))
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_LOWER = np.uint64(11)


@dataclass(frozen=True)
class Spread:
    """A number drawn anew for each episode, evenly between two bounds."""

    low: float
    """The least that it can be."""
    high: float
    """What it stays below."""
    draws: ClassVar[int] = 1
    """Uniform numbers that one number takes."""

    def __post_init__(self) -> None:
        if finite("the lower bound", self.low) > finite("the upper bound", self.high):
            raise SceneError(f"a spread goes from low to high, not from {self.low} to {self.high}")

    def __call__(self, uniform: F64) -> F64:
        """Return the draws for uniform numbers in [0, 1)."""
        return self.low + (self.high - self.low) * uniform


def jitter(size: float) -> Spread:
    """Return a spread from -size to +size: `Start(x=jitter(1.0))`."""
    not_negative("a jitter", size)
    return Spread(-size, size)


def between(low: float, high: float) -> Spread:
    """Return a spread from low to high: `Start(vy=between(-4.0, -2.0))`."""
    return Spread(low, high)


def _mixed(x: U64) -> U64:
    """Return each word with its bits stirred (SplitMix64's finaliser, by Sebastiano Vigna)."""
    x = (x ^ (x >> _SHIFTS[0])) * _FACTORS[0]
    x = (x ^ (x >> _SHIFTS[1])) * _FACTORS[1]
    return x ^ (x >> _SHIFTS[2])


def _nth(number: I64) -> U64:
    """Return how far the words of these numbers, counted from 0, stand from their key."""
    return (number.astype(np.uint64) + _ONE) * _STEP


def _fraction(words: U64) -> F64:
    """Return words as numbers in [0, 1), by the upper 53 bits, which are what a double holds."""
    return np.asarray((words >> _LOWER) * 2.0**-53)


def episode_keys(seed: I64, arena: I64) -> U64:
    """Return one word for each arena from the seed that names it and its number in that seed, each (arenas,)."""
    return _mixed(_mixed(seed.astype(np.uint64) + _STEP) + _nth(arena))


def uniforms(key: U64, episode: I64, draws: int) -> F64:
    """Return (rows, draws) numbers in [0, 1) for rows named by an arena's key and its episode, each (rows,)."""
    return drawn(_mixed(key + _nth(episode))[:, None], np.arange(draws))


def tick_words(key: U64, episode: I64, tick: I64) -> U64:
    """Return a word for each arena, of its key, that belongs to this tick of this episode; all of one shape."""
    return _mixed((_mixed(key + _nth(episode)) ^ _TICK) + _nth(tick))


def drawn(words: U64, number: I64) -> F64:
    """Return numbers in [0, 1), each by a word and its own number there."""
    return _fraction(_mixed(words + _nth(number)))

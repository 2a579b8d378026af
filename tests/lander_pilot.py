"""A scripted pilot of the lander: Gymnasium's own heuristic, which sets it down every time, and what it has shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.base import Demonstration
from ecs_rl.arrays import F32, I64
from ecs_rl.components import Done, Observation, Reward
from ecs_rl.loading import load_scene
from ecs_rl.runs.demonstrations import Demonstrations
from ecs_rl.worlds import make_world

SHOWN = (100, 101, 102)
"""The seeds of three landings."""


def pilot(seen: F32) -> I64:
    """Return what to fire (coast, left, main, right) for (rows, 8) of what the craft sees."""
    x, y, vx, vy, angle, spin, left, right = np.asarray(seen, np.float64).T
    lean, height = np.clip(0.5 * x + vx, -0.4, 0.4), 0.55 * np.abs(x)
    stands = (left > 0) | (right > 0)
    turn = np.where(stands, 0.0, 0.5 * (lean - angle) - spin)
    rise = np.where(stands, -0.5 * vy, 0.5 * (height - y) - 0.5 * vy)
    side = np.select([turn < -0.05, turn > 0.05], [1, 3], 0)
    return np.where((rise > np.abs(turn)) & (rise > 0.05), 2, side).astype(np.int64)


def landings(seeds: Sequence[int] = SHOWN) -> Demonstrations:
    """Return an episode of the pilot for each seed."""
    return shown_by("lander", pilot, seeds)


def shown_by(name: str, decide: Callable[[F32], NDArray[Any]], seeds: Sequence[int]) -> Demonstrations:
    """Return an episode for each seed of whoever decides by (rows, numbers) of what is seen."""
    scene = load_scene(name)
    world = make_world(scene, arenas=len(seeds), seeds=seeds, policies={"policy": lambda seen, state: decide(seen)})
    of = world.batches[0].entity
    seen, earned, ends = world.of(of, Observation), world.of(of, Reward), world.of(of, Done)
    ticks: list[tuple[NDArray[Any], ...]] = []
    over, terminated = np.full(len(seeds), -1), np.zeros(len(seeds), bool)
    while (over < 0).any():
        before = seen.value.copy()
        world.tick()
        ticks.append((before, decide(before), earned.value.copy()))
        now = (over < 0) & (ends.terminated | ends.truncated)
        over[now], terminated[now] = len(ticks), ends.terminated[now]
    (spec,) = world.specs.values()
    world.close()
    columns = [np.stack(column) for column in zip(*ticks, strict=True)]
    episodes = [_episode(seed, int(over[i]), i, columns, bool(terminated[i])) for i, seed in enumerate(seeds)]
    return Demonstrations(scene.reference, scene.sha256, spec, tuple(episodes))


def _episode(seed: int, ticks: int, arena: int, columns: Sequence[NDArray[Any]], terminated: bool) -> Demonstration:
    observation, action, reward = (column[:ticks, arena] for column in columns)
    return Demonstration(seed, observation, action, reward, np.ones(ticks, bool), terminated, float(reward.sum()))

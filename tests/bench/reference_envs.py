"""Many environments as one, the same for both sides: Gymnasium's in a plain list, or a scene's arenas in one world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ecs_rl.components import Clock, Done, NextObservation, Observation, Reward
from ecs_rl.loading import load_scene
from ecs_rl.spaces import ActionSpace, Bools, Continuous, Discrete, Floats, PolicySpec
from ecs_rl.world import policy_specs
from ecs_rl.worlds import make_world

WITHOUT_VELOCITIES = {"CartPoleNoVel-v1": ("CartPole-v1", (0, 2))}
"""Environments of which only some numbers are seen: what they are called, what they are of, and which numbers."""
EVALUATED = 20
"""Episodes of one evaluation, each with a seed of its own that never changes."""
FIRST_SEED = 100_000


class Step(NamedTuple):
    """What came of one action in every environment; ended ones have begun anew in `seen` only."""

    reward: Floats
    following: Floats
    terminated: Bools
    truncated: Bools
    seen: Floats


Predict = Callable[[Floats, Bools], NDArray[Any]]
"""Returns the greedy actions for (rows, numbers) seen; (rows,) truths say where an episode begins with it."""


class Envs(Protocol):
    """Environments that begin anew by themselves."""

    spec: PolicySpec
    bounds: NDArray[np.float64]
    """What an action of 1 is, for levers."""

    def reset(self) -> Floats:
        """Return the first observations."""

    def step(self, action: NDArray[Any]) -> Step:
        """Take one action in every environment."""


class GymEnvs:
    """Gymnasium environments that render nothing, one after the other."""

    def __init__(self, environment: str, seeds: range) -> None:
        import gymnasium

        environment, seen = WITHOUT_VELOCITIES.get(environment, (environment, ()))
        self.envs: list[Any] = [gymnasium.make(environment, render_mode=None) for _ in seeds]
        self.seeds, self._seen = seeds, list(seen or range(self.envs[0].observation_space.shape[0]))
        numbers = tuple(str(i) for i in self._seen)
        space: Any = self.envs[0].action_space
        actions: ActionSpace
        if hasattr(space, "n"):
            actions, self.bounds = Discrete(tuple(f"a{i}" for i in range(space.n))), np.ones(())
        else:
            actions, self.bounds = Continuous(tuple(f"a{i}" for i in range(space.shape[0]))), space.high
        self.spec = PolicySpec(numbers, actions)

    def reset(self) -> Floats:
        """Return the first observations."""
        return self._table([env.reset(seed=seed)[0] for env, seed in zip(self.envs, self.seeds, strict=True)])

    def step(self, action: NDArray[Any]) -> Step:
        """Take one action in every environment."""
        told = [env.step(each) for env, each in zip(self.envs, action, strict=True)]
        seen, reward, terminated, truncated, _ = zip(*told, strict=True)
        ends = np.array(terminated), np.array(truncated) & ~np.array(terminated)
        again = [env.reset()[0] if t or c else s for env, s, t, c in zip(self.envs, seen, *ends, strict=True)]
        return Step(np.array(reward, np.float32), self._table(seen), *ends, self._table(again))

    def _table(self, seen: Any) -> Floats:
        return np.asarray(np.array(seen)[:, self._seen], np.float32)


class SceneEnvs:
    """The arenas of one of our scenes, in one world."""

    def __init__(self, scene: str, seeds: range) -> None:
        loaded = load_scene(scene)
        ((name, self.spec),) = policy_specs(loaded.describe()).items()
        self._action = self.spec.actions.none(len(seeds))
        self.world = make_world(
            loaded, arenas=len(seeds), seeds=seeds, policies={name: lambda seen, state: self._action}
        )
        self.bounds = np.ones(())
        ((self._seen, self._after, self._reward, self._done),) = self.world.each(
            Observation, NextObservation, Reward, Done
        )

    def reset(self) -> Floats:
        """Return the first observations."""
        self.world.one(Clock).episode[:] = 0
        self.world.start_over()
        seen: Floats = self._seen.value.copy()
        return seen

    def step(self, action: NDArray[Any]) -> Step:
        """Take one action in every arena."""
        self._action = action if isinstance(self.spec.actions, Discrete) else np.asarray(action, np.float32)
        self.world.tick()
        told = self._reward.value, self._after.value, self._done.terminated, self._done.truncated, self._seen.value
        return Step(*(each.copy() for each in told))


def environments(name: str, seeds: range) -> Envs:
    """Return the environments of this name, one for each seed."""
    kind, _, scene = name.partition(":")
    return SceneEnvs(scene, seeds) if kind == "scene" else GymEnvs(name, seeds)


def in_bounds(action: NDArray[Any], bounds: NDArray[np.float64]) -> NDArray[Any]:
    """Return choices as they are, and levers in the environment's own units."""
    return action if action.dtype.kind == "i" else np.clip(action, -1.0, 1.0) * bounds


class Evaluation:
    """Greedy episodes on seeds that never change, the same for both sides."""

    def __init__(self, name: str) -> None:
        self.envs = environments(name, range(FIRST_SEED, FIRST_SEED + EVALUATED))

    def mean_return(self, predict: Predict) -> float:
        """Return the mean return of one episode for each seed."""
        seen, returns, running = self.envs.reset(), np.zeros(EVALUATED), np.ones(EVALUATED, bool)
        begins = running.copy()
        while running.any():
            step = self.envs.step(predict(seen, begins))
            returns += step.reward * running
            seen, begins = step.seen, step.terminated | step.truncated
            running &= ~begins
        return float(returns.mean())

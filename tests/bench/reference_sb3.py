"""Stable-Baselines3's side of the comparison: its own loop, over the same environments."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from reference_cases import Case, Stopwatch
from reference_envs import Envs, Evaluation, environments, in_bounds
from reference_settings import MODELS
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from ecs_rl.spaces import Bools, Discrete, Floats


class Together(VecEnv):
    """Our environments as Stable-Baselines3 wants them; levers are between -1 and 1, so that both explore as far."""

    def __init__(self, envs: Envs, count: int) -> None:
        spec = envs.spec
        seen = gymnasium.spaces.Box(-np.inf, np.inf, (len(spec.observations),), np.float32)
        if isinstance(spec.actions, Discrete):
            space: Any = gymnasium.spaces.Discrete(len(spec.actions.names))
        else:
            space = gymnasium.spaces.Box(-1.0, 1.0, (len(spec.actions.names),), np.float32)
        self.envs, self._action = envs, spec.actions.none(count)
        super().__init__(count, seen, space)

    def reset(self) -> Floats:
        """Return the first observations."""
        return self.envs.reset()

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the actions, in the environments' own units."""
        self._action = in_bounds(actions, self.envs.bounds)

    def step_wait(self) -> Any:
        """Return observation, reward, done and infos."""
        step = self.envs.step(self._action)
        infos: list[dict[str, Any]] = [{} for _ in step.reward]
        done = step.terminated | step.truncated
        for i in np.flatnonzero(done).tolist():
            infos[i] = {"terminal_observation": step.following[i], "TimeLimit.truncated": bool(step.truncated[i])}
        return step.seen, step.reward, done, infos

    def close(self) -> None:
        """Nothing is open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return what everybody asks for: how it renders, which it does not."""
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Nothing can be set."""

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """There are no methods."""
        raise NotImplementedError(method_name)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Nothing is wrapped."""
        return [False] * self.num_envs


class Evaluate(BaseCallback):
    """Evaluates as our side does, and stops where it is solved."""

    def __init__(self, case: Case, clock: Stopwatch) -> None:
        super().__init__()
        self.case, self.clock, self.due = case, clock, case.eval_every
        self.evaluation, self.solved, self.best = Evaluation(case.environment), None, -np.inf
        self._state: Any = None

    def _on_step(self) -> bool:
        if self.num_timesteps >= self.due:
            self.due += self.case.eval_every
            with self.clock.paused():
                self.best = max(self.best, self.evaluation.mean_return(self.predict))
            if self.best >= self.case.solved:
                self.solved = self.num_timesteps
        return self.solved is None

    def predict(self, seen: Floats, begins: Bools) -> NDArray[Any]:
        """Return greedy actions in the environments' own units; memories are forgotten where an episode begins."""
        normalise = self.model.get_vec_normalize_env()
        seen = seen if normalise is None else normalise.normalize_obs(seen)
        action, self._state = self.model.predict(seen, self._state, begins, deterministic=True)
        return in_bounds(np.asarray(action), self.evaluation.envs.bounds)


def train(case: Case, seed: int) -> dict[str, Any]:
    """Train until solved or out of steps; return steps, seconds and the step at which it was solved."""
    envs: VecEnv = Together(environments(case.environment, range(seed * 1_000, seed * 1_000 + case.envs)), case.envs)
    model = MODELS[case.agent](case, envs, seed)
    clock = Stopwatch()
    callback = Evaluate(case, clock)
    model.learn(case.steps, callback=callback, log_interval=None)
    return {"solved_step": callback.solved, "steps": model.num_timesteps, "best": callback.best, **clock.read()}

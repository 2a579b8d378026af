"""One transition of a plain loop as a batch of one row, which is all that an agent takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ecs_rl.agents.base import Experience, Floats


def observation_rows(observation: ArrayLike) -> tuple[Floats, bool]:
    """Return the observation as (rows, numbers), and whether it was a single one."""
    rows = np.asarray(observation, dtype=np.float32)
    return (rows.reshape(1, -1), True) if rows.ndim < 2 else (rows, False)


def experience_rows(experience: Experience) -> Experience:
    """Return the experience itself if it has rows, a batch of one row made of it otherwise."""
    if np.ndim(experience.observation) >= 2:
        return experience
    return Experience(
        observation=observation_rows(experience.observation)[0],
        action=np.asarray(experience.action)[None],
        reward=_one(experience.reward, np.float32),
        next_observation=observation_rows(experience.next_observation)[0],
        terminated=_one(experience.terminated, np.bool_),
        truncated=_one(experience.truncated, np.bool_),
        valid=None if experience.valid is None else _one(experience.valid, np.bool_),
        extras=experience.extras,
    )


def _one(value: Any, dtype: type[np.generic]) -> Any:
    return np.asarray(value, dtype=dtype).reshape(1)

"""What is compared with Stable-Baselines3: environments, settings by our names, thresholds; and the stopwatch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """One algorithm on one environment."""

    agent: str
    environment: str
    """A Gymnasium name, or `scene:NAME` for one of ours."""
    solved: float
    """Mean return of a greedy evaluation."""
    steps: int
    """Steps after which a trial gives up."""
    eval_every: int
    """Steps between two evaluations."""
    envs: int
    settings: dict[str, Any] = field(default_factory=dict)
    """Hyper-parameters by our names; what is not named is alike by default."""


PPO = {"lr_schedule": "constant", "normalise_observations": False, "normalise_rewards": False}
NORMALISED = {"lr_schedule": "constant"}

CASES = {
    f"{case.agent}:{case.environment}": case
    for case in (
        Case(
            *("ppo", "CartPole-v1", 475.0, 200_000, 2_048, 8),
            PPO | {"lr": 1e-3, "rollout": 32, "minibatch": 256, "epochs": 20, "gamma": 0.98, "gae_lambda": 0.8},
        ),
        Case(
            *("ppo", "Acrobot-v1", -100.0, 500_000, 4_096, 16),
            NORMALISED | {"lr": 3e-4, "rollout": 256, "minibatch": 64, "epochs": 4, "gae_lambda": 0.94},
        ),
        Case(
            *("ppo", "Pendulum-v1", -200.0, 500_000, 4_096, 4),
            NORMALISED | {"lr": 1e-3, "rollout": 1024, "minibatch": 64, "epochs": 10, "gamma": 0.9},
        ),
        Case(
            *("ppo", "LunarLander-v3", 200.0, 1_500_000, 16_384, 16),
            PPO
            | {"lr": 3e-4, "rollout": 1024, "minibatch": 64, "epochs": 4, "gamma": 0.999, "gae_lambda": 0.98}
            | {"entropy": 0.01},
        ),
        Case(
            *("ppo", "scene:balance", 475.0, 300_000, 2_048, 8),
            NORMALISED | {"lr": 1e-3, "rollout": 64, "minibatch": 256, "epochs": 10, "gamma": 0.98},
        ),
    )
}


class Stopwatch:
    """Wall and processor seconds of the training, evaluations left out."""

    def __init__(self) -> None:
        self._began, self._out = self._now(), (0.0, 0.0)

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let what happens inside not count."""
        began = self._now()
        yield
        self._out = tuple(out + now - then for out, now, then in zip(self._out, self._now(), began, strict=True))  # type: ignore[assignment]

    def read(self) -> dict[str, float]:
        """Return what has gone by so far, in seconds."""
        names = ("seconds", "processor")
        both = zip(names, self._now(), self._began, self._out, strict=True)
        return {name: now - then - out for name, now, then, out in both}

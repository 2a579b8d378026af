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
CART_POLE = PPO | {"lr": 1e-3, "rollout": 32, "minibatch": 256, "epochs": 20, "gamma": 0.98, "gae_lambda": 0.8}
DQN = {"lr_schedule": "constant", "hidden": (64, 64), "target_every": 100}
DQN |= {"double": False, "first_weights": "uniform"}
CART_POLE_DQN = DQN | {"lr": 1e-3, "batch": 64, "learn_every": 2, "memory": 100_000, "epsilon_steps": 8_000}
SAC = {"hidden": (64, 64), "lr": 1e-3, "batch": 128}

CASES = {
    f"{case.agent}:{case.environment}": case
    for case in (
        Case(*("ppo", "CartPole-v1", 475.0, 200_000, 2_048, 8), CART_POLE),
        Case(
            *("ppo", "Acrobot-v1", -100.0, 500_000, 4_096, 16),
            NORMALISED | {"lr": 3e-4, "rollout": 256, "minibatch": 64, "epochs": 4, "gae_lambda": 0.94},
        ),
        Case(
            # Longer rollouts than an episode's 200 ticks: all environments end theirs at once.
            *("ppo", "Pendulum-v1", -250.0, 300_000, 4_096, 8),
            NORMALISED | {"lr": 1e-3, "rollout": 256, "minibatch": 64, "epochs": 10, "gamma": 0.9},
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
        Case(
            *("ppo", "scene:swingup", 350.0, 500_000, 8_192, 16),
            PPO
            | {"normalise_observations": True, "lr": 1e-3, "rollout": 128, "minibatch": 256, "epochs": 10}
            | {"gae_lambda": 0.98},
        ),
        Case(
            *("ppo", "scene:lander", 200.0, 1_000_000, 16_384, 32),
            NORMALISED | {"lr": 1e-3, "rollout": 64, "minibatch": 256, "epochs": 5, "gamma": 0.995, "gae_lambda": 0.98},
        ),
        Case(
            *("ppo", "CartPoleNoVel-v1", 475.0, 300_000, 4_096, 32),
            NORMALISED
            | {"lr": 1e-3, "rollout": 64, "minibatch": 512, "epochs": 8}
            | {"network": "gru", "hidden": (), "state": 64},
        ),
        Case(*("dqn", "CartPole-v1", 475.0, 100_000, 1_000, 1), CART_POLE_DQN),
        Case(
            *("dqn", "Acrobot-v1", -100.0, 100_000, 1_000, 1),
            DQN | {"lr": 6e-4, "batch": 128, "learn_every": 2, "epsilon_steps": 10_000},
        ),
        Case(*("dqn", "scene:balance", 475.0, 100_000, 1_000, 1), CART_POLE_DQN),
        Case(*("sac", "Pendulum-v1", -200.0, 20_000, 500, 1), SAC),
        Case(*("sac", "scene:swingup", 350.0, 60_000, 2_000, 1), SAC | {"batch": 256}),
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

"""Settings with which environments are learned: a few classics by name, all others by what they do."""

from __future__ import annotations

from collections.abc import Mapping

from ecs_rl.scene.scene import Recipe

CHOICES: Recipe = {
    "arenas": 16, "threads": 1, "steps": "1M", "checkpoint_every": "100k",
    "lr": 1e-3, "rollout": 128, "minibatch": 256, "epochs": 6, "gamma": 0.99, "gae_lambda": 0.95, "entropy": 0.005,
}  # fmt: skip
LEVERS: Recipe = {
    "arenas": 16, "threads": 1, "steps": "1M", "checkpoint_every": "100k",
    "lr": 1e-3, "rollout": 128, "minibatch": 256, "epochs": 8, "gamma": 0.98, "gae_lambda": 0.95,
}  # fmt: skip
PICTURES: Recipe = {
    "arenas": 16, "threads": 1, "steps": "1M", "checkpoint_every": "100k", "network": "conv",
    "shared": True, "hidden": [128], "activation": "relu", "normalise_observations": False,
    "lr": 1e-3, "rollout": 64, "minibatch": 256, "epochs": 4, "gamma": 0.99, "gae_lambda": 0.95, "entropy": 0.01,
}  # fmt: skip
"""What is seen lies between 0 and 1 already."""
NAMED: Mapping[str, Mapping[str, Recipe]] = {
    "CartPole-v1": {
        "ppo": {
            "arenas": 8, "threads": 1, "steps": "100k", "eval_every": 5_000, "checkpoint_every": "50k",
            "lr": 1e-3, "lr_end": 0.0, "rollout": 32, "minibatch": 256, "epochs": 20, "gamma": 0.98, "gae_lambda": 0.8,
            "normalise_advantages": False,  # perhaps since they are noise once it is solved
        },
        "dqn": {
            "arenas": 8, "threads": 1, "steps": "50k", "eval_every": 2_500, "checkpoint_every": "25k",
            "lr": 1e-3, "lr_schedule": "exponential", "lr_end": 0.01, "slow_policy": True,
            "n_step": 8, "dueling": True, "normalise_observations": True, "huber": 30,
            "learn_every": 4, "target_every": 1, "target_rate": 0.01,
        },
    },
    "LunarLander-v3": {
        "ppo": {
            "arenas": 16, "threads": 1, "steps": "1M", "eval_every": "25k", "checkpoint_every": "200k",
            "lr": 1e-3, "rollout": 256, "minibatch": 512, "epochs": 5, "gamma": 0.995, "gae_lambda": 0.98,
        },
    },
    "Pendulum-v1": {
        "ppo": {
            "arenas": 4, "threads": 1, "steps": "100k", "eval_every": 8_192, "checkpoint_every": "50k",
            "lr": 1e-3, "lr_schedule": "constant", "rollout": 1024, "minibatch": 64, "epochs": 10, "gamma": 0.9,
        },
        "sac": {
            "arenas": 4, "threads": 1, "steps": "20k", "eval_every": 1_000, "checkpoint_every": "10k",
            "lr": 3e-3, "gamma": 0.95, "warm_up": 400, "temperature": 0.2,
        },
        "td3": {
            "arenas": 4, "threads": 1, "steps": "20k", "eval_every": 1_000, "checkpoint_every": "10k",
            "gamma": 0.95, "warm_up": 400,
        },
    },
}  # fmt: skip
SOLVED_AT: Mapping[str, float] = {"Pendulum-v1": -200.0}
"""What counts as solved of environments that are registered without a `reward_threshold`."""


def recipes_for(environment: str, *, levers: bool, pictures: bool) -> Mapping[str, Recipe]:
    """Return the recipes of an environment by its id, by agent: the first is the one that is used unless told."""
    return NAMED.get(environment) or {"ppo": PICTURES if pictures else LEVERS if levers else CHOICES}

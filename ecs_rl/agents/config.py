"""The settings of each algorithm, in files that do not import torch, so that `--help` answers at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Literal, get_args

from ecs_rl.errors import CommandError, quoted

Activation = Literal["tanh", "relu"]
Schedule = Literal["constant", "linear"]

RANGES: dict[str, tuple[float, float]] = {
    "gamma": (0, 1),
    "lr_end": (0, 1),
    "gae_lambda": (0, 1),
    "epsilon_start": (0, 1),
    "epsilon_end": (0, 1),
    "memory": (1, 1e8),
    "batch": (1, 1e6),
    "rollout": (1, 1e6),
    "log_std": (-20, 5),
    "entropy": (0, math.inf),
    "value_weight": (0, math.inf),
    "target_kl": (0, math.inf),
    "warm_up": (0, math.inf),
}
"""Where a number may lie, ends included; every other number must be greater than 0. None may be infinite."""

MOST_LAYERS, WIDEST_LAYER, MOST_WEIGHTS = 16, 8192, 32_000_000
"""Of a network's hidden layers: how many, their width, and all weights between them.

Learning takes some ten copies of the weights, 4 bytes each: the largest network takes 1.3 GB.
"""


@dataclass(frozen=True)
class PPOConfig:
    """Proximal policy optimisation: an on-policy learner for discrete and continuous actions."""

    lr: float = 3e-4
    """Adam's learning rate at the start."""
    lr_schedule: Schedule = "linear"
    """`linear` lets the learning rate fall to `lr_end` of it over `--schedule-steps`."""
    lr_end: float = 0.1
    """Share of the learning rate that is left at the end of a linear schedule, and after it."""
    rollout: int = 128
    """Ticks that every arena plays between two updates."""
    epochs: int = 4
    """Passes over the rollout in one update."""
    minibatch: int = 2048
    """Rows in one gradient step (at most the whole rollout)."""
    gamma: float = 0.99
    """Discount per tick."""
    gae_lambda: float = 0.95
    """How far advantages look ahead: 0 one tick, 1 the whole episode."""
    clip: float = 0.2
    """How far the probability ratio may move from 1."""
    entropy: float = 0.0
    """Weight of the entropy bonus."""
    value_weight: float = 0.5
    """Weight of the value loss."""
    max_grad_norm: float = 0.5
    """The gradient's norm is cut to this."""
    target_kl: float = 0.0
    """An update stops early once the policy has moved this far; 0 never stops."""
    normalise_observations: bool = True
    """Shift and scale observations by their running mean and deviation."""
    normalise_rewards: bool = True
    """Scale rewards by the running deviation of the discounted return."""
    normalise_advantages: bool = True
    """Shift and scale advantages in each minibatch."""
    hidden: tuple[int, ...] = (64, 64)
    """Width of each hidden layer, of the policy and of the value network alike."""
    activation: Activation = "tanh"
    """What stands between two layers."""
    log_std: float = 0.0
    """Logarithm of the first spread of continuous actions."""

    def __post_init__(self) -> None:
        check("ppo", self)


@dataclass(frozen=True)
class DQNConfig:
    """Double deep Q-learning: an off-policy learner for discrete actions."""

    lr: float = 5e-4
    """Adam's learning rate."""
    gamma: float = 0.99
    """Discount per tick."""
    memory: int = 50_000
    """Transitions that the replay memory keeps."""
    batch: int = 128
    """Transitions in one gradient step."""
    warm_up: int = 1_000
    """Transitions gathered before learning starts."""
    learn_every: int = 8
    """Transitions between two gradient steps."""
    target_every: int = 100
    """Gradient steps between two copies into the target network."""
    epsilon_start: float = 1.0
    """Share of random actions at the start."""
    epsilon_end: float = 0.05
    """Share of random actions once exploring has come down."""
    epsilon_steps: int = 10_000
    """Transitions over which the share comes down in a straight line."""
    max_grad_norm: float = 10.0
    """The gradient's norm is cut to this."""
    hidden: tuple[int, ...] = (64, 64)
    """Width of each hidden layer."""
    activation: Activation = "relu"
    """What stands between two layers."""

    def __post_init__(self) -> None:
        check("dqn", self)


AgentConfig = PPOConfig | DQNConfig


def check(name: str, config: AgentConfig) -> None:
    """Refuse settings that no algorithm can work with, by the name that a command line gives them."""
    for field in fields(config):
        value = getattr(config, field.name)
        wanted = wanted_instead(field.name, value, type(field.default))
        if wanted:
            raise CommandError(f"{name}.{field.name} is {quoted(value)}: it must be {wanted}")


def wanted_instead(setting: str, value: Any, kind: type) -> str:
    """Return what the value of a setting must be and is not, or nothing."""
    if kind is bool:
        return "" if isinstance(value, bool) else "true or false"
    if kind is str:
        known = get_args(Activation if setting == "activation" else Schedule)
        return "" if value in known else " or ".join(known)
    if kind is tuple:
        return wanted_layers(value)
    return wanted_number(setting, value, kind)


def wanted_layers(widths: Any) -> str:
    """Return what the widths of the hidden layers must be and are not, or nothing."""
    if not isinstance(widths, tuple) or not all(type(width) is int and width > 0 for width in widths):
        return "a list of whole numbers greater than 0"
    if len(widths) > MOST_LAYERS or any(width > WIDEST_LAYER for width in widths):
        return f"at most {MOST_LAYERS} layers of at most {WIDEST_LAYER:,} each"
    weights = sum(first * second for first, second in pairwise(widths))
    return "" if weights <= MOST_WEIGHTS else f"layers with at most {MOST_WEIGHTS:,} weights between them"


def wanted_number(setting: str, value: Any, kind: type) -> str:
    """Return what a number must be and is not, or nothing."""
    if type(value) is not int and (kind is int or not isinstance(value, float)):
        return "a whole number" if kind is int else "a number"
    low, high = RANGES.get(setting, (0, math.inf))
    if value not in (math.inf, -math.inf) and low <= value <= high and (value > 0 or setting in RANGES):
        return ""
    if setting not in RANGES:
        return "greater than 0 and finite"
    return f"between {low:g} and {high:g}" if math.isfinite(high) else "0 or more and finite"

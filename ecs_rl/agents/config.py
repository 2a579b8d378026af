"""The settings of each algorithm, in files that do not import torch, so that `--help` answers at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Activation = Literal["tanh", "relu"]
Schedule = Literal["constant", "linear"]


@dataclass(frozen=True)
class PPOConfig:
    """Proximal policy optimisation: an on-policy learner for discrete and continuous actions."""

    lr: float = 3e-4
    """Adam's learning rate at the start."""
    lr_schedule: Schedule = "linear"
    """`linear` lets the learning rate fall to zero over the run's steps."""
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


AgentConfig = PPOConfig | DQNConfig

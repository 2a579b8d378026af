"""Our settings by Stable-Baselines3's names: each of its algorithms, made of a case.

What ours can do and its cannot must be switched off in the case, and is refused otherwise. One thing cannot be: our
memory is a GRU where its is an LSTM of as many numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reference_cases import Case
from sb3_contrib import RecurrentPPO
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv, VecNormalize
from torch import nn

from ecs_rl.agents.make import AGENTS

ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU}


def ppo(case: Case, envs: VecEnv, seed: int) -> BaseAlgorithm:
    """Return its PPO with our settings, recurrent if ours is."""
    c: Any = AGENTS["ppo"].Config(**case.settings)
    only(c, lr_schedule="constant", target_kl=0.0, normalise_advantages=True, shared=False, value_clip=0.0, log_std=0.0)
    if c.normalise_observations or c.normalise_rewards:
        envs = VecNormalize(envs, norm_obs=c.normalise_observations, norm_reward=c.normalise_rewards, gamma=c.gamma)
    alike: dict[str, Any] = {
        "learning_rate": c.lr,
        "n_steps": c.rollout,
        "batch_size": c.minibatch,
        "n_epochs": c.epochs,
        "gamma": c.gamma,
        "gae_lambda": c.gae_lambda,
        "clip_range": c.clip,
        "ent_coef": c.entropy,
        "vf_coef": c.value_weight,
        "max_grad_norm": c.max_grad_norm,
        "seed": seed,
        "device": "cpu",
    }
    network = {"net_arch": {"pi": c.hidden, "vf": c.hidden}, "activation_fn": ACTIVATIONS[c.activation]}
    if c.network == "mlp":
        return PPO("MlpPolicy", envs, policy_kwargs=network, **alike)
    only(c, network="gru", hidden=())  # its perceptron stands behind the memory, ours before it
    return RecurrentPPO("MlpLstmPolicy", envs, policy_kwargs=network | {"lstm_hidden_size": c.state}, **alike)


def dqn(case: Case, envs: VecEnv, seed: int) -> BaseAlgorithm:
    """Return its DQN with our settings; it counts in environment steps what ours counts in gradient steps."""
    c: Any = AGENTS["dqn"].Config(**case.settings)
    only(c, lr_schedule="constant", dueling=False, priority=0.0, huber=1.0, normalise_observations=False)
    only(c, double=False, first_weights="uniform")
    ticks, gradient_steps = per_tick(case.envs / c.learn_every)
    return DQN(
        "MlpPolicy",
        envs,
        learning_rate=c.lr,
        buffer_size=c.memory,
        learning_starts=c.warm_up,
        batch_size=c.batch,
        tau=c.target_rate,
        gamma=c.gamma,
        train_freq=ticks,
        gradient_steps=gradient_steps,
        n_steps=c.n_step,
        target_update_interval=c.target_every * c.learn_every,
        exploration_fraction=c.epsilon_steps / case.steps,
        exploration_initial_eps=c.epsilon_start,
        exploration_final_eps=c.epsilon_end,
        max_grad_norm=c.max_grad_norm,
        policy_kwargs={"net_arch": list(c.hidden), "activation_fn": ACTIVATIONS[c.activation]},
        seed=seed,
        device="cpu",
    )


def sac(case: Case, envs: VecEnv, seed: int) -> BaseAlgorithm:
    """Return its soft actor-critic with our settings."""
    c: Any = AGENTS["sac"].Config(**case.settings)
    only(c, normalise_observations=False)
    ticks, gradient_steps = per_tick(case.envs * c.updates_per_step)
    levers = int(envs.action_space.shape[0])
    return SAC(
        "MlpPolicy",
        envs,
        learning_rate=c.lr,
        buffer_size=c.memory,
        learning_starts=c.warm_up,
        batch_size=c.batch,
        tau=c.target_share,
        gamma=c.gamma,
        train_freq=ticks,
        gradient_steps=gradient_steps,
        ent_coef=f"auto_{c.temperature}" if c.learn_temperature else c.temperature,
        target_entropy=c.lever_entropy * levers,
        policy_kwargs={"net_arch": list(c.hidden), "activation_fn": ACTIVATIONS[c.activation]},
        seed=seed,
        device="cpu",
    )


def only(config: Any, **values: Any) -> None:
    """Refuse a setting that Stable-Baselines3 has nothing for."""
    for name, value in values.items():
        if (told := getattr(config, name)) != value:
            raise ValueError(f"Stable-Baselines3 has no {name}={told!r}: such a case takes {value!r}")


def per_tick(updates: float) -> tuple[int, int]:
    """Return after how many ticks of all environments how many gradient steps come, of which so many are due a tick."""
    ticks = max(1, round(1 / updates))
    if (updates * ticks) % 1:
        raise ValueError(f"{updates:g} gradient steps a tick are no whole number in {ticks} ticks")
    return ticks, round(updates * ticks)


MODELS: dict[str, Callable[[Case, VecEnv, int], BaseAlgorithm]] = {"ppo": ppo, "dqn": dqn, "sac": sac}

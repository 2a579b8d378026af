"""Checkpoints of policies that nobody trained, with parameters far from those that learning begins with."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ecs_rl.agents import (
    Agent,
    Composed,
    Continuous,
    Discrete,
    DQNConfig,
    IQLConfig,
    PolicySpec,
    PPOConfig,
    SACConfig,
    TD3Config,
    make_agent,
)
from ecs_rl.runs import Manifest, PolicyEntry, join_sections, sealed_pieces
from ecs_rl.spaces import TRIGGER, Members, Picture
from ecs_rl.training.team import join

CHOICE = PolicySpec(("x", "y", "z"), Discrete(("left", "stay", "right")))
LEVERS = PolicySpec(("x", "y", "z"), Continuous(("gas", "steer")))
SEVERAL = PolicySpec(
    ("x", "y", "z"), Composed((Discrete(("left", "stay", "right"), "steer"), Discrete(TRIGGER, "fire")))
)
MIXED = PolicySpec(
    ("x", "y", "z"),
    Composed((Continuous(("gas",)), Discrete(("left", "stay", "right"), "steer"), Continuous(("brake", "lift")))),
)
TWO_PARTS = PolicySpec(("x", "y", "z"), Composed((Continuous(("gas",)), Continuous(("brake", "lift")))))
PICTURES = PolicySpec(
    ("own", *(f"near {i}" for i in range(2 * 5 * 4)), "speed", *(f"far {i}" for i in range(1 * 3 * 3))),
    Discrete(("left", "stay", "right")),
    layout=(Picture(1, 2, 5, 4), Picture(42, 1, 3, 3)),
)
LARGE = PolicySpec(
    ("own", *(f"pixel {i}" for i in range(2 * 40 * 35))),
    Discrete(("left", "stay", "right")),
    layout=(Picture(1, 2, 40, 35),),
)
SETS = PolicySpec(
    ("own", "speed", *(f"coin {i}" for i in range(4 * 3)), "height", *(f"stone {i}" for i in range(2 * 5))),
    Composed((Discrete(TRIGGER, "fire"), Continuous(("gas",)))),
    layout=(Members(2, 4, 3), Members(15, 2, 5)),
)
MASKED = PolicySpec(
    ("x", "y", "left allowed", "on allowed"),
    Composed((Discrete(("left", "stay", "right"), "steer"), Discrete(TRIGGER, "fire"))),
    allowed=((2, 0), (3, 4)),
)
MASKED_MIXED = replace(
    MASKED, actions=Composed((Continuous(("gas",)), *MASKED.actions.parts)), allowed=((2, 1), (3, 5))
)
CRITIC = replace(LEVERS, critic_sees=("hidden", "more"))
PPO = PPOConfig(hidden=(16, 12), rollout=2)
DQN = DQNConfig(hidden=(16, 12), memory=20)
SAC = SACConfig(hidden=(16, 12), memory=20, normalise_observations=True)
IQL = IQLConfig(hidden=(16, 12), memory=20)
TD3 = TD3Config(hidden=(16, 12), memory=20, noise=0.4)
KINDS: dict[str, tuple[str, PolicySpec, Any]] = {
    "ppo choice": ("ppo", CHOICE, PPO),
    "ppo levers": ("ppo", LEVERS, replace(PPO, activation="relu")),
    "ppo mixture": ("ppo", MIXED, PPO),
    "ppo not normalised": ("ppo", CHOICE, replace(PPO, normalise_observations=False)),
    "ppo shared": ("ppo", LEVERS, replace(PPO, shared=True)),
    "ppo shared choice": ("ppo", CHOICE, replace(PPO, shared=True)),
    "ppo without a hidden layer": ("ppo", CHOICE, replace(PPO, hidden=())),
    "gru": ("ppo", CHOICE, replace(PPO, network="gru", state=7)),
    "gru shared": ("ppo", MIXED, replace(PPO, network="gru", state=5, shared=True)),
    "conv": ("ppo", PICTURES, replace(PPO, network="conv")),
    "conv of a large picture": ("ppo", LARGE, replace(PPO, network="conv", normalise_observations=False)),
    "conv of pictures by mlp": ("ppo", PICTURES, PPO),
    "attention": ("ppo", SETS, replace(PPO, network="attention")),
    "attention with one head": ("ppo", SETS, replace(PPO, network="attention", hidden=(9,), activation="relu")),
    "ppo masked": ("ppo", MASKED_MIXED, replace(PPO, shared=True)),
    "dqn masked": ("dqn", MASKED, replace(DQN, dueling=True, normalise_observations=True)),
    "ppo with a critic that sees more": ("ppo", CRITIC, PPO),
    "gru with a critic that sees more": ("ppo", CRITIC, replace(PPO, network="gru", state=7)),
    "dqn": ("dqn", CHOICE, DQN),
    "dqn dueling": ("dqn", SEVERAL, replace(DQN, dueling=True, normalise_observations=True, activation="tanh")),
    "dqn quantiles": ("dqn", CHOICE, replace(DQN, quantiles=4)),
    "dqn quantiles dueling": ("dqn", SEVERAL, replace(DQN, quantiles=4, dueling=True, hidden=(9,))),
    "dqn quantiles of what is seen": ("dqn", MASKED, replace(DQN, quantiles=4, hidden=(), slow_policy=True)),
    "td3": ("td3", LEVERS, TD3),
    "td3 with a critic that sees more": ("td3", CRITIC, replace(TD3, normalise_observations=True)),
    "iql": ("iql", CHOICE, IQL),
    "iql levers": ("iql", LEVERS, replace(IQL, activation="tanh")),
    "iql mixture": ("iql", MASKED_MIXED, replace(IQL, normalise_observations=False)),
    "iql with a critic that sees more": ("iql", CRITIC, IQL),
    "td3 in two parts": ("td3", TWO_PARTS, replace(TD3, normalise_observations=True, activation="tanh")),
}
KINDS |= {
    f"sac {i}": ("sac", spec, SAC) for i, spec in enumerate((CHOICE, LEVERS, SEVERAL, MIXED, MASKED_MIXED, CRITIC))
}
RECURRENT = [kind for kind in KINDS if kind.startswith("gru")]


def wild_agent(kind: str, seed: int = 0, name: str = "policy") -> Agent:
    """Return an agent of a kind whose parameters and statistics are drawn anew, and large."""
    algorithm, spec, config = KINDS[kind]
    agent = make_agent(algorithm, replace(spec, name=name), config, seed=seed, rows=1)
    draw = torch.Generator().manual_seed(seed)
    state = {
        key: torch.randn(part.shape, generator=draw, dtype=part.dtype) * 0.5 if part.dtype == torch.float32 else part
        for key, part in agent.policy_state().items()
    }
    if "normaliser/count" in state:
        width = len(spec.numbers)
        state["normaliser/count"] = torch.tensor(50.0, dtype=torch.float64)
        state["normaliser/mean"] = torch.randn(width, generator=draw, dtype=torch.float64)
        state["normaliser/squares"] = 10.0 + 90.0 * torch.rand(width, generator=draw, dtype=torch.float64)
    agent.load_policy_state(state)
    return agent


def manifest_of(agents: list[Agent], config: dict[str, Any], **more: Any) -> Manifest:
    entries = tuple(PolicyEntry.of(agent.spec) for agent in agents)
    return Manifest(scene="nowhere.py", agent=agents[0].name, step=5_000, config=config, policies=entries, **more)


def write(path: Path, agents: list[Agent], config: dict[str, Any], **more: Any) -> Path:
    """Write a checkpoint of these agents, whose settings are said to be these."""
    tensors = join_sections({"policy": join(agents).policy_state()})
    path.write_bytes(b"".join(sealed_pieces(tensors, manifest_of(agents, config, **more))))
    return path


def checkpoint(path: Path, kind: str, seed: int = 0) -> tuple[Path, Agent]:
    """Write the checkpoint of an agent of a kind, and return both."""
    agent, (algorithm, _, config) = wild_agent(kind, seed), KINDS[kind]
    return write(path, [agent], {algorithm: asdict(config)}), agent


def observations(spec: PolicySpec, rows: int, seed: int = 0) -> np.ndarray:
    """Return (rows, numbers) to be seen, some of them beyond what normalising leaves; of members some are not there."""
    random = np.random.default_rng(seed)
    seen = random.normal(0.0, 2.0, (rows, len(spec.observations))).astype(np.float32)
    seen[:: rows // 10 or 1] *= 30.0
    for form in spec.layout:
        if isinstance(form, Members):
            seen[:, form.first : form.first + form.size : form.numbers] = random.integers(0, 2, (rows, form.most))
    for column, _ in spec.allowed:
        seen[:, column] = random.integers(0, 2, rows)
    return seen

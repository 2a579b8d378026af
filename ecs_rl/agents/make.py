"""Makes an agent from its name; torch is imported here, and only when an agent is really wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ecs_rl.agents.base import Agent, Continuous, PolicySpec, State
from ecs_rl.agents.config import AgentConfig, DQNConfig, PPOConfig
from ecs_rl.errors import CommandError, nearest

AGENTS: dict[str, type[AgentConfig]] = {"ppo": PPOConfig, "dqn": DQNConfig}
"""The settings class of every algorithm, by the algorithm's name."""


def make_agent(name: str, spec: PolicySpec, config: AgentConfig, *, seed: int, rows: int, threads: int = 1) -> Agent:
    """Return a new agent; `rows` is how many decisions each exploring `act` takes (arenas times agents)."""
    if name not in AGENTS:
        raise CommandError(f"--agent {name}: there is no such algorithm; {nearest(name, AGENTS)}")
    if not isinstance(config, AGENTS[name]):
        raise TypeError(f"agent {name!r} needs a {AGENTS[name].__name__}, not a {type(config).__name__}")
    if seed < 0:
        raise CommandError(f"--seed {seed}: a seed must not be negative")
    if rows < 1 or threads < 1:
        raise CommandError(f"an agent needs at least one row and one thread, not {rows} and {threads}")
    levers = [name for part in spec.actions.parts if isinstance(part, Continuous) for name in part.names]
    if isinstance(config, DQNConfig) and levers:
        told = f"{', '.join(levers)} {'is a lever' if len(levers) == 1 else 'are levers'}"
        raise CommandError(f"--agent dqn can only choose between options, but {told}: use sac or ppo")
    try:
        return _class_of(config)(spec, config, seed=seed, rows=rows, threads=threads)  # type: ignore[no-any-return]
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "alloc" not in str(error):
            raise
        told = f"{name} needs more memory than there is: take a smaller network, memory or rollout, or fewer --arenas"
        raise CommandError(told) from error


def check_parameters(where: str, specs: Mapping[str, PolicySpec], config: AgentConfig, policy: State) -> None:
    """Refuse the policies in a file whose parameters are not those of its settings, before any network is made."""
    from ecs_rl.agents.state import check_shapes, prefixed

    for spec in specs.values():
        shapes = _class_of(config).shapes(spec, config)
        check_shapes(where, policy, prefixed(spec.name, shapes) if len(specs) > 1 else shapes)  # as a team saves them


def _class_of(config: AgentConfig) -> Any:
    """Return the algorithm with these settings."""
    if isinstance(config, DQNConfig):
        from ecs_rl.agents.dqn import DQN

        return DQN
    from ecs_rl.agents.ppo import PPO

    return PPO

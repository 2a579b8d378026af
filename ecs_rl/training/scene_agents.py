"""The agents of a scene, and how an agent decides for a policy of a world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ecs_rl.agents.base import Agent
from ecs_rl.agents.config import AgentConfig
from ecs_rl.agents.make import Algorithm, make_agent
from ecs_rl.distributed.group import Group
from ecs_rl.scene.scene import Scene
from ecs_rl.spaces import ActMode, Decision, Floats
from ecs_rl.world import DecideAction, policy_specs

BETWEEN_POLICIES = 1_000_003
"""So that the second policy of one seed is not the first of the next."""


def make_agents(
    scene: Scene,
    name: str | Algorithm,
    config: AgentConfig,
    *,
    arenas: int,
    seed: int,
    threads: int = 1,
    group: Group | None = None,
) -> dict[str, Agent]:
    """Return a new agent for every policy of a scene; the arenas are those of this process in a `group`."""
    arena = scene.describe()
    agents = {policy: [plan for plan in arena.agents if plan.policy == policy] for policy in policy_specs(arena)}
    slots = {policy: sum(plan.members for plan in plans) for policy, plans in agents.items()}
    return {
        policy: make_agent(
            name,
            spec,
            config,
            seed=seed + i * BETWEEN_POLICIES,
            rows=arenas * slots[policy],
            threads=threads,
            group=group,
        )
        for i, (policy, spec) in enumerate(policy_specs(arena).items())
    }


@dataclass(frozen=True)
class Deciding:
    """An agent as a function from observations and states to decisions."""

    agent: Agent
    mode: ActMode

    @property
    def state(self) -> int:
        """How many numbers it remembers for each row."""
        return self.agent.spec.state

    def __call__(self, observation: Floats, state: Floats) -> Decision:
        """Return the decision for every row."""
        return self.agent.act(observation, self.mode, state)


def deciding(agents: Mapping[str, Agent], mode: ActMode) -> dict[str, DecideAction]:
    """Return the agents as functions from observations and states to decisions."""

    return {policy: Deciding(agent, mode) for policy, agent in agents.items()}

"""Several policies in one world, as one agent: each takes its own part of what the session hands over."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from ecs_rl.agents.base import Agent, Restartable, SharesOut, State
from ecs_rl.agents.state import under
from ecs_rl.spaces import ActMode, Decision, Experience, Floats


class Team:
    """One agent per policy; observations, actions and experiences come as tuples, one entry for each."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self.agents = tuple(agents)
        self.name = self.agents[0].name
        self.spec = self.agents[0].spec
        self.specs = tuple(agent.spec for agent in self.agents)
        """Those of all policies; `spec` is the first one's."""

    def act(
        self, observation: Sequence[Floats], mode: ActMode, state: Sequence[Floats | None] | None = None
    ) -> tuple[Decision, ...]:
        """Return the decisions of every policy."""
        decisions_of = zip(self.agents, observation, state or [None] * len(self.agents), strict=True)
        return tuple(agent.act(seen, mode, remembered) for agent, seen, remembered in decisions_of)

    def observe(self, experience: Sequence[Experience]) -> None:
        """Hand every agent its own experience."""
        for agent, own in zip(self.agents, experience, strict=True):
            agent.observe(own)

    def learn(self, progress: float) -> Iterator[None]:
        """Update one agent after the other."""
        for agent in self.agents:
            yield from agent.learn(progress)

    def metrics(self) -> Mapping[str, float]:
        """Return every agent's numbers under its policy's name."""
        return {f"{agent.spec.name}/{k}": v for agent in self.agents for k, v in agent.metrics().items()}

    def is_finite(self) -> bool:
        """Tell whether every parameter of every agent is a finite number."""
        return all(agent.is_finite() for agent in self.agents)

    def policy_state(self) -> State:
        """Return all policies' states, each under its name."""
        return {f"{a.spec.name}/{name}": tensor for a in self.agents for name, tensor in a.policy_state().items()}

    def load_policy_state(self, state: State) -> None:
        """Hand every agent its part."""
        for agent in self.agents:
            agent.load_policy_state(under(agent.spec.name, state))

    def restart(self, policy: State) -> None:
        """Let every agent go on learning from its part of an earlier policy."""
        for agent in self.agents:
            assert isinstance(agent, Restartable)
            agent.restart(under(agent.spec.name, policy))

    def state(self) -> State:
        """Return all agents' states, each under its policy's name."""
        return {f"{a.spec.name}/{name}": tensor for a in self.agents for name, tensor in a.state().items()}

    def load_state(self, state: State) -> None:
        """Hand every agent its part."""
        for agent in self.agents:
            agent.load_state(under(agent.spec.name, state))

    def share_out(self, states: Sequence[State], rank: int, size: int) -> None:
        """Let every agent go on with its part of what another number of processes saved."""
        for agent in self.agents:
            assert isinstance(agent, SharesOut)
            agent.share_out([under(agent.spec.name, state) for state in states], rank, size)

    def parameters_sha256(self) -> str:
        """Return the SHA-256 over all agents' own, in the order of the policies."""
        return hashlib.sha256("".join(agent.parameters_sha256() for agent in self.agents).encode()).hexdigest()


def join(agents: Sequence[Agent]) -> Agent:
    """Return the only agent, or all of them as one."""
    return agents[0] if len(agents) == 1 else cast(Agent, Team(agents))

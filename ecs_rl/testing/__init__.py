"""Tests that a user's own work inherits."""

from ecs_rl.testing.agent_contract import AgentContract

__all__ = ["AgentContract"]

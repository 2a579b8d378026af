"""Tests that a user's own work inherits."""

from ecs_rl.testing.agents import AgentContract

__all__ = ["AgentContract"]

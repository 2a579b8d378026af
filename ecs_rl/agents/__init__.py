"""The learning algorithms, one per file, readable top to bottom; plain objects that know no world.

Importing this package does not import torch: `make_agent` does, when an agent is really made.
"""

from ecs_rl.agents.base import (
    ActMode,
    Agent,
    Continuous,
    Decision,
    Discrete,
    Experience,
    Introspectable,
    PolicyOutput,
    PolicySpec,
    output_of,
)
from ecs_rl.agents.config import AgentConfig, DQNConfig, PPOConfig
from ecs_rl.agents.make import AGENTS, make_agent

__all__ = [
    "AGENTS",
    "ActMode",
    "Agent",
    "AgentConfig",
    "Continuous",
    "DQNConfig",
    "Decision",
    "Discrete",
    "Experience",
    "Introspectable",
    "PPOConfig",
    "PolicyOutput",
    "PolicySpec",
    "make_agent",
    "output_of",
]

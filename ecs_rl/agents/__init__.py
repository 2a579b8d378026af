"""The learning algorithms, one per file, readable top to bottom; plain objects that know no world.

Importing this package does not import torch: `make_agent` does, when an agent is really made.
"""

from ecs_rl.agents.base import ActMode, Agent, Composed, Continuous, Decision, Discrete, Experience, PolicySpec
from ecs_rl.agents.config import DQNConfig, PPOConfig, SACConfig
from ecs_rl.agents.make import make_agent

__all__ = [
    "ActMode",
    "Agent",
    "Composed",
    "Continuous",
    "DQNConfig",
    "Decision",
    "Discrete",
    "Experience",
    "PPOConfig",
    "PolicySpec",
    "SACConfig",
    "make_agent",
]

"""The learning algorithms, one per file, readable top to bottom; plain objects that know no world.

Importing this package imports neither torch nor what reads settings: each name is fetched when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ecs_rl.agents.base import Agent
    from ecs_rl.agents.config import DQNConfig, IQLConfig, PPOConfig, SACConfig, TD3Config
    from ecs_rl.agents.make import make_agent
    from ecs_rl.spaces import ActMode, Composed, Continuous, Decision, Discrete, Experience, PolicySpec

__all__ = [
    "ActMode",
    "Agent",
    "Composed",
    "Continuous",
    "DQNConfig",
    "Decision",
    "Discrete",
    "Experience",
    "IQLConfig",
    "PPOConfig",
    "PolicySpec",
    "SACConfig",
    "TD3Config",
    "make_agent",
]


def __getattr__(name: str) -> Any:
    """Return what is exported here under this name."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    where = {"make_agent": "agents.make", "Agent": "agents.base"}.get(name, "spaces")
    where = "agents.config" if name.endswith("Config") else where
    return getattr(import_module(f"ecs_rl.{where}"), name)


def __dir__() -> list[str]:
    """Return what is exported here, so that a name that is misspelt finds its nearest."""
    return __all__

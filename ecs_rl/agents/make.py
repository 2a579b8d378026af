"""The algorithms there are, and agents made of them; torch is imported here, and only when an agent is really made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecs_rl.agents.config import AgentConfig, DQNConfig, IQLConfig, PPOConfig, SACConfig, TD3Config
from ecs_rl.errors import CommandError, nearest
from ecs_rl.user_files.file_errors import blaming

if TYPE_CHECKING:  # numpy takes a third of the time of `--help`
    from ecs_rl.agents.base import Agent
    from ecs_rl.distributed.group import Group
    from ecs_rl.spaces import PolicySpec


@dataclass(frozen=True)
class Algorithm:
    """An algorithm: what it is called, its settings, and the class that learns.

    The class declares `name` and `Config`. It may have `refuses(spec)`, which returns why it cannot learn such a policy
    ('' if it can), and `shapes(spec, config)`, the shape of every parameter before a network is made.
    """

    name: str
    Config: type[Any]
    learner: str | type[Any]
    """The class, or where to import it from: `module:Class`."""
    reference: str = ""
    """`FILE.py:CLASS` of one of a user's own, '' for one that comes with the project."""
    sha256: str = ""
    """Of that file and what it imports from its folder."""

    @property
    def kind(self) -> Any:
        """The class; torch is imported with it."""
        if isinstance(self.learner, type):
            return self.learner
        module, _, name = self.learner.partition(":")
        return getattr(import_module(module), name)

    @property
    def flag(self) -> str:
        """How it is named behind `--agent`."""
        return self.reference or self.name

    @property
    def file(self) -> Path:
        """The file of one of a user's own."""
        return Path(self.reference.rpartition(":")[0])

    def settings(self, values: Mapping[str, Any]) -> Any:
        """Return its settings with these values, and its defaults for all others."""
        with blaming("--agent", self.file):
            try:
                return self.Config(**values)
            except ValueError as error:
                if not self.reference:
                    raise
                raise CommandError(f"--agent {self.flag}: its settings are refused: {error}") from error

    def refusal(self, spec: PolicySpec) -> str:
        """Return why it cannot learn such a policy, '' if it can."""
        rule = getattr(self.kind, "refuses", None)
        if rule is None:
            return ""
        with blaming("--agent", self.file):
            return str(rule(spec) or "")


AGENTS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("ppo", PPOConfig, "ecs_rl.agents.ppo:PPO"),
        Algorithm("dqn", DQNConfig, "ecs_rl.agents.dqn:DQN"),
        Algorithm("sac", SACConfig, "ecs_rl.agents.sac:SAC"),
        Algorithm("td3", TD3Config, "ecs_rl.agents.td3:TD3"),
        Algorithm("iql", IQLConfig, "ecs_rl.agents.iql:IQL"),
    )
}
"""Every algorithm that comes with the project, by its name."""


USUAL = "ppo"
"""The algorithm of a scene that names none; it learns every policy with every network."""


def algorithm_of(name: str | Algorithm) -> Algorithm:
    """Return the algorithm with this name, or refuse with the nearest one."""
    if isinstance(name, Algorithm):
        return name
    if name not in AGENTS:
        raise CommandError(f"--agent {name}: there is no such algorithm; {nearest(name, AGENTS)}")
    return AGENTS[name]


def make_agent(
    name: str | Algorithm,
    spec: PolicySpec,
    config: AgentConfig,
    *,
    seed: int,
    rows: int,
    threads: int = 1,
    group: Group | None = None,
) -> Agent:
    """Return a new agent; `rows` is how many decisions each exploring `act` takes (arenas times agents).

    In a `group` of processes the rows are those of this one.
    """
    algorithm = algorithm_of(name)
    if not isinstance(config, algorithm.Config):
        wanted, given = algorithm.Config.__name__, type(config).__name__
        raise TypeError(f"agent {algorithm.name!r} needs a {wanted}, not a {given}")
    if seed < 0:
        raise CommandError(f"--seed {seed}: a seed must not be negative")
    if rows < 1 or threads < 1:
        raise CommandError(f"an agent needs at least one row and one thread, not {rows} and {threads}")
    if reason := algorithm.refusal(spec):
        raise CommandError(f"--agent {algorithm.flag} {reason}")
    try:
        if algorithm.reference:
            from ecs_rl.agents.guard import Guarded

            return Guarded(algorithm, spec, config, seed=seed, rows=rows, threads=threads, group=group)
        shared = {} if group is None else {"group": group}
        return algorithm.kind(spec, config, seed=seed, rows=rows, threads=threads, **shared)  # type: ignore[no-any-return]
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "alloc" not in str(error):
            raise
        memory = "more memory than there is: take a smaller network, memory or rollout, or fewer --arenas"
        raise CommandError(f"{algorithm.name} needs {memory}") from error

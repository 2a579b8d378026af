"""What a checkpoint says about itself: which scene, which agent, what the policy sees and does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ecs_rl.agents.base import Continuous, Discrete, PolicySpec

SCHEMA = 1
UNSEALED = "0" * 64


class PolicyEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One policy: the names of what it sees, in order, and of what it does."""

    name: str
    observations: tuple[str, ...]
    actions: tuple[str, ...]
    continuous: bool

    @classmethod
    def of(cls, spec: PolicySpec) -> PolicyEntry:
        """Return the entry that describes `spec`."""
        return cls(
            name=spec.name,
            observations=spec.observations,
            actions=spec.actions.names,
            continuous=isinstance(spec.actions, Continuous),
        )

    def spec(self) -> PolicySpec:
        """Return the policy's spec, equal to the one that was saved."""
        actions = Continuous(self.actions) if self.continuous else Discrete(self.actions)
        return PolicySpec(self.observations, actions, self.name)


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """How the score was measured: the first episode's seed, and how many episodes."""

    seed: int | None
    episodes: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything needed to use a checkpoint when there is nothing but its file."""

    # These two stay first: the seal looks for the first `sha256` of the file, and a config may hold another.
    schema: int = SCHEMA
    sha256: str = UNSEALED
    """SHA-256 of the whole file with this field all zeros; filled in by `write_checkpoint`."""
    scene: str
    scene_sha256: str = ""
    """Of the scene's file and what that imports from its folder; '' in a checkpoint from before this was noted here."""
    versions: dict[str, str] = {}
    """Of python, the libraries and the machine that wrote the checkpoint."""
    agent: str
    step: int
    episodes: int = 0
    seed: int = 0
    config: dict[str, Any] = {}
    policies: tuple[PolicyEntry, ...] = ()
    best_eval: float | None = None
    """Best mean return so far, this checkpoint's own if it is the best one."""
    best_step: int | None = None
    evaluation: Evaluation | None = None
    """How `best_eval` was measured."""
    full: bool = False
    """True if the tensors are enough to continue training exactly, not only to act."""
    resume: dict[str, Any] = {}
    """What continuing takes besides tensors: counters, statistics, where the logs ended."""

    @property
    def source_sha256(self) -> str:
        """The SHA-256 of the scene that was trained, '' if unknown; older checkpoints may have it in `resume`."""
        return self.scene_sha256 or str(self.resume.get("scene_sha256", ""))


def policy_entries(specs: Iterable[PolicySpec]) -> tuple[PolicyEntry, ...]:
    """Return the entries for a manifest."""
    return tuple(PolicyEntry.of(spec) for spec in specs)

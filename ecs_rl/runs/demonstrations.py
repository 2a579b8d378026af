"""Episodes that a person or a policy played, in a file with the seal of a checkpoint: damage shows when it is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from ecs_rl.agents.base import Demonstration
from ecs_rl.errors import CheckpointError
from ecs_rl.files import Folder
from ecs_rl.runs.checkpoint import arrays_of, join_sections, read_sealed, sealed_pieces, split_sections
from ecs_rl.runs.manifest import Manifest, PolicyEntry
from ecs_rl.runs.metadata import versions_here
from ecs_rl.spaces import PolicySpec

KIND = "demonstration"
"""Stands in the manifest where a checkpoint names its algorithm."""
REMEDY = "take a copy of it, or play anew with --save-demo"
TERM = "term/"
"""Begins the names of tensors that say what one term of the reward earned."""
_PARTS = {"observation": "observation", "action": "action", "reward": "reward", "shown": "imitated"}
"""The parts of an episode by their names in a file, and as fields of a `Demonstration`."""


class _Fact(msgspec.Struct, frozen=True, kw_only=True):
    """What a manifest says of an episode besides its tensors."""

    seed: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    terminated: bool
    result: float


@dataclass(frozen=True)
class Demonstrations:
    """Episodes of one policy of one scene."""

    scene: str
    """The scene's name, or the path of its file."""
    scene_sha256: str
    spec: PolicySpec
    episodes: tuple[Demonstration, ...] = ()

    @property
    def ticks(self) -> int:
        """How many decisions there are."""
        return sum(map(len, self.episodes))

    def manifest(self) -> Manifest:
        """Return what the file says of itself."""
        facts = [_Fact(seed=e.seed, terminated=e.terminated, result=e.result) for e in self.episodes]
        return Manifest(
            scene=self.scene,
            scene_sha256=self.scene_sha256,
            agent=KIND,
            step=self.ticks,
            episodes=len(self.episodes),
            policies=(PolicyEntry.of(self.spec),),
            versions=versions_here(),
            config={"episodes": msgspec.to_builtins(facts)},
        )


def save_demonstrations(path: Path, demonstrations: Demonstrations) -> None:
    """Write the file anew in one step: whatever happens meanwhile, the old one or the new one is there."""
    tensors = {
        f"{number:05}": {name: _tensor(getattr(episode, field)) for name, field in _PARTS.items()}
        | {f"{TERM}{name}": _tensor(earned) for name, earned in episode.terms.items()}
        for number, episode in enumerate(demonstrations.episodes)
    }
    pieces = sealed_pieces(join_sections(tensors), demonstrations.manifest())
    folder = Folder(path.absolute().parent)
    try:
        folder.write(path.name, *pieces)
    finally:
        folder.close()


def _tensor(array: NDArray[Any]) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


def read_demonstrations(path: Path) -> Demonstrations:
    """Return what a file holds; CheckpointError unless every bit is as it was written and all of it fits together."""
    manifest, tensors = read_sealed(path, Manifest, "demonstration", REMEDY)
    if manifest.agent != KIND or len(manifest.policies) != 1:
        ways = "play.py SCENE --human --save-demo FILE, or play.py RUN --save-data FILE"
        raise CheckpointError(f"{path} is no demonstration: record one with {ways}")
    spec = manifest.policies[0].spec()
    try:
        facts = msgspec.convert(manifest.config.get("episodes"), list[_Fact])
        parts = split_sections(tensors)
        episodes = tuple(_episode(fact, arrays_of(parts[f"{number:05}"]), spec) for number, fact in enumerate(facts))
        if len(tensors) != sum(len(_PARTS) + len(episode.terms) for episode in episodes):
            raise ValueError(f"it tells of {len(facts)} episodes and holds {len(tensors)} tensors")
    except (ValueError, KeyError) as error:
        raise CheckpointError(f"demonstration {path} does not fit together: {error}; play anew") from error
    return Demonstrations(manifest.scene, manifest.scene_sha256, spec, episodes)


def _episode(fact: _Fact, arrays: dict[str, Any], spec: PolicySpec) -> Demonstration:
    """Return an episode whose parts are what they say; ValueError otherwise."""
    seen, action, reward, imitated = (arrays[name] for name in _PARTS)
    if action.ndim == 0:
        raise ValueError("an episode has one number for all of its actions")
    ticks = len(action)
    wrong = spec.actions.wrong(action, ticks) if ticks else None
    if wrong is not None:
        raise ValueError(f"an episode {wrong.what} {wrong.why}".strip())
    if seen.shape != (ticks, len(spec.numbers)) or reward.shape != (ticks,) or imitated.shape != (ticks,):
        raise ValueError(f"an episode of {ticks} ticks has parts of other lengths")
    if seen.dtype != np.float32 or reward.dtype != np.float32 or imitated.dtype != np.bool_:
        raise ValueError("an episode has parts of another type")
    if not (np.isfinite(seen).all() and np.isfinite(reward).all() and np.isfinite(fact.result)):
        raise ValueError("an episode has numbers that are not finite")
    terms = {name.removeprefix(TERM): earned for name, earned in arrays.items() if name.startswith(TERM)}
    if any(earned.shape != (ticks,) or earned.dtype != np.float32 for earned in terms.values()):
        raise ValueError(f"an episode of {ticks} ticks has terms of the reward that do not fit it")
    return Demonstration(fact.seed, seen, action, reward, imitated, fact.terminated, fact.result, terms)

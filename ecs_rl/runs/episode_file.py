"""One episode as a small file: how it began, and what was done in it. Sealed as checkpoints are, and written in a step.

With the scene that is all that it takes: played again it comes to the same bits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from ecs_rl.arrays import F64
from ecs_rl.errors import CheckpointError
from ecs_rl.files import Folder
from ecs_rl.runs.checkpoint import arrays_of, read_sealed, sealed_pieces
from ecs_rl.runs.manifest import SCHEMA, UNSEALED, Count, PolicyEntry, Whole

SUFFIX = ".episode"
FOLDER = "episodes"
"""Where in a run they are."""
HAND = 14
"""Numbers of a row of `Episode.hands`."""
MOST_ARENAS = 100_000
_REMEDY = "use another copy of it, or save the episode anew"


class EpisodeManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an episode's file tells besides the actions."""

    # These two stay first, as in every sealed file.
    schema: int = SCHEMA
    sha256: str = UNSEALED
    kind: Literal["episode"] = "episode"
    scene: str
    source_sha256: str = ""
    """Of the scene's file and what that imports from its folder."""
    scene_data: dict[str, str] | None = None
    """What was in the files that the scene opens below its folder, by path; None in an episode from before."""
    policies: tuple[PolicyEntry, ...]
    seed: Whole
    """The one that the arena was named with, for people."""
    key: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,20}\Z")]
    """What names the arena's row of episodes (`Chance.key`, 64 bits)."""
    number: Count
    """How many episodes of that row came before."""
    arena: Annotated[int, msgspec.Meta(ge=0, lt=MOST_ARENAS)]
    """Which arena of the world it was played in: where it stands decides the last bits."""
    arenas: Annotated[int, msgspec.Meta(ge=1, le=MOST_ARENAS)]
    ticks: Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]
    together: tuple[Annotated[int, msgspec.Meta(ge=0, lt=MOST_ARENAS)], ...] = ()
    """The arenas whose episodes began in the same tick, where not all did."""
    rebuilt: tuple[Count, ...] = ()
    """The ticks before which the physics was made anew, as it is where somebody goes on from the past."""
    digest: str
    """SHA-256 of the arena's columns after the last tick."""
    rated: tuple[str, ...] = ()
    """The agents whose return stands for the episode, where some are opponents."""
    who: str = ""
    """Who played, in words."""
    total: float
    """What it came to: the scene's score, or else the return."""
    reasons: tuple[str, ...] = ()
    """The names of the rules that ended it."""
    expected: float | None = None
    """The discounted return that the agent expected as it began."""
    came: float | None = None
    """The one that came."""


class Episode(msgspec.Struct, frozen=True, eq=False):
    """An episode that can be played again."""

    facts: EpisodeManifest
    actions: tuple[NDArray[Any], ...]
    """For each policy (ticks, agents) of whole numbers, or (ticks, agents, columns)."""
    hands: F64
    """(rows, HAND) What a person did: the tick, and the numbers of `UserInput`."""

    @property
    def surprise(self) -> float:
        """By how much more or less came than was expected; NaN where that is not known."""
        known = self.facts.expected is not None and self.facts.came is not None
        return float(self.facts.came or 0.0) - float(self.facts.expected or 0.0) if known else float("nan")


def write_episode(episode: Episode, folder: Path, name: str) -> Path:
    """Write an episode into a folder, which is made if it is not there; return the file, durable once this returns."""
    path = folder / f"{name}{SUFFIX}"
    tensors = {f"actions/{i}": torch.from_numpy(actions) for i, actions in enumerate(episode.actions)}
    if len(episode.hands):
        tensors["hands"] = torch.from_numpy(episode.hands)
    place = Folder(folder, Folder(folder.parent)) if folder.name == FOLDER else Folder(folder)
    place.write(path.name, *sealed_pieces(tensors, episode.facts))
    place.close()
    return path


def read_episode(path: Path) -> Episode:
    """Return the episode of a file; CheckpointError unless every bit is as it was written, and fits together."""
    facts, tensors = read_sealed(path, EpisodeManifest, "episode", _REMEDY)
    damaged = f"episode {path} is damaged: its parts do not fit together"
    try:
        arrays = arrays_of(tensors)
    except ValueError as error:
        raise CheckpointError(f"{damaged}: {error}; {_REMEDY}") from error
    actions = [arrays.pop(f"actions/{i}", None) for i in range(len(facts.policies))]
    hands = arrays.pop("hands", np.zeros((0, HAND)))
    taken = [np.array(each) for each in actions if each is not None]
    fits = (
        len(taken) == len(actions)
        and not arrays
        and max(facts.arena, *facts.together, 0) < facts.arenas
        and int(facts.key) < 2**64
    )
    fits = fits and all(each.ndim in (2, 3) and len(each) == facts.ticks for each in taken)
    fits = fits and hands.dtype == np.float64 and hands.ndim == 2 and hands.shape[1] == HAND
    if not fits:
        raise CheckpointError(f"{damaged}; {_REMEDY}")
    return Episode(facts, tuple(taken), np.array(hands))

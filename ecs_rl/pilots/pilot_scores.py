"""What is known of the pilots that come with the project: how good each one is, on which episodes, and since when."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ecs_rl.errors import CheckpointError
from ecs_rl.shipped import PILOTS, pilot_file

FILE = PILOTS / "pilots.json"


class PilotEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of the table beside the pilots; `score` is the mean return where the scene names no score."""

    agent: str
    """The algorithm that trained it."""
    steps: int
    """Steps after which its training had it."""
    seed: int
    """The seed of its training, the one in the middle of `trained`."""
    trained: dict[str, float]
    """The best evaluation of every seed that was trained; what its best policy scores where it learned by self-play."""
    score: float
    """The mean over the greedy episodes below."""
    std: float
    """How far these episodes scatter."""
    low: float
    high: float
    first: Annotated[int, msgspec.Meta(ge=0)]
    """The seed of the first of these episodes; its training never saw any of them."""
    episodes: Annotated[int, msgspec.Meta(ge=1)]
    beginning: float
    """The mean over the first `BEGINNING` of them."""
    solved_at: float | None
    counts: str = ""
    """What the scene's score counts, '' where it is the return."""
    against: str = ""
    """Whom it played, where agents are opponents."""
    made_on: str
    """The day, such as 2026-11-19."""


BEGINNING = 20
"""Episodes that a quick look takes."""


def gallery() -> dict[str, PilotEntry]:
    """Return what is known of every pilot that comes with the project, by its scene, in the order of the names."""
    if not FILE.is_file():
        return {}
    try:
        entries = msgspec.json.decode(FILE.read_bytes(), type=dict[str, PilotEntry])
    except (OSError, ValueError, RecursionError) as error:  # of text that is not UTF-8 too
        raise CheckpointError(f"cannot read the table of pilots {FILE}: {error}; restore it from a copy") from error
    return {scene: entries[scene] for scene in sorted(entries) if pilot_file(scene) is not None}

"""tally: Episodes -> Session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.components import Episodes, Finished, Session
from ecs_rl.processors.base import Stage
from ecs_rl.session import EpisodeRecord

if TYPE_CHECKING:
    from ecs_rl.world import World


class Tally(Stage):
    """Give ended episodes to the session, which keeps the statistics and the log."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.session, self.episodes = world.one(Session), world.one(Episodes)

    def run(self) -> None:
        """Pass on what ended in this tick."""
        if self.episodes.finished is not None:
            self.session.training.take(records_of(self.episodes))


def records_of(episodes: Episodes) -> list[EpisodeRecord]:
    """Return the episodes that ended in this tick, with their reward terms and what ended them as extras."""
    done = episodes.finished
    if done is None:
        return []
    return [
        EpisodeRecord(total, length, "Terminated" if ended else "Truncated", extras)
        for total, length, ended, extras in zip(
            done.total.tolist(), done.length.tolist(), done.terminated.tolist(), _extras(done, episodes), strict=True
        )
    ]


def _extras(done: Finished, episodes: Episodes) -> list[dict[str, float]]:
    names = episodes.term_names
    extras = [dict(zip(names, row, strict=True)) for row in done.terms.T.tolist()]
    for name, ended in zip(episodes.reason_names, done.reasons, strict=True):
        key = f"end/{name}"
        for episode in np.flatnonzero(ended).tolist():
            extras[episode][key] = 1.0
    return extras

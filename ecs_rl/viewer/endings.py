"""How a watched episode ended: what an evaluation would have noted of it, by which rules, and whether that was good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from ecs_rl.components import Clock, Explosion, Finished, Terms
from ecs_rl.records import OF_AGENT, SCORE
from ecs_rl.results import Results
from ecs_rl.session import EpisodeRecord
from ecs_rl.training_stages.tally import records_of
from ecs_rl.viewer.view import Tone
from ecs_rl.world import World

EXPLODED = "exploded"
GOOD_WORDS = frozenset(
    ("arrived", "landed", "won", "done", "finished", "home", "goal", "reached", "solved", "caught", "docked", "escaped")
)
"""What a scene calls an ending that is good, where it earns nothing of its own."""


@dataclass(frozen=True)
class Ended:
    """One episode that was watched to its end."""

    arena: int
    seed: int
    total: float
    """What stands for it: the scene's score, or else the return."""
    record: EpisodeRecord
    """The same as an evaluation would have noted it."""
    reasons: tuple[str, ...]
    """The names of the rules that ended it; none if time was up."""
    tone: Tone
    counts: bool
    """Nobody pulled or kicked, and all of it was played by the policy that the show began with, in its mode."""

    @property
    def length(self) -> int:
        """Ticks."""
        return self.record.length


def reasons_of(world: World, arena: int) -> tuple[str, ...]:
    """Return the names of the rules that end an arena's episode in this tick."""
    if world.one(Explosion).now[arena]:
        return (EXPLODED,)
    finished = world.one(Finished)
    return tuple(compress(world.reasons, finished.reasons[:, _row(finished, arena)]))


def record_of(world: World, arena: int, reasons: Sequence[str]) -> EpisodeRecord:
    """Return what is to be noted of the episode that ends in this tick; one that exploded is in no log."""
    if EXPLODED not in reasons:
        finished = world.one(Finished)
        return records_of(world, finished)[_row(finished, arena)]
    terms, results = world.one(Terms).total[:, arena], Results(world)
    extras = dict(zip(world.terms, results.by_name(terms).tolist(), strict=True))
    extras |= {f"{OF_AGENT}{name}": float(value) for name, value in results.returns(terms).items()}
    extras |= {f"{SCORE}{name}": float(results.score(name)[arena]) for name in world.arena.scores}
    extras["end/exploded"] = 1.0
    ticks = int(world.one(Clock).tick[arena])
    return EpisodeRecord(float(results.mean_return(terms)), ticks, "Truncated", extras)


def tone_of(world: World, arena: int, total: float, reasons: Sequence[str]) -> Tone:
    """Return whether the ending was a good one: paid or fined under its own name, else solved or cut short."""
    if EXPLODED in reasons:
        return "warn"
    earned = Results(world).by_name(world.one(Terms).now[:, arena]).tolist()
    paid = dict(zip(world.terms, earned, strict=True))
    named = sum(paid.get(reason, 0.0) for reason in reasons)
    if named:
        return "good" if named > 0 else "bad"
    if any(GOOD_WORDS & set(reason.lower().split()) for reason in reasons):
        return "good"
    solved_at = world.scene.solved_at
    if solved_at is not None and total >= solved_at:
        return "good"
    return "bad" if reasons else "plain"


def _row(finished: Finished, arena: int) -> int:
    return int(np.flatnonzero(finished.arena == arena)[0])

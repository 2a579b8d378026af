"""Results of episodes: the return of each agent, their mean, and the scores of the scene."""

from __future__ import annotations

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.components import Rated, Terms
from ecs_rl.scene.loader import blaming_scene
from ecs_rl.world import World


class Results:
    """Computes results from a world's reward terms and scores; no other module adds up rewards of members."""

    def __init__(self, world: World) -> None:
        self.world, self.slots = world, [slot for batch in world.batches for slot in batch.slots]
        self.members = sum(slot.spec.members for slot in self.slots)
        """How many agents an arena has, each member of a kind being one."""
        self.rated = world.one(Rated)

    def by_name(self, totals: F64) -> F64:
        """Return (terms, ...) of (rows of Terms, ...), in the order of `World.terms`: of a kind the mean."""
        if len(totals) == len(self.world.terms):
            return totals
        return np.concatenate([terms.mean(axis=1) for terms in self._terms(totals).values()])

    def returns(self, totals: F64) -> dict[str, F64]:
        """Return each agent's return from (rows of Terms, ...), by name; a kind's mean, and its members' by number.

        Nothing where there is one agent alone, whose return is the arena's.
        """
        if self.members == 1:
            return {}
        by_name: dict[str, F64] = {}
        for slot, terms in zip(self.slots, self._terms(totals).values(), strict=True):
            sums = terms.sum(axis=0)
            by_name[slot.spec.name] = sums.mean(axis=0)
            if slot.spec.count is not None:
                by_name |= {f"{slot.spec.name} {i}": own for i, own in enumerate(sums)}
        return by_name

    def mean_return(self, totals: F64) -> F64:
        """Return (...) the mean return of the rated agents' members from (rows of Terms, ...)."""
        if self.members == 1:
            return np.asarray(totals.sum(axis=0))
        terms = self._terms(totals)
        return np.asarray(np.concatenate([terms[name].sum(axis=0) for name in self.rated.agents]).mean(axis=0))

    def _terms(self, totals: F64) -> dict[str, F64]:
        """Return each agent's part of (rows of Terms, ...) as (terms, members, ...), by name."""
        rest = totals.shape[1:]
        return {
            slot.spec.name: totals[slot.terms].reshape(len(slot.spec.earns), slot.spec.members, *rest)
            for slot in self.slots
        }

    def now(self) -> F64:
        """Return (arenas,) what stands for the running episodes so far: the scene's score, or else the mean return."""
        score = self.world.scene.score
        return self.score(score) if score else self.mean_return(self.world.one(Terms).total)

    def score(self, name: str) -> F64:
        """Return (arenas,) what a score of the scene would be if every episode ended now."""
        with blaming_scene(self.world.scene.file):
            score = np.asarray(self.world.arena.scores[name](), np.float64)
        return np.broadcast_to(score, (self.world.arenas,))

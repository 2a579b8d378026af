"""judge: Pose, Motion, Touch -> Reward, Ending."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.components import Clock, Ending, Episodes, Explosion, Finished, Reward, RowEnds
from ecs_rl.processors.base import Stage
from ecs_rl.scene.checks import RuleError

if TYPE_CHECKING:
    from ecs_rl.world import Seat, World


class Judge(Stage):
    """Work out every named term and every named end; an episode terminates, is truncated, explodes, or goes on."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.clock, self.ending, self.episodes = world.one(Clock), world.one(Ending), world.one(Episodes)
        self.explosion = world.one(Explosion)
        self.crews = [(crew, world.of(crew.entity, Reward), world.of(crew.entity, RowEnds)) for crew in world.crews]
        self.seats = [(seat, reward) for crew, reward, _ in self.crews for seat in crew.seats]
        self.rules = [rule for seat, _ in self.seats for rule in seat.plan.ends.values()]
        self.memories = world.memories
        arenas = world.arenas
        self.terms = np.zeros((len(self.episodes.term_names), arenas))
        self.reasons = np.zeros((len(self.rules), arenas), dtype=bool)

    def run(self) -> None:
        """Judge the tick."""
        self.clock.tick += 1
        for memory in self.memories:
            memory.look()
        self._earn()
        self._end()
        self._tell_rows()

    def _earn(self) -> None:
        first = 0
        for seat, reward in self.seats:
            last = first + len(seat.plan.earns)
            mine = self.terms[first:last]
            for row, rule in zip(mine, seat.plan.earns.values(), strict=True):
                row[...] = rule()
            total = mine.sum(axis=0) if last - first > 1 else mine[0]
            if not np.isfinite(total.sum()):
                refuse(seat, mine)
            reward.value[seat.rows] = total
            first = last
        self.episodes.terms += self.terms

    def _end(self) -> None:
        ending, explosion = self.ending, self.explosion
        ending.terminated[...] = False
        for row, rule in zip(self.reasons, self.rules, strict=True):
            row[...] = rule()
            ending.terminated |= row
        np.greater_equal(self.clock.tick, self.world.scene.max_ticks, out=ending.truncated)
        if explosion.any:
            ending.terminated &= ~explosion.now
            ending.truncated &= ~explosion.now
        ending.truncated &= ~ending.terminated
        np.logical_or(ending.terminated, ending.truncated, out=ending.ended)
        well = np.flatnonzero(ending.ended)
        ending.rows = np.flatnonzero(ending.ended | explosion.now) if explosion.any else well
        ending.ended |= explosion.now
        self.episodes.finished = self._finished(well) if len(well) else None

    def _finished(self, rows: np.ndarray) -> Finished:
        terms = self.episodes.terms[:, rows]
        ended = self.ending.terminated[rows]
        return Finished(rows, terms.sum(axis=0), self.clock.tick[rows], ended, terms, self.reasons[:, rows] & ended)

    def _tell_rows(self) -> None:
        for crew, _, ends in self.crews:
            arenas = (len(crew.seats), -1)
            ends.terminated.reshape(arenas)[...] = self.ending.terminated
            ends.truncated.reshape(arenas)[...] = self.ending.truncated
            ends.all_valid = not self.explosion.any
            if self.explosion.any:
                ends.valid.reshape(arenas)[...] = ~self.explosion.now


def refuse(seat: Seat, terms: np.ndarray) -> None:
    """Name the reward term that is not finite."""
    for (name, rule), row in zip(seat.plan.earns.items(), terms, strict=True):
        if not np.isfinite(row).all():
            raise RuleError(f"the reward '{name}' of '{seat.plan.name}' gave a number that is not finite", rule)

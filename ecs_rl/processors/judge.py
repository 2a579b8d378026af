"""judge: Pose, Motion, Touch -> Reward, Ending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32, F64
from ecs_rl.components import Clock, Ending, Episodes, Explosion, Finished, Reward, RowEnds
from ecs_rl.processors.base import Stage, when
from ecs_rl.scene.checks import RuleError
from ecs_rl.scene.quotes import form
from ecs_rl.scene.sensors import Rule

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
        self.rules = [named for seat, _ in self.seats for named in seat.plan.ends.items()]
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
            for row, (name, rule) in zip(mine, seat.plan.earns.items(), strict=True):
                fill(row, "reward", name, rule)
            earned = reward.value[seat.rows]
            with np.errstate(over="ignore", invalid="ignore"):  # refused here, by name
                earned[...] = mine.sum(axis=0) if last - first > 1 else mine[0]
                sound = np.isfinite(earned.sum())
            if not sound:
                refuse(seat, mine, earned, self.world)
            first = last
        self.episodes.terms += self.terms

    def _end(self) -> None:
        ending, explosion = self.ending, self.explosion
        ending.terminated[...] = False
        for row, (name, rule) in zip(self.reasons, self.rules, strict=True):
            fill(row, "end", name, rule)
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


def fill(row: NDArray[Any], kind: str, name: str, rule: Rule) -> None:
    """Take what a rule gives, or refuse a shape that it did not have when the world was made."""
    value = rule()
    try:
        row[...] = value
    except (TypeError, ValueError, OverflowError):
        raise RuleError(f"the {kind} '{name}' must give one number per arena, not {form(value)}", rule) from None


def refuse(seat: Seat, terms: F64, earned: F32, world: World) -> None:
    """Name the reward term that is not finite, or the largest of those that are too large for the learner's float32.

    `terms` is (terms, arenas), `earned` their sum, (arenas,).
    """
    bad = np.flatnonzero(~np.isfinite(earned))
    if len(bad):  # a sum of finite numbers can overflow
        column = terms[:, bad[0]]
        worst = int(np.argmax(np.where(np.isfinite(column), np.abs(column), np.inf)))
        name, rule = list(seat.plan.earns.items())[worst]
        where = when(world, int(bad[0]), judged=True)
        large = f"{column[worst]:g}, too large to learn from, {where}"
        told = large if np.isfinite(column[worst]) else f"a number that is not finite: {column[worst]:g} {where}"
        raise RuleError(f"the reward '{name}' of '{seat.plan.name}' gave {told}", rule)

"""judge: Pose, Motion, Touch -> Reward, EpisodeEnd."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32, F64
from ecs_rl.components import Clock, Done, EpisodeEnd, Explosion, Finished, Reward, Terms
from ecs_rl.ecs import Stage
from ecs_rl.errors import RuleError
from ecs_rl.scene.quotes import form
from ecs_rl.scene.sensors import Rule

if TYPE_CHECKING:
    from ecs_rl.world import AgentSlot, World

LARGEST = 1e9
"""A reward beyond this in one tick is nothing to learn from: its square leaves no digit of a float32 to the others."""
NOBODY = Finished()


class Judge(Stage):
    """Work out every named term and every named end; an episode terminates, is truncated, explodes, or goes on."""

    def __init__(self, world: World) -> None:
        self.world, self.max_ticks = world, world.scene.max_ticks
        self.tick, self.end, self.terms = world.one(Clock).tick, world.one(EpisodeEnd), world.one(Terms)
        self.explosion, self.finished = world.one(Explosion), world.one(Finished)
        self.done = [(len(batch.slots), world.of(batch.entity, Done)) for batch in world.batches]
        self.earning: list[tuple[AgentSlot, F32, F64]] = []
        self.ends: list[tuple[str, Rule]] = []
        first = 0
        for batch in world.batches:
            for slot in batch.slots:
                last = first + len(slot.spec.earns)
                earned = world.of(batch.entity, Reward).value[slot.rows]
                self.earning.append((slot, earned, self.terms.now[first:last]))
                self.ends += slot.spec.ends.items()
                first = last
        self.reasons = np.zeros((len(self.ends), world.arenas), dtype=bool)

    def run(self) -> None:
        """Judge the tick."""
        self.tick += 1
        for slot, earned, terms in self.earning:
            for row, (name, rule) in zip(terms, slot.spec.earns.items(), strict=True):
                fill(row, "reward", name, rule)
            with np.errstate(over="ignore", invalid="ignore"):  # refused here, by name
                np.add.reduce(terms, axis=0, out=earned, dtype=np.float64)
                sound = earned.dot(earned) < LARGEST**2
            if not sound:
                self.refuse(slot, earned, terms)
        np.add(self.terms.total, self.terms.now, out=self.terms.total)
        self._end()
        self._tell_rows()

    def _end(self) -> None:
        terminated, truncated, ended = self.end.terminated, self.end.truncated, self.end.ended
        terminated.fill(False)
        for row, (name, rule) in zip(self.reasons, self.ends, strict=True):
            fill(row, "end", name, rule)
            terminated |= row
        np.greater_equal(self.tick, self.max_ticks, out=truncated)
        if self.explosion.any:
            terminated &= ~self.explosion.now
            truncated &= ~self.explosion.now
        np.greater(truncated, terminated, out=truncated)  # truncated and not terminated
        np.logical_or(terminated, truncated, out=ended)
        well = ended.nonzero()[0]
        rows = well
        if self.explosion.any:
            ended |= self.explosion.now
            rows = ended.nonzero()[0]
        self._note_finished(rows, well)

    def _note_finished(self, rows: NDArray[np.int64], well: NDArray[np.int64]) -> None:
        done = self.finished
        if not len(rows):
            if len(done.rows):
                replace(done, NOBODY)
            return
        terms, ended = self.terms.total[:, well], self.end.terminated[well]
        total = terms.sum(axis=0) / len(self.earning)
        replace(done, Finished(rows, well, total, self.tick[well], ended, terms, self.reasons[:, well] & ended))

    def _tell_rows(self) -> None:
        for slots, done in self.done:
            done.terminated.reshape(slots, -1)[...] = self.end.terminated
            done.truncated.reshape(slots, -1)[...] = self.end.truncated
            np.logical_not(self.explosion.now, out=done.valid.reshape(slots, -1))

    def refuse(self, slot: AgentSlot, earned: F32, terms: F64) -> None:
        """Name the reward term that is not finite, or the largest where their sum is too large to learn from."""
        bad = np.flatnonzero(~(np.abs(earned) < LARGEST))
        if not len(bad):  # many large rewards in one tick, each of them within the limit
            return
        arena = int(bad[0])
        column = terms[:, arena]
        worst = int(np.argmax(np.where(np.isfinite(column), np.abs(column), np.inf)))
        name, rule = list(slot.spec.earns.items())[worst]
        where = self.world.when(arena, judged=True)
        large = f"{column[worst]:g}, too large to learn from, {where}"
        told = large if np.isfinite(column[worst]) else f"a number that is not finite: {column[worst]:g} {where}"
        raise RuleError(f"the reward '{name}' of '{slot.spec.name}' gave {told}", rule)


def replace(there: Finished, new: Finished) -> None:
    """Let the component that everyone holds say something new."""
    for each in fields(Finished):
        setattr(there, each.name, getattr(new, each.name))


def fill(row: NDArray[Any], kind: str, name: str, rule: Rule) -> None:
    """Take what a rule gives, or refuse a shape that it did not have when the world was made."""
    value = rule()
    try:
        row[...] = value
    except (TypeError, ValueError, OverflowError):
        raise RuleError(f"the {kind} '{name}' must give one number per arena, not {form(value)}", rule) from None

"""judge: Pose, Motion, Touch -> Reward, EpisodeEnd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32, F64
from ecs_rl.components import Clock, Done, EndRules, EpisodeEnd, Explosion, Finished, Reward, Terms
from ecs_rl.ecs import Stage
from ecs_rl.errors import RuleError
from ecs_rl.scene.checks import form
from ecs_rl.scene.sensors import Rule
from ecs_rl.world import AgentSlot, World

LARGEST = 1e9
"""A reward beyond this in one tick is nothing to learn from: its square leaves no digit of a float32 to the others."""
OURS = object()
Told = tuple[str, str, Rule, NDArray[Any]]
"""What a rule is for, its name, the rule, and the (arenas,) row that it fills."""


class Judge(Stage):
    """Work out every named term and every named end; an episode terminates, is truncated, explodes, or goes on."""

    def __init__(self, world: World) -> None:
        self.world, self.max_ticks = world, world.scene.max_ticks
        self.tick, self.end, self.terms = world.one(Clock).tick, world.one(EpisodeEnd), world.one(Terms)
        self.explosion, self.finished = world.one(Explosion), world.one(Finished)
        self.fired = world.one(EndRules).fired
        self.flat, self.exploded = self.terms.now.reshape(-1), False
        slots = [(batch, slot) for batch in world.batches for slot in batch.slots]
        ends = [rule for _, slot in slots for rule in slot.spec.ends.items()]
        self.ending = [("end", name, rule, row) for (name, rule), row in zip(ends, self.fired, strict=True)]
        self.earning: list[Told] = []
        self.rewards: list[tuple[AgentSlot, F32, F64]] = []
        first = 0
        for batch, slot in slots:
            mine = self.terms.now[first : first + len(slot.spec.earns)]
            self.earning += [("reward", *named, row) for named, row in zip(slot.spec.earns.items(), mine, strict=True)]
            self.rewards.append((slot, world.of(batch.entity, Reward).value[slot.rows], mine))
            first += len(mine)
        # Of one agent, the rows of Done are those of EpisodeEnd themselves (see World).
        self.done = [(len(batch.slots), world.of(batch.entity, Done)) for batch in world.batches]

    def run(self) -> None:
        """Judge the tick."""
        self.tick += 1
        ask(self.earning)
        if not self.flat.dot(self.flat) < LARGEST**2:  # true for NaN as well
            self.refuse()
        for _, earned, mine in self.rewards:
            earned[...] = np.add.reduce(mine, axis=0)
        np.add(self.terms.total, self.terms.now, out=self.terms.total)
        ask(self.ending)
        self._end()
        self._tell_rows()

    def _end(self) -> None:
        terminated, truncated, ended = self.end.terminated, self.end.truncated, self.end.ended
        np.logical_or.reduce(self.fired, axis=0, out=terminated)
        np.greater_equal(self.tick, self.max_ticks, out=truncated)
        if self.explosion.any:
            terminated &= ~self.explosion.now
            truncated &= ~self.explosion.now
        np.logical_or(terminated, truncated, out=ended)
        rows = well = ended.nonzero()[0]
        if len(well):
            truncated &= ~terminated
        if self.explosion.any:
            ended |= self.explosion.now
            rows = ended.nonzero()[0]
        self._note_finished(rows, well)

    def _note_finished(self, rows: NDArray[np.int64], well: NDArray[np.int64]) -> None:
        done = self.finished
        if not len(rows):
            if len(done.rows):
                vars(done).update(vars(Finished()))
            return
        terms, ended = self.terms.total[:, well], self.end.terminated[well]
        total = terms.sum(axis=0) / len(self.rewards)
        reasons = self.fired[:, well] & ended
        vars(done).update(vars(Finished(rows, well, total, self.tick[well], ended, terms, reasons)))

    def _tell_rows(self) -> None:
        for slots, done in self.done:
            if slots > 1:
                done.terminated.reshape(slots, -1)[...] = self.end.terminated
                done.truncated.reshape(slots, -1)[...] = self.end.truncated
            if self.exploded or self.explosion.any:
                np.logical_not(self.explosion.now, out=done.valid.reshape(slots, -1))
        self.exploded = bool(self.explosion.any)

    def refuse(self) -> None:
        """Name the first reward term that is not finite or too large to learn from."""
        for slot, _, mine in self.rewards:
            bad = np.argwhere(~(np.abs(mine) < LARGEST))
            if len(bad):  # else the squares of many large ones have come together
                arena = int(bad[0][1])
                worst = int(np.argmax(np.where(np.isfinite(mine[:, arena]), np.abs(mine[:, arena]), np.inf)))
                name, rule = list(slot.spec.earns.items())[worst]
                value, where = mine[worst, arena], self.world.when(arena, judged=True)
                large = f"{value:g}, too large to learn from, {where}"
                told = large if np.isfinite(value) else f"a number that is not finite: {value:g} {where}"
                raise RuleError(f"the reward '{name}' of '{slot.spec.name}' gave {told}", rule)


def ask(rules: Sequence[Told]) -> None:
    """Let every rule fill its row, or refuse a shape that it did not have when the world was made."""
    value: object = None
    try:
        for told in rules:
            value = OURS
            rule = told[2]
            value = rule()
            told[3][...] = value
    except (TypeError, ValueError, OverflowError):
        if value is OURS:  # the rule itself went wrong, and tells its line
            raise
        kind, name, rule, _ = told
        raise RuleError(f"the {kind} '{name}' must give one number per arena, not {form(value)}", rule) from None

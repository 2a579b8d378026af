"""judge: Pose, Motion, Touch -> Reward, EpisodeEnd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import F32, F64, FEW, Bool
from ecs_rl.components import (
    Acting,
    Clock,
    Done,
    EndRules,
    EpisodeEnd,
    Explosion,
    Finished,
    Here,
    Reward,
    RewardWeights,
    Terms,
)
from ecs_rl.ecs import Stage
from ecs_rl.errors import RuleError
from ecs_rl.results import Results
from ecs_rl.scene.checks import aligned, form
from ecs_rl.scene.sensors import Rule
from ecs_rl.world import AgentSlot, PolicyBatch, World

LARGEST = 1e9
"""A reward beyond this in one tick is nothing to learn from: its square leaves no digit of a float32 to the others."""
LARGEST_SCORE = 1e30
"""The squares of scores are summed, and a float64 ends at 1e308."""
OURS = object()
RuleRow = tuple[str, str, Rule, NDArray[Any]]
"""What a rule is for, its name, the rule, and the (arenas,) row that it fills."""


class Judge(Stage):
    """Work out every named term and every named end; an episode terminates, is truncated, explodes, or goes on."""

    def __init__(self, world: World) -> None:
        self.world, self.max_ticks = world, world.scene.max_ticks
        self.tick, self.end, self.terms = world.one(Clock).tick, world.one(EpisodeEnd), world.one(Terms)
        self.explosion, self.finished = world.one(Explosion), world.one(Finished)
        self.results = Results(world)
        self.fired = world.one(EndRules).fired
        self.flat, self.exploded = self.terms.now.reshape(-1), False
        slots = [(batch, slot) for batch in world.batches for slot in batch.slots]
        self.earning: list[RuleRow] = []
        self.scores: F64 = np.zeros((len(world.arena.scores), world.arenas))
        self.scoring = [
            ("score", *named, row) for named, row in zip(world.arena.scores.items(), self.scores, strict=True)
        ]
        self.ending: list[RuleRow] = []
        first = 0
        for _, slot in slots:
            fired = self.fired[first : first + len(slot.spec.ends)]
            if slot.spec.count is None:
                self.ending += [("end", *named, row) for named, row in zip(slot.spec.ends.items(), fired, strict=True)]
            first += len(slot.spec.ends)
        self.rewards: list[tuple[AgentSlot, F32, F64]] = []
        for batch, slot in slots:
            terms = slot.by_term(self.terms.now)
            rows = terms[:, 0] if slot.spec.count is None else terms.swapaxes(1, 2)
            self.earning += [("reward", *named, row) for named, row in zip(slot.spec.earns.items(), rows, strict=True)]
            flat = terms.reshape(len(terms), -1)
            self.rewards.append((slot, world.of(batch.entity, Reward).value[slot.rows], flat))
        # Of one agent, the rows of Done are those of EpisodeEnd themselves (see World).
        self.weights, self.used = world.one(RewardWeights).value, b""
        """The weights of all terms, and their bytes when `factors` was made of them."""
        self.factors: list[F64 | None] = []
        """(terms, 1) The weights of each agent's terms; None where all are 1."""
        self.done = [(batch.rows, world.of(batch.entity, Done)) for batch in world.batches]
        self.outs = Outs(world, slots)

    def run(self) -> None:
        """Judge the tick."""
        self.tick += 1
        ask(self.earning)
        squares = self.flat.dot(self.flat) if self.flat.size <= FEW else np.add.reduce(np.square(self.flat))
        if not squares < LARGEST**2:  # true for NaN as well
            self.refuse()
        self.outs.pay_nothing()
        if self.weights.tobytes() != self.used:
            self._weigh()
        for (_, earned, terms), factors in zip(self.rewards, self.factors, strict=True):
            earned[...] = np.add.reduce(terms if factors is None else terms * factors, axis=0)
        np.add(self.terms.total, self.terms.now, out=self.terms.total)
        ask(self.ending)
        self.outs.find()
        self._end()
        self._tell_rows()
        self.outs.tell()

    def _weigh(self) -> None:
        """Use the weights as they are now."""
        self.used, self.factors, rest = self.weights.tobytes(), [], self.weights.copy()
        for slot, *_ in self.rewards:
            own, rest = rest[: len(slot.spec.earns)], rest[len(slot.spec.earns) :]
            self.factors.append(None if (own == 1.0).all() else own[:, None])

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
        totals, ended = self.terms.total[:, well], self.end.terminated[well]
        results = self.results
        terms, total, returns = results.by_name(totals), results.mean_return(totals), results.returns(totals)
        reasons, scores = self.fired[:, well] & ended, self._scored(well)
        finished = Finished(rows, well, total, self.tick[well], ended, terms, returns, reasons, scores)
        vars(done).update(vars(finished))

    def _scored(self, well: NDArray[np.int64]) -> F64:
        """Return (scores, episodes): what each score is worth where an episode ends; nobody asks before that."""
        if len(well) and self.scoring:
            ask(self.scoring)
        scores = self.scores[:, well]
        if not scores.size:
            return scores
        for which, episode in np.argwhere(~(np.abs(scores) < LARGEST_SCORE)).tolist():
            _, name, rule, _ = self.scoring[which]
            where, value = self.world.when(int(well[episode]), judged=True), scores[which, episode]
            large = f"{value:g}, too large to be averaged, {where}"
            problem = large if np.isfinite(value) else f"a number that is not finite: {value:g} {where}"
            raise RuleError(f"the score '{name}' gave {problem}", rule)
        return scores

    def _tell_rows(self) -> None:
        for rows, done in self.done:
            agents = (rows // len(self.tick), -1)
            if done.terminated is not self.end.terminated:
                done.terminated.reshape(agents)[...] = self.end.terminated
                done.truncated.reshape(agents)[...] = self.end.truncated
            if self.exploded or self.explosion.any:
                np.logical_not(self.explosion.now, out=done.valid.reshape(agents))
        self.exploded = bool(self.explosion.any)

    def refuse(self) -> None:
        """Name the first reward term that is not finite or too large to learn from."""
        for slot, _, terms in self.rewards:
            bad = np.argwhere(~(np.abs(terms) < LARGEST))
            if len(bad):  # else the squares of many large ones have come together
                row = int(bad[0][1])
                worst = int(np.argmax(np.where(np.isfinite(terms[:, row]), np.abs(terms[:, row]), np.inf)))
                name, rule = list(slot.spec.earns.items())[worst]
                value, where = terms[worst, row], self.world.when(row % len(self.tick), judged=True)
                large = f"{value:g}, too large to learn from, {where}"
                problem = large if np.isfinite(value) else f"a number that is not finite: {value:g} {where}"
                raise RuleError(f"the reward '{name}' of '{slot.spec.name}' gave {problem}", rule)


class Outs:
    """The agents of kinds, each member of which may be out of the game while the others go on."""

    def __init__(self, world: World, slots: Sequence[tuple[PolicyBatch, AgentSlot]]) -> None:
        self.world, self.fired, self.explosion = world, world.one(EndRules).fired, world.one(Explosion)
        self.kinds: list[OfKind] = []
        first = 0
        for batch, slot in slots:
            if slot.spec.of is not None:
                self.kinds.append(OfKind(world, batch, slot, self.fired[first : first + len(slot.spec.ends)]))
            first += len(slot.spec.ends)

    def pay_nothing(self) -> None:
        """Set the terms of members to zero that were out at the beginning of the tick."""
        for kind in self.kinds:
            kind.now *= kind.acting.T

    def find(self) -> None:
        """Find the members for which an end of their own holds; an episode ends when nobody is left."""
        for kind in self.kinds:
            kind.find()
        if self.world.all_out:
            self.fired[-1] = ~np.logical_or.reduce([kind.stays.any(axis=1) for kind in self.kinds])
            for kind in self.kinds:
                kind.tell_why(self.fired[-1])

    def tell(self) -> None:
        """Write into Done which members ended with this tick, and which rows are valid."""
        for kind in self.kinds:
            kind.terminated |= kind.acting & ~kind.stays
            kind.truncated &= kind.stays
            kind.valid[...] = kind.acting & ~self.explosion.now[:, None]


class OfKind:
    """The agents of one kind, each array (arenas, members)."""

    def __init__(self, world: World, batch: PolicyBatch, slot: AgentSlot, fired: Bool) -> None:
        assert slot.spec.of is not None
        self.role, self.ends, self.fired = slot.spec.of, slot.spec.ends, fired
        self.joined = self.role in world.arena.placing.joined
        self.here = world.block(Here)[self.role.rows].T
        self.stays = np.ones(self.here.shape, bool)
        """Who is here and goes on."""
        self.caught: list[tuple[Bool, Bool]] = []
        """The row of EndRules of each end that lets members leave, and for whom it holds."""
        self.now = slot.by_term(world.one(Terms).now)
        self.acting = slot.shaped(world.of(batch.entity, Acting).value)
        done = world.of(batch.entity, Done)
        parts = (done.terminated, done.truncated, done.valid)
        self.terminated, self.truncated, self.valid = map(slot.shaped, parts)

    def find(self) -> None:
        """Ask the rules: one truth per arena ends its episode, one per member takes that out (see respawn).

        Who was placed in this tick has not acted, and is not judged yet.
        """
        self.stays[...] = self.here
        self.caught.clear()
        for (name, rule), fired in zip(self.ends.items(), self.fired, strict=True):
            value = np.asarray(rule())
            fired[...] = value if value.ndim < 2 else False
            if value.ndim == 2:
                if self.joined:
                    raise RuleError(f"'{self.role.name}' is joined to others: the end '{name}' is one per arena", rule)
                ends = value & self.acting
                self.caught.append((fired, ends & self.here))
                self.stays &= ~ends

    def tell_why(self, over: Bool) -> None:
        """Mark in EndRules the ends by which the last members went, where the episode is over."""
        for fired, ends in self.caught:
            np.logical_and(over, ends.any(axis=1), out=fired)


def ask(rules: Sequence[RuleRow]) -> None:
    """Let every rule fill its row; RuleError for a shape that it did not have when the world was made."""
    value: object = None
    try:
        for entry in rules:
            value = OURS
            rule = entry[2]
            value = rule()
            row = entry[3]
            row[...] = value if row.ndim == 1 else aligned(value, 0)
    except (TypeError, ValueError, OverflowError):
        if value is OURS:  # the rule itself went wrong, and tells its line
            raise
        kind, name, rule, _ = entry
        raise RuleError(f"the {kind} '{name}' must give one number per arena, not {form(value)}", rule) from None

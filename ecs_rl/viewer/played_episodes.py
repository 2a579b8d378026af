"""What is done on a stage, tick by tick and for each of its arenas, so that any episode can be played again."""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.base import Introspectable, output_of
from ecs_rl.components import (
    Action,
    Chance,
    Clock,
    EpisodeEnd,
    Explosion,
    Finished,
    NextObservation,
    Observation,
    PolicyState,
    Rated,
    Reward,
)
from ecs_rl.results import Results
from ecs_rl.runs.episode_file import HAND, Episode, EpisodeManifest
from ecs_rl.runs.manifest import PolicyEntry
from ecs_rl.viewer.endings import reasons_of

if TYPE_CHECKING:
    from ecs_rl.agents.base import Agent
    from ecs_rl.viewer.live_episode import LiveEpisode
    from ecs_rl.world import World

KEPT = 64
"""Episodes that are remembered, the newest ones."""
MOST_ARENAS = 64
"""Arenas that are followed besides the one that is watched."""


@dataclass(slots=True)
class Running:
    """The running episode of one arena."""

    did: list[tuple[NDArray[Any], ...]] = field(default_factory=list)
    """For each tick the actions of all arenas, by policy."""
    hands: list[tuple[float, ...]] = field(default_factory=list)
    rebuilt: list[int] = field(default_factory=list)
    together: tuple[int, ...] = ()
    """The arenas whose episodes began in the same tick; none: all did."""
    whole: bool = True
    """Everything since its beginning is known."""
    clean: bool = True
    """Nobody pulled or kicked, nor went back and on in another way."""
    driven: bool = False
    """A person was at the controls."""
    expected: float = math.nan
    came: float = 0.0
    weight: float = 1.0


class EpisodeLog:
    """Notes the arenas of one show, and keeps the episodes that have ended."""

    def __init__(self, show: LiveEpisode) -> None:
        self.show, self.world = show, show.world
        self.kept: deque[tuple[Episode, bool]] = deque(maxlen=KEPT)
        """The newest episodes, each with whether nobody had a hand in it."""
        self.when: Callable[[], str] = str
        """Tells how far the training is, where there is one."""
        self._clock, self._chance = self.world.one(Clock), self.world.one(Chance)
        self._finished = self.world.one(Finished)
        self._ending, self._explosion = self.world.one(EpisodeEnd), self.world.one(Explosion)
        self._actions: list[Any] = [self.world.of(batch.entity, Action) for batch in self.world.batches]
        batch = self.world.batches[0]
        self._rows = batch.slots[0].rows.start
        """Of the first agent, whose expectations are compared with what came."""
        self._policy = batch.name
        self._before = self.world.of(batch.entity, Observation)
        self._after = self.world.of(batch.entity, NextObservation)
        self._state, self._reward = self.world.of(batch.entity, PolicyState), self.world.of(batch.entity, Reward)
        self.running: dict[int, Running] = {}
        self.begin()

    # --- what happens -----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Note that every arena begins its episode."""
        followed = {*range(min(self.world.arenas, MOST_ARENAS)), self.show.arena}
        self.running = {arena: Running() for arena in sorted(followed)}

    def adopt(self) -> None:
        """Note that the watched arena goes on from where another one stood."""
        self.rebuilt()
        self.running[self.show.arena].whole = False

    def rebuilt(self) -> None:
        """Note that the physics was made anew, in all arenas."""
        for each in self.running.values():
            each.rebuilt.append(len(each.did))

    def back(self, tick: int, *, same: bool) -> None:
        """Note that the watched arena goes on from this tick of its episode, or of an earlier one, in another way."""
        mine = self.running[self.show.arena]
        mine.whole, mine.clean, mine.expected = mine.whole and same, False, math.nan
        del mine.did[tick:]
        mine.hands = [row for row in mine.hands if row[0] < tick]
        mine.rebuilt = [at for at in mine.rebuilt if at < tick]
        self.rebuilt()

    def hand(self) -> None:
        """Note what a person does in the coming tick."""
        hand, mine = self.show.hand, self.running[self.show.arena]
        if hand.steers:
            mine.driven, mine.clean = True, False
        if hand.role is None and hand.kicked is None and not any(hand.air):
            return
        mine.clean = False
        held, kicked = (-1 if role is None else role for role in (hand.role, hand.kicked))
        row = (len(mine.did), held, hand.member, *hand.at, *hand.to, kicked, hand.kicked_member, *hand.kick, *hand.air)
        mine.hands.append(tuple(map(float, row)))

    def tick(self) -> None:
        """Note the tick that has just been judged, before any arena starts again."""
        did = tuple(np.array(action.value) for action in self._actions)
        agent = self.show.agents.get(self._policy)
        discount = float(getattr(agent, "discount", math.nan))
        self._expect(agent)
        reward = self._reward.value[self._rows :].tolist()
        for arena, running in self.running.items():
            running.did.append(did)
            running.came += running.weight * reward[arena]
            running.weight *= discount
        for arena in np.flatnonzero(self._ending.ended).tolist():
            if arena in self.running:
                self._end(arena, agent)
                self.running[arena] = Running(together=tuple(self._finished.rows.tolist()))

    def begin_anew(self) -> None:
        """Let episodes that have just begun follow from their seeds and their actions alone, or note that they do not.

        In an arena that was used before, the physics remembers joints and contacts: it is made to forget them. Where
        ground moves, it also remembers in which order it found what touches: only a new one does not, and that is made
        for the arena that is watched.
        """
        rows = self._finished.rows
        if not len(rows):
            return
        if not self.world.arena.terrains:
            self.world.engine.forget(rows)
        elif self.show.arena in rows:
            self.world.rebuild()
            self.rebuilt()
        else:
            for arena in set(rows.tolist()) & self.running.keys():
                self.running[arena].whole = False

    def _expect(self, agent: Agent | None) -> None:
        """Ask what is expected of the episodes that began with this tick."""
        fresh = [arena for arena, running in self.running.items() if not running.did]
        if not fresh or agent is None or not isinstance(agent, Introspectable):
            return
        rows = self._rows + np.array(fresh)
        told = output_of(agent, self._before.value[rows], self._state.before[rows])
        values = [math.nan] * len(fresh) if told is None else told.value.tolist()
        for arena, value in zip(fresh, values, strict=True):
            self.running[arena].expected = value

    def _end(self, arena: int, agent: Agent | None) -> None:
        running = self.running[arena]
        if running.whole and not self._explosion.now[arena]:
            self.kept.append((self._episode(arena, running, agent), running.clean))

    def _episode(self, arena: int, running: Running, agent: Agent | None) -> Episode:
        world, show = self.world, self.show
        came = running.came
        if self._ending.truncated[arena] and agent is not None:  # it would have gone on: what was expected then
            row = self._rows + arena
            after, state = self._after.value[row : row + 1], self._state.value[row : row + 1]
            told = output_of(agent, after, state)
            came += running.weight * (math.nan if told is None else float(told.value[0]))
        facts = EpisodeManifest(
            scene=show.scene.reference,
            source_sha256=show.scene.sha256,
            scene_data=dict(show.scene.data),
            policies=tuple(PolicyEntry.of(batch.spec) for batch in world.batches),
            seed=show.seeds[arena],
            key=str(int(self._chance.key[arena])),
            number=int(self._clock.episode[arena]),
            arena=arena,
            arenas=world.arenas,
            ticks=len(running.did),
            rebuilt=tuple(running.rebuilt),
            together=running.together,
            digest=digest_of(world, arena),
            rated=world.one(Rated).agents,
            who="a person" if running.driven else ", ".join(filter(None, (show.who, self.when()))),
            total=float(Results(world).now()[arena]),
            reasons=reasons_of(world, arena),
            expected=running.expected if math.isfinite(running.expected) else None,
            came=came if math.isfinite(came) else None,
        )
        by_policy = zip(*running.did, strict=True)
        actions = tuple(np.stack([did[arena :: world.arenas] for did in each]) for each in by_policy)
        return Episode(facts, actions, np.array(running.hands, np.float64).reshape(-1, HAND))

    # --- what is asked ----------------------------------------------------------------------------------------------

    def worst(self) -> Episode | None:
        """Return the episode of those kept that came to least."""
        return min(self._clean(), key=lambda each: each.facts.total, default=None)

    def best(self) -> Episode | None:
        """Return the one that came to most."""
        return max(self._clean(), key=lambda each: each.facts.total, default=None)

    def most_surprising(self) -> Episode | None:
        """Return the one whose return was furthest from what was expected as it began; None where nobody expects."""
        known = [each for each in self._clean() if math.isfinite(each.surprise)]
        return max(known, key=lambda each: abs(each.surprise), default=None)

    def _clean(self) -> Sequence[Episode]:
        return [episode for episode, clean in self.kept if clean]

    def newest(self, arena: int) -> Episode | None:
        """Return the last episode that ended in an arena, if all of it is known."""
        return next((episode for episode, _ in reversed(self.kept) if episode.facts.arena == arena), None)


def digest_of(world: World, arena: int) -> str:
    """Return the SHA-256 of all that lasts of an arena, but for what policies remember."""
    digest = hashlib.sha256()
    for each in world.lasting():
        part = None if each.kind is PolicyState else each.column.of_arena(each.array, world.arenas, arena)
        if part is not None:
            digest.update(each.key.encode())
            digest.update((part + 0.0 if part.dtype.kind == "f" else part).tobytes())  # -0.0 is 0.0
    return digest.hexdigest()

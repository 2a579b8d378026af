"""How watched episodes ended, and the newest of them, of all arenas of a stage, so that any can be played again."""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from ecs_rl import components as c
from ecs_rl.agents.base import output_of
from ecs_rl.arrays import F32
from ecs_rl.records import OF_AGENT, SCORE
from ecs_rl.results import Results
from ecs_rl.runs.episode_file import HAND, Episode, EpisodeManifest
from ecs_rl.runs.manifest import PolicyEntry
from ecs_rl.session import EpisodeRecord
from ecs_rl.training_stages.tally import records_of
from ecs_rl.viewer.view import Tone
from ecs_rl.world import World

if TYPE_CHECKING:
    from ecs_rl.viewer.live_episode import LiveEpisode
    from ecs_rl.viewer.tick_log import RunningEpisode

EXPLODED = "exploded"
GOOD_WORDS = frozenset(
    ("arrived", "landed", "won", "done", "finished", "home", "goal", "reached", "solved", "caught", "docked", "escaped")
)
"""What a scene calls an ending that is good, where it earns nothing of its own."""
MOST = 64
"""Episodes that are remembered, the newest ones."""


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
    if world.one(c.Explosion).now[arena]:
        return (EXPLODED,)
    finished = world.one(c.Finished)
    return tuple(compress(world.reasons, finished.reasons[:, _row(finished, arena)]))


def record_of(world: World, arena: int, reasons: Sequence[str]) -> EpisodeRecord:
    """Return what is to be noted of the episode that ends in this tick; one that exploded is in no log."""
    if EXPLODED not in reasons:
        finished = world.one(c.Finished)
        return records_of(world, finished)[_row(finished, arena)]
    terms, results = world.one(c.Terms).total[:, arena], Results(world)
    extras = dict(zip(world.terms, results.by_name(terms).tolist(), strict=True))
    extras |= {f"{OF_AGENT}{name}": float(value) for name, value in results.returns(terms).items()}
    extras |= {f"{SCORE}{name}": float(results.score(name)[arena]) for name in world.arena.scores}
    extras["end/exploded"] = 1.0
    ticks = int(world.one(c.Clock).tick[arena])
    return EpisodeRecord(float(results.mean_return(terms)), ticks, "Truncated", extras)


def tone_of(world: World, arena: int, total: float, reasons: Sequence[str]) -> Tone:
    """Return whether the ending was a good one: paid or fined under its own name, else solved or cut short."""
    if EXPLODED in reasons:
        return "warn"
    earned = Results(world).by_name(world.one(c.Terms).now[:, arena]).tolist()
    paid = dict(zip(world.terms, earned, strict=True))
    solved_at, named = world.scene.solved_at, sum(paid.get(reason, 0.0) for reason in reasons)
    return tone_of_ends(reasons, named, is_solved=solved_at is not None and total >= solved_at)


def tone_of_ends(reasons: Sequence[str], paid: float, *, is_solved: bool = False) -> Tone:
    """Return whether it is good to end so: by what is `paid` under these names, else by the words or the result."""
    if paid:
        return "good" if paid > 0 else "bad"
    if is_solved or any(GOOD_WORDS & set(reason.lower().split()) for reason in reasons):
        return "good"
    return "bad" if reasons else "plain"


def _row(finished: c.Finished, arena: int) -> int:
    return int(np.flatnonzero(finished.arena == arena)[0])


class PlayedEpisodes:
    """Makes an episode of the ticks in the log wherever one ends."""

    def __init__(self, show: LiveEpisode) -> None:
        self.show, self.world = show, show.world
        self.episodes: deque[tuple[Episode, bool]] = deque(maxlen=MOST)
        """Each episode with whether nobody had a hand in it."""
        self.when: Callable[[], str] = str
        """Tells how far the training is, where there is one."""
        self._chance, self._ending = self.world.one(c.Chance), self.world.one(c.EpisodeEnd)
        self._explosion = self.world.one(c.Explosion)
        self._expected: dict[int, float] = {}
        """By arena what its first agent expected as the running episode began."""
        batch = self.world.batches[0]
        self._policy, self._state = batch.name, self.world.of(batch.entity, c.PolicyState)
        self._before = self.world.of(batch.entity, c.Observation)
        self._after = self.world.of(batch.entity, c.NextObservation)
        show.watchers.append(self.look)

    # --- tick by tick -----------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Look at the tick that has just been logged."""
        running = self.show.log.running
        begun = [arena for arena, episode in running.items() if len(episode.ticks) == 1]
        if begun:
            values = self._values(self._before.value[begun], self._state.before[begun])
            self._expected |= zip(begun, values, strict=True)
        for arena in np.flatnonzero(self._ending.ended).tolist():
            if arena in running and running[arena].is_whole and not self._explosion.now[arena]:
                self._take(arena, running[arena])

    def _values(self, seen: F32, state: F32) -> list[float]:
        """Return what the first agent expects of each row; NaN where it lets nobody look."""
        agent = self.show.agents.get(self._policy)
        output = None if agent is None else output_of(agent, seen, state)
        return [math.nan] * len(seen) if output is None else output.value.tolist()

    def _take(self, arena: int, episode: RunningEpisode) -> None:
        """Make a whole episode of what the log has of it."""
        world, show, ticks = self.world, self.show, episode.ticks
        touched = ticks if arena == show.arena else []
        hands = [(number, *tick.hand) for number, tick in enumerate(touched) if tick.hand]
        is_driven = any(tick.steered for tick in touched)
        expected = math.nan if episode.is_branched else self._expected.get(arena, math.nan)
        came = self._came(arena, episode)
        facts = EpisodeManifest(
            scene=show.scene.reference,
            source_sha256=show.scene.sha256,
            scene_data=dict(show.scene.data),
            policies=tuple(PolicyEntry.of(batch.spec) for batch in world.batches),
            seed=show.seeds[arena],
            key=str(int(self._chance.key[arena])),
            number=int(show.clock.episode[arena]),
            arena=arena,
            arenas=world.arenas,
            ticks=len(ticks),
            rebuilt=tuple(number for number, tick in enumerate(ticks) if tick.rebuilt),
            together=episode.together,
            digest=digest_of(world, arena),
            rated=world.one(c.Rated).agents,
            who="a person" if is_driven else ", ".join(filter(None, (show.who, self.when()))),
            total=float(Results(world).now()[arena]),
            reasons=reasons_of(world, arena),
            expected=expected if math.isfinite(expected) else None,
            came=came if math.isfinite(came) else None,
        )
        actions = tuple(
            np.stack([tick.actions[policy][arena :: world.arenas] for tick in ticks])
            for policy in range(len(world.batches))
        )
        is_clean = not (hands or is_driven or episode.is_branched)
        hand = np.array(hands, np.float64).reshape(-1, HAND)
        self.episodes.append((Episode(facts, actions, hand), is_clean))

    def _came(self, arena: int, episode: RunningEpisode) -> float:
        """Return the first agent's discounted return; NaN where nobody knows how it discounts.

        An episode that time cut would have gone on: what the agent expects of its last sight stands for that.
        """
        agent = self.show.agents.get(self._policy)
        came, weight, discount = 0.0, 1.0, float(getattr(agent, "discount", math.nan))
        for tick in episode.ticks:
            came += weight * float(tick.rewards[0][arena])
            weight *= discount
        if self._ending.truncated[arena] and agent is not None:
            (rest,) = self._values(self._after.value[[arena]], self._state.value[[arena]])
            came += weight * rest
        return came

    # --- what is asked ----------------------------------------------------------------------------------------------

    def worst(self) -> Episode | None:
        """Return the episode that came to least."""
        return min(self._clean(), key=lambda episode: episode.facts.total, default=None)

    def best(self) -> Episode | None:
        """Return the one that came to most."""
        return max(self._clean(), key=lambda episode: episode.facts.total, default=None)

    def most_surprising(self) -> Episode | None:
        """Return the one whose return was furthest from what was expected as it began; None where nobody expects."""
        known = [episode for episode in self._clean() if math.isfinite(episode.surprise)]
        return max(known, key=lambda episode: abs(episode.surprise), default=None)

    def _clean(self) -> Sequence[Episode]:
        return [episode for episode, is_clean in self.episodes if is_clean]

    def newest(self, arena: int) -> Episode | None:
        """Return the last episode that ended in an arena, if all of it is known."""
        return next((episode for episode, _ in reversed(self.episodes) if episode.facts.arena == arena), None)


def digest_of(world: World, arena: int) -> str:
    """Return the SHA-256 of all that lasts of an arena, but for what policies remember."""
    digest = hashlib.sha256()
    remembered = {f"@policy/{batch.name}/{c.PolicyState.__name__}/value" for batch in world.batches}
    for key, part in world.arena_columns(arena).items():
        if key not in remembered:
            digest.update(key.encode())
            digest.update((part + 0.0 if part.dtype.kind == "f" else part).tobytes())  # -0.0 is 0.0
    return digest.hexdigest()

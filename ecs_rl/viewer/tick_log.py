"""The log of a stage: every tick of it, written by the stage alone. Rewind, mind, episodes and demonstrations read it.

What was done in all arenas is in the log as long as their episodes run. Of the watched arena the log also has all
columns of the last half minute, so that the stage can show it again: `Rewind` goes back in it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING

from ecs_rl import components as c
from ecs_rl.arrays import F32, F64
from ecs_rl.ecs.component import Array
from ecs_rl.ecs.context import Columns
from ecs_rl.viewer.gather import TRAIL, Reader
from ecs_rl.viewer.view import StageView, Tone

if TYPE_CHECKING:
    from ecs_rl.viewer.live_episode import LiveEpisode
    from ecs_rl.viewer.mind import Thought
    from ecs_rl.viewer.played_episodes import Ended

SECONDS = 30.0
"""How much of the stage's own time can be seen again."""
LEAST = 300
"""Ticks that can be seen again where half a minute has fewer."""
MOST_ARENAS = 64
"""Arenas whose episodes are logged besides the one that is watched."""
EARNED = (c.Reward, c.Terms)
OF_AGENTS = (c.Action, c.Observation, c.PolicyState, *EARNED)
"""What agents see, do, remember and earn."""
LINGERS = 1.0
"""Seconds for which an ending stays when the past is played again."""


class Fate(Enum):
    """How an episode went on after a tick."""

    RUNNING = "running"
    TERMINATED = "terminated"
    TRUNCATED = "truncated"
    CUT = "cut"
    """By an explosion: what would have come is never known."""


@dataclass(slots=True)
class Tick:
    """What was done in a tick, and what it earned."""

    actions: tuple[Array, ...]
    """By policy (rows, ...), of all arenas."""
    rewards: tuple[F32, ...]
    """By policy (rows,), of all arenas."""
    hand: tuple[float, ...]
    """What a person's hand did in the watched arena, the numbers of `UserInput`; () for nothing."""
    steered: frozenset[tuple[str, int]]
    """The policies and rows for which a person decided."""
    rebuilt: bool
    """The physics of all arenas was made anew before it."""
    sights: tuple[F32, ...]
    """By policy (agents, numbers) that the agents of the watched arena saw; () unless `keeps_sights`."""
    terms: tuple[F32, ...]
    """By policy (terms, rows) that each term of the reward earned; () unless `keeps_sights`."""


@dataclass(slots=True, eq=False)
class Keyframe:
    """The watched arena after a tick, or before the first one of an episode."""

    begins: bool
    """Nothing led here from the keyframe before."""
    before: tuple[Array, ...]
    """The columns as the tick began: those of the keyframe before, its own ones where an episode begins."""
    columns: tuple[Array, ...]
    """Copies of the arena's part of all that lasts, and of what the tick earned; of an environment only `OF_AGENTS`."""
    fate: Fate
    line: int
    """Keyframes of one line follow from each other: the same policy, and no episode left before its end."""
    name: str
    """Which episode it is, in words."""
    who: str
    """Who played."""
    trail: F64 | None
    """(points, 2) What the tick added to the trails."""
    picture: StageView | None
    """How it looked, where an episode ended that can be seen again."""
    outcome: Ended | None
    thought: Thought | None = None
    """What the watched agent thinks of it; the mind's own, which is asked only for what somebody looks at."""


@dataclass(slots=True)
class RunningEpisode:
    """The running episode of one arena."""

    together: tuple[int, ...] = ()
    """The arenas whose episodes began in the same tick; none: all did."""
    is_whole: bool = True
    """All that led to where it stands is in `ticks`, from its beginning."""
    is_branched: bool = False
    """Somebody went back, and on in another way."""
    ticks: list[Tick] = field(default_factory=list)


class TickLog:
    """The ticks of one stage. Only the stage and its rewind change it, by begin, adopt, cut, append, note, truncate."""

    def __init__(self, show: LiveEpisode) -> None:
        self.show, self.world = show, show.world
        self.past: deque[Keyframe] = deque(maxlen=max(LEAST, math.ceil(SECONDS / show.scene.dt)) + 1)
        self.running: dict[int, RunningEpisode] = {}
        self.keeps_sights = False
        """Whether ticks also have what the agents of the watched arena saw, and what each term earned."""
        self._line = 0
        self.jumps = 0
        """How often something else has come than the next tick of the episode."""
        self._rebuilt = False
        self._hand: tuple[float, ...] = ()
        self._steered: frozenset[tuple[str, int]] = frozenset()
        world = self.world
        self._actions = [world.of(batch.entity, c.Action) for batch in world.batches]
        self._rewards = [world.of(batch.entity, c.Reward) for batch in world.batches]
        self._states = [world.of(batch.entity, c.PolicyState) for batch in world.batches]
        self._ending, self._explosion = world.one(c.EpisodeEnd), world.one(c.Explosion)
        self._finished = world.one(c.Finished)
        self.is_complete = isinstance(show.reader, Reader)
        """Whether the columns are all that there is: an environment that draws itself has more."""
        self._numbers = {name: number for number, name in enumerate(self._views())}
        self._parts: list[Array] = []
        """Views of the watched arena's columns, good as long as the key is."""
        self._key: tuple[int, ...] = ()
        self.begin()

    # --- what changes it --------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Let all arenas begin their episodes."""
        logged = {*range(min(self.world.arenas, MOST_ARENAS)), self.show.arena}
        self.running, self._rebuilt = {arena: RunningEpisode() for arena in sorted(logged)}, False

    def begin_anew(self) -> None:
        """Let the arenas begin their next episodes whose last ones have just ended.

        These follow from their seeds and actions alone, or are not whole. In an arena that was used before, the physics
        remembers joints and contacts: it is made to forget them. Where ground moves, it also remembers in which order
        it found what touches: only a new one does not, and that is made for the arena that is watched.
        """
        ended = self._finished.rows
        if not len(ended):
            return
        is_watched, moves = self.show.arena in ended, bool(self.world.arena.terrains)
        if not moves:
            self.world.engine.forget(ended)
        elif is_watched:
            self.world.rebuild()
            self._rebuilt = True
        together = tuple(ended.tolist())
        for arena in self.running.keys() & together:
            self.running[arena] = RunningEpisode(together, is_whole=is_watched or not moves)

    def adopt(self) -> None:
        """Let the watched arena go on from where another one stood, with a physics made anew."""
        self._rebuilt = True
        self.running[self.show.arena].is_whole = False
        self.cut()

    def cut(self) -> None:
        """Let nothing that comes follow from what was."""
        self._line += 1
        self.jumps += 1

    def take_hand(self) -> None:
        """Take what a person does in the coming tick."""
        hand = self.show.hand
        self._steered, self._hand = frozenset(hand.steers), ()
        if hand.role is not None or hand.kicked is not None or any(hand.air):
            held, kicked = (-1 if role is None else role for role in (hand.role, hand.kicked))
            kick = (kicked, hand.kicked_member, *hand.kick)
            self._hand = (held, hand.member, *hand.at, *hand.to, *kick, *hand.air)

    def append(self) -> None:
        """Add the tick that has just been judged, before any arena begins anew."""
        actions = tuple(action.value.copy() for action in self._actions)
        rewards = tuple(reward.value.copy() for reward in self._rewards)
        sights, terms = tuple[F32, ...](), tuple[F32, ...]()
        if self.keeps_sights:
            seen = [self.number_of(c.Observation, batch.name) for batch in self.world.batches]
            sights = tuple(self.past[-1].columns[number] for number in seen)
            terms = tuple(batch.terms(self.world.one(c.Terms)) for batch in self.world.batches)
        tick = Tick(actions, rewards, self._hand, self._steered, self._rebuilt, sights, terms)
        self._rebuilt = False
        for episode in self.running.values():
            if episode.is_whole:
                episode.ticks.append(tick)

    def note(self, *, begins: bool = False) -> None:
        """Add how the watched arena stands: after a tick, at an end in the middle of it, or as an episode `begins`."""
        show, arena, past, columns = self.show, self.show.arena, self.past, self.columns()
        self.jumps += begins
        before, fate = (columns, Fate.RUNNING) if begins else (past[-1].columns, self._fate())
        if begins and past and not past[-1].begins and past[-1].fate in (Fate.RUNNING, Fate.CUT):
            self.cut()
        if fate is not Fate.RUNNING:  # what the agents see last takes the place of what they saw
            for batch in self.world.batches:
                after = self.world.of(batch.entity, c.NextObservation).value[arena :: self.world.arenas]
                columns[self.number_of(c.Observation, batch.name)][...] = after
        keyframe = Keyframe(
            begins=begins,
            before=before,
            columns=columns,
            fate=fate,
            line=self._line,
            name=show.names[arena],
            who=show.who,
            trail=show.reader.trail,
            picture=show.held if self.is_complete else None,
            outcome=show.outcome,
        )
        self.past.append(keyframe)

    def _fate(self) -> Fate:
        arena = self.show.arena
        if not self._ending.ended[arena]:
            return Fate.RUNNING
        if self._explosion.now[arena]:
            return Fate.CUT
        return Fate.TERMINATED if self._ending.terminated[arena] else Fate.TRUNCATED

    def truncate(self, at: int) -> None:
        """Forget what came after the keyframe of this number: the watched arena goes on from there."""
        dropped = [self.past.pop() for _ in range(len(self.past) - 1 - at)]
        episode = self.running[self.show.arena]
        episode.is_branched = True
        if any(keyframe.begins or keyframe.outcome is not None for keyframe in dropped):
            episode.is_whole = False  # it goes on with an episode from before, whose ticks are gone
        elif dropped:
            del episode.ticks[-len(dropped) :]
        self._line, self._rebuilt = self.past[-1].line, True
        self.jumps += 1

    # --- what is read -----------------------------------------------------------------------------------------------

    def columns(self) -> tuple[Array, ...]:
        """Return copies of the watched arena's columns."""
        key = (self.show.arena, *(id(state.value) for state in self._states))
        if key != self._key:
            self._key, self._parts = key, list(self._views().values())
        return tuple(part.copy() for part in self._parts)

    def _views(self) -> Columns:
        """Return views of the watched arena's part of what keyframes have."""
        stored = [entry for entry in self.world.stored if entry.column.lasts or entry.kind in EARNED]
        parts = {
            entry.key: entry.column.of_arena(entry.array, self.world.arenas, self.show.arena)
            for entry in stored
            if self.is_complete or entry.kind in OF_AGENTS
        }
        return {name: part for name, part in parts.items() if part is not None}

    def named(self, columns: tuple[Array, ...]) -> Columns:
        """Return columns by their names."""
        return dict(zip(self._numbers, columns, strict=True))

    def number_of(self, kind: type, policy: str = "", field: str = "value") -> int:
        """Return which of the columns is a policy's, or else the arena's: (agents, ...)."""
        return self._numbers[f"{f'@policy/{policy}' if policy else '@arena'}/{kind.__name__}/{field}"]


class Rewind:
    """Shows the past of one stage."""

    def __init__(self, show: LiveEpisode) -> None:
        self.show, self.log = show, show.log
        self.at: int | None = None
        """The number of the keyframe that is to be seen; None in the present."""
        self.owed = 0.0
        """Ticks of the past that are due, the broken part of one included."""
        self._rest = 0.0
        self._present: tuple[tuple[Array, ...], str, StageView | None, Ended | None] | None = None
        """Columns, name, last picture and outcome of the present."""

    @property
    def works(self) -> bool:
        """Whether the stage can go back: an environment that draws itself is more than its columns."""
        return self.log.is_complete

    # --- looking back -----------------------------------------------------------------------------------------------

    @property
    def here(self) -> int:
        """The number of the keyframe that is to be seen, in the present the last one's."""
        return len(self.log.past) - 1 if self.at is None else self.at

    @property
    def current(self) -> Keyframe:
        """The keyframe that is to be seen."""
        return self.log.past[self.here]

    def go(self, at: int) -> None:
        """Show the keyframe of this number; the last one is the present."""
        show, log, before, at = self.show, self.log, self.at, max(at, 0)
        if not self.works or at >= len(log.past) - 1:
            self.leave()
            return
        if self._present is None:
            show.let_go()
            self._present = (log.columns(), show.names[show.arena], show.held, show.outcome)
            self.owed = 0.0
        self.at, there = at, log.past[at]
        self._retrace(jumps=before is None or at != before + 1 or there.begins)
        show.names[show.arena], show.held, show.outcome = there.name, there.picture, there.outcome

    def _retrace(self, *, jumps: bool) -> None:
        """Put the columns back, and let the pictures be as they were on the way there."""
        show, reader, there = self.show, self.show.reader, self.current
        if jumps and not there.begins:
            self._load(there.before)
            reader.follow(show.arena, again=True)
        self._load(there.columns)
        reader.follow(show.arena, again=jumps and there.begins)
        if jumps and isinstance(reader, Reader):
            reader.trails(self._trails())

    def _load(self, columns: tuple[Array, ...]) -> None:
        self.show.world.load_arena(self.log.named(columns), self.show.arena)

    def _trails(self) -> list[F64]:
        """Return what the last ticks of the episode have added to the trails, the oldest first."""
        added: list[F64] = []
        for keyframe in islice(reversed(self.log.past), len(self.log.past) - 1 - self.here, None):
            if keyframe.trail is not None:
                added.append(keyframe.trail)
            if keyframe.begins or len(added) == TRAIL:
                break
        return added[::-1]

    def advance(self, seconds: float, passed: float) -> None:
        """Play the past again: so many seconds of real time go by, in which so many of the stage's pass."""
        past = self.log.past
        if self.show.held is not None:
            self._rest -= max(passed, seconds)
            if self._rest > 0:
                return
        owed = self.owed + passed / self.show.scene.dt
        steps = int(min(owed, len(past)))
        self.owed = owed % 1.0 if math.isfinite(owed) else 0.0
        if steps:
            there = min(self.here + steps, len(past) - 1)
            there = next((i for i in range(self.here + 1, there) if past[i].picture is not None), there)
            self._rest = LINGERS
            self.go(there)

    def leave(self) -> None:
        """Go back to the present, which is as it was left."""
        if self._present is None:
            return
        show, (columns, name, held, outcome) = self.show, self._present
        self._present = self.at = None
        if held is None:
            self._retrace(jumps=True)
        self._load(columns)
        show.names[show.arena], show.held, show.outcome = name, held, outcome

    def branch(self) -> bool:
        """Let the present be here and go on otherwise; what came after is forgotten. False where an episode ended."""
        if self.at is None:
            return True
        if self.current.picture is not None:
            return False
        self.log.truncate(self.at)
        self._present = self.at = None
        self.show.world.rebuild()
        return True

    @contextmanager
    def seen(self) -> Iterator[None]:
        """Let the columns be those of the picture that stands, also where the arena has begun anew since."""
        show = self.show
        if self.at is not None or show.held is None or not self.works:
            yield
            return
        now = self.log.columns()
        self._load(self.current.columns)
        try:
            yield
        finally:
            self._load(now)

    # --- telling ----------------------------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """How far back it goes."""
        return (len(self.log.past) - 1) * self.show.scene.dt if self.works else 0.0

    @property
    def ago(self) -> float:
        """How many seconds before the present the moment is that is to be seen."""
        return (len(self.log.past) - 1 - self.here) * self.show.scene.dt

    @property
    def ends(self) -> tuple[tuple[float, Tone], ...]:
        """How many seconds before the present episodes ended, and how good each ending was."""
        newest = enumerate(reversed(self.log.past))
        ends = [(ago * self.show.scene.dt, frame.outcome.tone) for ago, frame in newest if frame.outcome is not None]
        return tuple(ends[::-1])

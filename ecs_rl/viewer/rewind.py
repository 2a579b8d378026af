"""The last half minute of a stage: gone back to tick by tick, played again, and gone on from in another way.

The columns are the whole state, so the past is their copies of each tick. To look at a moment they are put back into
the arena while the physics stands still: pictures, panels and rules then see that moment, and once the present ones
are back nothing has changed.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from ecs_rl.arrays import F64
from ecs_rl.components import NextObservation, Observation, PolicyState
from ecs_rl.ecs.component import Array
from ecs_rl.ecs.context import Stored
from ecs_rl.viewer.gather import TRAIL, Reader
from ecs_rl.viewer.view import StageView, Tone
from ecs_rl.viewer.view_floating import RewindView

if TYPE_CHECKING:
    from ecs_rl.viewer.endings import Ended
    from ecs_rl.viewer.live_episode import LiveEpisode
    from ecs_rl.viewer.mind_log import Moment

SECONDS = 30.0
"""How much of the stage's own time is kept."""
LINGERS = 1.0
"""Seconds for which an ending stays when the past is played again."""


@dataclass(frozen=True, slots=True)
class Note:
    """A moment of the stage: after a tick, or before the first one of an episode."""

    columns: tuple[Array, ...]
    """Copies of the arena's part of all that lasts."""
    begins: bool
    """Nothing led here from the note before."""
    name: str
    """Which episode it is, in words."""
    who: str
    """Who played."""
    trail: F64 | None = None
    """(points, 2) What the tick added to the trails."""
    thought: Moment | None = None
    """What the watched agent saw and did in the tick."""
    picture: StageView | None = None
    """How it looked, where an episode ended."""
    outcome: Ended | None = None


class Rewind:
    """The past of one show; `at` is the number of the note that is to be seen, None in the present."""

    def __init__(self, show: LiveEpisode) -> None:
        self.show, self.world = show, show.world
        self.notes: deque[Note] = deque(maxlen=math.ceil(SECONDS / show.scene.dt) + 1)
        self.at: int | None = None
        self.owed = 0.0
        """Ticks of the past that are due, the broken part of one included."""
        self._noted = 0
        self._ends: deque[tuple[int, Tone]] = deque()
        """The numbers, among all that was ever noted, of endings, and how good each was."""
        self._rest = 0.0
        self._present: tuple[Note, StageView | None, Ended | None] | None = None
        self._states = [self.world.of(batch.entity, PolicyState) for batch in self.world.batches]
        self._parts: tuple[tuple[int, ...], list[Array], list[tuple[int, Array]]] = ((), [], [])

    @property
    def works(self) -> bool:
        """Whether the past is kept here: an environment that draws itself has no columns to go back to."""
        return isinstance(self.show.reader, Reader)

    # --- noting -----------------------------------------------------------------------------------------------------

    def note(self, *, begins: bool = False) -> None:
        """Remember this moment of the arena that is watched."""
        show, reader = self.show, self.show.reader
        if not isinstance(reader, Reader):
            return
        columns, thought = self._columns(), None if begins else show.mind.newest
        picture, name, outcome = show.held, show.names[show.arena], show.outcome
        self.notes.append(Note(columns, begins, name, show.who, reader.trail, thought, picture, outcome))
        self._noted += 1
        if outcome is not None:
            self._ends.append((self._noted, outcome.tone))
        while self._ends and self._ends[0][0] <= self._noted - len(self.notes):
            self._ends.popleft()

    def _columns(self) -> tuple[Array, ...]:
        parts, seen = self._arena()
        columns = [part.copy() for part in parts]
        if self.show.held is not None:  # the tick is not over: what came of it is not yet what is seen
            for number, after in seen:
                columns[number][...] = after
        return tuple(columns)

    def _arena(self) -> tuple[list[Array], list[tuple[int, Array]]]:
        """Return the watched arena's part of all that lasts, and what takes the place of observations at an end."""
        key = (self.show.arena, *(id(state.value) for state in self._states))
        if self._parts[0] != key:
            each = [(one, part) for one in self.world.lasting() if (part := self._part(one)) is not None]
            after = {one.entity: one for one in self.world.stored if one.kind is NextObservation}
            seen = [(i, self._part(after[one.entity])) for i, (one, _) in enumerate(each) if one.kind is Observation]
            self._parts = (key, [part for _, part in each], [(i, part) for i, part in seen if part is not None])
        return self._parts[1:]

    def _part(self, one: Stored) -> Array | None:
        return one.column.of_arena(one.array, self.world.arenas, self.show.arena)

    def _put(self, columns: Sequence[Array]) -> None:
        """Let the arena be as it was; another policy remembers other numbers, and here none."""
        self.world.version += 1
        for part, kept in zip(self._arena()[0], columns, strict=True):
            part[...] = kept if part.shape == kept.shape else 0

    # --- looking back -----------------------------------------------------------------------------------------------

    @property
    def here(self) -> int:
        """The number of the note that is to be seen, in the present the last one's."""
        return len(self.notes) - 1 if self.at is None else self.at

    def go(self, at: int) -> None:
        """Show the note of this number; the last one is the present."""
        at = max(at, 0)
        if not self.works or at >= len(self.notes) - 1:
            self.leave()
            return
        show, before = self.show, self.at
        if self._present is None:
            show.let_go()
            held, show.held = show.held, None
            present = Note(self._columns(), False, show.names[show.arena], "")
            self._present = (present, held, show.outcome)
        self.at, note, self.owed = at, self.notes[at], self.owed if before is not None else 0.0
        self._retrace(at, jumps=before is None or at != before + 1 or note.begins)
        show.names[show.arena], show.held, show.outcome = note.name, note.picture, note.outcome
        show.mind.look_back(note.thought, show.arena)

    def _retrace(self, at: int, *, jumps: bool) -> None:
        """Put a moment's columns back, and let the pictures be as they were on the way there."""
        notes, show, reader = self.notes, self.show, self.show.reader
        if jumps and not notes[at].begins and at > 0:
            self._put(notes[at - 1].columns)
            reader.follow(show.arena, again=True)
        self._put(notes[at].columns)
        reader.follow(show.arena, again=jumps and (notes[at].begins or at == 0))
        if jumps and isinstance(reader, Reader):
            reader.trails(self._trails(at))

    def _trails(self, at: int) -> list[F64]:
        """Return what the last ticks of the episode have added to the trails, the oldest first."""
        found: list[F64] = []
        for note in islice(reversed(self.notes), len(self.notes) - 1 - at, None):
            if note.trail is not None:
                found.append(note.trail)
            if note.begins or len(found) == TRAIL:
                break
        return found[::-1]

    def advance(self, seconds: float, passed: float) -> None:
        """Play the past again: so many seconds of real time go by, in which so many of the stage's pass."""
        assert self.at is not None
        if self.show.held is not None:
            self._rest -= max(passed, seconds)
            if self._rest > 0:
                return
        owed = self.owed + passed / self.show.scene.dt
        steps = int(min(owed, len(self.notes)))
        self.owed = owed % 1.0 if math.isfinite(owed) else 0.0
        if steps:
            there = min(self.at + steps, len(self.notes) - 1)
            there = next((i for i in range(self.at + 1, there) if self.notes[i].picture is not None), there)
            self._rest = LINGERS
            self.go(there)

    def leave(self) -> None:
        """Go back to the present, which is as it was left."""
        if self._present is None:
            return
        (present, held, outcome), show = self._present, self.show
        self._present, self.at = None, None
        if held is None:
            self._retrace(len(self.notes) - 1, jumps=True)
        self._put(present.columns)
        show.names[show.arena], show.held, show.outcome = present.name, held, outcome
        show.mind.look_back(None)

    def branch(self) -> bool:
        """Let the present be here and go on otherwise; what came after is forgotten. False where an episode ended."""
        if self.at is None:
            return True
        if self.notes[self.at].picture is not None:
            return False
        same = not any(note.begins for note in islice(self.notes, self.at + 1, None))
        self.show.log.back(int(self.show.clock.tick[self.show.arena]), same=same)
        dropped = [self.notes.pop() for _ in range(len(self.notes) - 1 - self.at)]
        self._noted -= len(dropped)
        while self._ends and self._ends[-1][0] > self._noted:
            self._ends.pop()
        self._present, self.at = None, None
        self.show.mind.look_back(None)
        self.show.mind.drop([note.thought for note in dropped], self.show.arena)
        self.world.rebuild()
        return True

    @contextmanager
    def seen(self) -> Iterator[None]:
        """Let the columns be those of the picture that stands, also where the arena has begun anew since."""
        held = self.at is None and self.show.held is not None and self.works and len(self.notes) > 0
        now = tuple(part.copy() for part in self._arena()[0]) if held else ()
        if held:
            self._put(self.notes[-1].columns)
        try:
            yield
        finally:
            if held:
                self._put(now)

    # --- telling ----------------------------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """How far back it goes."""
        return max(0, len(self.notes) - 1) * self.show.scene.dt

    @property
    def ago(self) -> float:
        """How many seconds before the present the moment is that is to be seen."""
        return 0.0 if self.at is None else (len(self.notes) - 1 - self.at) * self.show.scene.dt

    def view(self) -> RewindView:
        """Return how far back it goes, where in it the stage is, and where episodes ended."""
        dt = self.show.scene.dt
        ends = tuple(((self._noted - number) * dt, tone) for number, tone in self._ends)
        return RewindView(self.seconds, self.ago if self.at is not None else None, ends)

"""The last half minute of a stage: gone back to tick by tick, played again, and gone on from in another way.

The columns are the whole state, and the log has them for each tick. To look at a moment they are put back into the
arena while the physics stands still: pictures, panels and rules then see that moment, and once the present ones are
back nothing has changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from ecs_rl.arrays import F64
from ecs_rl.ecs.component import Array
from ecs_rl.viewer.gather import TRAIL, Reader
from ecs_rl.viewer.view import StageView, Tone

if TYPE_CHECKING:
    from ecs_rl.viewer.endings import Ended
    from ecs_rl.viewer.live_episode import LiveEpisode
    from ecs_rl.viewer.tick_log import Keyframe

LINGERS = 1.0
"""Seconds for which an ending stays when the past is played again."""


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

"""Self-play in several processes: each has the learner, the whole pool and all ratings, to the last bit.

As in `together.py`, what is seen and what comes of it is gathered from all, so that the learner decides and stores for
all arenas; who plays whom is drawn, and rated, for all of them in each process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.components import Finished
from ecs_rl.ecs.component import rows_of_arenas
from ecs_rl.spaces import ActMode, Decision, Floats
from ecs_rl.training.self_play import I64, SelfPlay

if TYPE_CHECKING:
    from ecs_rl.training.together import Group


class SelfPlayTogether(SelfPlay):
    """Self-play in all arenas, as a world sees it that has some of them."""

    def __init__(self, *args: Any, group: Group, **options: Any) -> None:
        """Take what `SelfPlay` takes, of all arenas, and the processes that share them."""
        super().__init__(*args, **options)
        self.group = group
        self.finished = Finished()
        """Which episodes of the own arenas ended in the present tick; that of the world, once there is one."""
        self._seen: tuple[Floats, ...] = ()
        self._decided: tuple[Decision, ...] = ()

    def begin(self, episode: I64, draw: Callable[[I64], NDArray[np.float64]]) -> None:
        """Begin the present episode in all arenas, given those of the own ones."""
        episodes, drawn = self.group.gather_rows([episode, draw(np.arange(len(episode)))])
        super().begin(episodes, lambda arenas: drawn[arenas])

    def act(self, observation: Any, mode: ActMode, state: Any = None) -> Any:
        """Return a decision per policy for the own arenas, and note for `observe` what was decided for all."""
        if mode is not ActMode.EXPLORE:
            return super().act(observation, mode, state)
        count, remembers = len(observation), self.spec.state > 0
        told = self.group.gather_rows([*observation, *(state if remembers else ())])
        self._seen = tuple(told[:count])
        decided = super().act(self._seen, mode, tuple(told[count:]) if remembers else None)
        self._decided = decided
        return tuple(
            Decision(self._own(each.action), None if each.state is None else self._own(each.state)) for each in decided
        )

    def _own(self, array: NDArray[Any]) -> NDArray[Any]:
        return rows_of_arenas(array, self.group.everywhere, self.group.mine)

    def opposed_by(self, fixed: Callable[[int, Floats], NDArray[Any]]) -> None:
        """Take one opponent more, who acts for the own arenas of each process."""
        self.fixed = lambda number, seen: self.group.gather_rows([fixed(number, self._own(seen))])[0]

    def rate(self, arenas: I64, leads: Sequence[float]) -> list[tuple[float, int] | None]:
        """Take in how all games ended, of which those of the own arenas are named."""
        told = self.group.gather_bytes((arenas + self.group.first).astype(np.int64).tobytes())
        return super().rate(np.concatenate([np.frombuffer(each, np.int64) for each in told]), leads)

    def observe(self, experience: Any) -> None:
        """Hand the learner what happened in all arenas."""
        parts = experience if isinstance(experience, tuple) else (experience,)
        named = zip(parts, self._seen, self._decided, strict=True)
        super().observe(tuple(self.group.whole(part, self.finished, seen, each) for part, seen, each in named))

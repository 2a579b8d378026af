"""What moves the arenas of a world: the protocol that pymunk's physics and Gymnasium's environments follow.

A world owns entities, columns and the tick. Its engine owns what lies behind them and cannot be saved: Spaces or
environments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ecs_rl.arrays import I64
from ecs_rl.ecs.context import Context
from ecs_rl.ecs.entries import Entry
from ecs_rl.scene.chance import U64
from ecs_rl.scene.roles import Role

if TYPE_CHECKING:
    from ecs_rl.scene.arena import Arena
    from ecs_rl.scene.scene import Scene


@dataclass(frozen=True)
class WorldPlan:
    """The world for which an engine is made."""

    scene: Scene
    arena: Arena
    arenas: int
    threads: int
    seeds: Sequence[int] | None
    """The seed of each arena's first episode where each is named, as in an evaluation."""


class Engine(Protocol):
    """Moves N arenas. Its stages write into columns; everything else that it holds follows from columns and actions."""

    @property
    def parts(self) -> tuple[object, ...]:
        """The components that it adds to the entity `@arena`."""

    @property
    def blocks(self) -> Mapping[tuple[type, ...], NDArray[Any]]:
        """The arrays (numbers, bodies, arenas) behind the components of all roles; a stage gets them by a query."""

    @property
    def starts_midway(self) -> bool:
        """Whether the columns alone can put an arena into the middle of an episode.

        Such a world comes back from a snapshot and the actions since. Any other plays its running episodes again from
        their seeds and actions, both of which its columns hold.
        """

    @property
    def asks_rules(self) -> bool:
        """Whether observations and rewards come from rules of the scene."""

    @property
    def picture(self) -> Callable[[int], NDArray[np.uint8]] | None:
        """The function that draws an arena, (height, width, 3), in an engine without bodies; None where there are."""

    @property
    def why_lost(self) -> str:
        """What may keep a world from coming back exactly, and what to do."""

    @property
    def why_not_resumable(self) -> str:
        """What `train.py SCENE --check` says of a scene that does not come back exactly."""

    def stages(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the stages of a tick as they run with this engine."""

    def columns(self, role: Role) -> tuple[object, ...]:
        """Return the components of a role that it moves."""

    def episode_keys(self, seeds: I64, numbers: I64) -> U64:
        """Return the key that names each arena's episodes; `numbers` are 0 where `seeds` name the first episodes."""

    def attach(self, context: Context, *, is_watched: bool) -> None:
        """Take the context whose arenas it moves, once all components are there; a stage may render it."""

    def rebuilding(self) -> Iterator[None]:
        """Make everything anew from the columns, in slices between which nothing may happen in the world."""

    def come_back(self, watch: Callable[[], None]) -> None:
        """Bring back what no rebuilding can make of the columns; `watch` is called before each tick of that."""

    def forget(self, rows: I64) -> None:
        """Let nothing of what was before act in these arenas, whose episodes have just begun."""

    def moving(self) -> AbstractContextManager[None]:
        """Surround what writes into the columns of bodies: the engine takes over their new places at the end."""

    def close(self) -> None:
        """Give back threads and whatever else is held."""


MakeEngine = Callable[[WorldPlan], Engine]

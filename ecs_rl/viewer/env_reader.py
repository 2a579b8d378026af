"""From a world of environments that draw themselves to the stage's part of the view model: a picture, no bodies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ecs_rl.components import Clock
from ecs_rl.viewer.gather import Reader
from ecs_rl.viewer.view import DrawnView, StageView

if TYPE_CHECKING:
    from ecs_rl.viewer.objects import BodyId
    from ecs_rl.world import World


@dataclass
class NoPlaces:
    """The places of objects where there are none."""

    problems: list[str] = field(default_factory=list)


class EnvReader:
    """Keeps the picture of one arena after each tick, as `Reader` does the places of its bodies."""

    trail = None
    """Nothing leaves one."""

    def __init__(self, world: World, picture: Callable[[int], NDArray[np.uint8]]) -> None:
        self.picture, self.clock, self.places = picture, world.one(Clock), NoPlaces()
        self._drawn: DrawnView | None = None

    def follow(self, arena: int, *, held: bool = False, anew: bool = False, again: bool = False) -> None:
        """Note that the arena looks otherwise now; it is drawn only where somebody wants to see it."""
        self._drawn = None

    def stage(self, arena: int, *, blend: float = 1.0, caption: str = "", selected: BodyId | None = None) -> StageView:
        """Return the arena that is followed, as it was after the last tick."""
        if self._drawn is None:
            self._drawn = DrawnView(self.picture(arena))
        height, width = self._drawn.pixels.shape[:2]
        return StageView(
            drawn=self._drawn,
            shape=width / height,
            bounds=((-width / 2, -height / 2), (width / 2, height / 2)),
            exact=True,
            tick=int(self.clock.tick[arena]),
            caption=caption,
        )


def reader_of(world: World) -> Reader | EnvReader:
    """Return what reads the arenas of a world for the stage."""
    picture = world.engine.picture
    return Reader(world) if picture is None else EnvReader(world, picture)

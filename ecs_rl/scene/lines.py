"""What the builder of an arena does about ground and lines: walls, terrains, paths, and the draws that they share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.arrays import I64
from ecs_rl.components import Chance, Ground
from ecs_rl.ecs.component import new_handle
from ecs_rl.ecs.context import Context
from ecs_rl.errors import SceneError
from ecs_rl.scene.checks import Point, named, not_negative, point, quote, whole
from ecs_rl.scene.ground import Draws, Earth, Line, Shaping, try_shape
from ecs_rl.scene.roles import Number
from ecs_rl.scene.rules import Remembering
from ecs_rl.scene.sensors import Sensor


@dataclass(frozen=True)
class Wall:
    """Segments that stand in every arena, always; metres."""

    ends: tuple[Point, Point]
    friction: float
    elasticity: float


@dataclass(frozen=True)
class Terrain:
    """A line of segments that each episode shapes anew from its own draws."""

    rule: Shaping
    points: int
    slot: int
    draws: int
    friction: float
    elasticity: float
    earth: Earth
    """How rules read it."""


class Lines:
    """The lines of an arena; `Arena` is this too."""

    walls: list[Wall]
    terrains: list[Terrain]
    paths: list[Line]
    drawn: list[Draws]
    """What several lines, starts and rules share."""
    numbers: list[Number]
    use: Callable[[Sensor | Remembering], Sensor | Remembering]
    _draw: Callable[[int], int]

    if TYPE_CHECKING:

        def shaping(self, rows: I64) -> AbstractContextManager[None]:
            """See `Lessons`."""

    def wall(self, start: Point, end: Point, *, friction: float = 0.6, elasticity: float = 0.0) -> None:
        """Add a straight piece of ground between two points, metres."""
        point("a wall's start", start), point("a wall's end", end)
        not_negative("a wall's friction", friction), not_negative("a wall's elasticity", elasticity)
        self.walls.append(Wall((start, end), friction, elasticity))

    def terrain(
        self, rule: Shaping, *, points: int, draws: int | Draws, friction: float = 0.6, elasticity: float = 0.0
    ) -> Earth:
        """Add a line of ground that each episode shapes anew, and return it for rules to read.

        `rule` turns (arenas, draws) numbers in [0, 1) into (arenas, points, 2) metres; `draws` is how many it takes, or
        what `arena.draws` returned.
        """
        not_negative("a terrain's friction", friction), not_negative("a terrain's elasticity", elasticity)
        drawn = self._drawn("terrain", draws)
        with self.shaping(np.arange(3)):
            earth = Earth(try_shape("terrain", rule, points, drawn.n))
        self.terrains.append(Terrain(rule, points, drawn.slot, drawn.n, friction, elasticity, earth))
        return earth

    def path(self, rule: Shaping, *, points: int, draws: int | Draws, closed: bool = False, road: float = 0.0) -> Line:
        """Add a line that nothing bumps into, for rules to read: a route, the middle of a race track.

        `rule` turns (arenas, draws) into (arenas, points, 2); a closed line leads from its last point to its first.
        Windows and films show it as a road of that width, metres; 0 shows nothing.
        """
        not_negative("the width of a road", road)
        if closed not in (True, False):
            raise SceneError(f"a path is closed, True or False, not {quote(closed)}")
        with self.shaping(np.arange(3)):
            self.paths.append(Line(rule, points, self._drawn("path", draws), self.use, closed=closed, road=road))
        return self.paths[-1]

    def draws(self, name: str, n: int) -> Draws:
        """Return n numbers in [0, 1) that each episode draws anew, for terrains, paths, starts and rules to share."""
        if named("a draw", name) in [other.name for other in self.numbers] + [other.name for other in self.drawn]:
            raise SceneError(f"there is a number '{name}' already: give this one another name")
        self.drawn.append(Draws(name, n, self._draw(whole(f"the draws of '{name}'", n, 1))))
        return self.drawn[-1]

    def _drawn(self, what: str, draws: int | Draws) -> Draws:
        """Return draws of the line's own, or those that were made."""
        if not isinstance(draws, Draws):
            return Draws(f"a {what}", draws, self._draw(whole(f"the draws of a {what}", draws, 0)))
        if not any(draws is made for made in self.drawn):
            raise SceneError(f"the draws '{draws.name}' belong to another arena")
        return draws

    def number_segments(self) -> None:
        """Tell each terrain which segments of the ground are its own, once all walls are there: those come first."""
        first = len(self.walls)
        for terrain in self.terrains:
            terrain.earth.first, terrain.earth.last = first, first + terrain.points - 1
            first = terrain.earth.last

    def create_lines(self, world: Context, ground: Ground, *, tracked: bool) -> None:
        """Create the paths, and give lines and draws what rules read of them."""
        for terrain in self.terrains:
            terrain.earth.handle = ground
        shared = [*self.drawn, *(path.draws for path in self.paths)]
        if shared:
            chance = new_handle(Chance)
            world.expose("@arena", chance, tracked=tracked)
            for draws in shared:
                draws.handle = chance
        for i, path in enumerate(self.paths):
            world.create(f"@path/{i}", path.allocate(world.arenas))
            world.expose(f"@path/{i}", path.handle, tracked=tracked)

"""Marks: what is drawn without a body. They have no effect on the physics, and no agent learns from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ecs_rl.arrays import F64, Bool
from ecs_rl.errors import RuleError, SceneError
from ecs_rl.scene.checks import Point, as_array, finite, form, named, point, quote, ruling
from ecs_rl.scene.look import Look, sprite_file
from ecs_rl.scene.parts import Disc, Polygon

Rule = Callable[[], Any]
Line = Sequence[Point]
SUCH_AS = {
    "at": "a point (x, y), or a rule such as `lambda: ball.position`",
    "angle": "radians, or a rule such as `lambda: ball.angle`",
    "where": "a rule such as `lambda: found.value < 1`",
}


@dataclass(frozen=True, eq=False)
class Mark:
    """Something that is drawn without a body, such as a target, a goal area or a finish line."""

    name: str
    """Of its own in the arena."""
    shape: Disc | Polygon | Line
    """A line is a sequence of points, metres."""
    look: Look | None
    """None leaves its colour to the window."""
    at: Point | Rule
    """Where its origin is; a rule gives (arenas, 2)."""
    angle: float | Rule
    """Radians, counter-clockwise; a rule gives (arenas,)."""
    where: Rule | None
    """Gives (arenas,) truths: it is drawn only there. None: everywhere."""

    def __post_init__(self) -> None:
        what = f"the mark '{named('a mark', self.name)}'"
        if not isinstance(self.shape, (Disc, Polygon)):
            object.__setattr__(self, "shape", _line(what, self.shape))
        if self.look is not None and not isinstance(self.look, Look):
            raise SceneError(f"{what} looks as a Look says, such as Look('orange'), not {quote(self.look)}")
        if callable(self.at):
            ruling(f"the place of {what}", self.at, SUCH_AS["at"])
        else:
            point(f"the place of {what}", self.at)
        if callable(self.angle):
            ruling(f"the angle of {what}", self.angle, SUCH_AS["angle"])
        else:
            finite(f"the angle of {what}", self.angle)
        if self.where is not None:
            ruling(f"where {what} is drawn", self.where, SUCH_AS["where"])

    @property
    def stands(self) -> bool:
        """Whether it is always at the same place."""
        return self.where is None and not callable(self.at) and not callable(self.angle)

    def placed(self, arenas: int) -> tuple[F64, F64, Bool]:
        """Return (arenas, 2) where it is, (arenas,) how it is turned, and where it is drawn at all."""
        at = self._result_of("at", self.at, arenas, (2,), "biuf")
        angle = self._result_of("angle", self.angle, arenas, (), "biuf")
        here = self._result_of("where", True if self.where is None else self.where, arenas, (), "b")
        return at.astype(np.float64), angle.astype(np.float64), here

    def _result_of(self, what: str, given: Any, arenas: int, parts: tuple[int, ...], kinds: str) -> Any:
        """Return what a rule gives for each arena, or refuse it."""
        value = given() if callable(given) else given
        array = as_array(value, given)
        one_for_all = () if callable(given) else parts  # two numbers of a rule could be those of two arenas
        if array.shape not in (one_for_all, (arenas, *parts)) or array.dtype.kind not in kinds:
            one = "one truth" if kinds == "b" else "two numbers" if parts else "one number"
            raise RuleError(f"{what} of the mark '{self.name}' must give {one} per arena, not {form(value)}", given)
        return np.broadcast_to(array, (arenas, *parts))


class Marks:
    """The part of an `Arena` that has to do with marks."""

    file: str
    marks: list[Mark]

    def mark(
        self,
        name: str,
        shape: Disc | Polygon | Line,
        look: Look | None = None,
        *,
        at: Point | Rule = (0.0, 0.0),
        angle: float | Rule = 0.0,
        where: Rule | None = None,
    ) -> Mark:
        """Draw something without a body, such as a target: a shape or a line of points, at a point or by a rule.

        `at` gives (arenas, 2), `angle` (arenas,), and `where` (arenas,) truths: it is drawn only there.
        """
        mark = Mark(name, shape, look, at, angle, where)
        if any(other.name == name for other in self.marks):
            raise SceneError(f"there is a mark '{name}' already: give this one another name")
        if look and self.file:
            sprite_file(look, self.file)
        self.marks.append(mark)
        return mark

    def try_marks(self, arenas: int) -> None:
        """Ask every rule of a mark once, so that one that cannot work is refused now."""
        for mark in self.marks:
            mark.placed(arenas)


def _line(what: str, points: Any) -> Line:
    """Return the points of a line, or refuse what is neither that nor another shape."""
    points = points.tolist() if isinstance(points, np.ndarray) else points
    if not isinstance(points, Sequence) or isinstance(points, str) or len(points) < 2:
        raise SceneError(
            f"{what} is a Disc, a Box, a Polygon, a Rod, or a line of at least two points, not {quote(points)}"
        )
    return tuple(point(f"a point of {what}", tuple(at) if isinstance(at, list) else at) for at in points)

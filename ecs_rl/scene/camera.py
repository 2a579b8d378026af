"""Which part of an arena a window and a film show, where that is not everything that the arena visits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ecs_rl.errors import SceneError, nearest
from ecs_rl.scene.checks import Point, caller, named, not_negative, point, positive, whole

if TYPE_CHECKING:
    from ecs_rl.scene.arena import Arena


@dataclass(frozen=True)
class Follow:
    """Show what is around a role, `width` metres wide; of a kind around one member, or the middle of all."""

    role: str
    """The name of the role."""
    width: float
    """Metres from the left edge of the picture to the right one."""
    member: int | None = None
    """The number of the member of a kind; None: the mean of those that are here."""
    ahead: float = 0.0
    """Seconds of its flight that the picture looks ahead, at most a quarter of the picture."""
    line: int = field(default=0, init=False, repr=False, compare=False)
    """Of the scene's file, for what can only be refused once the roles are there."""

    def __post_init__(self) -> None:
        named("the role that a camera follows", self.role)
        positive("the width of what a camera shows", self.width)
        not_negative("how far a camera looks ahead", self.ahead)
        if self.member is not None:
            whole("the member that a camera follows", self.member, 0)
        object.__setattr__(self, "line", caller()[1])

    def check(self, arena: Arena, file: str) -> None:
        """Refuse a role or a member that the arena has not."""
        where = f"{file}, line {self.line}: " if file else ""
        names = [role.name for role in arena.roles]
        if self.role not in names:
            raise SceneError(f"{where}the camera follows '{self.role}', no role: {nearest(self.role, names)}")
        count = arena.roles[names.index(self.role)].count
        if self.member is not None and self.member >= (count or 0):
            there = f"its members are 0 to {count - 1}" if count else "it is a single body: leave member= away"
            raise SceneError(f"{where}the camera follows member {self.member} of '{self.role}': {there}")


@dataclass(frozen=True)
class View:
    """Show this part of the arena always: from left to right and from below to above, metres."""

    x: Point
    """The left and the right edge."""
    y: Point
    """The lower and the upper edge."""

    def __post_init__(self) -> None:
        for what, side in (("x", self.x), ("y", self.y)):
            low, high = point(f"the {what} of a view", side)
            if not low < high:
                raise SceneError(
                    f"the {what} of a view must go from low to high, as in (-8, 8), not from {low:g} to {high:g}"
                )


Camera = Follow | View

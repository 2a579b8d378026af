"""What a picture has at which place: its texts, and the regions that can be pointed at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypedDict

import pygame

from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.view import Point

Find = Callable[[Point], "int | BodyId | None"]
Part = tuple[str, str, int]
"""A part of the window: its panel, what it is there, and which one of these."""
Takes = Literal["", "moves", "clicks"]


class RegionFacts(TypedDict, total=False):
    """What a region may have besides its place."""

    key: str
    camera: Camera
    focus: Point
    find: Find
    takes: Takes
    share: float
    step: float
    names: tuple[str, ...]
    alone: bool


@dataclass(frozen=True)
class Region:
    """A rectangle that can be pointed at."""

    rect: pygame.Rect
    """Where it is: the shares of a hit are those of this rectangle."""
    reach: pygame.Rect
    """The pixels that count as it, at least those where it is."""
    panel: str
    part: str
    index: int = 0
    key: str = ""
    """The key whose command a click carries out."""
    camera: Camera | None = None
    """The camera whose picture it is, which counts pixels from its corner."""
    focus: Point = (0.0, 0.0)
    """The point of the arena from which that camera counts."""
    find: Find | None = None
    """Finds the index of what is at a place of it, or the body: by metres where there is a camera, else by pixels."""
    takes: Takes = ""
    """What the keyboard does with it: `moves` it as a slider, `clicks` it as a row; `""`: it cannot have the focus."""
    share: float = 0.0
    """Where a slider is, 0 to 1, and how far a key moves it."""
    step: float = 0.0
    names: tuple[str, ...] = ()
    """The names of all parts of its list, also of those without room."""
    alone: bool = False
    """The window shows nothing but its list, which has the focus from the start."""

    @property
    def name(self) -> Part:
        """Return what it is called in every frame."""
        return self.panel, self.part, self.index

    @property
    def lights_up(self) -> bool:
        """Return whether it looks different under the mouse: something happens where it is clicked."""
        return bool(self.takes or self.key)

    def is_beside(self, part: Part) -> bool:
        """Return whether this is a part, or another one of its list."""
        return self.name == part or (self.name[:2] == part[:2] and part[2] < len(self.names))

    def moved(self, by: tuple[int, int]) -> Region:
        """Return the same region at another place."""
        return replace(self, rect=self.rect.move(by), reach=self.reach.move(by))


@dataclass
class Marks:
    """The texts and regions of a picture, or of a panel in the window."""

    texts: list[tuple[pygame.Rect, str]] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)

    def moved(self, by: tuple[int, int]) -> Marks:
        """Return the same marks at another place."""
        return Marks(
            [(rect.move(by), text) for rect, text in self.texts], [region.moved(by) for region in self.regions]
        )

    def add(self, other: Marks) -> None:
        """Take other marks in."""
        self.texts += other.texts
        self.regions += other.regions

"""What a picture has at which place: its texts, and the regions that can be pointed at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypedDict

import pygame

from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.things import Chosen
from ecs_rl.viewer.view import Point

Find = Callable[[Point], "int | Chosen | None"]


class RegionFacts(TypedDict, total=False):
    """What a region may have besides its place."""

    key: str
    camera: Camera
    focus: Point
    find: Find


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
            [(rect.move(by), text) for rect, text in self.texts],
            [region.moved(by) for region in self.regions],
        )

    def add(self, other: Marks) -> None:
        """Take other marks in."""
        self.texts += other.texts
        self.regions += other.regions

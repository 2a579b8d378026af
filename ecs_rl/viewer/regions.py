"""What a painted frame has where: regions that can be pointed at, rooms of panels, and what a screen reports.

A new report is a class here and a name in `Report`. A panel makes it with `canvas.reports.add`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, TypedDict, TypeVar

import msgspec
import pygame

from ecs_rl.viewer.camera import Camera
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.view import Point

Find = Callable[[Point], "int | BodyId | None"]
Part = tuple[str, str, int]
"""A part of the window: its panel, what it is there, and which one of these."""
Takes = Literal["", "moves", "clicks"]
NARROWEST = 150
"""The least width that a floating panel of rows is worth to be shown with, before the scale of the screen."""
FLOAT_GAP = 8
"""Pixels between floating panels of one corner, before the scale of the screen."""
BESIDE, ABOVE, BELOW = 12, 38, 80
"""Pixels of the stage that floating panels leave free, before the scale of the screen."""


class Sight(msgspec.Struct, frozen=True, tag=True):
    """The corners of the arena that the stage shows, metres."""

    low: Point
    high: Point


class Floats(msgspec.Struct, frozen=True, tag=True):
    """The floating panels of a frame, by their names: those that have a place, and those without room."""

    placed: tuple[str, ...] = ()
    without_room: tuple[str, ...] = ()


Report = Sight | Floats
R = TypeVar("R", Sight, Floats)


class Reports:
    """The newest report of each kind."""

    def __init__(self) -> None:
        self._newest: dict[type[Report], Any] = {}

    def add(self, report: Report) -> None:
        """Keep a report in place of the one before."""
        self._newest[type(report)] = report

    def newest(self, kind: type[R]) -> R | None:
        """Return the newest report of a kind, None before the first one."""
        return self._newest.get(kind)

    def news(self, other: Reports) -> Iterator[Report]:
        """Take over the reports of another frame, and yield those that differ."""
        for report in other._newest.values():
            if self._newest.get(type(report)) != report:
                self.add(report)
                yield report

    def clear(self) -> None:
        """Forget all reports."""
        self._newest.clear()


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


@lru_cache(maxsize=4096)
def scaled(size: float, scale: float, least: int) -> int:
    """Return a size in pixels; a frame asks some hundred times for the same ones."""
    return max(least, round(size * scale))


class FramePlaces:
    """What is taken of a frame, at the scale of its screen."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.reports = Reports()
        """What the window should know of this frame."""
        self._panel = ""
        """The panel that is painted."""
        self.rooms: dict[str, pygame.Rect] = {}
        """Where panels may stand in this frame, by what for: `arrange` of one panel notes them for the others."""
        self._floats: list[pygame.Rect] = []
        """The places of this frame's floating panels."""
        self._has_place: dict[str, bool] = {}
        """Whether a floating panel has found one, by its name."""

    def clear(self) -> None:
        """Begin a frame in which nothing is taken."""
        self.reports.clear()
        self.rooms.clear()
        self._floats.clear()
        self._has_place.clear()

    def px(self, size: float) -> int:
        """Return a size in pixels on this screen, at least one."""
        return scaled(size, self.scale, 1)

    def free(self, stage: pygame.Rect) -> pygame.Rect:
        """Return the room for floating panels on a stage: below its captions, above its hints and what is over them."""
        beside, top = self.px(BESIDE), self.rooms.get("clear", stage).y + self.px(ABOVE)
        return pygame.Rect(stage.x + beside, top, stage.w - 2 * beside, stage.bottom - self.px(BELOW) - top)

    def take(self, place: pygame.Rect) -> None:
        """Give a place to the panel that is painted: floating panels that come after it keep clear of it."""
        self._floats.append(place)
        self._has_place[self._panel] = True

    def place_in(
        self, room: pygame.Rect, corner: str, size: tuple[int, int], least: int | None = None
    ) -> pygame.Rect | None:
        """Return the place of a floating panel in a corner of its room, clear of those before it; None without room.

        `corner` is `top left`, `top right`, `bottom left` or `bottom right`; where there is no room below or above it,
        the place is at the other side. It may be lower than `size`, but has at least `least` pixels.
        """
        place, side = pygame.Rect((0, 0), size), corner.split()[1]
        self._has_place[self._panel] = False
        if place.w > room.w:
            return None
        sides = room.x, room.right - place.w
        for x in sides if side == "left" else reversed(sides):
            place.x = x
            spans = self._spans(room, place)
            for top, bottom in spans if corner.startswith("top") else reversed(spans):
                place.h = min(size[1], bottom - top)
                if place.h >= (size[1] if least is None else least):
                    place.y = top if corner.startswith("top") else bottom - place.h
                    self.take(place)
                    return place
        return None

    def place_rows(
        self, stage: pygame.Rect, corner: str, width: int, count: int, *, row: int, besides: int, least: int = 1
    ) -> tuple[pygame.Rect, int] | None:
        """Return the place on a stage of a floating panel of so many rows, and how many of them it has; None without.

        `row` and `besides` are the heights of a row and of all else, pixels; `width` is before the scale of the screen.
        """
        free = self.free(stage)
        size = min(self.px(width), max(free.w, self.px(NARROWEST))), besides + count * row
        place = self.place_in(free, corner, size, besides + min(least, count) * row)
        if place is None:
            return None
        fitting = (place.h - besides) // row
        place.h = besides + fitting * row
        return place, fitting

    def _spans(self, room: pygame.Rect, place: pygame.Rect) -> list[tuple[int, int]]:
        """Return what is free of the height of a room, in the columns of a place."""
        spans, gap, top = list[tuple[int, int]](), self.px(FLOAT_GAP), room.top
        for taken in sorted(self._floats, key=lambda taken: taken.top):
            if taken.x < place.right and place.x < taken.right:
                spans.append((top, min(taken.top - gap, room.bottom)))
                top = max(top, taken.bottom + gap)
        return [*spans, (top, room.bottom)]

    def floats(self) -> Floats:
        """Return which floating panels have a place in this frame."""
        placed, without = ([name for name, has in self._has_place.items() if has == wanted] for wanted in (True, False))
        return Floats(tuple(placed), tuple(without))

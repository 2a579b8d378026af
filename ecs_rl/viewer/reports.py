"""Reports: what a screen finds out while it paints, and the window wants to know.

A new report is a class here and a name in `Report`. A panel makes it with `canvas.reports.add`; a screen sends it when
it differs from the last one of its kind; whoever asks reads `app.reports.newest(Kind)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from ecs_rl.viewer.view import Point


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
